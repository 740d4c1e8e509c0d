//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies between strided and contiguous arrays.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_RUNTIME_STRIDEDCOPY_H
#define MOSS_LIB_RUNTIME_STRIDEDCOPY_H

#include "Driver.h"

#include <vector>

namespace moss_runtime {

/// An array in memory. Sizes and strides count elements.
struct StridedArray {
  char *data;
  const int64_t *sizes, *strides;
  int32_t rank;
  int64_t elementBytes;

  /// Whether elements follow one another in row-major order.
  bool isContiguous() const;
  /// Whether no two elements share memory, if no stride is negative.
  bool isInjective() const;
};

/// Copies an array to or from contiguous memory.
class StridedCopy {
public:
  explicit StridedCopy(const StridedArray &array);

  /// Why the driver's copies cannot reach the array; empty if they can.
  std::string findDeviceProblem() const;

  void copyOnHost(char *packed, bool toPacked) const;
  void copyOnDevice(char *packed, bool toPacked, CUstream stream) const;

private:
  struct Dim {
    int64_t size, stride;
  };

  /// Visit every run of the innermost `numInner` dimensions, with the addresses
  /// of its first element in the array and in packed memory.
  template <typename Visit>
  void forEach(size_t numInner, char *packed, Visit visit) const;

  char *data;
  int64_t elementBytes;
  /// Dimensions without those of extent 1, with neighbors merged where they are
  /// contiguous. The last two, if there are no less, are rows and their
  /// elements.
  std::vector<Dim> dims;
};

} // namespace moss_runtime

#endif // MOSS_LIB_RUNTIME_STRIDEDCOPY_H
