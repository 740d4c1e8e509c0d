//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-delay-scales: keep amax histories from one call of a function to the
// next, and let delayed scales follow from them.
//
//===----------------------------------------------------------------------===//

#include "DescribeOperand.h"
#include "ScaleState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "moss/Transforms/CInterface.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSDELAYSCALES
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

static constexpr StringLiteral kScalesName = "delayed_scales";
static constexpr StringLiteral kHistoryName = "amax_history";
static constexpr StringLiteral kInitSuffix = "_init_delayed_scales";
/// Beyond, nobody needs more, and an index in bytes stays small.
static constexpr int64_t kMaxHistory = 65536;
/// What the tables hold before the first call.
static constexpr float kInitialScale = 1, kInitialAmax = 0;

namespace {
/// A matrix that is quantized to one format: by the first of `ops`, which
/// measures its amax, and by others.
struct DelayedTensor {
  Value source;
  Type payloadType;
  SmallVector<QuantizeOp> ops;
};

/// What a function quantizes under delayed scales; a row each, in this order.
struct DelayedFunction {
  func::FuncOp func;
  SmallVector<DelayedTensor> tensors;
};

struct DelayScalesPass : moss::impl::MossDelayScalesBase<DelayScalesPass> {
  using MossDelayScalesBase::MossDelayScalesBase;
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult collect(DelayedFunction &function);
  LogicalResult addState(const DelayedFunction &function,
                         const SymbolUserMap &users);
  NextDelayedScaleOp emitNext(const DelayedFunction &function, ValueRange amax,
                              Value scales, Value history);
  LogicalResult addInit(func::FuncOp func, RankedTensorType scales,
                        RankedTensorType history);

  AmaxAlgorithm parsedAlgorithm = AmaxAlgorithm::Max;
};
} // namespace

//===----------------------------------------------------------------------===//
// Which quantizations have delayed scales
//===----------------------------------------------------------------------===//

static bool hasInitialScale(QuantizeOp op) {
  return op->getNumResults() != 0 &&
         op.getScheme().getGlobal() == GlobalScale::Delayed &&
         matchPattern(op.getScale(), m_OneFloat());
}

/// Whether state can belong to the op: it runs once in each call, and its scale
/// can be replaced wherever its payload goes.
static LogicalResult checkOp(QuantizeOp op, func::FuncOp func) {
  Operation *parent = op->getParentOp();
  if (parent != func)
    return op.emitOpError("has a delayed scale, but is in '")
           << parent->getName()
           << "', and one call of the function has one amax; move it out, or "
              "use a 'jit' scale";
  if (!func.getBody().hasOneBlock())
    return op.emitOpError("has a delayed scale, but its function has several "
                          "blocks; use structured control flow, or a 'jit' "
                          "scale");
  for (Operation *user : op.getPayloadResult().getUsers())
    if (!isa<ScaledMatmulOp, DequantizeOp>(user)) {
      InFlightDiagnostic diag =
          op.emitOpError("has a delayed scale, but a payload that more than "
                         "matmuls use; hand the scale over yourself, as an "
                         "operand that is no constant");
      diag.attachNote(user->getLoc()) << "used here";
      return diag;
    }
  return success();
}

/// Let each rule have consecutive rows: E4M3 first, and then E5M2.
static void sortByFormat(SmallVectorImpl<DelayedTensor> &tensors) {
  SmallVector<DelayedTensor> sorted;
  for (bool isE4M3 : {true, false})
    for (const DelayedTensor &tensor : tensors)
      if (isa<Float8E4M3FNType>(tensor.payloadType) == isE4M3)
        sorted.push_back(tensor);
  tensors = std::move(sorted);
}

