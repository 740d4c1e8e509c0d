//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scales as factors of f32 tiles, for every lowering of moss.rescale and
// moss.add_rescaled: significands are multiplied and exponents added, so that
// scales of very different size neither overflow nor flush each other.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_SCALEFACTOR_H
#define MOSS_TRANSFORMS_SCALEFACTOR_H

#include "mlir/IR/TypeUtilities.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// Significand (f32) and exponent (i32) of a scale, scalars or vectors. A null
/// significand is 1.
struct ScaleFactor {
  Value significand;
  Value exponent;

  explicit operator bool() const { return static_cast<bool>(exponent); }
};

/// Emits arithmetic on scales, scalars and vectors alike.
class ScaleFactorEmitter {
public:
  ScaleFactorEmitter(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  /// Split f32 or E8M0 scales. An f32 significand is in [1, 2) with the scale's
  /// sign; a zero, an infinity or a NaN is its own significand, with exponent
  /// 0. The significand of E8M0 code 255 is NaN, of all others 1.
  ScaleFactor split(Value scale) {
    return getElementTypeOrSelf(scale).isF32() ? splitF32(scale)
                                               : splitE8M0(scale);
  }

  /// F32 or E8M0 scales as f32, which is exact: 2^-127 is subnormal, and E8M0
  /// code 255 is NaN.
  Value toF32(Value scale);

  /// The product of two factors; each may be empty. Operands of different
  /// shapes are broadcast to `shape`.
  ScaleFactor multiply(ScaleFactor lhs, ScaleFactor rhs,
                       ArrayRef<int64_t> shape);

  /// The two multipliers `c * 2^x1` and `2^x2` of moss.rescale.
  std::pair<Value, Value> multipliers(ScaleFactor factor, int64_t maxFirst);

  /// `value`, a scalar or vector, as a vector of `shape`.
  Value broadcast(Value value, ArrayRef<int64_t> shape);

private:
  ScaleFactor splitF32(Value scale);
  ScaleFactor splitE8M0(Value scale);
  Value constant(Type like, int64_t value);
  Value constant(Type like, const APFloat &value);
  Value powerOfTwo(Value exponent);
  Value clamp(Value value, int64_t low, int64_t high);
  /// `like` with another element type.
  static Type withElement(Type like, Type element);

  OpBuilder &b;
  Location loc;
};

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_SCALEFACTOR_H
