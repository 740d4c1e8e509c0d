//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSASSERTTOLLVM
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// POSIX's standard error.
static constexpr int64_t kStandardError = 2;

/// The function `name`, declared if it is not yet.
static FailureOr<LLVM::LLVMFuncOp> getFunction(ImplicitLocOpBuilder &b,
                                               ModuleOp module, StringRef name,
                                               ArrayRef<Type> inputs,
                                               Type result) {
  return LLVM::lookupOrCreateFn(b, module, name, inputs, result);
}

/// A global constant with the given text.
static Value createMessage(ImplicitLocOpBuilder &b, ModuleOp module,
                           StringRef message) {
  std::string name = "moss_assert_message";
  for (int suffix = 0; module.lookupSymbol(name); ++suffix)
    name = "moss_assert_message_" + std::to_string(suffix);
  return LLVM::createGlobalString(b.getLoc(), b, name, message,
                                  LLVM::Linkage::Internal);
}

/// write(2, message, length); abort();
static LogicalResult createWriteAndAbort(ImplicitLocOpBuilder &b,
                                         ModuleOp module, cf::AssertOp op) {
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  FailureOr<LLVM::LLVMFuncOp> write =
      getFunction(b, module, "write", {i32, pointer, i64}, i64);
  FailureOr<LLVM::LLVMFuncOp> abort = getFunction(
      b, module, "abort", {}, LLVM::LLVMVoidType::get(b.getContext()));
  if (failed(write) || failed(abort))
    return op.emitError("needs the C library's write and abort, but the "
                        "program has other functions of these names");
  std::string message = (op.getMsg() + "\n").str();
  Value text = createMessage(b, module, message);
  LLVM::CallOp::create(
      b, *write,
      ValueRange{arith::ConstantIntOp::create(b, kStandardError, 32), text,
                 arith::ConstantIntOp::create(b, message.size(), 64)});
  LLVM::CallOp::create(b, *abort, ValueRange{});
  return success();
}

/// The comparison for equality that an assertion is about, if it is one.
static arith::CmpIOp getEquality(cf::AssertOp op) {
  auto compare = op.getArg().getDefiningOp<arith::CmpIOp>();
  bool isEquality = compare &&
                    compare.getPredicate() == arith::CmpIPredicate::eq &&
                    compare.getLhs().getType().isIndex();
  return isEquality ? compare : arith::CmpIOp();
}

/// handler(message, numbers...);
static LogicalResult createHandlerCall(ImplicitLocOpBuilder &b, ModuleOp module,
                                       cf::AssertOp op, StringRef handler,
                                       ValueRange numbers) {
  SmallVector<Type> types{LLVM::LLVMPointerType::get(b.getContext())};
  types.append(numbers.size(), b.getI64Type());
  FailureOr<LLVM::LLVMFuncOp> function = getFunction(
      b, module, handler, types, LLVM::LLVMVoidType::get(b.getContext()));
  if (failed(function))
    return op.emitError("needs a function '")
           << handler << "' of one pointer"
           << (numbers.empty() ? "" : " and two integers")
           << ", but the program has another one";
  std::string message = op.getMsg().str();
  message.push_back('\0');
  SmallVector<Value> operands{createMessage(b, module, message)};
  for (Value number : numbers)
    operands.push_back(arith::IndexCastOp::create(b, b.getI64Type(), number));
  LLVM::CallOp::create(b, *function, operands);
  return success();
}

/// if (!condition) { ... }
static LogicalResult lowerAssert(ModuleOp module, cf::AssertOp op,
                                 StringRef handler,
                                 StringRef comparisonHandler) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value one = arith::ConstantIntOp::create(b, 1, 1);
  Value fails = arith::XOrIOp::create(b, op.getArg(), one);
  auto branch = scf::IfOp::create(b, fails, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  LogicalResult result = success();
  arith::CmpIOp equality = getEquality(op);
  if (equality && !comparisonHandler.empty())
    result = createHandlerCall(b, module, op, comparisonHandler,
                               equality->getOperands());
  else if (!handler.empty())
    result = createHandlerCall(b, module, op, handler, ValueRange());
  else
    result = createWriteAndAbort(b, module, op);
  if (succeeded(result))
    op.erase();
  return result;
}

namespace {
struct AssertToLLVMPass : moss::impl::MossAssertToLLVMBase<AssertToLLVMPass> {
  using MossAssertToLLVMBase::MossAssertToLLVMBase;

  void runOnOperation() override {
    SmallVector<cf::AssertOp> asserts;
    for (auto func : getOperation().getOps<func::FuncOp>())
      func.walk([&](cf::AssertOp op) { asserts.push_back(op); });
    for (cf::AssertOp op : asserts)
      if (failed(lowerAssert(getOperation(), op, handler, comparisonHandler)))
        return signalPassFailure();
  }
};
} // namespace