LogicalResult DelayScalesPass::collect(DelayedFunction &function) {
  func::FuncOp func = function.func;
  WalkResult result = func.walk([&](QuantizeOp op) {
    if (!hasInitialScale(op))
      return WalkResult::advance();
    if (failed(checkOp(op, func)))
      return WalkResult::interrupt();
    Type payloadType = op.getScheme().getElementType();
    auto *known = llvm::find_if(function.tensors, [&](DelayedTensor &tensor) {
      return tensor.source == op.getSource() &&
             tensor.payloadType == payloadType;
    });
    if (known == function.tensors.end()) {
      function.tensors.push_back({op.getSource(), payloadType, {}});
      known = &function.tensors.back();
    }
    known->ops.push_back(op);
    return WalkResult::advance();
  });
  sortByFormat(function.tensors);
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The rewrite
//===----------------------------------------------------------------------===//

/// Let what uses the payload of `op` take it under `scheme` and `scale`.
static void setScale(QuantizeOp op, SchemeAttr scheme, Value scale) {
  Value payload = op.getPayloadResult();
  for (Operation *user : payload.getUsers()) {
    if (auto dequantize = dyn_cast<DequantizeOp>(user)) {
      dequantize.setSchemeAttr(scheme);
      dequantize.getGlobalMutable().assign(scale);
      continue;
    }
    auto matmul = cast<ScaledMatmulOp>(user);
    if (matmul.getLhs() == payload) {
      matmul.setLhsSchemeAttr(scheme);
      matmul.getLhsGlobalMutable().assign(scale);
    }
    if (matmul.getRhs() == payload) {
      matmul.setRhsSchemeAttr(scheme);
      matmul.getRhsGlobalMutable().assign(scale);
    }
  }
}

/// Let the op that measures the matrix quantize under the scale in `scales`.
static void rewriteFirst(QuantizeOp op, int64_t row, Value scales) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value scale = extractScalar(b, scales, row);
  setScale(op, op.getScheme(), scale);
  op.getScaleMutable().assign(scale);
}

/// Let an op take the scale of a matrix that another measures.
static void rewriteOther(QuantizeOp op, int64_t row, Value scales) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value scale = extractScalar(b, scales, row);
  if (!op.getGlobalResult().use_empty()) {
    setScale(op, op.getScheme(), scale);
    op.getScaleMutable().assign(scale);
    return;
  }
  setScale(op, getGivenScheme(op), scale);
  SmallVector<Type> types(op->getResultTypes());
  types.pop_back();
  auto given =
      QuantizeOp::create(b, types, getGivenScheme(op), op.getTranspose(),
                         op.getSource(), scale, op.getPayload(), op.getMicro(),
                         /*global=*/Value());
  op.getPayloadResult().replaceAllUsesWith(given.getPayloadResult());
  if (op.getMicroResult())
    op.getMicroResult().replaceAllUsesWith(given.getMicroResult());
  op.erase();
}

/// Mark an argument as a table with these rows, which begins as `initial`.
static void describeTable(Value argument, ArrayAttr rows, float initial) {
  auto blockArgument = cast<BlockArgument>(argument);
  auto func = cast<func::FuncOp>(blockArgument.getOwner()->getParentOp());
  Builder b(func.getContext());
  unsigned number = blockArgument.getArgNumber();
  func.setArgAttr(number, kRowsAttrName, rows);
  func.setArgAttr(number, kInitialAttrName, b.getF32FloatAttr(initial));
}

/// Let the function quantize under the scales in its argument. Returns what is
/// measured on the way, by rows.
static SmallVector<Value> rewriteOps(const DelayedFunction &function,
                                     ArrayAttr names, Value scales) {
  func::FuncOp func = function.func;
  SmallVector<Value> measured;
  for (auto [row, tensor] : llvm::enumerate(function.tensors)) {
    QuantizeOp first = tensor.ops.front();
    remark::passed(first.getLoc(), remark::RemarkOpts::name("delayed")
                                       .category("moss-delay-scales")
                                       .function(func.getName()))
        << remark::add("the scale follows from the amax of earlier calls")
        << remark::metric("matrix", cast<StringAttr>(names[row]).getValue())
        << remark::metric("row", row);
    rewriteFirst(first, row, scales);
    for (QuantizeOp op : ArrayRef(tensor.ops).drop_front())
      rewriteOther(op, row, scales);
    measured.push_back(first.getGlobalResult());
  }
  return measured;
}

/// The tables for the next call.
NextDelayedScaleOp DelayScalesPass::emitNext(const DelayedFunction &function,
                                             ValueRange amax, Value scales,
                                             Value history) {
  SmallVector<Attribute> rules;
  SmallVector<int64_t> counts;
  for (const DelayedTensor &tensor : function.tensors) {
    auto rule = AmaxRuleAttr::get(&getContext(), tensor.payloadType,
                                  parsedAlgorithm, margin);
    if (rules.empty() || rules.back() != rule) {
      rules.push_back(rule);
      counts.push_back(0);
    }
    ++counts.back();
  }
  func::FuncOp func = function.func;
  // After all that reads the scales, so that they are updated in place.
  ImplicitLocOpBuilder b(func.getLoc(), func.getBody().front().getTerminator());
  return NextDelayedScaleOp::create(
      b, TypeRange{scales.getType(), history.getType()}, b.getArrayAttr(rules),
      counts, amax, scales, history);
}

