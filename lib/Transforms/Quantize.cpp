//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-quantize: from BF16 contractions to quantize and scaled_matmul, or to
// scaled_matmul alone where the scheme keeps BF16.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "moss/IR/Moss.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/SchemeOptions.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSQUANTIZE
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// The copy engine of the target wants rows that begin at multiples of so many
/// bytes.
static constexpr int64_t kRowAlignment = 16;

//===----------------------------------------------------------------------===//
// Which contractions are rewritten
//===----------------------------------------------------------------------===//

namespace {
/// A matmul in terms of moss.scaled_matmul. Operands are read from the op at
/// the time of use, since rewriting one matmul may replace those of the next.
struct Matmul {
  linalg::LinalgOp op;
  /// Which input yields the rows of the result; the other yields its columns.
  unsigned lhsNumber;
  /// Whether the operand is stored as [K, M] or [K, N].
  bool lhsTransposed, rhsTransposed;

  Value getLhs() { return op->getOperand(lhsNumber); }
  Value getRhs() { return op->getOperand(1 - lhsNumber); }
  Value getInit() { return op.getDpsInits().front(); }
};

/// A matmul that stays as it is, and why.
struct Skipped {
  linalg::LinalgOp op;
  std::string reason;
};
} // namespace

/// Whether an op multiplies and sums in some way over two inputs; anything else
/// is none of this pass's business and not worth a remark.
static bool isMatmulLike(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!llvm::all_of(maps,
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return false;
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  return succeeded(dims) && !dims->m.empty() && !dims->n.empty() &&
         !dims->k.empty();
}

/// Whether the body is `acc + ext(a) * ext(b)` in floating point, where each
/// `ext` may be absent, and nothing besides has an effect.
/// linalg::isaContractionOpInterface also takes other semirings, and skips any
/// unary op, negations among them.
static bool hasMulAddBody(linalg::LinalgOp op) {
  Block &body = *op.getBlock();
  if (!llvm::all_of(body.without_terminator(), [](Operation &inner) {
        return isMemoryEffectFree(&inner);
      }))
    return false;
  auto isInput = [&](Value value, unsigned number) {
    if (auto extend = value.getDefiningOp<arith::ExtFOp>())
      value = extend.getIn();
    return value == body.getArgument(number);
  };
  auto isProduct = [&](Value value) {
    auto product = value.getDefiningOp<arith::MulFOp>();
    return product &&
           ((isInput(product.getLhs(), 0) && isInput(product.getRhs(), 1)) ||
            (isInput(product.getLhs(), 1) && isInput(product.getRhs(), 0)));
  };
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  Value acc = body.getArgument(2);
  return (sum.getLhs() == acc && isProduct(sum.getRhs())) ||
         (sum.getRhs() == acc && isProduct(sum.getLhs()));
}

/// Whether every operand is a matrix, and there are one M, one N and one K.
static bool isTwoDimensional(linalg::LinalgOp op) {
  return op.getNumLoops() == 3 &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.getNumResults() == 2; });
}

/// Why the op is left alone, or an empty string.
static std::string getReasonToSkip(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return "its operands are memrefs; run moss-quantize before bufferization";
  for (Type type : op->getOperandTypes()) {
    auto tensorType = dyn_cast<RankedTensorType>(type);
    if (!tensorType || tensorType.getEncoding())
      return "its operands are not all dense ranked tensors";
  }
  FailureOr<linalg::ContractionDimensions> dims =
      linalg::inferContractionDims(op);
  if (!dims->batch.empty())
    return "it is batched; only two-dimensional matmuls are quantized";
  if (!isTwoDimensional(op))
    return "its indexing maps are not those of a two-dimensional matmul";
  for (OpOperand *input : op.getDpsInputOperands()) {
    Type type = getElementTypeOrSelf(input->get());
    if (!type.isBF16())
      return llvm::formatv("operand #{0} has element type {1}, and only bf16 "
                           "is quantized",
                           input->getOperandNumber(), type);
  }
  Type resultType = getElementTypeOrSelf(op.getDpsInits().front());
  if (!resultType.isBF16() && !resultType.isF32())
    return llvm::formatv("its result has element type {0}, but must be f32 or "
                         "bf16",
                         resultType);
  if (!hasMulAddBody(op))
    return "its body is not a multiplication and an addition";
  return "";
}

