//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The matrix multiplication of the reference.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_REFERENCEMATMUL_H
#define MOSS_RUN_REFERENCEMATMUL_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::moss {

/// The name under which moss-error-bound marks the sums of a matmul, and under
/// which compiled code calls runReferenceMatmul.
inline constexpr llvm::StringLiteral kReferenceMatmulName =
    "moss_reference_matmul";

/// A matrix of floats with strides in elements.
struct MatrixView {
  float *data;
  int64_t rows, cols;
  int64_t rowStride, colStride;
};

/// How an element enters a sum: as it is; as its magnitude and its error; as
/// its magnitude.
enum class ElementUse { Value, Reach, Magnitude };

/// result = lhs * transpose(rhs) for `lhs` [M, K] and `rhs` [N, K], in FP32,
/// with elements as \p use says. The errors have the shapes of their operands
/// and are read for `Reach` only. Every sum is in the order of K, but for a
/// partial sum at each 256th element.
void multiplyTransposed(MatrixView lhs, MatrixView lhsError, MatrixView rhs,
                        MatrixView rhsError, MatrixView result, ElementUse use);

/// The address of the function that compiled code calls, with the C interface
/// of seven memrefs of rank 2: lhs, its error, rhs, its error; and the results:
/// the products of values, of reaches and of magnitudes.
void *getReferenceMatmulAddress();

} // namespace mlir::moss

#endif // MOSS_RUN_REFERENCEMATMUL_H
