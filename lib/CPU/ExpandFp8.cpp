//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Expands conversions between f8E4M3FN, f8E5M2, f8E8M0FNU and wider floats into
// integer arithmetic, for scalars and vectors.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "moss/CPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSEXPANDFP8
#include "moss/CPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// What the expansions need to know of an FP8 format with a sign.
struct Format {
  /// Fraction bits, and the exponent bias.
  int fractionBits;
  int bias;
  /// The code of infinity, or of NaN where the format has no infinity. Larger
  /// magnitudes are NaN.
  int overflowCode;
  bool hasInfinity;

  /// Distance between the fractions of f32 and of the format.
  int shift() const { return 23 - fractionBits; }
  /// Distance between the exponent fields of f32 and of the format.
  int rebias() const { return 127 - bias; }
  /// Exponent of the smallest subnormal number.
  int minExponent() const { return 1 - bias - fractionBits; }
};

/// Emits elementwise arithmetic on scalars or vectors shaped like `like`.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, Type like)
      : b(builder), loc(loc), like(like) {}

  Value extend(Value code, Format format);
  Value extendE8M0(Value code);
  Value truncate(Value f32, Format format);

  Type type(Type element) {
    if (auto vector = dyn_cast<VectorType>(like))
      return vector.clone(element);
    return element;
  }

private:
  Value constant(TypedAttr attr) {
    if (auto vector = dyn_cast<VectorType>(type(attr.getType())))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, loc, attr);
  }
  Value constI32(uint32_t value) {
    return constant(b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  /// The f32 number 2^exponent.
  Value powerOfTwo(int exponent) {
    return constant(b.getF32FloatAttr(std::ldexp(1.0f, exponent)));
  }
  Value bits(Value f32) {
    return arith::BitcastOp::create(b, loc, type(b.getI32Type()), f32);
  }
  Value fromBits(Value i32) {
    return arith::BitcastOp::create(b, loc, type(b.getF32Type()), i32);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, uint32_t rhs) {
    return arith::CmpIOp::create(b, loc, predicate, lhs, constI32(rhs));
  }
  Value widen(Value code) {
    Value i8 = arith::BitcastOp::create(b, loc, type(b.getI8Type()), code);
    return arith::ExtUIOp::create(b, loc, type(b.getI32Type()), i8);
  }

  OpBuilder &b;
  Location loc;
  Type like;
};

struct ExpandExtF : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override;
};

struct ExpandTruncF : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override;
};

struct ExpandFp8Pass : moss::impl::MossExpandFp8Base<ExpandFp8Pass> {
  void runOnOperation() override;
};
} // namespace

static constexpr uint32_t kF32Infinity = 0x7f800000, kF32NaN = 0x7fc00000;
static constexpr uint32_t kFp8NaN = 0x7f;

static std::optional<Format> getFormat(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return Format{3, 7, 0x7f, false};
  if (isa<Float8E5M2Type>(type))
    return Format{2, 15, 0x7c, true};
  return std::nullopt;
}

Value Emitter::extend(Value code, Format format) {
  Value wide = widen(code);
  Value sign = arith::ShLIOp::create(
      b, loc, arith::AndIOp::create(b, loc, wide, constI32(0x80)),
      constI32(24));
  Value magnitude = arith::AndIOp::create(b, loc, wide, constI32(0x7f));

  Value normal = arith::AddIOp::create(
      b, loc,
      arith::ShLIOp::create(b, loc, magnitude, constI32(format.shift())),
      constI32(format.rebias() << 23));
  Value count =
      arith::UIToFPOp::create(b, loc, type(b.getF32Type()), magnitude);
  Value subnormal = bits(
      arith::MulFOp::create(b, loc, count, powerOfTwo(format.minExponent())));
  Value isSubnormal =
      compare(arith::CmpIPredicate::ult, magnitude, 1u << format.fractionBits);
  Value result =
      arith::SelectOp::create(b, loc, isSubnormal, subnormal, normal);

  if (format.hasInfinity) {
    Value isInfinity =
        compare(arith::CmpIPredicate::eq, magnitude, format.overflowCode);
    result = arith::SelectOp::create(b, loc, isInfinity, constI32(kF32Infinity),
                                     result);
  }
  Value isNaN = compare(format.hasInfinity ? arith::CmpIPredicate::ugt
                                           : arith::CmpIPredicate::uge,
                        magnitude, format.overflowCode);
  result = arith::SelectOp::create(b, loc, isNaN, constI32(kF32NaN), result);
  return fromBits(arith::OrIOp::create(b, loc, result, sign));
}

