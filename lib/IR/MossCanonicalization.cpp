//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Canonicalizers and folders of the ops on quantized tensors. Casts of tensor
// operands are folded by the tensor dialect, for every destination-style op.
// `dequantize` of `quantize` is not the identity, and never folded.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "moss/IR/Moss.h"

using namespace mlir;
using namespace mlir::moss;

Value mlir::moss::getDestinationOfZeros(OpBuilder &builder, Value init) {
  if (auto fill = init.getDefiningOp<linalg::FillOp>()) {
    bool isZero = matchPattern(fill.getInputs().front(), m_AnyZeroFloat());
    return isZero && fill.hasPureTensorSemantics() ? fill.getOutputs().front()
                                                   : Value();
  }
  auto type = dyn_cast<RankedTensorType>(init.getType());
  if (!type || !matchPattern(init, m_AnyZeroFloat()))
    return {};
  return tensor::EmptyOp::create(builder, init.getLoc(), type.getShape(),
                                 type.getElementType());
}

namespace {
/// Adding to zeros is overwriting.
struct OverwriteZeros : OpRewritePattern<ScaledMatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScaledMatmulOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getAccumulates())
      return rewriter.notifyMatchFailure(op, "does not accumulate");
    Value destination = getDestinationOfZeros(rewriter, op.getInit());
    if (!destination)
      return rewriter.notifyMatchFailure(op, "init is not known to be zero");
    rewriter.modifyOpInPlace(op, [&] {
      op.setAccumulates(false);
      op.getInitMutable().assign(destination);
    });
    return success();
  }
};

/// A fill of a tensor that is then overwritten as a whole is dead.
template <typename OpT> struct SkipOverwrittenFill : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    if constexpr (std::is_same_v<OpT, ScaledMatmulOp>)
      if (op.getAccumulates())
        return rewriter.notifyMatchFailure(op, "reads its init");
    bool changed = false;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto fill = init.get().template getDefiningOp<linalg::FillOp>();
      if (!fill || !fill.hasPureTensorSemantics())
        continue;
      rewriter.modifyOpInPlace(op,
                               [&] { init.set(fill.getOutputs().front()); });
      changed = true;
    }
    return success(changed);
  }
};

/// `quantize` transposes at no cost, so its source need not be transposed.
struct AbsorbTranspose : OpRewritePattern<QuantizeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(QuantizeOp op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getSource().getDefiningOp<linalg::TransposeOp>();
    if (!transpose || transpose.getPermutation() != ArrayRef<int64_t>{1, 0})
      return rewriter.notifyMatchFailure(op, "source is not transposed");
    rewriter.modifyOpInPlace(op, [&] {
      op.getSourceMutable().assign(transpose.getInput());
      op.setTranspose(!op.getTranspose());
    });
    return success();
  }
};
} // namespace

void QuantizeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<AbsorbTranspose, SkipOverwrittenFill<QuantizeOp>>(context);
}

void DequantizeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                               MLIRContext *context) {
  patterns.add<SkipOverwrittenFill<DequantizeOp>>(context);
}

void ScaledMatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                 MLIRContext *context) {
  patterns.add<OverwriteZeros, SkipOverwrittenFill<ScaledMatmulOp>>(context);
}

LogicalResult QuantizeOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return memref::foldMemRefCast(*this);
}

LogicalResult DequantizeOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &) {
  return memref::foldMemRefCast(*this);
}

LogicalResult ScaledMatmulOp::fold(FoldAdaptor,
                                   SmallVectorImpl<OpFoldResult> &) {
  return memref::foldMemRefCast(*this);
}
