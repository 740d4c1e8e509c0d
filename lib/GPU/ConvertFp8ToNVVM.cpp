//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions to and from FP8 by the GPU's instructions, which work on pairs.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/ScaleArithmetic.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSCONVERTFP8TONVVM
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

static bool isFp8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type));
}

/// A scalar, or a vector whose elements can be taken apart.
static bool isScalarOrRow(Type type) {
  auto vectorType = dyn_cast<VectorType>(type);
  return !vectorType || (vectorType.getRank() == 1 && !vectorType.isScalable());
}

static SmallVector<Value> getElements(ImplicitLocOpBuilder &b, Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return {value};
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getDimSize(0); ++i)
    elements.push_back(vector::ExtractOp::create(b, value, i));
  return elements;
}

/// The inverse of `getElements`; drops elements that `like` has no room for.
static Value fromElements(ImplicitLocOpBuilder &b, ArrayRef<Value> elements,
                          Type like) {
  auto type = dyn_cast<VectorType>(like);
  if (!type)
    return elements.front();
  return vector::FromElementsOp::create(
      b, type.clone(elements.front().getType()),
      elements.take_front(type.getDimSize(0)));
}

static Type withElement(Type type, Type element) {
  if (auto vectorType = dyn_cast<VectorType>(type))
    return vectorType.clone(element);
  return element;
}

//===----------------------------------------------------------------------===//
// Truncation
//===----------------------------------------------------------------------===//

/// The largest finite number of an FP8 type.
static double getMaxFinite(Type type) {
  return isa<Float8E4M3FNType>(getElementTypeOrSelf(type)) ? 448.0 : 57344.0;
}

static bool isConstant(Value value, double expected) {
  APFloat constant(0.0);
  return matchPattern(value, m_ConstantFloat(&constant)) &&
         constant.convertToDouble() == expected;
}

/// What is clamped to the range of the FP8 type to give `value`; null if this
/// is not what defines it.
static Value getUnclamped(Value value, Type type) {
  double limit = getMaxFinite(type);
  auto outer = value.getDefiningOp<arith::MaximumFOp>();
  if (!outer || !isConstant(outer.getRhs(), -limit))
    return {};
  auto inner = outer.getLhs().getDefiningOp<arith::MinimumFOp>();
  if (!inner || !isConstant(inner.getRhs(), limit))
    return {};
  return inner.getLhs();
}

/// Convert f32 to FP8 codes (i8), saturating.
static Value createSaturatingCodes(ImplicitLocOpBuilder &b, Value x,
                                   Type type) {
  SmallVector<Value> elements = getElements(b, x);
  if (elements.size() % 2 != 0)
    elements.push_back(elements.back());
  SmallVector<Value> pairs;
  for (size_t i = 0; i < elements.size(); i += 2)
    // The first operand becomes the high byte.
    pairs.push_back(NVVM::ConvertF32x2ToF8x2Op::create(
        b, b.getI16Type(), elements[i + 1], elements[i],
        NVVM::FPRoundingMode::RN, NVVM::SaturationMode::SATFINITE,
        /*relu=*/false, getElementTypeOrSelf(type)));
  // Bytes would be put together one by one.
  int64_t size = pairs.size();
  Value words = vector::FromElementsOp::create(
      b, VectorType::get(size, b.getI16Type()), pairs);
  Value codes = vector::BitCastOp::create(
      b, VectorType::get(2 * size, b.getI8Type()), words);
  if (codes.getType() == withElement(type, b.getI8Type()))
    return codes;
  return fromElements(b, getElements(b, codes), type);
}

/// Replace the codes of numbers beyond the range by those that IEEE rounding
/// gives: NaN, or infinity where there is one.
static Value createOverflow(ImplicitLocOpBuilder &b, Value x, Value codes,
                            Type type) {
  Value magnitude = createMagnitude(b, x);
  auto compare = [&](arith::CmpIPredicate predicate, int64_t bits) {
    return arith::CmpIOp::create(b, predicate, magnitude,
                                 createConstant(b, magnitude.getType(), bits));
  };
  Type i8 = codes.getType();
  if (isa<Float8E4M3FNType>(getElementTypeOrSelf(type))) {
    // Up to 464, a tie, rounds to 448.
    Value isOver = compare(arith::CmpIPredicate::ugt, 0x43e80000);
    return arith::SelectOp::create(b, isOver,
                                   createConstant(b, i8, int64_t(0x7f)), codes);
  }
  // From 61440, a tie, up to infinity.
  Value isOver = compare(arith::CmpIPredicate::uge, 0x47700000);
  Value isNumber = compare(arith::CmpIPredicate::ule, kInfinityBits);
  Value infinity = arith::OrIOp::create(
      b, arith::AndIOp::create(b, codes, createConstant(b, i8, int64_t(-128))),
      createConstant(b, i8, int64_t(0x7c)));
  return arith::SelectOp::create(b, arith::AndIOp::create(b, isOver, isNumber),
                                 infinity, codes);
}

