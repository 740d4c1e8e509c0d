//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expands moss.next_scale and, by ExpandDelayedScale.cpp,
// moss.next_delayed_scale. Of the former, what depends on the learning rate and
// the step alone is computed once, by the host on a GPU; one parallel loop
// updates the weights.
//
//===----------------------------------------------------------------------===//

#include "ExpandNextScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/StepBound.h"
#include "moss/Transforms/WeightScale.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSEXPANDNEXTSCALE
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Covers eight roundings to f32 in the optimizer's own arithmetic.
static constexpr double kOptimizerSlack = 1 + 0x1p-21;

namespace {
/// What a step does to the bound B of one rule's weights: B' = keep * B + gain,
/// where gain is lr * c_t, or lr times the bound on momentum or gradient.
struct Step {
  Value keep;
  Value gain;
};

/// A weight's bound, that on its momentum, and its scale.
struct Row {
  Value bound, momentum, scale;
};

class Expander {
public:
  explicit Expander(NextScaleOp op) : b(op.getLoc(), op), op(op) {}
  void expand();

private:
  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  void require(Value condition, const Twine &message);
  void checkRate();
  Step emitStep(ScaleRuleAttr rule);
  void emitRow(Value i, ArrayRef<Step> steps);
  Row emitRule(ScaleRuleAttr rule, Step step, Row old, Value isMeasured,
               Value amax);

  ImplicitLocOpBuilder b;
  NextScaleOp op;
  /// The learning rate and the step number as f64.
  Value rate, number;
};
} // namespace

//===----------------------------------------------------------------------===//
// Once for all weights
//===----------------------------------------------------------------------===//

void Expander::require(Value condition, const Twine &message) {
  cf::AssertOp::create(b, condition, ("moss.next_scale: " + message).str());
}

void Expander::checkRate() {
  Value one = arith::ConstantIntOp::create(b, 1, 64);
  require(
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, op.getStep(), one),
      "the step number must be at least 1, as optimizer steps count from 1");
  Value infinity = constant(std::numeric_limits<double>::infinity());
  Value isPositive =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, rate, constant(0));
  Value isFinite =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, rate, infinity);
  require(arith::AndIOp::create(b, isPositive, isFinite),
          "the learning rate must be finite and not negative");
  double decay = 0;
  for (ScaleRuleAttr rule : op.getRuleAttrs())
    if (rule.getOptimizer().shrinksWeights())
      decay = std::max(decay, rule.getOptimizer().getWeightDecay());
  if (decay == 0)
    return;
  SmallString<16> text;
  APFloat(decay).toString(text);
  require(arith::CmpFOp::create(b, arith::CmpFPredicate::OLE,
                                mul(rate, constant(decay)), constant(1)),
          "the learning rate times the weight decay of " + text +
              " exceeds 1, which would flip weights; lower one of them");
}

Step Expander::emitStep(ScaleRuleAttr rule) {
  OptimizerAttr optimizer = rule.getOptimizer();
  Step step{constant(1), rate};
  if (optimizer.shrinksWeights())
    step.keep = arith::SubFOp::create(
        b, step.keep, mul(rate, constant(optimizer.getWeightDecay())));
  if (optimizer.getKind() == OptimizerKind::Adam ||
      optimizer.getKind() == OptimizerKind::AdamW)
    step.gain = mul(rate, StepBound(optimizer).emit(b, number));
  return step;
}

//===----------------------------------------------------------------------===//
// For each weight
//===----------------------------------------------------------------------===//

