//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a bound on a weight to its scale and back, with rounding that errs to
// the safe side.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_WEIGHTSCALE_H
#define MOSS_TRANSFORMS_WEIGHTSCALE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// Emits the arithmetic of one rule; bounds are f64 values.
class WeightScale {
public:
  explicit WeightScale(ScaleRuleAttr rule);

  /// A bound on the master copy of a weight whose measured scale, as f64, is
  /// `scale`.
  Value emitBoundOfScale(ImplicitLocOpBuilder &b, Value scale) const;
  /// The f32 scale for a weight with this bound; never below 2^-126, whose
  /// reciprocal is finite.
  Value emitScaleOfBound(ImplicitLocOpBuilder &b, Value bound) const;
  /// The bound after the master copy was rounded to its type: unchanged for
  /// f32, whose rounding is part of the optimizer's arithmetic, and rounded to
  /// bf16, half up.
  Value emitRoundingToMaster(ImplicitLocOpBuilder &b, Value bound) const;

private:
  bool hasBF16Master;
  /// The largest value of the payload, and what a master copy may exceed it by.
  double maxFinite, copySlack;
};

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_WEIGHTSCALE_H
