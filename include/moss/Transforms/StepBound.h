//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far a step of Adam can move a weight, in units of the learning rate; for
// the passes that emit it, and for those that must know it.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_STEPBOUND_H
#define MOSS_TRANSFORMS_STEPBOUND_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// The constants of c_t (see moss.next_scale) of an `adam` or `adamw`
/// optimizer, in f64:
///
///     c_t = factor * sqrt((1 - beta2^t) * S_t) / (1 - beta1^t)
///
/// with S_t = (1 - ratio^t) / (1 - ratio), or, where that would cancel, its
/// upper bound t * max(1, ratio)^t. Roundings are covered as the op says.
struct StepBound {
  explicit StepBound(OptimizerAttr optimizer);

  double beta1, beta2, ratio, factor;

  /// Whether `ratio` is so near to 1 that the closed form of S_t cancels.
  bool isNearOne() const;
  /// c_t for step t = 1, 2, ...
  double evaluate(double step) const;
  /// The f64 value c_t for the f64 value `step`.
  Value emit(ImplicitLocOpBuilder &b, Value step) const;
};

/// The first step t whose bound c_t leaves a scale of so few bits that the
/// weights should be measured instead: c_t > 256. Nothing if there is none.
std::optional<int64_t> getFirstLooseStep(OptimizerAttr optimizer);

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_STEPBOUND_H
