//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random arguments, the same for the same seed on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_RANDOMINPUTS_H
#define MOSS_RUN_RANDOMINPUTS_H

#include "moss/Run/HostArray.h"

namespace mlir::moss {

/// How elements are distributed.
///
/// - `Normal`: nearly N(0, 1), as the sum of twelve uniform numbers.
/// - `Uniform`: in [-1, 1).
/// - `Positive`: magnitudes of `Normal`, where errors of one sign add up.
/// - `Outliers`: `Normal`, but every 64th column is 256 times as large, as some
///   channels of activations are.
/// - `Rows`: `Normal`, each row times a power of two from 2^-8 to 2^7.
/// - `Cancelling`: pairs along the last dimension of equal magnitude near 1,
///   and of opposite sign.
/// - `Tiny`: powers of two from 2^-40 to 1 with random signs, many of which lie
///   below what FP8 can represent beside the largest.
/// - `Zeros`, `Ones`.
enum class Distribution {
  Normal,
  Uniform,
  Positive,
  Outliers,
  Rows,
  Cancelling,
  Tiny,
  Zeros,
  Ones
};

/// The distribution of the given name, in lower case.
std::optional<Distribution> parseDistribution(StringRef name);

StringRef stringifyDistribution(Distribution distribution);

/// All names, for diagnostics.
std::string getDistributionNames();

/// An array with elements that depend on nothing but \p distribution, \p seed,
/// \p number (of the argument), and the position. Floats are rounded to
/// nearest; scales in E8M0 are powers of two near 1.
HostArray createRandomArray(ElementKind kind, ArrayRef<int64_t> shape,
                            Distribution distribution, uint64_t seed,
                            unsigned number);

} // namespace mlir::moss

#endif // MOSS_RUN_RANDOMINPUTS_H
