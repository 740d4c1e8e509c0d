//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSNARROWLOOPS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// The largest step that is narrowed. The runtime refuses matrices whose
/// extents are not that far below 2^31, so that no count passes it.
static constexpr int64_t kMaxStep = 1 << 16;

/// Count `loop` in i32, and cast the count for its uses.
static void narrow(scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  auto toI32 = [&](Value index) {
    return b.createOrFold<arith::IndexCastOp>(b.getI32Type(), index);
  };
  Value lower = toI32(loop.getLowerBound());
  Value upper = toI32(loop.getUpperBound()), step = toI32(loop.getStep());
  auto narrowed = scf::ForOp::create(b, lower, upper, step, loop.getInitArgs());
  narrowed->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = narrowed.getBody();
  if (!body->empty())
    body->getTerminator()->erase();
  b.setInsertionPointToStart(body);
  SmallVector<Value> arguments(body->getArguments());
  arguments.front() = arith::IndexCastUIOp::create(b, b.getIndexType(),
                                                   narrowed.getInductionVar());
  IRRewriter rewriter(loop.getContext());
  rewriter.mergeBlocks(loop.getBody(), body, arguments);
  rewriter.replaceOp(loop, narrowed.getResults());
}

namespace {
struct NarrowLoopsPass : moss::impl::MossNarrowLoopsBase<NarrowLoopsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](WarpSpecializeOp roles) {
      roles.walk([&](scf::ForOp loop) {
        if (loop.getInductionVar().getType().isIndex() &&
            getConstantIntValue(loop.getStep()).value_or(0) <= kMaxStep)
          loops.push_back(loop);
      });
    });
    for (scf::ForOp loop : loops)
      narrow(loop);
  }
};
} // namespace
