//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that moss-share-ops made, back where they are called.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/SharedOps.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSINLINESHAREDOPS
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Put a copy of the body of \p func in the place of \p call.
static void inlineInto(func::CallOp call, func::FuncOp func) {
  OpBuilder b(call);
  IRMapping mapping;
  mapping.map(func.getArguments(), call.getOperands());
  for (Operation &op : func.getBody().front().without_terminator())
    b.clone(op, mapping)->setLoc(call.getLoc());
  call.erase();
}

/// An error if \p func is not as moss-share-ops makes them.
static LogicalResult checkInlinable(func::FuncOp func) {
  if (func.isExternal() || !func.getBody().hasOneBlock() ||
      func.getNumResults() != 0 || !func.isPrivate())
    return func.emitOpError("is marked '")
           << kSharedAttrName
           << "', but is not a private function of one block without results";
  return success();
}

namespace {
struct InlineSharedOpsPass
    : moss::impl::MossInlineSharedOpsBase<InlineSharedOpsPass> {
  // Not upstream's inliner, which would inline the program's own functions too.
  void runOnOperation() override {
    SymbolTableCollection symbols;
    SymbolUserMap users(symbols, getOperation());
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (!func->hasAttr(kSharedAttrName))
        continue;
      if (failed(checkInlinable(func)))
        return signalPassFailure();
      for (Operation *user : users.getUsers(func)) {
        auto call = dyn_cast<func::CallOp>(user);
        if (!call) {
          user->emitOpError("refers to @")
              << func.getName() << ", which can only be called";
          return signalPassFailure();
        }
        inlineInto(call, func);
      }
      func.erase();
    }
  }
};
} // namespace
