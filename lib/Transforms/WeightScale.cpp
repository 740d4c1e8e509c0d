//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/WeightScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::moss;

/// More than a few roundings of f64 take off.
static constexpr double kF64Slack = 1 + 0x1p-50;

/// More than half an ulp of f32: what is rounded to nearest after this factor
/// is not below what it was.
static constexpr double kF32Slack = 1 + 0x1p-23;

/// Bits of f64's significand that bf16 does not have.
static constexpr int64_t kBitsBelowBF16 = 52 - 7;

static Value constant(ImplicitLocOpBuilder &b, double value) {
  return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
}

WeightScale::WeightScale(ScaleRuleAttr rule)
    : hasBF16Master(rule.getMaster().isBF16()),
      maxFinite(APFloat::getLargest(
                    cast<FloatType>(rule.getPayloadType()).getFloatSemantics())
                    .convertToDouble()),
      copySlack(hasBF16Master ? 1 : 1 + 0x1p-8) {}

Value WeightScale::emitBoundOfScale(ImplicitLocOpBuilder &b,
                                    Value scale) const {
  return arith::MulFOp::create(b, scale,
                               constant(b, maxFinite * copySlack * kF64Slack));
}

Value WeightScale::emitScaleOfBound(ImplicitLocOpBuilder &b,
                                    Value bound) const {
  // A multiplication, as the division of f64 is a subroutine on a GPU.
  Value exact = arith::MulFOp::create(
      b, bound, constant(b, copySlack * kF32Slack * kF64Slack / maxFinite));
  Value above = arith::MaximumFOp::create(b, exact, constant(b, 0x1p-126));
  return arith::TruncFOp::create(b, b.getF32Type(), above);
}

Value WeightScale::emitRoundingToMaster(ImplicitLocOpBuilder &b,
                                        Value bound) const {
  if (!hasBF16Master)
    return bound;
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 64);
  };
  Value bits = arith::BitcastOp::create(b, b.getI64Type(), bound);
  Value half = integer(int64_t(1) << (kBitsBelowBF16 - 1));
  Value mask = integer(-(int64_t(1) << kBitsBelowBF16));
  Value rounded =
      arith::AndIOp::create(b, arith::AddIOp::create(b, bits, half), mask);
  return arith::BitcastOp::create(b, b.getF64Type(), rounded);
}
