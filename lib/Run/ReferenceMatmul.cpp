//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The matrix multiplication of the reference: blocked and packed as in
// GotoBLAS (Goto and van de Geijn, 2008), on all cores. It shares nothing with
// the code that is compared to it. A generic loop as Moss compiles it would
// take minutes where this takes seconds.
//
//===----------------------------------------------------------------------===//

#include "moss/Run/ReferenceMatmul.h"
#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Parallel.h"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace mlir::moss;

/// The block of sums that registers hold, and the blocks of operands that the
/// caches of a core hold.
static constexpr int64_t kRows = 8, kCols = 16;
static constexpr int64_t kBlockM = 128, kBlockN = 512, kBlockK = 256;

// One build runs on all machines, but fast on those with wide vectors.
#if defined(__x86_64__) && defined(__linux__)
#define MOSS_VECTOR_CLONES                                                     \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MOSS_VECTOR_CLONES
#endif

/// sums += transpose(lhs) * rhs, for panels of K rows of kRows and kCols.
MOSS_VECTOR_CLONES
static void multiplyPanels(const float *lhs, const float *rhs, int64_t depth,
                           float *sums) {
  typedef float Vector __attribute__((vector_size(kCols * sizeof(float))));
  Vector block[kRows] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Vector row;
    __builtin_memcpy(&row, rhs + k * kCols, sizeof(row));
    for (int64_t i = 0; i < kRows; ++i)
      block[i] += lhs[k * kRows + i] * row;
  }
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t j = 0; j < kCols; ++j)
      sums[i * kCols + j] = block[i][j];
}

static float getElement(const MatrixView &matrix, const MatrixView &error,
                        int64_t row, int64_t col, ElementUse use) {
  float value = matrix.data[row * matrix.rowStride + col * matrix.colStride];
  if (use == ElementUse::Value)
    return value;
  if (use == ElementUse::Magnitude)
    return std::abs(value);
  return std::abs(value) +
         error.data[row * error.rowStride + col * error.colStride];
}

/// Store rows of a block by panels of \p width, K outermost within each, and
/// zeros where the block ends.
static void pack(const MatrixView &matrix, const MatrixView &error,
                 ElementUse use, int64_t row, int64_t rows, int64_t k,
                 int64_t depth, int64_t width, float *to) {
  for (int64_t panel = 0; panel < rows; panel += width)
    for (int64_t i = 0; i < width; ++i)
      for (int64_t p = 0; p < depth; ++p)
        to[panel * depth + p * width + i] =
            panel + i < rows
                ? getElement(matrix, error, row + panel + i, k + p, use)
                : 0.0f;
}

/// Add the sums of one register block to the part of it that exists.
static void addBlock(const MatrixView &result, int64_t row, int64_t col,
                     const float *sums) {
  int64_t rows = std::min(kRows, result.rows - row);
  int64_t cols = std::min(kCols, result.cols - col);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      result
          .data[(row + i) * result.rowStride + (col + j) * result.colStride] +=
          sums[i * kCols + j];
}

/// All rows of kBlockN columns of the result.
static void multiplyColumns(const MatrixView &lhs, const MatrixView &lhsError,
                            const MatrixView &rhs, const MatrixView &rhsError,
                            const MatrixView &result, ElementUse use,
                            int64_t col) {
  int64_t cols = std::min(kBlockN, rhs.rows - col);
  std::vector<float> packedRhs(llvm::alignTo(cols, kCols) * kBlockK);
  std::vector<float> packedLhs(kBlockM * kBlockK);
  float sums[kRows * kCols];
  for (int64_t row = 0; row < lhs.rows; ++row)
    for (int64_t j = 0; j < cols; ++j)
      result.data[row * result.rowStride + (col + j) * result.colStride] = 0;
  for (int64_t k = 0; k < lhs.cols; k += kBlockK) {
    int64_t depth = std::min(kBlockK, lhs.cols - k);
    pack(rhs, rhsError, use, col, cols, k, depth, kCols, packedRhs.data());
    for (int64_t row = 0; row < lhs.rows; row += kBlockM) {
      int64_t rows = std::min(kBlockM, lhs.rows - row);
      pack(lhs, lhsError, use, row, rows, k, depth, kRows, packedLhs.data());
      for (int64_t j = 0; j < cols; j += kCols)
        for (int64_t i = 0; i < rows; i += kRows) {
          multiplyPanels(&packedLhs[i * depth], &packedRhs[j * depth], depth,
                         sums);
          addBlock(result, row + i, col + j, sums);
        }
    }
  }
}

void mlir::moss::multiplyTransposed(MatrixView lhs, MatrixView lhsError,
                                    MatrixView rhs, MatrixView rhsError,
                                    MatrixView result, ElementUse use) {
  llvm::parallelFor(0, llvm::divideCeil(rhs.rows, kBlockN), [&](size_t block) {
    multiplyColumns(lhs, lhsError, rhs, rhsError, result, use, block * kBlockN);
  });
}

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

using MemRef = StridedMemRefType<float, 2>;

static MatrixView getView(MemRef *memref) {
  return {memref->data + memref->offset, memref->sizes[0], memref->sizes[1],
          memref->strides[0], memref->strides[1]};
}

static void runReferenceMatmul(MemRef *lhs, MemRef *lhsError, MemRef *rhs,
                               MemRef *rhsError, MemRef *values,
                               MemRef *reaches, MemRef *magnitudes) {
  for (auto [result, use] : {std::pair{values, ElementUse::Value},
                             {reaches, ElementUse::Reach},
                             {magnitudes, ElementUse::Magnitude}})
    multiplyTransposed(getView(lhs), getView(lhsError), getView(rhs),
                       getView(rhsError), getView(result), use);
}

void *mlir::moss::getReferenceMatmulAddress() {
  return reinterpret_cast<void *>(&runReferenceMatmul);
}
