//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocations, copies and constants of host functions to device memory.
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSHOSTTODEVICE
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

static void convertAlloc(RewriterBase &rewriter, memref::AllocOp op) {
  rewriter.setInsertionPoint(op);
  // The driver aligns to 256 bytes, more than any alignment asked for here.
  auto alloc =
      gpu::AllocOp::create(rewriter, op.getLoc(), op.getType(),
                           /*asyncToken=*/Type(), ValueRange(),
                           op.getDynamicSizes(), op.getSymbolOperands());
  rewriter.replaceOp(op, alloc.getMemref());
}

static void convertDealloc(RewriterBase &rewriter, memref::DeallocOp op) {
  rewriter.setInsertionPoint(op);
  gpu::DeallocOp::create(rewriter, op.getLoc(), /*asyncToken=*/Type(),
                         ValueRange(), op.getMemref());
  rewriter.eraseOp(op);
}

static LogicalResult convertCopy(RewriterBase &rewriter, memref::CopyOp op) {
  for (Value memref : {op.getSource(), op.getTarget()}) {
    auto type = dyn_cast<MemRefType>(memref.getType());
    if (!type || !type.getLayout().isIdentity())
      return op.emitError("copies a memref that is not contiguous; run "
                          "moss-linalg-to-device-loops first");
  }
  rewriter.setInsertionPoint(op);
  gpu::MemcpyOp::create(rewriter, op.getLoc(), /*asyncToken=*/Type(),
                        ValueRange(), op.getTarget(), op.getSource());
  rewriter.eraseOp(op);
  return success();
}

/// Whether a memref or a view of it leaves its block, so that its owner is
/// somebody else.
static bool escapes(Value memref) {
  return llvm::any_of(memref.getUsers(), [](Operation *user) {
    if (user->hasTrait<OpTrait::IsTerminator>())
      return true;
    return isa<ViewLikeOpInterface>(user) &&
           llvm::any_of(user->getResults(), escapes);
  });
}

/// Copy a constant to the device. This happens at every call, so large
/// constants are better passed as arguments.
static LogicalResult convertConstant(RewriterBase &rewriter,
                                     memref::GetGlobalOp op) {
  Location loc = op.getLoc();
  auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
      op, op.getNameAttr());
  if (global && !global.getConstant())
    return op.emitError("refers to '")
           << global.getName()
           << "', which the program may change, but which lies in the host's "
              "memory; pass it as an argument";
  remark::missed(loc, remark::RemarkOpts::name("constant-on-host")
                          .category("moss-host-to-device"))
      << "the constant is copied to the device at every call; pass it as an "
         "argument to avoid that"
      << remark::metric("elements", op.getType().getNumElements());
  rewriter.setInsertionPointAfter(op);
  auto device = gpu::AllocOp::create(rewriter, loc, op.getType(),
                                     /*asyncToken=*/Type(), ValueRange(),
                                     ValueRange(), ValueRange());
  rewriter.replaceAllUsesWith(op.getResult(), device.getMemref());
  gpu::MemcpyOp::create(rewriter, loc, /*asyncToken=*/Type(), ValueRange(),
                        device.getMemref(), op.getResult());
  if (escapes(device.getMemref()))
    return success();
  rewriter.setInsertionPoint(op->getBlock()->getTerminator());
  gpu::DeallocOp::create(rewriter, loc, /*asyncToken=*/Type(), ValueRange(),
                         device.getMemref());
  return success();
}

/// An error if the host itself reads or writes a memref.
static LogicalResult checkNoAccess(Operation *op) {
  if (isa<gpu::GPUDialect, MossDialect>(op->getDialect()))
    return success();
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return success();
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  for (const MemoryEffects::EffectInstance &effect : instances) {
    if (!effect.getValue() || !isa<BaseMemRefType>(effect.getValue().getType()))
      continue;
    if (isa<linalg::LinalgOp>(op))
      return op->emitError("would run on the host, but its data is in device "
                           "memory; run moss-linalg-to-device-loops first");
    return op->emitError("accesses device memory on the host; compute the "
                         "value in a linalg op, or mark a function that works "
                         "on host memory with '")
           << kHostAttrName << "'";
  }
  return success();
}

/// Whether \p memref lists buffers and conditions for the function that
/// upstream's deallocation passes generate. The host writes, reads and owns
/// such lists.
static bool isDeallocationList(Value memref) {
  while (auto cast = memref.getDefiningOp<memref::CastOp>())
    memref = cast.getSource();
  auto isPassed = [](Operation *user) {
    auto call = dyn_cast<func::CallOp>(user);
    return call && call.getCallee().starts_with(kDeallocHelperName);
  };
  return memref.getDefiningOp<memref::AllocOp>() &&
         llvm::any_of(memref.getUsers(), [&](Operation *user) {
           return isPassed(user) || (isa<memref::CastOp>(user) &&
                                     llvm::any_of(user->getUsers(), isPassed));
         });
}

static LogicalResult convert(RewriterBase &rewriter, Operation *op) {
  if (llvm::any_of(op->getOperands(), isDeallocationList) ||
      llvm::any_of(op->getResults(), isDeallocationList))
    return success();
  if (auto alloc = dyn_cast<memref::AllocOp>(op))
    return convertAlloc(rewriter, alloc), success();
  if (auto dealloc = dyn_cast<memref::DeallocOp>(op))
    return convertDealloc(rewriter, dealloc), success();
  if (auto constant = dyn_cast<memref::GetGlobalOp>(op))
    return convertConstant(rewriter, constant);
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return convertCopy(rewriter, copy);
  return checkNoAccess(op);
}

namespace {
struct HostToDevicePass : moss::impl::MossHostToDeviceBase<HostToDevicePass> {
  void runOnOperation() override {
    if (!usesDeviceMemory(getOperation()))
      return;
    SmallVector<Operation *> ops;
    walkHostCode(getOperation(), [&](Operation *op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops)
      if (failed(convert(rewriter, op)))
        return signalPassFailure();
  }
};
} // namespace
