//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSVERIFYLAUNCHES
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// What the roles of a kernel need from a launch.
struct KernelNeeds {
  ChannelOp channel;
  /// Dynamic shared memory.
  int64_t bytes;
  int64_t threads;
};

struct VerifyLaunchesPass
    : moss::impl::MossVerifyLaunchesBase<VerifyLaunchesPass> {
  using MossVerifyLaunchesBase::MossVerifyLaunchesBase;
  void runOnOperation() override;

private:
  LogicalResult collect(gpu::GPUFuncOp kernel);
  LogicalResult checkMemory(gpu::LaunchFuncOp launch, KernelNeeds needs);
  LogicalResult checkThreads(gpu::LaunchFuncOp launch, KernelNeeds needs);

  TargetInfo target;
  DenseMap<Operation *, KernelNeeds> kernels;
};
} // namespace

/// Note what `kernel` needs, if it has a channel and roles; emits an error if
/// the target has not got it.
LogicalResult VerifyLaunchesPass::collect(gpu::GPUFuncOp kernel) {
  ChannelOp channel;
  WarpSpecializeOp roles;
  kernel.walk([&](ChannelOp op) { channel = op; });
  kernel.walk([&](WarpSpecializeOp op) { roles = op; });
  if (!channel || !roles)
    return success();
  int64_t consumers = roles.getNumConsumers();
  int64_t bytes =
      getSharedMemoryLayout(channel.getChannel().getType(), consumers)
          .totalBytes;
  kernels.try_emplace(
      kernel,
      KernelNeeds{channel, bytes, target.warpgroupSize * (consumers + 1)});
  if (bytes <= target.sharedMemory)
    return success();
  return channel.emitOpError("needs ")
         << bytes << " bytes of shared memory, but " << target.name << " has "
         << target.sharedMemory << "; use fewer stages or smaller tiles";
}

LogicalResult VerifyLaunchesPass::checkMemory(gpu::LaunchFuncOp launch,
                                              KernelNeeds needs) {
  std::optional<int64_t> given = 0;
  if (Value size = launch.getDynamicSharedMemorySize())
    given = getConstantIntValue(size);
  if (!given || (*given >= needs.bytes && *given <= target.sharedMemory))
    return success();
  InFlightDiagnostic diagnostic =
      launch.emitOpError("gives its kernel ")
      << *given << " bytes of dynamic shared memory, but the kernel's channel "
      << "needs " << needs.bytes << "; a size of " << needs.bytes << " to "
      << target.sharedMemory << ", which " << target.name << " has, works";
  diagnostic.attachNote(needs.channel.getLoc()) << "this is the channel";
  return diagnostic;
}

LogicalResult VerifyLaunchesPass::checkThreads(gpu::LaunchFuncOp launch,
                                               KernelNeeds needs) {
  gpu::KernelDim3 block = launch.getBlockSizeOperandValues();
  auto check = [&](StringRef dim, Value size, int64_t wanted) -> LogicalResult {
    std::optional<int64_t> given = getConstantIntValue(size);
    if (!given || *given == wanted)
      return success();
    return launch.emitOpError("has blocks of ")
           << *given << " threads along " << dim
           << ", but its kernel's roles are "
           << needs.threads / target.warpgroupSize << " warpgroups; use "
           << needs.threads << " x 1 x 1";
  };
  return success(succeeded(check("x", block.x, needs.threads)) &&
                 succeeded(check("y", block.y, 1)) &&
                 succeeded(check("z", block.z, 1)));
}

void VerifyLaunchesPass::runOnOperation() {
  target = *lookupTarget("sm_90a");
  kernels.clear();
  WalkResult result = getOperation().walk(
      [&](gpu::GPUFuncOp kernel) { return WalkResult(collect(kernel)); });
  if (result.wasInterrupted())
    return signalPassFailure();
  SymbolTableCollection symbols;
  result = getOperation().walk([&](gpu::LaunchFuncOp launch) -> WalkResult {
    auto kernel = kernels.find(
        symbols.lookupNearestSymbolFrom(launch, launch.getKernel()));
    if (kernel == kernels.end())
      return success();
    return success(succeeded(checkMemory(launch, kernel->second)) &&
                   succeeded(checkThreads(launch, kernel->second)));
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
