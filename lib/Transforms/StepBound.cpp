//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/StepBound.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mlir::moss;

/// A step that moves a weight by more than this many learning rates is no
/// longer worth predicting.
static constexpr double kLoose = 256;

/// Longer than any training run.
static constexpr int64_t kLastStep = int64_t(1) << 40;

StepBound::StepBound(OptimizerAttr optimizer)
    : beta1(optimizer.getBeta1()), beta2(optimizer.getBeta2()),
      ratio(beta1 * beta1 / beta2 * (1 + 0x1p-20)) {
  double slack = 1 + 0x1p-22 * (8 + 1 / (1 - beta1) + 1 / (1 - beta2));
  factor = (1 - beta1) / std::sqrt(1 - beta2) * slack;
}

bool StepBound::isNearOne() const { return std::abs(ratio - 1) < 0x1p-30; }

double StepBound::evaluate(double step) const {
  double sum = isNearOne() ? step * std::pow(std::max(ratio, 1.0), step)
                           : (1 - std::pow(ratio, step)) / (1 - ratio);
  return factor * std::sqrt((1 - std::pow(beta2, step)) * sum) /
         (1 - std::pow(beta1, step));
}

Value StepBound::emit(ImplicitLocOpBuilder &b, Value step) const {
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  };
  auto power = [&](double base) -> Value {
    return math::PowFOp::create(b, constant(base), step);
  };
  auto oneMinusPower = [&](double base) -> Value {
    return arith::SubFOp::create(b, constant(1), power(base));
  };
  Value sum;
  if (isNearOne())
    sum = arith::MulFOp::create(b, step, power(std::max(ratio, 1.0)));
  else
    sum = arith::DivFOp::create(b, oneMinusPower(ratio), constant(1 - ratio));
  Value root = math::SqrtOp::create(
      b, arith::MulFOp::create(b, oneMinusPower(beta2), sum));
  Value scaled = arith::MulFOp::create(b, constant(factor), root);
  return arith::DivFOp::create(b, scaled, oneMinusPower(beta1));
}

std::optional<int64_t> moss::getFirstLooseStep(OptimizerAttr optimizer) {
  if (optimizer.getKind() != OptimizerKind::Adam &&
      optimizer.getKind() != OptimizerKind::AdamW)
    return std::nullopt;
  StepBound bound(optimizer);
  // Not finite means loose, too.
  auto isLoose = [&](int64_t step) {
    return !(bound.evaluate(static_cast<double>(step)) <= kLoose);
  };
  if (!isLoose(kLastStep))
    return std::nullopt;
  int64_t tight = 0, loose = kLastStep;
  while (loose - tight > 1) {
    int64_t middle = tight + (loose - tight) / 2;
    (isLoose(middle) ? loose : tight) = middle;
  }
  return loose;
}
