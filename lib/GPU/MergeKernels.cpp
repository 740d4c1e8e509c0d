//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// One kernel for all that are equal.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSMERGEKERNELS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// The kernel of a module that holds nothing else.
static gpu::GPUFuncOp getOnlyKernel(gpu::GPUModuleOp module) {
  if (!llvm::hasSingleElement(*module.getBody()))
    return {};
  auto func = dyn_cast<gpu::GPUFuncOp>(module.getBody()->front());
  return func && func.isKernel() ? func : gpu::GPUFuncOp();
}

/// The attributes of a symbol apart from its name.
static DictionaryAttr getAttrsWithoutName(Operation *op) {
  NamedAttrList attrs(op->getAttrDictionary());
  attrs.erase(SymbolTable::getSymbolAttrName());
  return attrs.getDictionary(op->getContext());
}

/// Equal for equal kernels.
static llvm::hash_code hashKernel(gpu::GPUModuleOp module) {
  gpu::GPUFuncOp kernel = getOnlyKernel(module);
  llvm::hash_code hash = llvm::hash_combine(getAttrsWithoutName(module),
                                            getAttrsWithoutName(kernel));
  kernel.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName(), op->getAttrDictionary());
  });
  return hash;
}

static bool isEqual(gpu::GPUModuleOp lhs, gpu::GPUModuleOp rhs) {
  gpu::GPUFuncOp lhsKernel = getOnlyKernel(lhs), rhsKernel = getOnlyKernel(rhs);
  return getAttrsWithoutName(lhs) == getAttrsWithoutName(rhs) &&
         getAttrsWithoutName(lhsKernel) == getAttrsWithoutName(rhsKernel) &&
         OperationEquivalence::isRegionEquivalentTo(
             &lhsKernel.getBody(), &rhsKernel.getBody(),
             OperationEquivalence::IgnoreLocations);
}

namespace {
struct MergeKernelsPass : moss::impl::MossMergeKernelsBase<MergeKernelsPass> {
  void runOnOperation() override {
    SymbolTableCollection symbols;
    SymbolUserMap users(symbols, getOperation());
    DenseMap<size_t, SmallVector<gpu::GPUModuleOp, 1>> byHash;
    for (auto module : llvm::make_early_inc_range(
             getOperation().getOps<gpu::GPUModuleOp>())) {
      if (!getOnlyKernel(module))
        continue;
      SmallVector<gpu::GPUModuleOp, 1> &kept = byHash[hashKernel(module)];
      auto *equal = llvm::find_if(
          kept, [&](gpu::GPUModuleOp other) { return isEqual(other, module); });
      if (equal == kept.end())
        kept.push_back(module);
      else
        replace(module, *equal, users.getUsers(module));
    }
    moveToFront();
  }

private:
  /// Move kernels before the functions that launch them. The verifier looks for
  /// the kernel of each launch among the symbols of the module in turn, which
  /// takes seconds behind a thousand functions.
  void moveToFront() {
    Block *body = getOperation().getBody();
    auto kernels = llvm::to_vector(body->getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp kernel : llvm::reverse(kernels))
      kernel->moveBefore(body, body->begin());
  }

  void replace(gpu::GPUModuleOp module, gpu::GPUModuleOp equal,
               ArrayRef<Operation *> launches) {
    if (!llvm::all_of(launches, llvm::IsaPred<gpu::LaunchFuncOp>))
      return;
    gpu::GPUFuncOp kernel = getOnlyKernel(equal);
    auto symbol = SymbolRefAttr::get(equal.getSymNameAttr(),
                                     FlatSymbolRefAttr::get(kernel));
    remark::passed(module.getLoc(), remark::RemarkOpts::name("merged")
                                        .category("moss-merge-kernels")
                                        .function(module.getName()))
        << remark::add("is the same as another kernel, which stays")
        << remark::metric("kernel", equal.getName());
    for (Operation *launch : launches)
      cast<gpu::LaunchFuncOp>(launch).setKernelAttr(symbol);
    module.erase();
  }
};
} // namespace
