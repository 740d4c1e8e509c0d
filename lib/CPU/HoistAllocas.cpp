//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "moss/CPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSHOISTALLOCAS
#include "moss/CPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
struct HoistAllocasPass : moss::impl::MossHoistAllocasBase<HoistAllocasPass> {
  void runOnOperation() override;
};
} // namespace

static void hoistAllocas(FunctionOpInterface function) {
  SmallVector<memref::AllocaOp> allocas;
  function.walk([&](memref::AllocaOp op) {
    // Only alloca_scope frees its memory before the function returns.
    bool isScoped = op->getParentOfType<memref::AllocaScopeOp>() != nullptr;
    if (op->getNumOperands() == 0 && !isScoped)
      allocas.push_back(op);
  });
  Block &entry = function.getFunctionBody().front();
  for (memref::AllocaOp op : llvm::reverse(allocas))
    op->moveBefore(&entry, entry.begin());
}

void HoistAllocasPass::runOnOperation() {
  getOperation()->walk([](FunctionOpInterface function) {
    if (!function.isExternal())
      hoistAllocas(function);
  });
}
