//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-place-amax: measure an amax where its history is.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "moss/IR/Moss.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSPLACEAMAX
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// The place of the amax of tensor number `row`.
static Value createSlot(OpBuilder &b, Location loc, Value history,
                        int64_t row) {
  auto type = cast<MemRefType>(history.getType());
  int64_t position[] = {row, 0}, ones[] = {1, 1};
  auto slot = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
      /*resultShape=*/{}, type, position, ones, ones));
  return memref::SubViewOp::create(b, loc, slot, history, position, ones, ones);
}

/// Whether a buffer is there for nothing but the amax that one quantization
/// measures for `op`, which alone uses the history, and the history is there
/// before it.
static bool isReplaceable(Value amax, NextDelayedScaleOp op,
                          DominanceInfo &dominance) {
  auto alloc = amax.getDefiningOp<memref::AllocOp>();
  if (!alloc || !op.getHistory().hasOneUse() ||
      !dominance.properlyDominates(op.getHistory(), alloc))
    return false;
  unsigned numMeasured = 0;
  for (OpOperand &use : amax.getUses()) {
    auto quantize = dyn_cast<QuantizeOp>(use.getOwner());
    if (quantize && quantize.getGlobal() == amax && quantize.getScale() != amax)
      ++numMeasured;
    else if (use.getOwner() != op)
      return false;
  }
  return numMeasured == 1 && llvm::count(op.getAmax(), amax) == 1;
}

static void placeAmax(NextDelayedScaleOp op, DominanceInfo &dominance) {
  SmallVector<bool> isPlaced;
  for (Value amax : op.getAmax())
    isPlaced.push_back(isReplaceable(amax, op, dominance));
  for (auto [row, pair] :
       llvm::enumerate(llvm::zip_equal(op.getAmax(), isPlaced))) {
    auto [amax, replaces] = pair;
    Operation *alloc = amax.getDefiningOp();
    OpBuilder b(replaces ? alloc : op.getOperation());
    Value slot = createSlot(b, op.getLoc(), op.getHistory(), row);
    if (replaces)
      amax.replaceUsesWithIf(
          slot, [&](OpOperand &use) { return use.getOwner() != op; });
    else
      memref::CopyOp::create(b, op.getLoc(), amax, slot);
  }
  SmallVector<Value> amax(op.getAmax());
  op.getAmaxMutable().clear();
  for (auto [value, replaces] : llvm::zip_equal(amax, isPlaced))
    if (replaces)
      value.getDefiningOp()->erase();
}

namespace {
struct PlaceAmaxPass : moss::impl::MossPlaceAmaxBase<PlaceAmaxPass> {
  void runOnOperation() override {
    auto &dominance = getAnalysis<DominanceInfo>();
    WalkResult result = getOperation()->walk([&](NextDelayedScaleOp op) {
      if (op->getNumResults() != 0) {
        op.emitOpError("is on tensors; bufferize it first");
        return WalkResult::interrupt();
      }
      placeAmax(op, dominance);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
