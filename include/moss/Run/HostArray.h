//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors in host memory, with the element types that programs for Moss have.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_HOSTARRAY_H
#define MOSS_RUN_HOSTARRAY_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::moss {

/// The element types of arguments and results. I1 takes a byte, Index eight.
enum class ElementKind {
  BF16,
  F16,
  F32,
  F64,
  E4M3,
  E5M2,
  E8M0,
  I1,
  I8,
  I16,
  I32,
  I64,
  Index
};

/// The kind of a scalar type, or nothing for one that has none.
std::optional<ElementKind> getElementKind(Type type);

/// The size of an element in memory.
unsigned getElementBytes(ElementKind kind);

/// The type's name in MLIR.
StringRef getElementName(ElementKind kind);

bool isFloat(ElementKind kind);

/// Read one element as a double, which is exact but for large 64-bit integers.
double decodeElement(ElementKind kind, const void *from);

/// Write one element, rounded to the nearest that the type has (ties to even).
/// What exceeds an FP8 type's largest value becomes its infinity, or NaN if it
/// has none. Integers are cut toward zero.
void encodeElement(ElementKind kind, double value, void *to);

/// A contiguous row-major tensor; a scalar has no dimensions.
struct HostArray {
  ElementKind kind = ElementKind::F32;
  SmallVector<int64_t> shape;
  std::vector<char> bytes;

  HostArray() = default;
  /// All zeros.
  HostArray(ElementKind kind, ArrayRef<int64_t> shape);

  int64_t size() const;
  double get(int64_t i) const {
    return decodeElement(kind, &bytes[i * getElementBytes(kind)]);
  }
  void set(int64_t i, double value) {
    encodeElement(kind, value, &bytes[i * getElementBytes(kind)]);
  }
};

/// `2x?x3`, with the dynamic extents as question marks.
std::string formatShape(ArrayRef<int64_t> shape);

} // namespace mlir::moss

#endif // MOSS_RUN_HOSTARRAY_H