/// Name the operands of an op that need not be skipped. The rows of the result
/// decide which is the left one, so a result that is stored transposed swaps
/// them.
static Matmul matchMatmul(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto hasDim = [&](unsigned map, unsigned result, unsigned dim) {
    return maps[map].getDimPosition(result) == dim;
  };
  unsigned m = maps[2].getDimPosition(0), n = maps[2].getDimPosition(1);
  bool swapped = !hasDim(0, 0, m) && !hasDim(0, 1, m);
  unsigned lhs = swapped ? 1 : 0, rhs = 1 - lhs;
  return {op, lhs, /*lhsTransposed=*/hasDim(lhs, 1, m),
          /*rhsTransposed=*/hasDim(rhs, 1, n)};
}

/// A group that exceeds the extent that it divides is a mistake in the options.
static LogicalResult checkGroupsFit(linalg::LinalgOp op, StringRef name,
                                    Value operand, bool transposed,
                                    SchemeAttr scheme) {
  SmallVector<int64_t> shape(
      cast<RankedTensorType>(operand.getType()).getShape());
  if (transposed)
    std::swap(shape[0], shape[1]);
  int64_t groups[] = {scheme.getGroupOuter(), scheme.getGroupK()};
  StringRef dimensions[] = {name == "lhs" ? "M" : "N", "K"};
  for (auto [extent, group, dimension] :
       llvm::zip_equal(shape, groups, dimensions))
    if (ShapedType::isStatic(extent) && extent != 0 && group > extent)
      return op->emitOpError() << "the micro group of " << name << " scheme "
                               << scheme << " has an extent of " << group
                               << " along " << dimension << ", which is only "
                               << extent << "; use 'full' or a smaller group";
  return success();
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

namespace {
/// An operand of scaled_matmul, with the scales that its scheme has.
struct Factor {
  Value matrix, micro, global;
};

/// Rewrites matmuls under one scheme, quantizing each operand once per
/// orientation and scheme wherever an earlier quantize dominates.
class Quantizer {
public:
  Quantizer(const MatmulScheme &scheme, DominanceInfo &dominance)
      : scheme(scheme), dominance(dominance) {}

  void rewrite(Matmul &matmul, RewriterBase &rewriter);

private:
  Factor getFactor(OpBuilder &builder, Operation *user, Value source,
                   bool transposed, SchemeAttr scheme);
  QuantizeOp getQuantized(OpBuilder &builder, Operation *user, Value source,
                          bool transposed, SchemeAttr scheme);

  const MatmulScheme &scheme;
  DominanceInfo &dominance;
  DenseMap<std::tuple<Value, unsigned, Attribute>, SmallVector<QuantizeOp>>
      done;
};
} // namespace

/// `ceil(extent / divisor) * factor`.
static OpFoldResult divideAndScale(OpBuilder &builder, Location loc,
                                   OpFoldResult extent, int64_t divisor,
                                   int64_t factor) {
  AffineExpr symbol = builder.getAffineSymbolExpr(0);
  return affine::makeComposedFoldedAffineApply(
      builder, loc, symbol.ceilDiv(divisor) * factor, {extent});
}

/// A destination for an operand whose rows keep the alignment in memory. The
/// slack is in an alloc_tensor and not in a tensor.empty, since CSE would merge
/// the latter, and bufferization then copies one without the slack.
static Value createAligned(OpBuilder &builder, Location loc, OpFoldResult outer,
                           OpFoldResult k, Type elementType) {
  std::optional<int64_t> staticK = getConstantIntValue(k);
  int64_t unit = kRowAlignment / getElementBytes(elementType);
  // Without rows there is nothing to align, and no slice to take either:
  // verification finds offset 0 out of bounds.
  if ((staticK && *staticK % unit == 0) || isZeroInteger(outer))
    return tensor::EmptyOp::create(builder, loc, {outer, k}, elementType);
  SmallVector<OpFoldResult> padded{outer,
                                   divideAndScale(builder, loc, k, unit, unit)};
  SmallVector<Value> dynamicSizes;
  SmallVector<int64_t> shape;
  dispatchIndexOpFoldResults(padded, dynamicSizes, shape);
  Value buffer = bufferization::AllocTensorOp::create(
      builder, loc, RankedTensorType::get(shape, elementType), dynamicSizes);
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  return tensor::ExtractSliceOp::create(
      builder, loc, buffer, ArrayRef<OpFoldResult>{zero, zero},
      ArrayRef<OpFoldResult>{outer, k}, ArrayRef<OpFoldResult>{one, one});
}

/// A destination for the micro scales of an operand of [outer, k].
static Value createMicro(OpBuilder &builder, Location loc, OpFoldResult outer,
                         OpFoldResult k, SchemeAttr scheme) {
  auto count = [&](OpFoldResult extent, int64_t group) -> OpFoldResult {
    if (group == 0)
      return builder.getIndexAttr(1);
    return divideAndScale(builder, loc, extent, group, 1);
  };
  return tensor::EmptyOp::create(
      builder, loc,
      {count(outer, scheme.getGroupOuter()), count(k, scheme.getGroupK())},
      scheme.getMicroType());
}

/// The delayed scale of a tensor of which no amax is known yet.
static Value createInitialScale(OpBuilder &builder, Location loc) {
  auto type = RankedTensorType::get({}, builder.getF32Type());
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, 1.0f));
}

