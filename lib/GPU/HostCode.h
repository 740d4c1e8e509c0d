//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What counts as host code of a program compiled for a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_GPU_HOSTCODE_H
#define MOSS_LIB_GPU_HOSTCODE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "moss/Transforms/SharedOps.h"

namespace mlir::moss {

/// The private function that upstream's bufferization-lower-deallocations
/// generates (with a suffix if the name is taken). It works on lists of
/// buffers, which are in the host's memory, and never on the buffers' contents.
constexpr StringLiteral kDeallocHelperName = "dealloc_helper";

/// Whether the memrefs of a function are in device memory.
inline bool usesDeviceMemory(func::FuncOp func) {
  bool isDeallocHelper =
      func.isPrivate() && func.getName().starts_with(kDeallocHelperName);
  return !func.isExternal() && !isDeallocHelper &&
         !func->hasAttr(kHostAttrName);
}

/// Visit the ops that the host executes, without the bodies of launches.
template <typename Callback>
void walkHostCode(func::FuncOp func, Callback callback) {
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<gpu::LaunchOp>(op))
      return WalkResult::skip();
    callback(op);
    return WalkResult::advance();
  });
}

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_HOSTCODE_H
