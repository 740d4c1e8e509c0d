//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slices a kernel with a channel into a producer and consumers: each role is a
// clone of the whole loop nest that keeps what feeds its side of the channel.
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSSPECIALIZEWARPS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Whether iteration argument `index` of `loop` only feeds itself: the loop's
/// result is unused, and the argument reaches nothing but its own yield through
/// ops without effects.
static bool feedsOnlyItself(scf::ForOp loop, unsigned index) {
  if (!loop.getResult(index).use_empty())
    return false;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SetVector<Operation *> slice;
  getForwardSlice(loop.getRegionIterArg(index), &slice);
  return llvm::all_of(slice, [&](Operation *op) {
    if (op != yield)
      return isMemoryEffectFree(op) || isa<scf::ForOp>(op);
    for (OpOperand &operand : yield->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      bool isFed = operand.get() == loop.getRegionIterArg(index) ||
                   (def && slice.contains(def));
      if (isFed && operand.getOperandNumber() != index)
        return false;
    }
    return true;
  });
}

/// Let sums that nobody uses carry their initial value, after which
/// canonicalization drops them. Inner loops first.
static void breakDeadSums(Region &region) {
  region.walk([](scf::ForOp loop) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index)
      if (feedsOnlyItself(loop, index))
        yield.setOperand(index, loop.getRegionIterArg(index));
  });
}

/// Remove what is dead in `region`, loop-carried values included.
static LogicalResult cleanUp(Operation *root, Region &region) {
  MLIRContext *context = root->getContext();
  RewritePatternSet patterns(context);
  scf::ForOp::getCanonicalizationPatterns(patterns, context);
  FrozenRewritePatternSet frozen(std::move(patterns));
  // A sum that an outer loop carries dies only after the inner loop dropped it.
  for (bool changed = true; changed;) {
    breakDeadSums(region);
    changed = false;
    if (failed(applyPatternsGreedily(region, frozen, GreedyRewriteConfig(),
                                     &changed)))
      return failure();
  }
  return success();
}

/// Whether every op that the roles would repeat may be repeated; emits an error
/// if one writes memory or synchronizes.
static LogicalResult checkRepeatable(gpu::GPUFuncOp func) {
  WalkResult result = func.getBody().walk([](Operation *op) {
    if (isa<ChannelOp, PutOp, ExtendScalesOp, GetOp, ReleaseOp, StoreTileOp,
            vector::TransferWriteOp>(op) ||
        op->hasTrait<OpTrait::IsTerminator>() ||
        op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
        isMemoryEffectFree(op) || hasSingleEffect<MemoryEffects::Read>(op))
      return WalkResult::advance();
    op->emitOpError("may have side effects, which the producer and each "
                    "consumer of the kernel's channel would repeat; move it to "
                    "a kernel of its own");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Take from a role what others do: ops of the given kinds.
template <typename... Ops> static void eraseOps(Region &region) {
  SmallVector<Operation *> dead;
  region.walk([&](Operation *op) {
    if (isa<Ops...>(op))
      dead.push_back(op);
  });
  for (Operation *op : dead) {
    OpBuilder b(op);
    for (Value result : op->getResults())
      result.replaceAllUsesWith(
          ub::PoisonOp::create(b, op->getLoc(), result.getType()));
    op->erase();
  }
}

/// Turn the clones into roles. The producer and the converter have no products
/// and no stores.
static void keepOwnOps(WarpSpecializeOp roles) {
  eraseOps<ExtendScalesOp, GetOp, ReleaseOp, StoreTileOp,
           vector::TransferWriteOp>(roles.getProducer());
  eraseOps<PutOp, GetOp, ReleaseOp, StoreTileOp, vector::TransferWriteOp>(
      roles.getConverter());
  eraseOps<PutOp, ExtendScalesOp>(roles.getConsumer());
}

/// Move everything after the channel into roles.
static WarpSpecializeOp createRoles(gpu::GPUFuncOp func, ChannelOp channel,
                                    const KernelBudget &budget,
                                    int64_t consumers) {
  Block *entry = channel->getBlock();
  Operation *terminator = entry->getTerminator();
  OpBuilder b(terminator);
  auto roles = WarpSpecializeOp::create(
      b, channel.getLoc(), static_cast<uint64_t>(consumers),
      static_cast<uint64_t>(budget.producerRegisters),
      static_cast<uint64_t>(budget.consumerRegisters));
  Block *producer = &roles.getProducer().emplaceBlock();
  Block *consumer = &roles.getConsumer().emplaceBlock();
  consumer->addArgument(b.getIndexType(), channel.getLoc());
  SmallVector<Block *> copies{consumer};
  if (!channel.getChannel().getType().getExtended().empty())
    copies.push_back(&roles.getConverter().emplaceBlock());

  // Constants are shared; each role owns a copy of the rest.
  SmallVector<Operation *> body;
  for (Operation &op : *entry)
    if (&op != channel && &op != roles && &op != terminator &&
        !op.hasTrait<OpTrait::ConstantLike>())
      body.push_back(&op);
  for (Block *copy : copies) {
    IRMapping mapping;
    OpBuilder toCopy = OpBuilder::atBlockEnd(copy);
    for (Operation *op : body)
      toCopy.clone(*op, mapping);
  }
  for (Operation *op : body)
    op->moveBefore(producer, producer->end());
  // Constants may come after their first use in the roles' order otherwise.
  for (Operation &op : llvm::make_early_inc_range(*entry))
    if (op.hasTrait<OpTrait::ConstantLike>())
      op.moveBefore(entry, entry->begin());
  return roles;
}

namespace {
struct SpecializeWarpsPass
    : moss::impl::MossSpecializeWarpsBase<SpecializeWarpsPass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    SmallVector<ChannelOp> channels(func.getOps<ChannelOp>());
    if (channels.empty())
      return;
    if (channels.size() > 1) {
      channels[1].emitOpError("is the second of its kernel; one is supported");
      return signalPassFailure();
    }
    ScheduleAttr schedule;
    func.walk([&](scf::ForOp loop) {
      if (auto attr = loop->getAttrOfType<ScheduleAttr>("moss.schedule"))
        schedule = attr;
    });
    if (!schedule) {
      func.emitOpError("has a channel but no loop with a schedule; run "
                       "moss-map-to-grid");
      return signalPassFailure();
    }
    VectorType operand = channels.front().getChannel().getType().getTiles()[0];
    FailureOr<KernelBudget> budget = computeKernelBudget(
        [&] { return func.emitOpError(); }, *lookupTarget("sm_90a"), schedule,
        operand.getElementType(),
        getScaleTiles(channels.front().getChannel().getType()), TileSums());
    if (failed(budget) || failed(checkRepeatable(func)))
      return signalPassFailure();
    WarpSpecializeOp roles =
        createRoles(func, channels.front(), *budget, schedule.getConsumers());
    keepOwnOps(roles);
    for (Region &role : roles->getRegions())
      if (failed(cleanUp(func, role)))
        return signalPassFailure();
  }
};
} // namespace