Row Expander::emitRule(ScaleRuleAttr rule, Step step, Row old, Value isMeasured,
                       Value amax) {
  OptimizerAttr optimizer = rule.getOptimizer();
  WeightScale weightScale(rule);
  Value measured = weightScale.emitBoundOfScale(b, old.scale);
  Value bound = arith::SelectOp::create(b, isMeasured, measured, old.bound);
  Row row = old;
  Value gain = step.gain;
  if (optimizer.isBoundedByGradient()) {
    row.momentum = amax;
    if (optimizer.getKind() == OptimizerKind::Momentum) {
      Value kept = mul(constant(optimizer.getMomentum()), old.momentum);
      Value sum = add(kept, amax);
      if (optimizer.getWeightDecay() != 0)
        sum = add(sum, mul(constant(optimizer.getWeightDecay()), bound));
      row.momentum = mul(sum, constant(kOptimizerSlack));
    }
    gain = mul(gain, row.momentum);
  }
  row.bound = mul(add(mul(step.keep, bound), gain), constant(kOptimizerSlack));
  row.bound = weightScale.emitRoundingToMaster(b, row.bound);
  row.scale = weightScale.emitScaleOfBound(b, row.bound);
  return row;
}

void Expander::emitRow(Value i, ArrayRef<Step> steps) {
  auto field = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(b, number);
  };
  auto load = [&](int64_t number) -> Value {
    return memref::LoadOp::create(b, op.getState(),
                                  ValueRange{i, field(number)});
  };
  auto extend = [&](Value value) -> Value {
    return arith::ExtFOp::create(b, b.getF64Type(), value);
  };
  Value scale = memref::LoadOp::create(b, op.getScales(), i);
  Row old{load(0), load(1), extend(scale)};
  // True for a NaN, which thereby stays.
  Value isMeasured =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, old.scale, load(2));
  Value amax;
  if (op.getAmax())
    amax = extend(memref::LoadOp::create(b, op.getAmax(), i));

  Row row;
  int64_t end = 0;
  for (auto [rule, count, step] :
       llvm::zip_equal(op.getRuleAttrs(), op.getRows(), steps)) {
    Row next = emitRule(rule, step, old, isMeasured, amax);
    int64_t begin = end;
    end += count;
    if (begin == 0) {
      row = next;
      continue;
    }
    Value isThis =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, i, field(begin));
    for (Value Row::*part : {&Row::bound, &Row::momentum, &Row::scale})
      row.*part = arith::SelectOp::create(b, isThis, next.*part, row.*part);
  }
  memref::StoreOp::create(b, row.scale, op.getScales(), i);
  Value fields[] = {row.bound, row.momentum, extend(row.scale)};
  for (auto [number, value] : llvm::enumerate(fields))
    memref::StoreOp::create(b, value, op.getState(),
                            ValueRange{i, field(number)});
}

void Expander::expand() {
  rate = op.getLr();
  if (!rate.getType().isF64())
    rate = arith::ExtFOp::create(b, b.getF64Type(), rate);
  number = arith::SIToFPOp::create(b, b.getF64Type(), op.getStep());
  checkRate();
  SmallVector<Step> steps;
  for (ScaleRuleAttr rule : op.getRuleAttrs())
    steps.push_back(emitStep(rule));
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value count = arith::ConstantIndexOp::create(b, llvm::sum_of(op.getRows()));
  auto loop = scf::ParallelOp::create(b, zero, count, one);
  b.setInsertionPointToStart(loop.getBody());
  emitRow(loop.getInductionVars().front(), steps);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct ExpandNextScalePass
    : moss::impl::MossExpandNextScaleBase<ExpandNextScalePass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](Operation *op) {
      if (!isa<NextScaleOp, NextDelayedScaleOp>(op))
        return WalkResult::advance();
      if (op->getNumResults() != 0) {
        op->emitOpError("on tensors cannot be expanded; bufferize it first");
        return WalkResult::interrupt();
      }
      if (auto nextScale = dyn_cast<NextScaleOp>(op)) {
        Expander(nextScale).expand();
        return WalkResult::advance();
      }
      auto delayedScale = cast<NextDelayedScaleOp>(op);
      if (!delayedScale.getAmax().empty()) {
        op->emitOpError("has amax operands; run moss-place-amax first");
        return WalkResult::interrupt();
      }
      expandDelayedScale(delayedScale);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
