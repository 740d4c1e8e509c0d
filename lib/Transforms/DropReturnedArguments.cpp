//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "moss/IR/Moss.h"
#include "moss/Transforms/CInterface.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSDROPRETURNEDARGUMENTS
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// For each result of `func`, the number of the memref argument that every
/// return yields for it, or nothing.
static SmallVector<std::optional<unsigned>>
findReturnedArguments(func::FuncOp func) {
  SmallVector<std::optional<unsigned>> arguments(func.getNumResults());
  bool isFirst = true;
  func.walk([&](func::ReturnOp ret) {
    for (auto [index, value] : llvm::enumerate(ret.getOperands())) {
      auto argument = dyn_cast<BlockArgument>(value);
      bool isEntry = argument && isa<MemRefType>(argument.getType()) &&
                     argument.getOwner() == &func.getBody().front();
      std::optional<unsigned> number =
          isEntry ? std::optional<unsigned>(argument.getArgNumber())
                  : std::nullopt;
      if (isFirst || arguments[index] == number)
        arguments[index] = number;
      else
        arguments[index] = std::nullopt;
    }
    isFirst = false;
  });
  return arguments;
}

/// Let callers use what they passed, and call a function without the results
/// that it returned from its arguments.
static void updateCall(func::CallOp call,
                       ArrayRef<std::optional<unsigned>> arguments,
                       TypeRange kept) {
  OpBuilder b(call);
  auto updated = func::CallOp::create(b, call.getLoc(), call.getCallee(), kept,
                                      call.getOperands());
  unsigned next = 0;
  for (auto [result, argument] : llvm::zip_equal(call.getResults(), arguments))
    result.replaceAllUsesWith(argument ? call.getOperand(*argument)
                                       : updated.getResult(next++));
  call.erase();
}

namespace {
struct DropReturnedArgumentsPass
    : moss::impl::MossDropReturnedArgumentsBase<DropReturnedArgumentsPass> {
  void runOnOperation() override {
    SymbolTableCollection symbols;
    SymbolUserMap users(symbols, getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      for (unsigned result = 0; result < func.getNumResults(); ++result)
        func.removeResultAttr(
            result, StringAttr::get(&getContext(), WeightAttr::kUpdateName));
      for (unsigned number = 0; number < func.getNumArguments(); ++number)
        for (StringRef mark : {kInitialAttrName, kRowsAttrName})
          func.removeArgAttr(number, StringAttr::get(&getContext(), mark));
      // A function whose address is taken keeps its type.
      bool onlyCalled = llvm::all_of(users.getUsers(func), [](Operation *user) {
        return isa<func::CallOp>(user);
      });
      if (func.isExternal() || !onlyCalled)
        continue;
      SmallVector<std::optional<unsigned>> arguments =
          findReturnedArguments(func);
      BitVector dropped(func.getNumResults());
      for (auto [index, argument] : llvm::enumerate(arguments))
        dropped[index] = argument.has_value();
      if (dropped.none() || failed(func.eraseResults(dropped)))
        continue;
      func.walk([&](func::ReturnOp ret) { ret->eraseOperands(dropped); });
      for (Operation *user : llvm::to_vector(users.getUsers(func)))
        updateCall(cast<func::CallOp>(user), arguments, func.getResultTypes());
    }
  }
};
} // namespace
