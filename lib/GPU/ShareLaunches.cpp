//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function for all launches of a kernel.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "moss/GPU/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSSHARELAUNCHES
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// Launches of one kernel that differ in the values of operands at most.
using Launches = SmallVector<gpu::LaunchFuncOp>;
} // namespace

/// Whether a launch is in LLVM's types, on a stream, and in a function that is.
static bool isLowered(gpu::LaunchFuncOp launch) {
  return launch.getAsyncObject() && launch.getAsyncDependencies().empty() &&
         !launch.getAsyncToken() &&
         launch->getParentOfType<LLVM::LLVMFuncOp>() &&
         llvm::all_of(launch->getOperandTypes(), LLVM::isCompatibleType);
}

/// The attribute that the operand has in all launches, if that is a constant.
static Attribute getCommonConstant(const Launches &launches, unsigned operand) {
  Attribute common;
  for (gpu::LaunchFuncOp launch : launches) {
    auto constant =
        launch->getOperand(operand).getDefiningOp<LLVM::ConstantOp>();
    if (!constant || (common && constant.getValue() != common))
      return nullptr;
    common = constant.getValue();
  }
  return common;
}

/// Replace the launches by calls of a function, which has those operands as
/// arguments that are not the same constants everywhere.
static void share(const Launches &launches, SymbolTable &symbols) {
  gpu::LaunchFuncOp first = launches.front();
  MLIRContext *context = first.getContext();
  SmallVector<unsigned> varying;
  SmallVector<Type> types;
  for (OpOperand &operand : first->getOpOperands())
    if (!getCommonConstant(launches, operand.getOperandNumber())) {
      varying.push_back(operand.getOperandNumber());
      types.push_back(operand.get().getType());
    }

  OpBuilder module(context);
  module.setInsertionPoint(first->getParentOfType<LLVM::LLVMFuncOp>());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto function = LLVM::LLVMFuncOp::create(
      module, first.getLoc(),
      (first.getKernelName().getValue() + "_launch").str(), type,
      LLVM::Linkage::Internal);
  // LLVM would inline it, and undo the work.
  function.setNoInline(true);
  symbols.insert(function);

  ImplicitLocOpBuilder b(first.getLoc(), context);
  b.setInsertionPointToStart(function.addEntryBlock(module));
  auto launch = cast<gpu::LaunchFuncOp>(b.clone(*first));
  unsigned argument = 0;
  for (OpOperand &operand : launch->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    if (llvm::is_contained(varying, number)) {
      operand.set(function.getArgument(argument++));
      continue;
    }
    b.setInsertionPoint(launch);
    operand.set(b.clone(*operand.get().getDefiningOp())->getResult(0));
  }
  b.setInsertionPointAfter(launch);
  LLVM::ReturnOp::create(b, ValueRange());

  for (gpu::LaunchFuncOp launch : launches) {
    SmallVector<Value> values;
    for (unsigned number : varying)
      values.push_back(launch->getOperand(number));
    b.setInsertionPoint(launch);
    b.setLoc(launch.getLoc());
    LLVM::CallOp::create(b, function, values);
    launch.erase();
  }
}

namespace {
struct ShareLaunchesPass
    : moss::impl::MossShareLaunchesBase<ShareLaunchesPass> {
  void runOnOperation() override {
    // In the order of the program, for reproducible names.
    llvm::MapVector<std::pair<Attribute, Attribute>, Launches> groups;
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      if (!isLowered(launch))
        return;
      // Types of operands follow from the kernel and from which are there.
      groups[{launch.getKernelAttr(),
              launch->getAttr(launch.getOperandSegmentSizesAttrName())}]
          .push_back(launch);
    });
    SymbolTable symbols(getOperation());
    for (auto &[key, launches] : groups)
      if (launches.size() > 1)
        share(launches, symbols);
  }
};
} // namespace
