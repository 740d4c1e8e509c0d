//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Math ops of kernels to instructions, without libdevice.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSEXPANDDEVICEMATH
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// An op on f32 to the LLVM intrinsic that the PTX backend selects an
/// instruction for. It is called by name, because convert-gpu-to-nvvm takes
/// `llvm.intr.floor` and its like for math that it should have lowered.
template <typename MathOp> struct ToIntrinsic : OpRewritePattern<MathOp> {
  ToIntrinsic(MLIRContext *context, StringRef name)
      : OpRewritePattern<MathOp>(context, /*benefit=*/10),
        name(StringAttr::get(context, name)) {}

  LogicalResult matchAndRewrite(MathOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(op, op.getType(), name,
                                                       op->getOperands());
    return success();
  }

private:
  StringAttr name;
};
} // namespace

template <typename MathOp>
static void addIntrinsic(RewritePatternSet &patterns, StringRef name) {
  patterns.add<ToIntrinsic<MathOp>>(patterns.getContext(), name);
}

static void populateIntrinsicPatterns(RewritePatternSet &patterns) {
  addIntrinsic<math::AbsFOp>(patterns, "llvm.fabs.f32");
  addIntrinsic<math::CeilOp>(patterns, "llvm.ceil.f32");
  addIntrinsic<math::CopySignOp>(patterns, "llvm.copysign.f32");
  addIntrinsic<math::FloorOp>(patterns, "llvm.floor.f32");
  addIntrinsic<math::FmaOp>(patterns, "llvm.fma.f32");
  addIntrinsic<math::RoundEvenOp>(patterns, "llvm.roundeven.f32");
  addIntrinsic<math::RoundOp>(patterns, "llvm.round.f32");
  addIntrinsic<math::SqrtOp>(patterns, "llvm.sqrt.f32");
  addIntrinsic<math::TruncOp>(patterns, "llvm.trunc.f32");
}

/// Functions of functions, which are expanded before they are approximated.
static void populateCompoundPatterns(RewritePatternSet &patterns) {
  math::populateExpansionPatterns(patterns,
                                  {"acosh", "asinh", "atanh", "cosh", "exp2",
                                   "fpowi", "powf", "rsqrt", "sinh", "tan"});
}

namespace {
struct ExpandDeviceMathPass
    : moss::impl::MossExpandDeviceMathBase<ExpandDeviceMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathF32ExpansionPatterns(patterns, [](StringRef) { return true; });
    populateIntrinsicPatterns(patterns);
    populateCompoundPatterns(patterns);
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    WalkResult result = getOperation().walk([](Operation *op) {
      if (!isa<math::MathDialect>(op->getDialect()) ||
          !isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
        return WalkResult::advance();
      op->emitError("cannot be lowered for a GPU without a device library; "
                    "compute it in f32 and from simpler functions");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