Value Emitter::extendE8M0(Value code) {
  Value wide = widen(code);
  Value normal = arith::ShLIOp::create(b, loc, wide, constI32(23));
  // Code 0 is 2^-127, a subnormal f32.
  Value isLowest = compare(arith::CmpIPredicate::eq, wide, 0);
  Value finite =
      arith::SelectOp::create(b, loc, isLowest, constI32(1 << 22), normal);
  Value isNaN = compare(arith::CmpIPredicate::eq, wide, 255);
  return fromBits(
      arith::SelectOp::create(b, loc, isNaN, constI32(kF32NaN), finite));
}

Value Emitter::truncate(Value f32, Format format) {
  Value all = bits(f32);
  Value magnitude = arith::AndIOp::create(b, loc, all, constI32(0x7fffffff));

  // Normal results: round to nearest even by adding half a unit, less one when
  // the last kept bit is 0. A carry moves on to the exponent as it should.
  Value shift = constI32(format.shift());
  Value last = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, magnitude, shift), constI32(1));
  Value half = constI32((1u << (format.shift() - 1)) - 1);
  Value rounded = arith::AddIOp::create(
      b, loc, arith::AddIOp::create(b, loc, magnitude, half), last);
  Value normal = arith::SubIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, rounded, shift),
      constI32(format.rebias() << format.fractionBits));

  // Subnormal results: the unit in the last place of 2^(23 + e) is 2^e, so an
  // f32 addition rounds to multiples of the smallest subnormal number.
  Value magic = powerOfTwo(format.minExponent() + 23);
  Value sum = arith::AddFOp::create(b, loc, fromBits(magnitude), magic);
  Value subnormal = arith::SubIOp::create(b, loc, bits(sum), bits(magic));
  uint32_t minNormal = (format.rebias() + 1) << 23;
  Value isSubnormal = compare(arith::CmpIPredicate::ult, magnitude, minNormal);
  Value code = arith::SelectOp::create(b, loc, isSubnormal, subnormal, normal);

  code = arith::MinUIOp::create(b, loc, code, constI32(format.overflowCode));
  Value sign = arith::AndIOp::create(
      b, loc, arith::ShRUIOp::create(b, loc, all, constI32(24)),
      constI32(0x80));
  Value isNaN = compare(arith::CmpIPredicate::ugt, magnitude, kF32Infinity);
  if (!format.hasInfinity)
    isNaN = compare(arith::CmpIPredicate::eq, code, format.overflowCode);
  Value result =
      arith::SelectOp::create(b, loc, isNaN, constI32(kFp8NaN),
                              arith::OrIOp::create(b, loc, code, sign));
  Value narrow = arith::TruncIOp::create(b, loc, type(b.getI8Type()), result);
  return arith::BitcastOp::create(b, loc, like, narrow);
}

/// Convert between f32 and a wider or narrower float type that is not FP8.
static Value convertF32(OpBuilder &b, Location loc, Value value, Type type) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  if (width == from)
    return value;
  if (width > from)
    return arith::ExtFOp::create(b, loc, type, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

LogicalResult ExpandExtF::matchAndRewrite(arith::ExtFOp op,
                                          PatternRewriter &rewriter) const {
  Type element = getElementTypeOrSelf(op.getIn());
  std::optional<Format> format = getFormat(element);
  bool isE8M0 = isa<Float8E8M0FNUType>(element);
  if (!format && !isE8M0)
    return rewriter.notifyMatchFailure(op, "not from an FP8 type");
  Emitter emitter(rewriter, op.getLoc(), op.getIn().getType());
  Value f32 = isE8M0 ? emitter.extendE8M0(op.getIn())
                     : emitter.extend(op.getIn(), *format);
  rewriter.replaceOp(op, convertF32(rewriter, op.getLoc(), f32, op.getType()));
  return success();
}

LogicalResult ExpandTruncF::matchAndRewrite(arith::TruncFOp op,
                                            PatternRewriter &rewriter) const {
  std::optional<Format> format = getFormat(getElementTypeOrSelf(op.getType()));
  if (!format)
    return rewriter.notifyMatchFailure(op, "not to f8E4M3FN or f8E5M2");
  if (op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) !=
      arith::RoundingMode::to_nearest_even)
    return rewriter.notifyMatchFailure(op, "only rounds to nearest even");
  // Rounding twice, through f32, would not be right for wider types.
  if (getElementTypeOrSelf(op.getIn()).getIntOrFloatBitWidth() > 32)
    return rewriter.notifyMatchFailure(op, "only from f32 and narrower");
  Emitter emitter(rewriter, op.getLoc(), op.getType());
  Value f32 = convertF32(rewriter, op.getLoc(), op.getIn(),
                         emitter.type(rewriter.getF32Type()));
  rewriter.replaceOp(op, emitter.truncate(f32, *format));
  return success();
}

void ExpandFp8Pass::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<ExpandExtF, ExpandTruncF>(&getContext());
  walkAndApplyPatterns(getOperation(), std::move(patterns));
}
