//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/ScaleArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::moss;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// Small building blocks
//===----------------------------------------------------------------------===//

static Value createConstant(ImplicitLocOpBuilder &b, Type type,
                            Attribute element) {
  if (auto vectorType = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vectorType, element));
  return arith::ConstantOp::create(b, cast<TypedAttr>(element));
}

Value moss::createConstant(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  return ::createConstant(b, type,
                          b.getIntegerAttr(getElementTypeOrSelf(type), value));
}

Value moss::createConstant(ImplicitLocOpBuilder &b, Type type, double value) {
  return ::createConstant(b, type,
                          b.getFloatAttr(getElementTypeOrSelf(type), value));
}

/// `type`, a scalar or a vector, with another element type.
static Type withElement(Type type, Type element) {
  if (auto vectorType = dyn_cast<VectorType>(type))
    return vectorType.clone(element);
  return element;
}

namespace {
/// Integer arithmetic with constants, on values of one type.
struct IntMath {
  ImplicitLocOpBuilder &b;
  Type type;

  Value constant(int64_t value) { return createConstant(b, type, value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value add(Value x, int64_t y) { return add(x, constant(y)); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  Value mul(Value x, int64_t y) { return mul(x, constant(y)); }
  Value shl(Value x, int64_t y) {
    return arith::ShLIOp::create(b, x, constant(y));
  }
  Value shr(Value x, int64_t y) {
    return arith::ShRUIOp::create(b, x, constant(y));
  }
  Value bitAnd(Value x, int64_t y) {
    return arith::AndIOp::create(b, x, constant(y));
  }
  Value clamp(Value x, int64_t low, int64_t high) {
    Value atLeast = arith::MaxSIOp::create(b, x, constant(low));
    return arith::MinSIOp::create(b, atLeast, constant(high));
  }
  Value compare(CmpIPredicate predicate, Value x, Value y) {
    return arith::CmpIOp::create(b, predicate, x, y);
  }
  Value compare(CmpIPredicate predicate, Value x, int64_t y) {
    return compare(predicate, x, constant(y));
  }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, condition, x, y);
  }
  Value select(Value condition, int64_t x, Value y) {
    return select(condition, constant(x), y);
  }
  Value select(Value condition, int64_t x, int64_t y) {
    return select(condition, constant(x), constant(y));
  }
};

/// A positive number `mantissa * 2^(exponent - 23)` with a mantissa in
/// [2^23, 2^24).
struct Decomposed {
  Value mantissa, exponent;
};
} // namespace

static constexpr int64_t kImplicitBit = 1 << 23;
static constexpr int64_t kMinNormalBits = 0x00800000;
static constexpr int64_t kMaxFiniteBits = 0x7f7fffff;
static constexpr int64_t kNaNBits = 0x7fc00000;
static constexpr int64_t kOneBits = 0x3f800000;
static constexpr int64_t kNaNCode = 255;

static Value bitsToFloat(ImplicitLocOpBuilder &b, Value bits) {
  return arith::BitcastOp::create(
      b, withElement(bits.getType(), b.getF32Type()), bits);
}

/// Decompose the magnitude with the given f32 bits. The fraction of a
/// subnormal, converted to f32, is the same number times 2^149, normalized.
static Decomposed decompose(ImplicitLocOpBuilder &b, Value bits) {
  IntMath m{b, bits.getType()};
  Type f32 = withElement(bits.getType(), b.getF32Type());
  Value field = m.shr(bits, 23);
  Value isSubnormal = m.compare(CmpIPredicate::eq, field, int64_t(0));
  Value scaled = arith::BitcastOp::create(
      b, bits.getType(), arith::UIToFPOp::create(b, f32, bits));
  Value normal = m.select(isSubnormal, scaled, bits);
  Value bias = m.select(isSubnormal, 127 + 149, 127);
  return {m.add(m.bitAnd(normal, kImplicitBit - 1), kImplicitBit),
          m.sub(m.shr(normal, 23), bias)};
}

static Value widen(ImplicitLocOpBuilder &b, Value x) {
  return arith::ExtUIOp::create(b, withElement(x.getType(), b.getI64Type()), x);
}

//===----------------------------------------------------------------------===//
// Magnitudes
//===----------------------------------------------------------------------===//

Value moss::createBits(ImplicitLocOpBuilder &b, Value x) {
  Type i32 = withElement(x.getType(), b.getI32Type());
  if (getElementTypeOrSelf(x.getType()).isF32())
    return arith::BitcastOp::create(b, i32, x);
  Type i16 = withElement(x.getType(), b.getI16Type());
  Value bits = arith::BitcastOp::create(b, i16, x);
  return IntMath{b, i32}.shl(arith::ExtUIOp::create(b, i32, bits), 16);
}

Value moss::createMagnitude(ImplicitLocOpBuilder &b, Value x) {
  Value bits = createBits(b, x);
  return IntMath{b, bits.getType()}.bitAnd(bits, 0x7fffffff);
}

Value moss::createNarrowMagnitude(ImplicitLocOpBuilder &b, Value x) {
  unsigned bits = getElementTypeOrSelf(x.getType()).getIntOrFloatBitWidth();
  Type type = withElement(x.getType(), b.getIntegerType(bits));
  int64_t noSign = (int64_t(1) << (bits - 1)) - 1;
  return IntMath{b, type}.bitAnd(arith::BitcastOp::create(b, type, x), noSign);
}

Value moss::widenMagnitude(ImplicitLocOpBuilder &b, Value magnitude) {
  Type i32 = withElement(magnitude.getType(), b.getI32Type());
  if (magnitude.getType() == i32)
    return magnitude;
  return IntMath{b, i32}.shl(arith::ExtUIOp::create(b, i32, magnitude), 16);
}

Value moss::createFiniteOrZero(ImplicitLocOpBuilder &b, Value magnitude) {
  IntMath m{b, magnitude.getType()};
  Value isFinite = m.compare(CmpIPredicate::ult, magnitude, kInfinityBits);
  return m.select(isFinite, magnitude, m.constant(0));
}

Value moss::createNumberOrZero(ImplicitLocOpBuilder &b, Value magnitude) {
  IntMath m{b, magnitude.getType()};
  Value isNumber = m.compare(CmpIPredicate::ule, magnitude, kInfinityBits);
  return m.select(isNumber, magnitude, m.constant(0));
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

Value moss::createGlobalScale(ImplicitLocOpBuilder &b, SchemeAttr scheme,
                              Value amax) {
  // s = amax / (7 * 2^shift): the mantissa is that of amax, times 8 or 4 to be
  // normalized again, divided by 7 and rounded up. A carry out of the mantissa
  // increments the exponent, as it should.
  IntMath m{b, amax.getType()};
  Decomposed a = decompose(b, amax);
  Value eighths = m.mul(a.mantissa, 8);
  Value fits = m.compare(CmpIPredicate::ule, eighths, 7 * 2 * kImplicitBit);
  Value dividend = m.select(fits, eighths, m.mul(a.mantissa, 4));
  Value mantissa = arith::DivUIOp::create(b, m.add(dividend, 6), m.constant(7));
  Value field = m.add(m.add(a.exponent, 127 - scheme.getMaxShift()),
                      m.select(fits, -3, -2));
  Value bits = m.add(m.shl(field, 23), m.add(mantissa, -kImplicitBit));
  bits = arith::MaxSIOp::create(b, bits, m.constant(kMinNormalBits));
  bits =
      m.select(m.compare(CmpIPredicate::eq, amax, int64_t(0)), kOneBits, bits);
  bits = m.select(m.compare(CmpIPredicate::uge, amax, kInfinityBits), kNaNBits,
                  bits);
  return bitsToFloat(b, bits);
}

Value moss::createKnownGlobalScale(ImplicitLocOpBuilder &b, QuantizeOp op) {
  SchemeAttr scheme = op.getScheme();
  assert(scheme.getGlobal() != GlobalScale::JIT && "the scale is not known");
  if (!scheme.needsGlobalOperand())
    return createConstant(b, b.getF32Type(), 1.0);
  return memref::LoadOp::create(b, op.getScale(), ValueRange());
}

/// The smallest d with mantissa <= 7 * global mantissa * 2^d. The quotient of
/// the two is between 1/14 and 2/7, exclusive.
static Value roundUp(IntMath &m, Value a, Value sevenS) {
  Value byTwo =
      m.select(m.compare(CmpIPredicate::ule, m.mul(a, 4), sevenS), -2, -1);
  return m.select(m.compare(CmpIPredicate::ule, m.mul(a, 8), sevenS), -3,
                  byTwo);
}

/// The integer nearest to the logarithm of the same quotient. It is halfway
/// between two integers nowhere, as the quotient is rational, and on which side
/// it is its square tells.
static Value roundNearest(IntMath &m, Value a, Value sevenS) {
  IntMath wide{m.b, withElement(a.getType(), m.b.getI64Type())};
  Value a64 = widen(m.b, a), s64 = widen(m.b, sevenS);
  Value aSquare = wide.mul(a64, a64), sSquare = wide.mul(s64, s64);
  Value byThree = m.select(
      wide.compare(CmpIPredicate::ult, wide.shl(aSquare, 5), sSquare), -3, -2);
  return m.select(
      wide.compare(CmpIPredicate::ult, wide.shl(aSquare, 7), sSquare), -4,
      byThree);
}

namespace {
/// The exponent `base + correction` of a micro scale; the correction depends on
/// mantissas only.
struct MicroExponent {
  Value base, correction;
};
} // namespace

/// The exponent of the micro scale under the scheme's rounding, unclamped, for
/// an amax that is finite and not zero.
static MicroExponent createExponent(IntMath &m, SchemeAttr scheme, Decomposed a,
                                    Decomposed s) {
  Value correction;
  Value sevenS = m.mul(s.mantissa, 7);
  switch (scheme.getRounding()) {
  case ExponentRounding::Ceil:
    correction = roundUp(m, a.mantissa, sevenS);
    break;
  case ExponentRounding::Nearest:
    correction = roundNearest(m, a.mantissa, sevenS);
    break;
  case ExponentRounding::Floor:
    // The exponent of fmax is its shift plus 2.
    correction =
        m.select(m.compare(CmpIPredicate::uge, a.mantissa, s.mantissa), -2, -3);
    break;
  }
  Value base = m.add(m.sub(a.exponent, s.exponent), -scheme.getMaxShift());
  return {base, correction};
}

static Value createE8M0(ImplicitLocOpBuilder &b, Value exponent, Value amax) {
  IntMath m{b, amax.getType()};
  Value code = m.add(m.clamp(exponent, -127, 127), 127);
  code = m.select(m.compare(CmpIPredicate::eq, amax, int64_t(0)), int64_t(0),
                  code);
  code = m.select(m.compare(CmpIPredicate::uge, amax, kInfinityBits), kNaNCode,
                  code);
  Value byte = arith::TruncIOp::create(b, b.getI8Type(), code);
  return arith::BitcastOp::create(b, Float8E8M0FNUType::get(b.getContext()),
                                  byte);
}

/// amax / (global * fmax) as f32, rounded up and kept within the normal
/// numbers. `exponent` is its logarithm rounded up, so that its mantissa has 24
/// bits, or is 2^24 and carries into the exponent.
static Value createF32Micro(ImplicitLocOpBuilder &b, MicroExponent exponent,
                            Decomposed a, Decomposed s, Value amax) {
  IntMath m{b, amax.getType()};
  IntMath wide{b, withElement(amax.getType(), b.getI64Type())};
  Value shift = m.sub(m.constant(24), exponent.correction);
  Value dividend =
      arith::ShLIOp::create(b, widen(b, a.mantissa), widen(b, shift));
  Value quotient = arith::CeilDivUIOp::create(
      b, dividend, wide.mul(widen(b, s.mantissa), 7));
  Value mantissa = arith::TruncIOp::create(b, amax.getType(), quotient);
  Value e = m.add(exponent.base, exponent.correction);
  Value bits = m.add(m.shl(m.add(m.clamp(e, -126, 128), 126), 23),
                     m.add(mantissa, -kImplicitBit));
  bits = m.clamp(bits, kMinNormalBits, kMaxFiniteBits);
  bits = m.select(m.compare(CmpIPredicate::sgt, e, 128), kMaxFiniteBits, bits);
  bits =
      m.select(m.compare(CmpIPredicate::eq, amax, int64_t(0)), kOneBits, bits);
  bits = m.select(m.compare(CmpIPredicate::uge, amax, kInfinityBits), kNaNBits,
                  bits);
  return bitsToFloat(b, bits);
}

Value moss::createMicroScale(ImplicitLocOpBuilder &b, SchemeAttr scheme,
                             Value amax, Value global) {
  IntMath m{b, amax.getType()};
  Decomposed a = decompose(b, amax);
  Decomposed s = decompose(b, createMagnitude(b, global));
  MicroExponent exponent = createExponent(m, scheme, a, s);
  if (scheme.isMicroPowerOfTwo())
    return createE8M0(b, m.add(exponent.base, exponent.correction), amax);
  return createF32Micro(b, exponent, a, s, amax);
}

/// The code of an E8M0 scale as i32.
static Value createCode(ImplicitLocOpBuilder &b, Value scale) {
  Value byte = arith::BitcastOp::create(b, b.getI8Type(), scale);
  return arith::ExtUIOp::create(b, b.getI32Type(), byte);
}

Value moss::createMicroInverse(ImplicitLocOpBuilder &b, Value micro) {
  if (micro.getType().isF32()) {
    Value one = createConstant(b, micro.getType(), 1.0);
    return arith::DivFOp::create(b, one, micro);
  }
  IntMath m{b, b.getI32Type()};
  Value code = createCode(b, micro);
  Value bits = m.shl(m.sub(m.constant(254), code), 23);
  // 2^-127 is subnormal: half of the smallest normal number.
  bits = m.select(m.compare(CmpIPredicate::eq, code, 254), kMinNormalBits / 2,
                  bits);
  bits = m.select(m.compare(CmpIPredicate::eq, code, kNaNCode), kNaNBits, bits);
  return bitsToFloat(b, bits);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// `scalar` in the type of `like`, a scalar or a vector.
static Value splat(ImplicitLocOpBuilder &b, Value scalar, Type like) {
  if (auto vectorType = dyn_cast<VectorType>(like))
    return vector::BroadcastOp::create(b, vectorType, scalar);
  return scalar;
}

static Value createNaN(ImplicitLocOpBuilder &b, Type type) {
  return createConstant(b, type, std::numeric_limits<double>::quiet_NaN());
}

/// Clamp to the range of the element type, beyond which the conversion yields
/// NaN or infinity. A NaN stays one.
static Value createSaturation(ImplicitLocOpBuilder &b, SchemeAttr scheme,
                              Value y) {
  Value high = createConstant(b, y.getType(), scheme.getMaxFinite());
  Value low = createConstant(b, y.getType(), -scheme.getMaxFinite());
  Value atMost = arith::MinimumFOp::create(b, y, high);
  return arith::MaximumFOp::create(b, atMost, low);
}

Value moss::createPayload(ImplicitLocOpBuilder &b, SchemeAttr scheme, Value x,
                          Value inverseGlobal, Value inverseMicro) {
  Value bits = createBits(b, x);
  Value element = bitsToFloat(b, bits);
  Type f32 = element.getType();
  Value y = arith::MulFOp::create(b, element, splat(b, inverseGlobal, f32));
  if (inverseMicro)
    y = arith::MulFOp::create(b, y, splat(b, inverseMicro, f32));
  else if (scheme.getGlobal() != GlobalScale::JIT) {
    // No scale became NaN for the sake of an infinity, which must not turn
    // finite.
    IntMath m{b, bits.getType()};
    Value isFinite = m.compare(CmpIPredicate::ult, m.bitAnd(bits, 0x7fffffff),
                               kInfinityBits);
    y = arith::SelectOp::create(b, isFinite, y, createNaN(b, f32));
  }
  return arith::TruncFOp::create(b, withElement(f32, scheme.getElementType()),
                                 createSaturation(b, scheme, y));
}

//===----------------------------------------------------------------------===//
// Dequantization
//===----------------------------------------------------------------------===//

namespace {
/// A product of scales, as `significand * 2^exponent`; null stands for 1 and 0.
struct ScaleProduct {
  Value significand, exponent;

  void multiply(ImplicitLocOpBuilder &b, Value otherSignificand,
                Value otherExponent) {
    significand = significand
                      ? arith::MulFOp::create(b, significand, otherSignificand)
                            .getResult()
                      : otherSignificand;
    exponent =
        exponent ? arith::AddIOp::create(b, exponent, otherExponent).getResult()
                 : otherExponent;
  }
};
} // namespace

/// Split an f32 scale. Zeros, infinities and NaNs, which have no exponent, are
/// their own significand.
static void multiplyF32(ImplicitLocOpBuilder &b, ScaleProduct &product,
                        Value scale) {
  IntMath m{b, b.getI32Type()};
  Value bits = createBits(b, scale);
  Value magnitude = m.bitAnd(bits, 0x7fffffff);
  Decomposed parts = decompose(b, magnitude);
  Value sign = m.sub(bits, magnitude);
  Value significand =
      m.add(sign, m.add(parts.mantissa, kOneBits - kImplicitBit));
  // Zero wraps around to the largest number.
  Value isRegular =
      m.compare(CmpIPredicate::ult, m.add(magnitude, -1), kInfinityBits - 1);
  product.multiply(b, bitsToFloat(b, m.select(isRegular, significand, bits)),
                   m.select(isRegular, parts.exponent, m.constant(0)));
}

static void multiplyE8M0(ImplicitLocOpBuilder &b, ScaleProduct &product,
                         Value scale) {
  IntMath m{b, b.getI32Type()};
  Value code = createCode(b, scale);
  Value isNaN = m.compare(CmpIPredicate::eq, code, kNaNCode);
  product.multiply(b, bitsToFloat(b, m.select(isNaN, kNaNBits, kOneBits)),
                   m.add(code, -127));
}

std::pair<Value, Value> moss::createDequantFactors(ImplicitLocOpBuilder &b,
                                                   Value micro, Value global) {
  ScaleProduct product;
  if (global)
    multiplyF32(b, product, global);
  if (micro && micro.getType().isF32())
    multiplyF32(b, product, micro);
  else if (micro)
    multiplyE8M0(b, product, micro);
  if (!product.significand) {
    Value one = createConstant(b, b.getF32Type(), 1.0);
    return {one, one};
  }
  IntMath m{b, b.getI32Type()};
  Value first = m.clamp(product.exponent, -126, 125);
  Value second = m.clamp(m.sub(product.exponent, first), -126, 126);
  auto powerOfTwo = [&](Value exponent) {
    return bitsToFloat(b, m.shl(m.add(exponent, 127), 23));
  };
  return {arith::MulFOp::create(b, product.significand, powerOfTwo(first)),
          powerOfTwo(second)};
}

Value moss::createDequantizedElement(ImplicitLocOpBuilder &b, Value payload,
                                     Value first, Value second, Type type) {
  Type f32 = withElement(payload.getType(), b.getF32Type());
  Value value = arith::ExtFOp::create(b, f32, payload);
  for (Value factor : {first, second})
    value = arith::MulFOp::create(b, value, splat(b, factor, f32));
  if (type.isF32())
    return value;
  return arith::TruncFOp::create(b, withElement(f32, type), value);
}
