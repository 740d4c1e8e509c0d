//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM IR, machine code and linking.
//
//===----------------------------------------------------------------------===//

#include "mlir/Target/LLVMIR/Export.h"
#include "moss/Compiler/Compiler.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::moss;

/// The symbol of a library under which its description is found.
static constexpr StringLiteral kDescriptionName = "moss_module_description";

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

/// LLVM's optimizers and register allocation take minutes on functions of
/// thousands of kernel launches, and a launch is no faster for it.
static constexpr unsigned kMaxOptimizedHostCode = 10000;

/// The level for code on the host: for a GPU, that is what is around launches,
/// and not optimized if it is large.
static unsigned getHostLevel(const CompileOptions &options,
                             const llvm::Module &module) {
  bool isForGPU = options.lowering.target != "cpu";
  return isForGPU && module.getInstructionCount() > kMaxOptimizedHostCode
             ? 0
             : options.optLevel;
}

/// The machine of this process, with code that can be anywhere in memory.
static std::unique_ptr<llvm::TargetMachine>
createTargetMachine(const CompileOptions &options, unsigned optLevel,
                    Location loc) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) {
    emitError(loc) << "cannot generate code for the host: " << error;
    return nullptr;
  }
  bool isNative = options.cpu == "native";
  std::string features;
  if (isNative)
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      features += (features.empty() ? "" : ",") +
                  std::string(feature.second ? "+" : "-") +
                  feature.first().str();
  std::string cpu = isNative ? llvm::sys::getHostCPUName().str() : options.cpu;
  auto level = static_cast<llvm::CodeGenOptLevel>(optLevel);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      /*CM=*/std::nullopt, level));
  if (!cpu.empty() && !machine->getMCSubtargetInfo()->isCPUStringValid(cpu)) {
    emitError(loc) << "unknown CPU '" << cpu << "' for " << triple.str()
                   << "; 'llc -mcpu=help' lists those that LLVM knows";
    return nullptr;
  }
  return machine;
}

static void addDescription(llvm::Module &module, StringRef description) {
  llvm::Constant *text =
      llvm::ConstantDataArray::getString(module.getContext(), description);
  new llvm::GlobalVariable(module, text->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, text,
                           kDescriptionName);
}

static llvm::OptimizationLevel getLevel(unsigned level) {
  const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  return levels[level];
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     unsigned optLevel) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  llvm::OptimizationLevel level = getLevel(optLevel);
  llvm::ModulePassManager pm =
      level == llvm::OptimizationLevel::O0
          ? builder.buildO0DefaultPipeline(level)
          : builder.buildPerModuleDefaultPipeline(level);
  pm.run(module, modules);
}

std::unique_ptr<llvm::Module>
moss::translateToLLVM(ModuleOp module, llvm::LLVMContext &context,
                      const CompileOptions &options) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "moss");
  if (!result)
    return nullptr;
  unsigned level = getHostLevel(options, *result);
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(options, level, UnknownLoc::get(module.getContext()));
  if (!machine)
    return nullptr;
  result->setTargetTriple(machine->getTargetTriple());
  result->setDataLayout(machine->createDataLayout());
  addDescription(*result, describeProgram(module));
  optimize(*result, *machine, level);
  return result;
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

LogicalResult moss::emitMachineCode(llvm::Module &module, bool asAssembly,
                                    const CompileOptions &options, Location loc,
                                    llvm::raw_pwrite_stream &os) {
  std::unique_ptr<llvm::TargetMachine> machine =
      createTargetMachine(options, getHostLevel(options, module), loc);
  if (!machine)
    return failure();
  llvm::legacy::PassManager pm;
  auto type = asAssembly ? llvm::CodeGenFileType::AssemblyFile
                         : llvm::CodeGenFileType::ObjectFile;
  if (machine->addPassesToEmitFile(pm, os, /*DwoOut=*/nullptr, type))
    return emitError(loc) << "LLVM cannot generate "
                          << (asAssembly ? "assembly" : "objects") << " for "
                          << machine->getTargetTriple().str();
  pm.run(module);
  return success();
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

static FailureOr<std::string> findLinker(const CompileOptions &options,
                                         Location loc) {
  if (!options.linker.empty()) {
    auto found = llvm::sys::findProgramByName(options.linker);
    if (found)
      return *found;
    return emitError(loc) << "there is no program '" << options.linker
                          << "' to link with";
  }
  for (StringRef name : {"clang-22", "clang", "cc", "gcc"})
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  return emitError(loc) << "a shared library needs a C compiler that links, "
                           "but PATH has none of clang-22, clang, cc and gcc; "
                           "install one, name it by --linker, or emit an "
                           "object";
}

LogicalResult moss::linkShared(StringRef object, StringRef output,
                               StringRef name, const CompileOptions &options,
                               Location loc) {
  FailureOr<std::string> linker = findLinker(options, loc);
  if (failed(linker))
    return failure();
  SmallString<128> runtime(options.runtimeFolder);
  llvm::sys::path::append(runtime, "libmoss_runtime.so");
  std::string soname = ("-Wl,-soname," + name).str();
  // Without undefined symbols, so that what is missing is found here and not
  // where the library is loaded.
  StringRef arguments[] = {*linker,
                           "-shared",
                           "-o",
                           output,
                           object,
                           runtime.str(),
                           "-lm",
                           "-Wl,-z,defs",
                           "-Wl,--build-id=none",
                           "-Wl,-rpath,$ORIGIN",
                           soname};
  std::string error;
  int code = llvm::sys::ExecuteAndWait(*linker, arguments, /*Env=*/std::nullopt,
                                       /*Redirects=*/{}, /*SecondsToWait=*/0,
                                       /*MemoryLimit=*/0, &error);
  if (code == 0)
    return success();
  return emitError(loc) << "linking with " << *linker << " failed"
                        << (error.empty() ? "" : ": ") << error;
}
