//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expands moss.next_delayed_scale to one parallel loop over the tensors. A
// history is rolled where it is, in vectors, so that a thread of a GPU has
// several loads under way.
//
//===----------------------------------------------------------------------===//

#include "ExpandNextScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::moss;

/// The values of a history that are moved at once.
static constexpr int64_t kWidth = 16;

namespace {
/// Of one history: the last value and the largest one.
struct Amax {
  Value newest, largest;
};

/// The amax that counts, and what it is scaled to.
struct Decision {
  Value amax, target;
};

class Expander {
public:
  explicit Expander(NextDelayedScaleOp op)
      : b(op.getLoc(), op), op(op), history(op.getHistory()),
        length(op.getHistoryLength()) {}
  void expand();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value constant(double value) {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  }
  Value emitRoll(Value i, Value newest);
  Value emitRollFrom(Value i, int64_t begin, int64_t end, int64_t width,
                     Value amax);
  void applyRule(AmaxRuleAttr rule, Value isFromHere, Amax amax,
                 Decision &decision);
  Decision emitDecision(Value i, Amax amax);
  void emitScale(Value i, Decision decision);

  ImplicitLocOpBuilder b;
  NextDelayedScaleOp op;
  Value history;
  int64_t length;
};
} // namespace

/// Move the values at [begin + 1, end + 1) one place ahead, `width` at a time,
/// and return the largest of them and `amax`. A value is read before it is
/// overwritten.
Value Expander::emitRollFrom(Value i, int64_t begin, int64_t end, int64_t width,
                             Value amax) {
  if (begin == end)
    return amax;
  auto type = VectorType::get(width, b.getF32Type());
  auto loop =
      scf::ForOp::create(b, index(begin), index(end), index(width), amax);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value to = loop.getInductionVar();
  Value from = arith::AddIOp::create(b, to, index(1));
  Value values = vector::LoadOp::create(b, type, history, ValueRange{i, from});
  vector::StoreOp::create(b, values, history, ValueRange{i, to});
  Value max = vector::ReductionOp::create(b, vector::CombiningKind::MAXNUMF,
                                          values, loop.getRegionIterArg(0));
  scf::YieldOp::create(b, max);
  return loop.getResult(0);
}

/// Roll the history of tensor `i`, and return its largest value.
Value Expander::emitRoll(Value i, Value newest) {
  int64_t rest = (length - 1) % kWidth;
  int64_t whole = length - 1 - rest;
  Value amax = emitRollFrom(i, 0, whole, kWidth, newest);
  amax = emitRollFrom(i, whole, length - 1, 1, amax);
  memref::StoreOp::create(b, newest, history, ValueRange{i, index(length - 1)});
  memref::StoreOp::create(b, constant(0), history, ValueRange{i, index(0)});
  return amax;
}

/// Let `rule` decide where `isFromHere` is true or null.
void Expander::applyRule(AmaxRuleAttr rule, Value isFromHere, Amax amax,
                         Decision &decision) {
  bool isMax = rule.getAlgorithm() == AmaxAlgorithm::Max;
  Decision own{isMax ? amax.largest : amax.newest, constant(rule.getTarget())};
  if (isFromHere)
    for (Value Decision::*part : {&Decision::amax, &Decision::target})
      own.*part =
          arith::SelectOp::create(b, isFromHere, own.*part, decision.*part);
  decision = own;
}

Decision Expander::emitDecision(Value i, Amax amax) {
  Decision decision;
  int64_t begin = 0;
  for (auto [rule, count] : llvm::zip_equal(op.getRuleAttrs(), op.getRows())) {
    Value isFromHere;
    if (begin != 0)
      isFromHere =
          arith::CmpIOp::create(b, arith::CmpIPredicate::uge, i, index(begin));
    applyRule(rule, isFromHere, amax, decision);
    begin += count;
  }
  return decision;
}

void Expander::emitScale(Value i, Decision decision) {
  auto [amax, target] = decision;
  Value infinity = constant(std::numeric_limits<double>::infinity());
  Value isPositive =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, amax, constant(0));
  Value isFinite =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, amax, infinity);
  Value isUsable = arith::AndIOp::create(b, isPositive, isFinite);
  Value factor = arith::DivFOp::create(b, target, amax);
  factor = arith::MaxNumFOp::create(b, factor, constant(0x1p-126));
  factor = arith::MinNumFOp::create(b, factor, constant(0x1p126));
  Value scale = arith::DivFOp::create(b, constant(1), factor);
  Value old = memref::LoadOp::create(b, op.getScales(), i);
  Value next = arith::SelectOp::create(b, isUsable, scale, old);
  memref::StoreOp::create(b, next, op.getScales(), i);
}

void Expander::expand() {
  Value count = index(llvm::sum_of(op.getRows()));
  auto loop = scf::ParallelOp::create(b, index(0), count, index(1));
  b.setInsertionPointToStart(loop.getBody());
  Value i = loop.getInductionVars().front();
  Value newest = memref::LoadOp::create(b, history, ValueRange{i, index(0)});
  Value largest = emitRoll(i, newest);
  emitScale(i, emitDecision(i, {newest, largest}));
  op.erase();
}

void moss::expandDelayedScale(NextDelayedScaleOp op) { Expander(op).expand(); }