namespace {
struct ConvertTruncF : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!isFp8(type) || !isScalarOrRow(type))
      return rewriter.notifyMatchFailure(op, "not to a row of FP8");
    if (!getElementTypeOrSelf(op.getIn()).isF32())
      return rewriter.notifyMatchFailure(op, "only from f32");
    if (op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) !=
        arith::RoundingMode::to_nearest_even)
      return rewriter.notifyMatchFailure(op, "only rounds to nearest even");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value codes;
    if (Value unclamped = getUnclamped(op.getIn(), type))
      codes = createSaturatingCodes(b, unclamped, type);
    else
      codes = createOverflow(b, op.getIn(),
                             createSaturatingCodes(b, op.getIn(), type), type);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, type, codes);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Extension
//===----------------------------------------------------------------------===//

/// Convert FP8 to f16, which is exact.
static Value createHalf(ImplicitLocOpBuilder &b, Value x) {
  Type type = x.getType(), i8 = b.getI8Type();
  Value codes = arith::BitcastOp::create(b, withElement(type, i8), x);
  SmallVector<Value> bytes = getElements(b, codes);
  if (bytes.size() % 2 != 0)
    bytes.push_back(bytes.back());
  SmallVector<Value> halves;
  for (size_t i = 0; i < bytes.size(); i += 2) {
    Value pair = vector::FromElementsOp::create(
        b, VectorType::get(2, i8), ValueRange{bytes[i], bytes[i + 1]});
    Value converted = NVVM::ConvertF8x2ToF16x2Op::create(
        b, VectorType::get(2, b.getF16Type()), pair, /*relu=*/false,
        getElementTypeOrSelf(type));
    llvm::append_range(halves, getElements(b, converted));
  }
  return fromElements(b, halves, type);
}

/// Convert E8M0 to f32. The code is the exponent field, except for 2^-127, a
/// subnormal f32, and NaN.
static Value createFromE8M0(ImplicitLocOpBuilder &b, Value x) {
  Type i32 = withElement(x.getType(), b.getI32Type());
  Value byte =
      arith::BitcastOp::create(b, withElement(x.getType(), b.getI8Type()), x);
  Value code = arith::ExtUIOp::create(b, i32, byte);
  Value bits =
      arith::ShLIOp::create(b, code, createConstant(b, i32, int64_t(23)));
  auto replace = [&](int64_t when, int64_t by) {
    Value isIt = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, code,
                                       createConstant(b, i32, when));
    bits = arith::SelectOp::create(b, isIt, createConstant(b, i32, by), bits);
  };
  replace(0, 0x00400000);
  replace(255, 0x7fc00000);
  return arith::BitcastOp::create(b, withElement(x.getType(), b.getF32Type()),
                                  bits);
}

namespace {
struct ConvertExtF : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    Value in = op.getIn();
    bool isE8M0 = isa<Float8E8M0FNUType>(getElementTypeOrSelf(in));
    if ((!isE8M0 && !isFp8(in.getType())) || !isScalarOrRow(in.getType()))
      return rewriter.notifyMatchFailure(op, "not from a row of FP8");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value wide = isE8M0 ? createFromE8M0(b, in) : createHalf(b, in);
    Type f32 = withElement(in.getType(), b.getF32Type());
    if (wide.getType() != op.getType() && wide.getType() != f32)
      wide = arith::ExtFOp::create(b, f32, wide);
    if (wide.getType() == op.getType())
      rewriter.replaceOp(op, wide);
    else if (getElementTypeOrSelf(op.getType()).isF64())
      rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), wide);
    else
      rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};

struct ConvertFp8ToNVVMPass
    : moss::impl::MossConvertFp8ToNVVMBase<ConvertFp8ToNVVMPass> {
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

static bool involvesFp8(Operation *op) {
  auto isNarrow = [](Type type) {
    return isFp8(type) || isa<Float8E8M0FNUType>(getElementTypeOrSelf(type));
  };
  return isNarrow(op->getOperand(0).getType()) ||
         isNarrow(op->getResult(0).getType());
}

void ConvertFp8ToNVVMPass::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<ConvertTruncF, ConvertExtF>(&getContext());
  walkAndApplyPatterns(getOperation(), std::move(patterns));
  WalkResult result = getOperation()->walk([](Operation *op) {
    if (!isa<arith::TruncFOp, arith::ExtFOp>(op) || !involvesFp8(op))
      return WalkResult::advance();
    op->emitOpError("from ")
        << op->getOperand(0).getType() << " to " << op->getResult(0).getType()
        << " has no instruction; convert scalars or one-dimensional vectors, "
           "from f32 or to it, to nearest even";
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
