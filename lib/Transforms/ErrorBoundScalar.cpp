//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bounds of scalar ops for moss-error-bound.
//
//===----------------------------------------------------------------------===//

#include "ErrorBound.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moss;

/// Functions such as exp are not rounded correctly, neither by a C library nor
/// by a GPU's approximations, which are within a few units of 2^-23.
static constexpr double kMathUnit = 0x1p-20;

/// Below this a GPU may flush to zero.
static constexpr double kSmallestNormal = 0x1p-126;

static const llvm::fltSemantics &getSemantics(Type type) {
  return cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics();
}

/// The largest relative error of rounding to nearest.
static double getUnit(Type type) {
  return std::ldexp(
      1.0, -static_cast<int>(APFloat::semanticsPrecision(getSemantics(type))));
}

static double toDouble(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

//===----------------------------------------------------------------------===//
// Arithmetic on bounds
//===----------------------------------------------------------------------===//

Value BoundArithmetic::constant(double value) {
  return arith::ConstantOp::create(
      b, b.getF32FloatAttr(static_cast<float>(value)));
}

Value BoundArithmetic::magnitude(Value x) { return math::AbsFOp::create(b, x); }

Value BoundArithmetic::add(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AddFOp::create(b, x, y);
}

Value BoundArithmetic::max(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::MaximumFOp::create(b, x, y);
}

Value BoundArithmetic::mul(Value x, Value y) {
  if (!x || !y)
    return Value();
  return arith::MulFOp::create(b, x, y);
}

Value BoundArithmetic::scale(Value x, double factor) {
  return x ? mul(x, constant(factor)) : Value();
}

Value BoundArithmetic::addRounding(Value value, Value error, double unit) {
  Value rounding = scale(reach({value, error}), unit + 0x1p-24);
  return add(add(error, rounding), constant(kSmallestNormal));
}

Value BoundArithmetic::addConversion(Bounded x, FloatType type) {
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  double smallest = toDouble(APFloat::getSmallest(semantics));
  double largest = toDouble(APFloat::getLargest(semantics));
  Value reached = reach(x);
  Value error =
      add(x.error, max(scale(reached, getUnit(type)), constant(smallest / 2)));
  // Whether what lies beyond saturates or not is the format's business.
  Value fits = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, reached,
                                     constant(largest));
  return arith::SelectOp::create(b, fits, error, unknown());
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// x'y' - xy = x dy + y dx + dx dy.
Bounded BoundArithmetic::multiply(Bounded x, Bounded y, double unit) {
  Value product = arith::MulFOp::create(b, x.value, y.value);
  Value error = mul(magnitude(x.value), y.error);
  error = add(error, mul(magnitude(y.value), x.error));
  error = add(error, mul(x.error, y.error));
  return {product, addRounding(product, error, unit)};
}

/// x'/y' - x/y = (dx - (x/y) dy) / y', where |y'| is at least |y| - dy.
Bounded BoundArithmetic::divide(Bounded x, Bounded y, double unit) {
  Value quotient = arith::DivFOp::create(b, x.value, y.value);
  Value numerator = add(x.error, mul(magnitude(quotient), y.error));
  Value error;
  if (numerator) {
    Value least = magnitude(y.value);
    if (y.error)
      least = arith::MaximumFOp::create(
          b, arith::SubFOp::create(b, least, y.error), constant(0));
    error = arith::DivFOp::create(b, numerator, least);
  }
  return {quotient, addRounding(quotient, error, unit)};
}

/// The result may be that of another order when the bounds overlap.
Bounded BoundArithmetic::applyCompare(arith::CmpFOp op, ArrayRef<Bounded> x) {
  Value result =
      arith::CmpFOp::create(b, op.getPredicate(), x[0].value, x[1].value);
  Value reach = add(x[0].error, x[1].error);
  if (!reach)
    return {result, Value()};
  Value distance = magnitude(arith::SubFOp::create(b, x[0].value, x[1].value));
  // Unordered: a bound that is NaN knows nothing.
  return {result,
          arith::CmpFOp::create(b, arith::CmpFPredicate::ULE, distance, reach)};
}

Bounded BoundArithmetic::applySelect(ArrayRef<Bounded> x) {
  Value condition = x[0].value;
  Value result = arith::SelectOp::create(b, condition, x[1].value, x[2].value);
  auto orZero = [&](Value error) { return error ? error : constant(0); };
  Value error;
  if (x[1].error || x[2].error)
    error = arith::SelectOp::create(b, condition, orZero(x[1].error),
                                    orZero(x[2].error));
  if (x[0].isExact())
    return {result, error};
  Value distance = magnitude(arith::SubFOp::create(b, x[1].value, x[2].value));
  Value either = add(distance, max(x[1].error, x[2].error));
  return {result,
          arith::SelectOp::create(b, x[0].error, either, orZero(error))};
}

std::optional<Bounded> BoundArithmetic::applyArith(Operation *op,
                                                   ArrayRef<Bounded> x) {
  double unit = getUnit(op->getResult(0).getType());
  auto sum = [&](Value result) {
    return Bounded{result,
                   addRounding(result, add(x[0].error, x[1].error), unit)};
  };
  auto extremum = [&](Value result) {
    return Bounded{result, max(x[0].error, x[1].error)};
  };
  auto clone = [&] {
    return cloneOnReference(b, op, {x[0].value, x[1].value})->getResult(0);
  };
  return llvm::TypeSwitch<Operation *, std::optional<Bounded>>(op)
      .Case<arith::AddFOp, arith::SubFOp>([&](auto) { return sum(clone()); })
      .Case<arith::MulFOp>([&](auto) { return multiply(x[0], x[1], unit); })
      .Case<arith::DivFOp>([&](auto) { return divide(x[0], x[1], unit); })
      .Case<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
            arith::MinNumFOp>([&](auto) { return extremum(clone()); })
      .Case<arith::NegFOp>([&](auto) {
        return Bounded{arith::NegFOp::create(b, x[0].value), x[0].error};
      })
      .Case<arith::ExtFOp>([&](auto) { return x[0]; })
      .Case<arith::TruncFOp>([&](arith::TruncFOp truncate) {
        return Bounded{
            x[0].value,
            addConversion(x[0], cast<FloatType>(truncate.getType()))};
      })
      .Case<arith::SelectOp>([&](auto) { return applySelect(x); })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<Bounded> BoundArithmetic::applyMath(Operation *op,
                                                  ArrayRef<Bounded> x) {
  if (isa<math::AbsFOp>(op))
    return Bounded{magnitude(x[0].value), x[0].error};
  if (isa<math::FmaOp>(op)) {
    double unit = getUnit(op->getResult(0).getType());
    Bounded product = multiply(x[0], x[1], unit);
    Value result = arith::AddFOp::create(b, product.value, x[2].value);
    return Bounded{result,
                   addRounding(result, add(product.error, x[2].error), unit)};
  }
  if (!isa<math::ExpOp, math::Exp2Op, math::TanhOp, math::ErfOp, math::SinOp,
           math::CosOp, math::SqrtOp, math::RsqrtOp, math::LogOp>(op))
    return std::nullopt;
  Value result = cloneOnReference(b, op, {x[0].value})->getResult(0);
  double unit = std::max(kMathUnit, 2 * getUnit(op->getResult(0).getType()));
  if (x[0].isExact())
    return Bounded{result, addRounding(result, Value(), unit)};
  auto at = [&](Value point) {
    return cloneOnReference(b, op, {point})->getResult(0);
  };
  Value error = x[0].error;
  Value low = arith::MaximumFOp::create(
      b, arith::SubFOp::create(b, x[0].value, error), constant(0));
  Value moved =
      llvm::TypeSwitch<Operation *, Value>(op)
          // Slopes of at most 1.
          .Case<math::SinOp, math::CosOp>([&](auto) { return error; })
          // Odd, and steepest at zero: the largest change is toward it.
          .Case<math::TanhOp, math::ErfOp>([&](auto) -> Value {
            Value size = magnitude(x[0].value);
            Value change = arith::SubFOp::create(
                b, at(size), at(arith::SubFOp::create(b, size, error)));
            // What is unknown may be no number.
            Value isKnown = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                                  error, unknown());
            return arith::SelectOp::create(b, isKnown, change, unknown());
          })
          // Convex and rising: the largest change is upwards.
          .Case<math::ExpOp, math::Exp2Op>([&](auto) -> Value {
            return arith::SubFOp::create(
                b, at(arith::AddFOp::create(b, x[0].value, error)), result);
          })
          // Steepest at the least argument.
          .Case<math::SqrtOp, math::LogOp>([&](auto) -> Value {
            return arith::SubFOp::create(b, result, at(low));
          })
          .Case<math::RsqrtOp>([&](auto) -> Value {
            return arith::SubFOp::create(b, at(low), result);
          });
  // The difference above is itself as good as its terms.
  moved = add(moved, scale(add(magnitude(moved), magnitude(result)), unit));
  return Bounded{result, addRounding(result, moved, unit)};
}

/// Ops that copy or order their operands do not round, nor do constants, other
/// than those that the reference cannot hold.
bool BoundArithmetic::isRounded(Operation *op) {
  if (isa<arith::ExtFOp, arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp,
          arith::MaxNumFOp, arith::MinNumFOp, arith::SelectOp, math::AbsFOp>(
          op))
    return false;
  return llvm::any_of(op->getResultTypes(), [&](Type type) {
    return isa<FloatType>(type) &&
           (!isa<arith::ConstantOp>(op) || type.isF64());
  });
}

SmallVector<Bounded> BoundArithmetic::apply(Operation *op,
                                            ArrayRef<Bounded> operands) {
  lastIsUnknown = false;
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return {applyCompare(compare, operands)};
  bool isFloat =
      op->getNumResults() == 1 && isa<FloatType>(op->getResult(0).getType());
  if (isFloat && !isa<arith::ConstantOp>(op)) {
    if (std::optional<Bounded> result = applyArith(op, operands))
      return {*result};
    if (std::optional<Bounded> result = applyMath(op, operands))
      return {*result};
  }
  bool isExact = llvm::all_of(operands, [](Bounded x) { return x.isExact(); });
  lastIsUnknown = !isExact;
  SmallVector<Value> values;
  for (auto [operand, original] : llvm::zip_equal(operands, op->getOperands()))
    values.push_back(
        isa<arith::ConstantOp, arith::SIToFPOp, arith::UIToFPOp>(op)
            ? operand.value
            : createConverted(b, operand.value, original.getType()));
  Operation *clone = b.clone(*op);
  clone->setOperands(values);
  SmallVector<Bounded> results;
  for (Value result : clone->getResults()) {
    Value value =
        createConverted(b, result, getReferenceType(result.getType()));
    Value error;
    if (isa<FloatType>(result.getType()) && !isExact)
      error = unknown();
    else if (!isExact)
      error = arith::ConstantOp::create(b, b.getBoolAttr(true));
    else if (isRounded(op))
      error = addRounding(value, Value(),
                          std::max(kMathUnit, 2 * getUnit(result.getType())));
    results.push_back({value, error});
  }
  return results;
}