static QuantizeOp createQuantize(OpBuilder &builder, Location loc, Value source,
                                 bool transposed, SchemeAttr scheme) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, source);
  if (transposed)
    std::swap(sizes[0], sizes[1]);
  SmallVector<Value> inits{
      createAligned(builder, loc, sizes[0], sizes[1], scheme.getElementType())};
  Value scale, micro, global;
  if (scheme.getGlobal() == GlobalScale::Delayed)
    scale = createInitialScale(builder, loc);
  if (scheme.hasMicro())
    inits.push_back(micro =
                        createMicro(builder, loc, sizes[0], sizes[1], scheme));
  if (scheme.yieldsGlobal())
    inits.push_back(global = tensor::EmptyOp::create(builder, loc,
                                                     ArrayRef<OpFoldResult>{},
                                                     builder.getF32Type()));
  return QuantizeOp::create(builder, loc, TypeRange(ValueRange(inits)), scheme,
                            transposed, source, scale, inits.front(), micro,
                            global);
}

QuantizeOp Quantizer::getQuantized(OpBuilder &builder, Operation *user,
                                   Value source, bool transposed,
                                   SchemeAttr scheme) {
  SmallVector<QuantizeOp> &candidates = done[{source, transposed, scheme}];
  for (QuantizeOp candidate : candidates)
    // The key may be a value that has been replaced since.
    if (candidate.getSource() == source &&
        dominance.properlyDominates(candidate, user))
      return candidate;
  candidates.push_back(
      createQuantize(builder, user->getLoc(), source, transposed, scheme));
  return candidates.back();
}

