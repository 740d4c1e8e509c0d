//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions that contain the optimizer step. The scale of an updated weight is
// known before the weight is, so that it is quantized where it is computed, for
// the next call.
//
//===----------------------------------------------------------------------===//

#include "AutoScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "moss/Transforms/UpdatedArguments.h"

using namespace mlir;
using namespace mlir::moss;

/// The number of the argument that is marked as learning rate.
static std::optional<unsigned> findRate(func::FuncOp func) {
  for (unsigned number = 0; number < func.getNumArguments(); ++number)
    if (func.getArgAttr(number, WeightAttr::kRateName))
      return number;
  return std::nullopt;
}

/// The updates of weights that results of `function` are marked as.
static LogicalResult collectMarks(const WeightTable &table,
                                  FunctionWeights &function) {
  func::FuncOp func = function.func;
  FailureOr<UpdatedArguments> updates = getUpdatedArguments(func);
  if (failed(updates))
    return failure();
  for (auto [result, argument] : llvm::enumerate(*updates)) {
    if (!argument)
      continue;
    auto weight =
        func.getArgAttrOfType<WeightAttr>(*argument, WeightAttr::kMarkName);
    if (!weight)
      continue;
    std::string name = weight.getName()
                           ? weight.getName().str()
                           : (func.getName() + ":" + Twine(*argument)).str();
    auto *known = llvm::find_if(table.weights, [&](const PredictedWeight &w) {
      return w.name == name;
    });
    if (known == table.weights.end())
      return func.emitError("result ")
             << result << " is marked to update argument " << *argument
             << ", which is no weight whose scale is predicted";
    function.updates.push_back(
        {static_cast<unsigned>(known - table.weights.begin()), *argument,
         static_cast<unsigned>(result)});
  }
  return success();
}

/// Everything that an update needs is there.
static LogicalResult checkUpdates(const WeightTable &table,
                                  const FunctionWeights &function) {
  func::FuncOp func = function.func;
  llvm::SmallDenseSet<unsigned> updated;
  for (WeightUpdate update : function.updates)
    updated.insert(update.weight);
  if (updated.size() != table.weights.size() || table.functions.size() != 1)
    return func.emitError("updates ")
           << updated.size() << " of the module's " << table.weights.size()
           << " marked weights; a function that updates weights must be the "
              "only one that uses marked weights, and update them all";
  if (table.state != ScaleState::Arguments)
    return func.emitError("updates weights, whose scales must then be "
                          "arguments, but are globals");
  if (!func.getBody().hasOneBlock())
    return func.emitError("updates weights, but has several blocks");
  std::optional<unsigned> rate = findRate(func);
  if (!rate ||
      !isa<Float32Type, Float64Type>(func.getArgument(*rate).getType()))
    return func.emitError("updates weights, but has no argument of f32 or f64 "
                          "that is marked '")
           << WeightAttr::kRateName << "'";
  return success();
}

LogicalResult moss::collectUpdates(WeightTable &table) {
  for (FunctionWeights &function : table.functions) {
    if (failed(collectMarks(table, function)))
      return failure();
    if (function.updates.empty())
      continue;
    if (failed(checkUpdates(table, function)))
      return failure();
    for (WeightUse use : function.uses) {
      bool isKnown = llvm::any_of(function.kept, [&](WeightUse other) {
        return other.weight == use.weight &&
               other.quantize.getTranspose() == use.quantize.getTranspose();
      });
      if (!isKnown)
        function.kept.push_back(use);
    }
  }
  return success();
}

/// The scales after the function's step.
static NextScaleOp emitNextScale(ImplicitLocOpBuilder &b,
                                 const WeightTable &table, func::FuncOp func,
                                 Value step, Value scales) {
  Value state =
      appendArgument(func, table.getStateType(b.getContext()), "state");
  Value amax;
  if (table.needsAmax())
    amax = appendArgument(func, scales.getType(), "amax");
  Value one = arith::ConstantIntOp::create(b, 1, 64);
  Value number = arith::AddIOp::create(b, step, one);
  SmallVector<Attribute> rules(table.rules.begin(), table.rules.end());
  return NextScaleOp::create(b, TypeRange{scales.getType(), state.getType()},
                             b.getArrayAttr(rules), table.rows,
                             func.getArgument(*findRate(func)), number, amax,
                             scales, state);
}

void moss::emitUpdates(const WeightTable &table,
                       const FunctionWeights &function, Value step,
                       ArrayRef<Value> kept, ArrayRef<Value> carried) {
  func::FuncOp func = function.func;
  Operation *ret = func.getBody().front().getTerminator();
  SmallVector<Value> returned(ret->getOperands());
  // Ahead of the updates, so that their loops can quantize.
  Operation *first = ret;
  for (WeightUpdate update : function.updates)
    if (Operation *op = returned[update.result].getDefiningOp())
      if (op->isBeforeInBlock(first))
        first = op;
  ImplicitLocOpBuilder b(func.getLoc(), first);
  NextScaleOp next = emitNextScale(b, table, func, step, carried[0]);
  SmallVector<Value> scales;
  for (WeightUse use : function.kept)
    scales.push_back(
        extractScalar(b, next.getResult(0), table.weights[use.weight].row));
  appendUpdate(func, kept[0], next.getResult(0));
  appendUpdate(func, next.getState(), next.getResult(1));

  b.setInsertionPoint(ret);
  IRMapping mapping;
  mapping.map(func.getArguments(), func.getArguments());
  for (WeightUpdate update : function.updates)
    mapping.map(func.getArgument(update.argument), returned[update.result]);
  for (auto [use, scale, argument, payload] : llvm::zip_equal(
           function.kept, scales, kept.drop_front(), carried.drop_front())) {
    QuantizeOp op = use.quantize;
    Value source = cloneFromEntry(b, op.getSource(), mapping);
    appendUpdate(func, argument,
                 createGiven(b, op, source, scale, payload).getPayloadResult());
  }
}
