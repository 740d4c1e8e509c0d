//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSHOISTSCALARS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Whether `op` loads a scalar that the kernel gets and only reads.
static bool isLoadOfConstantScalar(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  if (!load || load.getMemRefType().getRank() != 0)
    return false;
  auto argument = dyn_cast<BlockArgument>(load.getMemRef());
  return argument && isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp()) &&
         llvm::all_of(argument.getUsers(), llvm::IsaPred<memref::LoadOp>);
}

namespace {
struct HoistScalarsPass : moss::impl::MossHoistScalarsBase<HoistScalarsPass> {
  using MossHoistScalarsBase::MossHoistScalarsBase;

  void runOnOperation() override {
    // Inner loops come first, so that a load leaves all of them.
    getOperation().walk([&](WarpSpecializeOp roles) {
      roles.walk([&](LoopLikeOpInterface loop) {
        numHoisted += moveLoopInvariantCode(
            loop.getLoopRegions(),
            [&](Value value, Region *) {
              return loop.isDefinedOutsideOfLoop(value);
            },
            [](Operation *op, Region *) { return isLoadOfConstantScalar(op); },
            [&](Operation *op, Region *) { loop.moveOutOfLoop(op); });
      });
    });
  }
};
} // namespace
