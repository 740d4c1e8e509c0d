//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptors of the tensor copy engine.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "moss/Runtime/Runtime.h"

#include <cstring>

using namespace moss_runtime;

// Values of the driver's enums.
static constexpr int interleaveNone = 0;
static constexpr int l2Promotion256 = 3;
static constexpr int fillZeros = 0;

static constexpr size_t mapBytes = 128;
static constexpr int64_t alignment = 16;

static int getDataType(int32_t elementBytes) {
  switch (elementBytes) {
  case 1:
    return 0; // UINT8
  case 2:
    return 9; // BFLOAT16
  case 4:
    return 7; // FLOAT32
  }
  fail("mossTensorMapEncode2D: elements have " + std::to_string(elementBytes) +
       " bytes, but must have 1, 2 or 4");
}

static int getSwizzle(int32_t bytes) {
  switch (bytes) {
  case 0:
    return 0;
  case 32:
    return 1;
  case 64:
    return 2;
  case 128:
    return 3;
  }
  fail("mossTensorMapEncode2D: the swizzle is " + std::to_string(bytes) +
       " bytes, but must be 0, 32, 64 or 128");
}

/// The driver would only answer CUDA_ERROR_INVALID_VALUE.
static void checkLayout(const void *base, int64_t rowStrideBytes) {
  if (reinterpret_cast<uintptr_t>(base) % alignment != 0)
    fail("mossTensorMapEncode2D: the matrix begins at an address that is not a "
         "multiple of 16; pass buffers (and slices of them) that are aligned "
         "to 16 bytes",
         MOSS_INVALID_ARGUMENT);
  if (rowStrideBytes % alignment != 0)
    fail("mossTensorMapEncode2D: rows are " + std::to_string(rowStrideBytes) +
             " bytes apart, which is not a multiple of 16; pad the rows of the "
             "buffer",
         MOSS_INVALID_ARGUMENT);
}

/// Kernels count rows and columns in 32 bits, in steps of at most 2^16.
static void checkExtent(int64_t extent) {
  const int64_t limit = INT32_MAX - (1 << 16);
  if (extent > limit)
    fail("mossTensorMapEncode2D: the matrix has " + std::to_string(extent) +
             " rows or columns, but kernels count to " + std::to_string(limit) +
             "; split it",
         MOSS_INVALID_ARGUMENT);
}

void mossTensorMapEncode2D(void *map, void *base, int64_t rows, int64_t cols,
                           int64_t rowStrideBytes, int32_t elementBytes,
                           int32_t boxRows, int32_t boxCols,
                           int32_t swizzleBytes) {
  if (rows <= 0 || cols <= 0) {
    std::memset(map, 0, mapBytes);
    return;
  }
  // The distance between rows has no meaning when there is one, and the driver
  // still checks it.
  if (rows == 1)
    rowStrideBytes =
        (cols * elementBytes + alignment - 1) / alignment * alignment;
  int dataType = getDataType(elementBytes);
  int swizzle = getSwizzle(swizzleBytes);
  checkExtent(rows);
  checkExtent(cols);
  checkLayout(base, rowStrideBytes);
  const uint64_t sizes[] = {static_cast<uint64_t>(cols),
                            static_cast<uint64_t>(rows)};
  const uint64_t strides[] = {static_cast<uint64_t>(rowStrideBytes)};
  const uint32_t box[] = {static_cast<uint32_t>(boxCols),
                          static_cast<uint32_t>(boxRows)};
  const uint32_t elementStrides[] = {1, 1};
  check(getDriverWithContext("mossTensorMapEncode2D")
            .cuTensorMapEncodeTiled(map, dataType, 2, base, sizes, strides, box,
                                    elementStrides, interleaveNone, swizzle,
                                    l2Promotion256, fillZeros),
        "cuTensorMapEncodeTiled",
        "a matrix of " + std::to_string(rows) + "x" + std::to_string(cols) +
            " elements of " + std::to_string(elementBytes) + " bytes, rows " +
            std::to_string(rowStrideBytes) + " bytes apart, in boxes of " +
            std::to_string(boxRows) + "x" + std::to_string(boxCols));
}
