//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How far results are from a reference.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_COMPARISON_H
#define MOSS_RUN_COMPARISON_H

#include "moss/Run/HostArray.h"

namespace mlir::moss {

/// One element of a result.
struct ElementError {
  SmallVector<int64_t> position;
  double value = 0, expected = 0, bound = 0;
  /// |value - expected| / bound; infinite where the bound is zero and the
  /// values differ, or the value is not finite.
  double ratio = 0;
};

/// A result and its reference.
struct Comparison {
  int64_t elements = 0;
  /// ||value - expected|| / ||expected|| over elements where both are finite,
  /// as Frobenius norms.
  double relativeError = 0;
  /// ||value - expected|| / ||estimate||, more than 1 only if errors are not
  /// those of ordinary data; nothing if an element has no bound or no estimate.
  std::optional<double> estimateRatio;
  /// The element with the largest ratio, if any has a bound.
  std::optional<ElementError> worst;
  /// Elements beyond their bound, and elements without one: those whose bound
  /// or expected value is not finite.
  int64_t violations = 0, unbounded = 0;
  int64_t nonFinite = 0, nonFiniteExpected = 0;
};

/// Compare \p result to \p expected, elementwise against \p bound times
/// \p boundScale, and as a norm to \p estimate times 1 + 2 / sqrt(n) for n
/// elements, since few errors scatter. Either may be null: then no element has
/// a bound, or there is no estimate. All have the same shape.
Comparison compare(const HostArray &result, const HostArray &expected,
                   const HostArray *bound, const HostArray *estimate,
                   double boundScale);

} // namespace mlir::moss

#endif // MOSS_RUN_COMPARISON_H
