//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "moss/Transforms/ScaleFactor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::moss;

Type ScaleFactorEmitter::withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

Value ScaleFactorEmitter::constant(Type like, int64_t value) {
  Type type = withElement(like, b.getI32Type());
  TypedAttr attr = b.getI32IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value ScaleFactorEmitter::constant(Type like, const APFloat &value) {
  Type type = withElement(like, b.getF32Type());
  TypedAttr attr = b.getFloatAttr(b.getF32Type(), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value ScaleFactorEmitter::broadcast(Value value, ArrayRef<int64_t> shape) {
  auto type = VectorType::get(shape, getElementTypeOrSelf(value));
  if (value.getType() == type)
    return value;
  return vector::BroadcastOp::create(b, loc, type, value);
}

ScaleFactor ScaleFactorEmitter::splitF32(Value scale) {
  Type floatType = scale.getType();
  Type intType = withElement(floatType, b.getI32Type());
  auto constInt = [&](int64_t value) { return constant(floatType, value); };
  auto bitsOf = [&](Value value) {
    return arith::BitcastOp::create(b, loc, intType, value);
  };
  Value magnitudeMask = constInt(0x7fffffff);
  Value magnitude = arith::AndIOp::create(b, loc, bitsOf(scale), magnitudeMask);

  // Subnormal values are normalized by an exact multiplication with 2^32.
  Value isTiny = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                       magnitude, constInt(0x00800000));
  Value scaledUp = arith::MulFOp::create(
      b, loc, scale, constant(floatType, APFloat(4294967296.0f)));
  Value normal = arith::SelectOp::create(b, loc, isTiny, scaledUp, scale);
  Value bias = arith::SelectOp::create(b, loc, isTiny, constInt(127 + 32),
                                       constInt(127));

  Value bits = bitsOf(normal);
  Value field = arith::ShRUIOp::create(
      b, loc, arith::AndIOp::create(b, loc, bits, magnitudeMask), constInt(23));
  Value exponent = arith::SubIOp::create(b, loc, field, bias);
  Value fraction =
      arith::AndIOp::create(b, loc, bits, constInt(int32_t(0x807fffff)));
  Value significand = arith::BitcastOp::create(
      b, loc, floatType,
      arith::OrIOp::create(b, loc, fraction, constInt(0x3f800000)));

  Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                       magnitude, constInt(0));
  Value isSpecial = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge,
                                          magnitude, constInt(0x7f800000));
  Value isSelf = arith::OrIOp::create(b, loc, isZero, isSpecial);
  return {arith::SelectOp::create(b, loc, isSelf, scale, significand),
          arith::SelectOp::create(b, loc, isSelf, constInt(0), exponent)};
}

Value ScaleFactorEmitter::toF32(Value scale) {
  Type type = scale.getType();
  if (getElementTypeOrSelf(type).isF32())
    return scale;
  Value code = arith::ExtUIOp::create(
      b, loc, withElement(type, b.getI32Type()),
      arith::BitcastOp::create(b, loc, withElement(type, b.getI8Type()),
                               scale));
  Value normal = arith::ShLIOp::create(b, loc, code, constant(type, 23));
  Value bits =
      arith::MaxUIOp::create(b, loc, normal, constant(type, 0x00400000));
  Value isNan = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, code,
                                      constant(type, 255));
  bits =
      arith::SelectOp::create(b, loc, isNan, constant(type, 0x7fc00000), bits);
  return arith::BitcastOp::create(b, loc, withElement(type, b.getF32Type()),
                                  bits);
}

ScaleFactor ScaleFactorEmitter::splitE8M0(Value scale) {
  Type type = scale.getType();
  Value code = arith::ExtUIOp::create(
      b, loc, withElement(type, b.getI32Type()),
      arith::BitcastOp::create(b, loc, withElement(type, b.getI8Type()),
                               scale));
  Value isNan = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, code,
                                      constant(type, 255));
  Value significand = arith::SelectOp::create(
      b, loc, isNan, constant(type, APFloat::getNaN(APFloat::IEEEsingle())),
      constant(type, APFloat(1.0f)));
  return {significand,
          arith::SubIOp::create(b, loc, code, constant(type, 127))};
}

ScaleFactor ScaleFactorEmitter::multiply(ScaleFactor lhs, ScaleFactor rhs,
                                         ArrayRef<int64_t> shape) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  if (lhs.exponent.getType() != rhs.exponent.getType())
    for (Value *value :
         {&lhs.significand, &lhs.exponent, &rhs.significand, &rhs.exponent})
      *value = broadcast(*value, shape);
  return {arith::MulFOp::create(b, loc, lhs.significand, rhs.significand),
          arith::AddIOp::create(b, loc, lhs.exponent, rhs.exponent)};
}

Value ScaleFactorEmitter::clamp(Value value, int64_t low, int64_t high) {
  Type type = value.getType();
  return arith::MinSIOp::create(
      b, loc, arith::MaxSIOp::create(b, loc, value, constant(type, low)),
      constant(type, high));
}

/// `exponent` must be that of a normal number.
Value ScaleFactorEmitter::powerOfTwo(Value exponent) {
  Type type = exponent.getType();
  Value field = arith::AddIOp::create(b, loc, exponent, constant(type, 127));
  return arith::BitcastOp::create(
      b, loc, withElement(type, b.getF32Type()),
      arith::ShLIOp::create(b, loc, field, constant(type, 23)));
}

std::pair<Value, Value> ScaleFactorEmitter::multipliers(ScaleFactor factor,
                                                        int64_t maxFirst) {
  Value first = clamp(factor.exponent, -126, maxFirst);
  Value second =
      clamp(arith::SubIOp::create(b, loc, factor.exponent, first), -126, 126);
  return {arith::MulFOp::create(b, loc, factor.significand, powerOfTwo(first)),
          powerOfTwo(second)};
}
