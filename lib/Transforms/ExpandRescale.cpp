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
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/ScaleFactor.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSEXPANDRESCALE
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
struct ExpandRescale : OpRewritePattern<RescaleOp> {
  ExpandRescale(MLIRContext *context, bool appliesPowers)
      : OpRewritePattern(context), appliesPowers(appliesPowers) {}
  LogicalResult matchAndRewrite(RescaleOp op,
                                PatternRewriter &rewriter) const override;

private:
  /// Whether the second multiplication is to be moss.apply_powers.
  bool appliesPowers;
};

/// acc + tile * (rows * cols), rounded once.
struct ExpandAddRescaled : OpRewritePattern<AddRescaledOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddRescaledOp op,
                                PatternRewriter &rewriter) const override;
};

struct ExpandRescalePass
    : moss::impl::MossExpandRescaleBase<ExpandRescalePass> {
  using MossExpandRescaleBase::MossExpandRescaleBase;
  void runOnOperation() override;
};
} // namespace

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
  ScaleFactorEmitter emitter(rewriter, op.getLoc());
  ScaleFactor factor;
  for (Value scalar : op.getScalars())
    factor = emitter.multiply(factor, emitter.split(scalar), {});

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
  // To tell whether all powers of a whole tile are 1 takes as much time as to
  // multiply by them.
  if (appliesPowers && second.getType() != op.getType())
    rewriter.replaceOpWithNewOp<ApplyPowersOp>(op, scaled, second);
  else
    rewriter.replaceOpWithNewOp<arith::MulFOp>(
        op, scaled, emitter.broadcast(second, shape));
  return success();
}

LogicalResult
ExpandAddRescaled::matchAndRewrite(AddRescaledOp op,
                                   PatternRewriter &rewriter) const {
  ScaleFactorEmitter emitter(rewriter, op.getLoc());
  ArrayRef<int64_t> shape = op.getTile().getType().getShape();
  Value factor;
  for (Value scales : {op.getRows(), op.getCols()}) {
    if (!scales)
      continue;
    Value factors = emitter.broadcast(emitter.toF32(scales), shape);
    factor = factor
                 ? arith::MulFOp::create(rewriter, op.getLoc(), factor, factors)
                 : factors;
  }
  // Not vector.fma, which is lowered to an operation that need not be fused.
  rewriter.replaceOpWithNewOp<math::FmaOp>(op, op.getTile(), factor,
                                           op.getAcc());
  return success();
}

void ExpandRescalePass::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<ExpandRescale>(&getContext(), /*appliesPowers=*/forThreads);
  if (!forThreads)
    patterns.add<ExpandAddRescaled>(&getContext());
  walkAndApplyPatterns(getOperation(), std::move(patterns));
}
