//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-migrate-scales: multiply with bytes that were quantized along the other
// dimension, by moving their micro scales to the other operand.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSMIGRATESCALES
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

static constexpr llvm::StringLiteral kCategory = "moss-migrate-scales";

namespace {
/// An operand of a scaled matmul.
struct Factor {
  SchemeAttr scheme;
  Value payload, micro, global;
};

/// A factor that can be replaced.
struct Candidate {
  bool isLhs;
  /// What quantizes the factor anew.
  QuantizeOp quantize;
  /// The same values, quantized along the other dimension: the payload is the
  /// factor's transposed, [K, outer].
  Factor stored;
  /// What quantizes the other factor, if that has to take micro scales.
  QuantizeOp other;
};
} // namespace

static remark::RemarkOpts remarkOpts(StringRef name, Operation *op) {
  remark::RemarkOpts opts = remark::RemarkOpts::name(name).category(kCategory);
  if (auto function = op->getParentOfType<FunctionOpInterface>())
    opts = opts.function(function.getName());
  return opts;
}

//===----------------------------------------------------------------------===//
// Which factors are replaced
//===----------------------------------------------------------------------===//

/// Where the values that \p quantize reads are quantized along the other
/// dimension, before \p matmul.
static SmallVector<Factor> findStored(QuantizeOp quantize,
                                      ScaledMatmulOp matmul,
                                      DominanceInfo &dominance) {
  SmallVector<Factor> found;
  Value source = quantize.getSource();
  if (auto stored = source.getDefiningOp<DequantizeOp>();
      stored && quantize.getTranspose())
    found.push_back({stored.getScheme(), stored.getPayload(), stored.getMicro(),
                     stored.getGlobal()});
  for (Operation *user : source.getUsers()) {
    auto stored = dyn_cast<QuantizeOp>(user);
    if (!stored || stored.getSource() != source ||
        stored.getTranspose() == quantize.getTranspose() ||
        !dominance.properlyDominates(stored.getOperation(),
                                     matmul.getOperation()))
      continue;
    found.push_back({stored.getScheme(), stored.getPayloadResult(),
                     stored.getMicroResult(), stored.getResultScale()});
  }
  return found;
}

/// Why the micro scales of \p stored cannot go to the other factor, which
/// \p other quantizes; an empty string if they can.
static StringRef getReasonToStay(SchemeAttr stored, QuantizeOp other) {
  if (!stored.isMicroPowerOfTwo())
    return "its micro scales are not powers of two, so that moving them would "
           "round";
  if (!stored.isConstantAlongK())
    return "its micro scales change along a dimension of the result, too";
  if (stored.getGroupOuter() != 1)
    return "its micro groups span several elements of the sum; only those of "
           "single rows are moved";
  if (!other)
    return "the other operand is not quantized in this program, so that "
           "nothing "
           "can take the micro scales";
  SchemeAttr scheme = other.getScheme();
  if (scheme.needsGlobalOperand() ||
      (scheme.getGlobal() == GlobalScale::Unit && !scheme.hasMicro()))
    return "the other operand's scale is known beforehand, and would not fit "
           "what the micro scales make of it";
  return "";
}

/// Why \p stored cannot replace what \p quantize yields; an empty string if it
/// can.
static StringRef getReasonToSkip(const Factor &stored, QuantizeOp quantize,
                                 QuantizeOp other) {
  if (stored.scheme.getElementType() != quantize.getScheme().getElementType())
    return "it has another element type there";
  if (stored.scheme.getGlobal() == GlobalScale::Delayed)
    return "its global scale there is delayed, and may still be replaced";
  return stored.scheme.hasMicro() ? getReasonToStay(stored.scheme, other) : "";
}

/// The number of elements of a payload, as far as it is known.
static int64_t getKnownSize(QuantizeOp quantize) {
  auto type = cast<ShapedType>(quantize.getPayload().getType());
  return type.hasStaticShape() ? type.getNumElements() : 0;
}

