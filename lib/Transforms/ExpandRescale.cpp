//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expands moss.rescale into arith and vector ops. Row factors are computed on
// Mx1 vectors and column factors on 1xN vectors, and are broadcast as late as
// possible. Only elementwise arith ops, splat constants and vector.broadcast
// are used: on a GPU these vectors are distributed over threads by a type
// conversion of elementwise ops.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSEXPANDRESCALE
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// Significand (f32) and exponent (i32) of a scale, scalars or vectors. A null
/// significand is 1.
struct Factor {
  Value significand;
  Value exponent;

  explicit operator bool() const { return static_cast<bool>(exponent); }
};

/// Emits arithmetic on scalars and vectors alike.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  /// Split f32 scales: the significand is in [1, 2) with the scale's sign; a
  /// zero, an infinity or a NaN is its own significand, with exponent 0.
  Factor splitF32(Value scale);

  /// Split E8M0 scales. The significand of code 255 is NaN, all others 1.
  Factor splitE8M0(Value scale);

  Factor split(Value scale) {
    return getElementTypeOrSelf(scale).isF32() ? splitF32(scale)
                                               : splitE8M0(scale);
  }

  /// The product of two factors; each may be empty. Operands of different
  /// shapes are broadcast to `shape`.
  Factor multiply(Factor lhs, Factor rhs, ArrayRef<int64_t> shape);

  /// The two multipliers `c * 2^x1` and `2^x2` of moss.rescale.
  std::pair<Value, Value> multipliers(Factor factor, int64_t maxFirst);

  Value broadcast(Value value, ArrayRef<int64_t> shape);

private:
  Value constant(Type like, int64_t value);
  Value constant(Type like, const APFloat &value);
  Value powerOfTwo(Value exponent);
  Value clamp(Value value, int64_t low, int64_t high);
  /// `like` with another element type.
  static Type withElement(Type like, Type element);

  OpBuilder &b;
  Location loc;
};

struct ExpandRescale : OpRewritePattern<RescaleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RescaleOp op,
                                PatternRewriter &rewriter) const override;
};

struct ExpandRescalePass
    : moss::impl::MossExpandRescaleBase<ExpandRescalePass> {
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Emitter
//===----------------------------------------------------------------------===//

Type Emitter::withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

Value Emitter::constant(Type like, int64_t value) {
  Type type = withElement(like, b.getI32Type());
  TypedAttr attr = b.getI32IntegerAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value Emitter::constant(Type like, const APFloat &value) {
  Type type = withElement(like, b.getF32Type());
  TypedAttr attr = b.getFloatAttr(b.getF32Type(), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(b, loc, attr);
}

Value Emitter::broadcast(Value value, ArrayRef<int64_t> shape) {
  auto type = VectorType::get(shape, getElementTypeOrSelf(value));
  if (value.getType() == type)
    return value;
  return vector::BroadcastOp::create(b, loc, type, value);
}

Factor Emitter::splitF32(Value scale) {
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

Factor Emitter::splitE8M0(Value scale) {
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

Factor Emitter::multiply(Factor lhs, Factor rhs, ArrayRef<int64_t> shape) {
  if (!lhs || !rhs)
    return lhs ? lhs : rhs;
  if (lhs.exponent.getType() != rhs.exponent.getType())
    for (Value *value :
         {&lhs.significand, &lhs.exponent, &rhs.significand, &rhs.exponent})
      *value = broadcast(*value, shape);
  return {arith::MulFOp::create(b, loc, lhs.significand, rhs.significand),
          arith::AddIOp::create(b, loc, lhs.exponent, rhs.exponent)};
}

Value Emitter::clamp(Value value, int64_t low, int64_t high) {
  Type type = value.getType();
  return arith::MinSIOp::create(
      b, loc, arith::MaxSIOp::create(b, loc, value, constant(type, low)),
      constant(type, high));
}

/// `exponent` must be that of a normal number.
Value Emitter::powerOfTwo(Value exponent) {
  Type type = exponent.getType();
  Value field = arith::AddIOp::create(b, loc, exponent, constant(type, 127));
  return arith::BitcastOp::create(
      b, loc, withElement(type, b.getF32Type()),
      arith::ShLIOp::create(b, loc, field, constant(type, 23)));
}

std::pair<Value, Value> Emitter::multipliers(Factor factor, int64_t maxFirst) {
  Value first = clamp(factor.exponent, -126, maxFirst);
  Value second =
      clamp(arith::SubIOp::create(b, loc, factor.exponent, first), -126, 126);
  return {arith::MulFOp::create(b, loc, factor.significand, powerOfTwo(first)),
          powerOfTwo(second)};
}

//===----------------------------------------------------------------------===//
// Pattern and pass
//===----------------------------------------------------------------------===//

/// The largest x1 for which c * 2^x1 is finite. It is 125 for two significands
/// and leaves room for c < 16 when row and column scales are f32 too; wherever
/// both bounds give a finite c * 2^x1, they give the same result.
static int64_t getMaxFirstExponent(RescaleOp op) {
  size_t numSignificands = op.getScalars().size();
  for (Value scales : {op.getRows(), op.getCols()})
    if (scales && getElementTypeOrSelf(scales).isF32())
      ++numSignificands;
  return numSignificands <= 2 ? 125 : 123;
}

LogicalResult ExpandRescale::matchAndRewrite(RescaleOp op,
                                             PatternRewriter &rewriter) const {
  Emitter emitter(rewriter, op.getLoc());
  Factor factor;
  for (Value scalar : op.getScalars())
    factor = emitter.multiply(factor, emitter.splitF32(scalar), {});

  // The row scales come before the column scales in the product, so scalars
  // join the rows if there are any.
  ArrayRef<int64_t> shape = op.getTile().getType().getShape();
  for (auto [scales, scaleShape] :
       {std::pair<Value, SmallVector<int64_t>>{op.getRows(), {shape[0], 1}},
        {op.getCols(), {1, shape[1]}}}) {
    if (!scales)
      continue;
    bool joinsScalars = !factor || !isa<VectorType>(factor.exponent.getType());
    factor =
        emitter.multiply(factor, emitter.split(scales),
                         joinsScalars ? ArrayRef<int64_t>(scaleShape) : shape);
  }
  if (!factor)
    return rewriter.notifyMatchFailure(op, "no scales: the folder removes it");

  auto [first, second] = emitter.multipliers(factor, getMaxFirstExponent(op));
  Value scaled = arith::MulFOp::create(rewriter, op.getLoc(), op.getTile(),
                                       emitter.broadcast(first, shape));
  rewriter.replaceOpWithNewOp<arith::MulFOp>(op, scaled,
                                             emitter.broadcast(second, shape));
  return success();
}

void ExpandRescalePass::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<ExpandRescale>(&getContext());
  walkAndApplyPatterns(getOperation(), std::move(patterns));
}
