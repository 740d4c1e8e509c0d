//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that are compiled and called in this process.
//
//===----------------------------------------------------------------------===//

#include "moss/Run/Executable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "moss/IR/Moss.h"
#include "moss/Run/ReferenceMatmul.h"
#include "moss/Runtime/Runtime.h"
#include "moss/Transforms/CInterface.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace mlir::moss;

Executable::~Executable() = default;

/// Every level of LLVM's machine code generation has the same number.
static llvm::CodeGenOptLevel getLevel(unsigned optLevel) {
  return static_cast<llvm::CodeGenOptLevel>(optLevel);
}

/// Let compiled code find what it calls besides libmoss_runtime.so, which this
/// program is linked to.
static llvm::orc::SymbolMap getSymbols(llvm::orc::MangleAndInterner interner) {
  llvm::orc::SymbolMap symbols;
  symbols[interner(("_mlir_ciface_" + kReferenceMatmulName).str())] = {
      llvm::orc::ExecutorAddr::fromPtr(getReferenceMatmulAddress()),
      llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  return symbols;
}

/// Let results that update arguments have memory of their own, so that inputs
/// are there for the reference, too. Returns the number of arguments and
/// results.
static size_t separateResults(ModuleOp module, StringRef entry) {
  auto func = module.lookupSymbol<func::FuncOp>(entry);
  auto mark = StringAttr::get(module.getContext(), WeightAttr::kUpdateName);
  for (unsigned result = 0; result < func.getNumResults(); ++result)
    func.removeResultAttr(result, mark);
  return func.getNumArguments() + func.getNumResults();
}

LogicalResult moss::failForWeights(Location loc, StringRef entry) {
  return emitError(loc)
         << "function '" << entry << "' has further parameters in C, as its "
         << "marked weights have predicted scales, which are not known here; "
         << "remove the mark '" << WeightAttr::kMarkName << "'";
}

std::unique_ptr<Executable> Executable::create(OwningOpRef<ModuleOp> module,
                                               StringRef entry,
                                               CompileOptions &options) {
  size_t numParameters = separateResults(*module, entry);
  if (failed(lowerProgram(*module, options)))
    return nullptr;
  std::unique_ptr<Executable> executable(new Executable());
  std::optional<CInterface> interface;
  module->walk([&](LLVM::LLVMFuncOp candidate) {
    std::optional<CInterface> found = CInterface::get(candidate);
    if (found && found->name == entry)
      interface = found;
  });
  if (!interface) {
    emitError(module->getLoc())
        << "function '" << entry << "' has no C interface after lowering";
    return nullptr;
  }
  if (interface->parameters.size() != numParameters) {
    (void)failForWeights(module->getLoc(), entry);
    return nullptr;
  }
  for (const CParameter &parameter : interface->parameters) {
    Parameter converted{parameter.kind == ParameterKind::Scalar, {}};
    for (int64_t extent : parameter.getShape())
      converted.isDynamic.push_back(ShapedType::isDynamic(extent));
    executable->parameters.push_back(std::move(converted));
  }
  ExecutionEngineOptions engineOptions;
  auto build = [&](Operation *op, llvm::LLVMContext &context) {
    return translateToLLVM(cast<ModuleOp>(op), context, options);
  };
  engineOptions.llvmModuleBuilder = build;
  engineOptions.jitCodeGenOptLevel = getLevel(options.optLevel);
  // Debuggers and profilers are attached to shared libraries instead.
  engineOptions.enableGDBNotificationListener = false;
  engineOptions.enablePerfNotificationListener = false;
  auto report = [&](llvm::Error error) {
    emitError(module->getLoc())
        << "cannot generate code: " << llvm::toString(std::move(error));
    return nullptr;
  };
  auto engine = ExecutionEngine::create(*module, engineOptions);
  if (!engine)
    return report(engine.takeError());
  (*engine)->registerSymbols(getSymbols);
  (*engine)->initialize();
  auto function = (*engine)->lookupPacked(entry);
  if (!function)
    return report(function.takeError());
  executable->function = *function;
  executable->symbol = entry.str();
  executable->engine = std::move(*engine);
  executable->module = std::move(module);
  return executable;
}

LogicalResult Executable::call(ArrayRef<ArrayPointer> arrays, void *stream) {
  assert(arrays.size() == parameters.size() && "one for each parameter");
  // Sizes and strides must stay where they are while slots point to them.
  SmallVector<SmallVector<int64_t>> numbers;
  SmallVector<void *> data;
  for (auto [parameter, array] : llvm::zip_equal(parameters, arrays)) {
    data.push_back(array.data);
    SmallVector<int64_t> sizes;
    for (auto [isDynamic, extent] :
         llvm::zip_equal(parameter.isDynamic, array.shape))
      if (isDynamic)
        sizes.push_back(extent);
    int64_t stride = 1;
    SmallVector<int64_t> strides(array.shape.size());
    for (int64_t i = array.shape.size() - 1; i >= 0; --i) {
      strides[i] = stride;
      stride *= array.shape[i];
    }
    llvm::append_range(sizes, strides);
    numbers.push_back(std::move(sizes));
  }
  SmallVector<void *> slots;
  for (size_t i = 0; i < parameters.size(); ++i) {
    slots.push_back(parameters[i].isValue ? data[i] : &data[i]);
    for (int64_t &number : numbers[i])
      slots.push_back(&number);
  }
  int32_t status = MOSS_SUCCESS;
  slots.push_back(&stream);
  slots.push_back(&status);
  function(slots.data());
  if (status == MOSS_SUCCESS)
    return success();
  return emitError(UnknownLoc::get((*module)->getContext()))
         << "calling '" << symbol << "': " << mossGetLastError();
}