/// The factor of \p matmul to replace: the one with more elements, if both can
/// be. A factor that exists in the other orientation but is of no use gets a
/// remark.
static std::optional<Candidate> findCandidate(ScaledMatmulOp matmul,
                                              DominanceInfo &dominance) {
  std::optional<Candidate> best;
  auto lhs = matmul.getLhs().getDefiningOp<QuantizeOp>();
  auto rhs = matmul.getRhs().getDefiningOp<QuantizeOp>();
  for (bool isLhs : {true, false}) {
    QuantizeOp quantize = isLhs ? lhs : rhs, other = isLhs ? rhs : lhs;
    if (!quantize ||
        (best && getKnownSize(best->quantize) >= getKnownSize(quantize)))
      continue;
    for (const Factor &stored : findStored(quantize, matmul, dominance)) {
      StringRef reason = getReasonToSkip(stored, quantize, other);
      if (reason.empty()) {
        best = {isLhs, quantize, stored, stored.micro ? other : QuantizeOp()};
        break;
      }
      remark::missed(matmul.getLoc(), remarkOpts("left-alone", matmul))
          << remark::add("{0} is quantized anew", isLhs ? "lhs" : "rhs")
          << remark::reason("{0}", reason);
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// The matrix \p source times a power of two for each element of K, in f32,
/// where the product is exact. \p source is [outer, K], or [K, outer] if
/// \p isTransposed; \p micro is [K, 1].
static Value multiplyAlongK(OpBuilder &builder, Location loc, Value source,
                            bool isTransposed, Value micro) {
  Value scales = tensor::CollapseShapeOp::create(
      builder, loc, micro, ArrayRef<ReassociationIndices>{{0, 1}});
  Value init = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, source),
      builder.getF32Type());
  AffineMap identity = builder.getMultiDimIdentityMap(2);
  AffineMap alongK =
      AffineMap::get(2, 0, builder.getAffineDimExpr(isTransposed ? 0 : 1));
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  auto multiply = [](OpBuilder &b, Location loc, ValueRange arguments) {
    auto widen = [&](Value value) -> Value {
      return value.getType().isF32()
                 ? value
                 : arith::ExtFOp::create(b, loc, b.getF32Type(), value);
    };
    Value product =
        arith::MulFOp::create(b, loc, widen(arguments[0]), widen(arguments[1]));
    linalg::YieldOp::create(b, loc, product);
  };
  return linalg::GenericOp::create(
             builder, loc, init.getType(), ValueRange{source, scales}, init,
             {identity, alongK, identity}, parallel, multiply)
      .getResult(0);
}

/// The stored payload with K innermost, under its global scale alone.
static Factor transpose(OpBuilder &builder, Location loc,
                        Candidate &candidate) {
  const Factor &stored = candidate.stored;
  Value payload = linalg::TransposeOp::create(builder, loc, stored.payload,
                                              candidate.quantize.getPayload(),
                                              ArrayRef<int64_t>{1, 0})
                      ->getResult(0);
  auto scheme = SchemeAttr::get(
      builder.getContext(), stored.scheme.getElementType(), Type(), 0, 0,
      stored.scheme.getGlobal(), ExponentRounding::Ceil);
  return {scheme, payload, Value(), stored.global};
}

/// Quantize the other factor anew, with the micro scales in it.
static Factor quantizeScaled(OpBuilder &builder, Location loc, QuantizeOp other,
                             Value micro) {
  Value source = multiplyAlongK(builder, loc, other.getSource(),
                                other.getTranspose(), micro);
  auto scaled = cast<QuantizeOp>(builder.clone(*other));
  scaled.getSourceMutable().assign(source);
  return {scaled.getScheme(), scaled.getPayloadResult(),
          scaled.getMicroResult(), scaled.getGlobalResult()};
}

static void rewrite(RewriterBase &rewriter, ScaledMatmulOp matmul,
                    Candidate &candidate) {
  Location loc = matmul.getLoc();
  rewriter.setInsertionPoint(matmul);
  Factor lhs{matmul.getLhsScheme(), matmul.getLhs(), matmul.getLhsMicro(),
             matmul.getLhsGlobal()};
  Factor rhs{matmul.getRhsScheme(), matmul.getRhs(), matmul.getRhsMicro(),
             matmul.getRhsGlobal()};
  (candidate.isLhs ? lhs : rhs) = transpose(rewriter, loc, candidate);
  if (candidate.other)
    (candidate.isLhs ? rhs : lhs) =
        quantizeScaled(rewriter, loc, candidate.other, candidate.stored.micro);
  rewriter.replaceOpWithNewOp<ScaledMatmulOp>(
      matmul, matmul.getResultTypes(), matmul.getAccumulateAttr(),
      matmul.getAccumulates(), lhs.scheme, lhs.payload, lhs.micro, lhs.global,
      rhs.scheme, rhs.payload, rhs.micro, rhs.global, matmul.getInit(),
      matmul.getScheduleAttr());
  for (QuantizeOp dead : {candidate.quantize, candidate.other})
    if (dead && isOpTriviallyDead(dead))
      rewriter.eraseOp(dead);
}

namespace {
struct MigrateScalesPass
    : moss::impl::MossMigrateScalesBase<MigrateScalesPass> {
  void runOnOperation() override {
    auto &dominance = getAnalysis<DominanceInfo>();
    SmallVector<ScaledMatmulOp> matmuls;
    getOperation()->walk([&](ScaledMatmulOp op) {
      if (op->getNumResults() != 0)
        matmuls.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (ScaledMatmulOp matmul : matmuls) {
      std::optional<Candidate> candidate = findCandidate(matmul, dominance);
      if (!candidate)
        continue;
      remark::passed(matmul.getLoc(), remarkOpts("migrated", matmul))
          << ((candidate->isLhs ? "lhs" : "rhs") +
              std::string(" takes the bytes that were quantized along the "
                          "other dimension") +
              (candidate->other ? ", and the other operand their micro scales"
                                : ""));
      rewrite(rewriter, matmul, *candidate);
      ++numMigrated;
    }
  }
};
} // namespace