LogicalResult DelayScalesPass::addState(const DelayedFunction &function,
                                        const SymbolUserMap &users) {
  func::FuncOp func = function.func;
  if (failed(checkNotCalled(func, users, "has delayed scales",
                            "inline it, or use 'jit' scales")))
    return failure();
  Builder b(&getContext());
  int64_t count = function.tensors.size();
  auto scalesType = RankedTensorType::get(count, b.getF32Type());
  auto historyType =
      RankedTensorType::get({count, amaxHistory}, b.getF32Type());
  if (failed(addInit(func, scalesType, historyType)))
    return failure();
  SmallVector<Attribute> names;
  for (const DelayedTensor &tensor : function.tensors)
    names.push_back(b.getStringAttr(describeOperand(tensor.ops.front())));
  ArrayAttr rows = b.getArrayAttr(names);
  Value scales = appendArgument(func, scalesType, kScalesName);
  Value kept = appendArgument(func, historyType, kHistoryName);
  describeTable(scales, rows, kInitialScale);
  describeTable(kept, rows, kInitialAmax);
  SmallVector<Value> amax = rewriteOps(function, rows, scales);
  NextDelayedScaleOp next = emitNext(function, amax, scales, kept);
  appendUpdate(func, scales, next.getResult(0));
  appendUpdate(func, kept, next.getResult(1));
  return success();
}

/// The function that makes the tables what they are before the first call.
LogicalResult DelayScalesPass::addInit(func::FuncOp func,
                                       RankedTensorType scales,
                                       RankedTensorType history) {
  std::string name = (func.getName() + kInitSuffix).str();
  if (Operation *other = getOperation().lookupSymbol(name))
    return other->emitError("has the name '")
           << name << "', which moss-delay-scales needs; rename it";
  ImplicitLocOpBuilder b(func.getLoc(), &getContext());
  b.setInsertionPointAfter(func);
  Type types[] = {scales, history};
  auto init = func::FuncOp::create(b, name, b.getFunctionType(types, types));
  init.setVisibility(func.getVisibility());
  if (func->hasAttr(kArgumentNamesAttrName))
    init->setAttr(kArgumentNamesAttrName,
                  b.getStrArrayAttr({kScalesName, kHistoryName}));
  b.setInsertionPointToStart(init.addEntryBlock());
  float initial[] = {kInitialScale, kInitialAmax};
  SmallVector<Value> values;
  for (auto [argument, value] : llvm::zip_equal(init.getArguments(), initial)) {
    Value scalar = arith::ConstantOp::create(b, b.getF32FloatAttr(value));
    values.push_back(
        linalg::FillOp::create(b, scalar, Value(argument)).getResult(0));
  }
  returnUpdates(b, init, values);
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult DelayScalesPass::initialize(MLIRContext *context) {
  auto fail = [&](StringRef option, StringRef range, const Twine &value) {
    return emitError(UnknownLoc::get(context))
           << "option '" << option << "' must be " << range << ", but is '"
           << value << "'";
  };
  if (amaxHistory < 1 || amaxHistory > kMaxHistory)
    return fail("amax-history", "between 1 and 65536", Twine(amaxHistory));
  if (margin < 0 || margin > 100)
    return fail("margin", "between 0 and 100", Twine(margin));
  std::optional<AmaxAlgorithm> parsed = symbolizeAmaxAlgorithm(amaxAlgorithm);
  if (!parsed)
    return fail("amax-algorithm", "'max' or 'most_recent'", amaxAlgorithm);
  parsedAlgorithm = *parsed;
  return success();
}

void DelayScalesPass::runOnOperation() {
  SmallVector<DelayedFunction> functions;
  for (auto func : getOperation().getOps<func::FuncOp>()) {
    DelayedFunction function{func, {}};
    if (failed(collect(function)))
      return signalPassFailure();
    if (!function.tensors.empty())
      functions.push_back(std::move(function));
  }
  if (functions.empty())
    return markAllAnalysesPreserved();
  SymbolTableCollection symbols;
  SymbolUserMap users(symbols, getOperation());
  for (const DelayedFunction &function : functions)
    if (failed(addState(function, users)))
      return signalPassFailure();
}
