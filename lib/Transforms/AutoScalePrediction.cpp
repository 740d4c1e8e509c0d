//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How moss-auto-scale changes a function that quantizes weights.
//
//===----------------------------------------------------------------------===//

#include "AutoScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "moss/Transforms/StepBound.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::moss;

std::optional<unsigned> moss::findStep(func::FuncOp func) {
  for (unsigned number = 0; number < func.getNumArguments(); ++number)
    if (func.getArgAttr(number, WeightAttr::kStepName))
      return number;
  return std::nullopt;
}

remark::RemarkOpts moss::getRemarkOpts(StringRef name, func::FuncOp func) {
  return remark::RemarkOpts::name(name)
      .category("moss-auto-scale")
      .function(func.getName());
}

/// The argument that counts finished steps, added if there is none.
static Value getStep(func::FuncOp func) {
  if (std::optional<unsigned> number = findStep(func))
    return func.getArgument(*number);
  return appendArgument(func, IntegerType::get(func.getContext(), 64), "step");
}

/// Whether weights with this mark are measured after `step` steps.
static Value emitIsResetStep(ImplicitLocOpBuilder &b, Value step,
                             WeightAttr mark) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  Value rest = arith::RemSIOp::create(b, step, constant(mark.getInterval()));
  Value isReset =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, constant(0));
  if (auto loose = getFirstLooseStep(mark.getOptimizer())) {
    Value isLoose = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, step,
                                          constant(*loose));
    isReset = arith::OrIOp::create(b, isReset, isLoose);
  }
  return isReset;
}

/// Measure at reset steps what the function quantizes. `carried` has scales and
/// kept payloads, and is updated.
static void emitResets(ImplicitLocOpBuilder &b, const FunctionWeights &function,
                       const WeightTable &table, Value step,
                       SmallVectorImpl<Value> &carried) {
  // Weights that are measured at the same steps share a branch.
  using Schedule = std::pair<int64_t, int64_t>;
  llvm::MapVector<Schedule, SmallVector<WeightUse>> schedules;
  for (WeightUse use : function.uses) {
    WeightAttr mark = table.weights[use.weight].mark;
    int64_t loose = getFirstLooseStep(mark.getOptimizer()).value_or(0);
    schedules[{mark.getInterval(), loose}].push_back(use);
  }
  func::FuncOp func = function.func;
  for (auto &[schedule, uses] : schedules) {
    WeightAttr mark = table.weights[uses.front().weight].mark;
    Value isReset = emitIsResetStep(b, step, mark);
    auto branch = scf::IfOp::create(b, TypeRange(ValueRange(carried)), isReset,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, carried);
    b.setInsertionPointToStart(branch.thenBlock());
    IRMapping mapping;
    mapping.map(func.getArguments(), func.getArguments());
    emitMeasurement(b, table, function, uses, mapping, carried);
    scf::YieldOp::create(b, carried);
    carried.assign(branch.result_begin(), branch.result_end());
  }
}

/// Let the users of `op` take `payload` under `scale` instead.
static void replaceQuantize(QuantizeOp op, Value payload, Value scale) {
  SchemeAttr scheme = getGivenScheme(op);
  for (Operation *user : op.getPayloadResult().getUsers()) {
    auto matmul = dyn_cast<ScaledMatmulOp>(user);
    if (matmul && matmul.getLhs() == op.getPayloadResult())
      matmul.setLhsSchemeAttr(scheme);
    if (matmul && matmul.getRhs() == op.getPayloadResult())
      matmul.setRhsSchemeAttr(scheme);
    if (auto dequantize = dyn_cast<DequantizeOp>(user))
      dequantize.setSchemeAttr(scheme);
  }
  op->replaceAllUsesWith(ValueRange{payload, scale});
}

void moss::predictScales(const FunctionWeights &function,
                         const WeightTable &table) {
  func::FuncOp func = function.func;
  auto b = ImplicitLocOpBuilder::atBlockBegin(func.getLoc(),
                                              &func.getBody().front());
  Value step = getStep(func);
  Value zero = arith::ConstantIntOp::create(b, 0, 64);
  cf::AssertOp::create(
      b, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, step, zero),
      "moss-auto-scale: the number of finished steps must not be negative");
  SmallVector<Value> carried{getScales(b, func, table)};
  llvm::append_range(carried, appendKeptPayloads(func, function));
  SmallVector<Value> kept = carried;
  emitResets(b, function, table, step, carried);
  DenseMap<unsigned, Value> slices;
  for (WeightUse use : function.uses) {
    const PredictedWeight &weight = table.weights[use.weight];
    Value &scale = slices[use.weight];
    if (!scale)
      scale = extractScalar(b, carried[0], weight.row);
    QuantizeOp op = use.quantize;
    remark::passed(op.getLoc(), getRemarkOpts("predicted", func))
        << remark::add("the weight's scale is predicted")
        << remark::metric("weight", weight.name)
        << remark::metric("row", weight.row)
        << remark::metric("interval", weight.mark.getInterval());
    OpBuilder inPlace(op);
    Value payload =
        function.kept.empty()
            ? createGiven(inPlace, op, op.getSource(), scale, op.getPayload())
                  .getPayloadResult()
            : carried[1 + function.getKept(use)];
    replaceQuantize(op, payload, scale);
  }
  if (function.updates.empty())
    putScales(func, table, kept[0], carried[0]);
  else
    emitUpdates(table, function, step, kept, carried);
  for (WeightUse use : function.uses)
    use.quantize.erase();
}