/// An operand that stays BF16, stored with K innermost.
static Value orient(OpBuilder &builder, Location loc, Value source,
                    bool transposed) {
  if (!transposed)
    return source;
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, source);
  Value destination = createAligned(builder, loc, sizes[1], sizes[0],
                                    getElementTypeOrSelf(source));
  return linalg::TransposeOp::create(builder, loc, source, destination,
                                     ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

Factor Quantizer::getFactor(OpBuilder &builder, Operation *user, Value source,
                            bool transposed, SchemeAttr scheme) {
  if (!scheme.isQuantized())
    return {orient(builder, user->getLoc(), source, transposed), {}, {}};
  QuantizeOp quantized =
      getQuantized(builder, user, source, transposed, scheme);
  return {quantized.getPayloadResult(), quantized.getMicroResult(),
          quantized.getResultScale()};
}

void Quantizer::rewrite(Matmul &matmul, RewriterBase &rewriter) {
  Operation *op = matmul.op;
  rewriter.setInsertionPoint(op);
  Factor lhs = getFactor(rewriter, op, matmul.getLhs(), matmul.lhsTransposed,
                         scheme.lhs);
  Factor rhs = getFactor(rewriter, op, matmul.getRhs(), matmul.rhsTransposed,
                         scheme.rhs);
  Value zeros = matmul.getInit();
  Value destination = getDestinationOfZeros(rewriter, zeros);
  Value init = destination ? destination : zeros;
  rewriter.replaceOpWithNewOp<ScaledMatmulOp>(
      op, TypeRange(init.getType()), scheme.accumulate,
      /*accumulates=*/!destination, scheme.lhs, lhs.matrix, lhs.micro,
      lhs.global, scheme.rhs, rhs.matrix, rhs.micro, rhs.global, init,
      /*schedule=*/ScheduleAttr());
  if (destination && isOpTriviallyDead(zeros.getDefiningOp()))
    rewriter.eraseOp(zeros.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static remark::RemarkOpts remarkOpts(StringRef name, linalg::LinalgOp op) {
  remark::RemarkOpts opts =
      remark::RemarkOpts::name(name).category("moss-quantize");
  if (auto function = op->getParentOfType<FunctionOpInterface>())
    opts = opts.function(function.getName());
  return opts;
}

static std::string toString(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

namespace {
struct QuantizePass : moss::impl::MossQuantizeBase<QuantizePass> {
  using MossQuantizeBase::MossQuantizeBase;

  LogicalResult initialize(MLIRContext *context) override {
    FailureOr<MatmulScheme> parsed = parseSchemeOptions(
        {scheme, lhsScheme, rhsScheme, lhsGroup, rhsGroup, lhsFormat, rhsFormat,
         global, rounding, accumulate, promoteInterval},
        UnknownLoc::get(context));
    if (failed(parsed))
      return failure();
    matmulScheme = *parsed;
    return success();
  }

  void runOnOperation() override {
    SmallVector<Matmul> matmuls;
    SmallVector<Skipped> skipped;
    if (failed(collect(matmuls, skipped)))
      return signalPassFailure();
    if (warnUnquantized && matmuls.empty() && !skipped.empty())
      warn(skipped);
    Quantizer quantizer(matmulScheme, getAnalysis<DominanceInfo>());
    IRRewriter rewriter(&getContext());
    for (Matmul &matmul : matmuls) {
      remark::passed(matmul.op.getLoc(), remarkOpts("quantized", matmul.op))
          << remark::add(matmulScheme.lhs.isQuantized() ? "quantized to FP8"
                                                        : "kept in BF16")
          << remark::metric("lhs", toString(matmulScheme.lhs))
          << remark::metric("rhs", toString(matmulScheme.rhs))
          << remark::metric("accumulate", toString(matmulScheme.accumulate));
      remarkTransposes(matmul);
      quantizer.rewrite(matmul, rewriter);
    }
  }

private:
  /// Quantization transposes on its way; BF16 operands are copied for it.
  void remarkTransposes(Matmul &matmul) {
    if (matmulScheme.lhs.isQuantized())
      return;
    for (auto [name, transposed] : {std::pair{"left", matmul.lhsTransposed},
                                    {"right", matmul.rhsTransposed}})
      if (transposed)
        remark::missed(matmul.op.getLoc(), remarkOpts("transposed", matmul.op))
            << (StringRef("the ") + name +
                " operand is transposed first, in a pass of its own: it is not "
                "stored with K innermost")
                   .str();
  }

  /// Say that nothing becomes FP8, unless that is what the scheme says or the
  /// program has FP8 matmuls of its own.
  void warn(MutableArrayRef<Skipped> skipped) {
    bool isAsked =
        matmulScheme.lhs.isQuantized() || matmulScheme.rhs.isQuantized();
    if (!isAsked ||
        getOperation()
            ->walk([](ScaledMatmulOp) { return WalkResult::interrupt(); })
            .wasInterrupted())
      return;
    linalg::LinalgOp first = skipped.front().op;
    InFlightDiagnostic warning =
        emitWarning(first.getLoc())
        << "no matmul becomes FP8: this one is left alone, since "
        << skipped.front().reason;
    if (skipped.size() > 1)
      warning.attachNote(skipped[1].op.getLoc())
          << "so is this one" << (skipped.size() > 2 ? ", among others" : "")
          << "; remarks of moss-quantize give the reason of each";
  }

  /// The matmuls to rewrite, in the order in which they run. The others get a
  /// remark.
  LogicalResult collect(SmallVectorImpl<Matmul> &matmuls,
                        SmallVectorImpl<Skipped> &skipped) {
    WalkResult result = getOperation()->walk([&](linalg::LinalgOp op) {
      if (!isMatmulLike(op))
        return WalkResult::advance();
      std::string reason = getReasonToSkip(op);
      if (!reason.empty()) {
        remark::missed(op.getLoc(), remarkOpts("left-alone", op))
            << remark::add("left alone") << remark::reason("{0}", reason);
        skipped.push_back({op, std::move(reason)});
        return WalkResult::advance();
      }
      Matmul matmul = matchMatmul(op);
      if (failed(checkGroupsFit(op, "lhs", matmul.getLhs(),
                                matmul.lhsTransposed, matmulScheme.lhs)) ||
          failed(checkGroupsFit(op, "rhs", matmul.getRhs(),
                                matmul.rhsTransposed, matmulScheme.rhs)))
        return WalkResult::interrupt();
      matmuls.push_back(matmul);
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  MatmulScheme matmulScheme;
};
} // namespace
