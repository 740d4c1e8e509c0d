//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSCHOOSESCHEDULE
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
struct ChooseSchedulePass
    : moss::impl::MossChooseScheduleBase<ChooseSchedulePass> {
  using MossChooseScheduleBase::MossChooseScheduleBase;

  void runOnOperation() override {
    FailureOr<TargetInfo> info = lookupTarget(target);
    if (failed(info)) {
      emitError(getOperation()->getLoc())
          << "unknown target '" << target << "': expected " << getTargetNames();
      return signalPassFailure();
    }
    ScheduleOverrides overrides;
    if (failed(parseOverrides(overrides)))
      return signalPassFailure();
    WalkResult result = getOperation()->walk([&](ScaledMatmulOp op) {
      if (!op.getSchedule())
        op.setScheduleAttr(chooseSchedule(*info, op, overrides));
      return info->kind == TargetKind::CPU ? WalkResult::advance()
                                           : checkBudget(*info, op);
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  /// Options that were given, checked to be positive.
  LogicalResult parseOverrides(ScheduleOverrides &overrides) {
    auto set = [&](StringRef name, int64_t value,
                   std::optional<int64_t> &field) -> LogicalResult {
      if (value < 0)
        return emitError(getOperation()->getLoc())
               << "option '" << name << "' must be positive, but is " << value;
      // Kernels count tiles and blocks in 32 bits.
      if (!llvm::isInt<32>(value))
        return emitError(getOperation()->getLoc())
               << "option '" << name << "' must be below 2^31, but is "
               << value;
      if (value > 0)
        field = value;
      return success();
    };
    if (!tile.empty()) {
      if (tile.size() != 3)
        return emitError(getOperation()->getLoc())
               << "option 'tile' takes three extents M,N,K, but got "
               << tile.size();
      if (llvm::any_of(tile, [](int64_t extent) { return extent <= 0; }) ||
          !isTileK(tile[2]))
        return emitError(getOperation()->getLoc())
               << "option 'tile' takes positive extents, K " << kMinTileK
               << " or a multiple of " << kMmaStepK;
      if (*llvm::max_element(tile) > ScheduleAttr::kMaxTileExtent)
        return emitError(getOperation()->getLoc())
               << "option 'tile' takes extents of at most "
               << ScheduleAttr::kMaxTileExtent;
      overrides.tileM = tile[0];
      overrides.tileN = tile[1];
      overrides.tileK = tile[2];
    }
    return success(
        succeeded(set("stages", stages, overrides.stages)) &&
        succeeded(set("consumers", consumers, overrides.consumers)) &&
        succeeded(set("raster", raster, overrides.raster)) &&
        succeeded(set("blocks", blocks, overrides.blocks)));
  }

  static WalkResult checkBudget(const TargetInfo &info, ScaledMatmulOp op) {
    for (SchemeAttr scheme : {op.getLhsScheme(), op.getRhsScheme()})
      if (scheme.getGroupK() % kMmaStepK != 0)
        return op.emitOpError("has micro groups of ")
               << scheme.getGroupK()
               << " elements along K, but the matrix unit "
               << "of " << info.name << " takes steps of " << kMmaStepK
               << "; quantize with multiples of it, or for target 'cpu'";
    ScheduleAttr schedule = *op.getSchedule();
    return LogicalResult(computeKernelBudget(
        [&] { return op.emitOpError(); }, info, schedule,
        op.getLhsScheme().getElementType(),
        getScaleTiles(op, schedule.getTileM(), schedule.getTileN(),
                      schedule.getTileK()),
        getTileSums(op, schedule.getTileK())));
  }
};
} // namespace
