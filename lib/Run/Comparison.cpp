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

#include "moss/Run/Comparison.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::moss;

static double getRatio(double value, double expected, double bound) {
  if (!std::isfinite(value))
    return std::numeric_limits<double>::infinity();
  double error = std::abs(value - expected);
  return error == 0 ? 0 : error / bound;
}

/// The indices of the element at \p offset of a row-major array.
static SmallVector<int64_t> getPosition(int64_t offset,
                                        ArrayRef<int64_t> shape) {
  SmallVector<int64_t> position(shape.size());
  for (int64_t i = shape.size() - 1; i >= 0; --i) {
    position[i] = offset % shape[i];
    offset /= shape[i];
  }
  return position;
}

/// The quotient of two norms. No error is none of nothing, too.
static double getRelative(double errorSquares, double squares) {
  return errorSquares == 0 ? 0 : std::sqrt(errorSquares / squares);
}

Comparison moss::compare(const HostArray &result, const HostArray &expected,
                         const HostArray *bound, const HostArray *estimate,
                         double boundScale) {
  Comparison comparison;
  comparison.elements = result.size();
  double errorSquares = 0, squares = 0, estimateSquares = 0;
  int64_t worstOffset = 0;
  for (int64_t i = 0; i < comparison.elements; ++i) {
    double value = result.get(i), wanted = expected.get(i);
    bool isFinite = std::isfinite(value),
         isWantedFinite = std::isfinite(wanted);
    comparison.nonFinite += !isFinite;
    comparison.nonFiniteExpected += !isWantedFinite;
    if (isFinite && isWantedFinite) {
      errorSquares += (value - wanted) * (value - wanted);
      squares += wanted * wanted;
    }
    if (estimate)
      estimateSquares += estimate->get(i) * estimate->get(i);
    // Otherwise a result of nothing but NaN would be exact.
    if (!isFinite && isWantedFinite)
      errorSquares = std::numeric_limits<double>::infinity();
    double limit = bound ? bound->get(i) * boundScale
                         : std::numeric_limits<double>::infinity();
    if (!std::isfinite(limit) || !isWantedFinite) {
      ++comparison.unbounded;
      continue;
    }
    double ratio = getRatio(value, wanted, limit);
    comparison.violations += ratio > 1;
    if (comparison.worst && ratio <= comparison.worst->ratio)
      continue;
    comparison.worst = ElementError{{}, value, wanted, limit, ratio};
    worstOffset = i;
  }
  if (comparison.worst)
    comparison.worst->position = getPosition(worstOffset, result.shape);
  comparison.relativeError = getRelative(errorSquares, squares);
  if (estimate && comparison.unbounded == 0 && std::isfinite(estimateSquares))
    comparison.estimateRatio =
        getRelative(errorSquares, estimateSquares) /
        (1 + 2 / std::sqrt(static_cast<double>(comparison.elements)));
  return comparison;
}
