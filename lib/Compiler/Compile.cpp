//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compilations to files.
//
//===----------------------------------------------------------------------===//

#include "Temporary.h"
#include "WriteFile.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "moss/Compiler/Compiler.h"
#include "moss/Transforms/Target.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moss;

static InFlightDiagnostic report(ModuleOp module) {
  return emitError(UnknownLoc::get(module.getContext()));
}

static LogicalResult write(ModuleOp module, StringRef path, StringRef content) {
  std::error_code error = writeFile(path, content);
  if (!error)
    return success();
  return report(module) << "cannot write "
                        << (path == "-" ? "to standard output"
                                        : ("'" + path + "'").str())
                        << ": " << error.message();
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

/// The LLVM IR, assembly or object of a lowered program.
static FailureOr<std::string> emitHostCode(ModuleOp module, OutputKind kind,
                                           const CompileOptions &options) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> ir = translateToLLVM(module, context, options);
  if (!ir)
    return failure();
  if (kind == OutputKind::LLVMIR) {
    std::string text;
    llvm::raw_string_ostream(text) << *ir;
    return text;
  }
  SmallString<0> code;
  llvm::raw_svector_ostream os(code);
  if (failed(emitMachineCode(*ir, kind == OutputKind::Assembly, options,
                             UnknownLoc::get(module.getContext()), os)))
    return failure();
  return code.str().str();
}

static FailureOr<std::string> emit(ModuleOp module, OutputKind kind,
                                   StringRef output,
                                   const CompileOptions &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  switch (kind) {
  case OutputKind::MLIR:
    module.print(os);
    os << "\n";
    return text;
  case OutputKind::PTX:
    if (failed(printPTX(module, os)))
      return failure();
    return text;
  case OutputKind::Cubin:
    return assembleKernels(module, options);
  case OutputKind::Header:
    printHeader(module, llvm::sys::path::filename(output), os);
    return text;
  case OutputKind::JSON:
    return describeProgram(module);
  default:
    return emitHostCode(module, kind, options);
  }
}

//===----------------------------------------------------------------------===//
// Shared libraries
//===----------------------------------------------------------------------===//

/// Every library needs it beside itself.
static constexpr StringLiteral kRuntimeName = "libmoss_runtime.so";

static LogicalResult copyRuntime(ModuleOp module, StringRef folder,
                                 const CompileOptions &options) {
  SmallString<128> from(options.runtimeFolder), to(folder);
  llvm::sys::path::append(from, kRuntimeName);
  llvm::sys::path::append(to, kRuntimeName);
  bool isSame = false;
  if (!llvm::sys::fs::equivalent(from, to, isSame) && isSame)
    return success();
  auto buffer = llvm::MemoryBuffer::getFile(from);
  if (!buffer)
    return report(module) << "cannot read the runtime library '" << from
                          << "': " << buffer.getError().message();
  return write(module, to, (*buffer)->getBuffer());
}

static LogicalResult buildShared(ModuleOp module, StringRef output,
                                 const CompileOptions &options) {
  FailureOr<std::string> object =
      emitHostCode(module, OutputKind::Object, options);
  if (failed(object))
    return failure();
  Temporary objectFile("moss-%%%%%%%%.o", /*inTempFolder=*/true);
  Temporary library(output + "-%%%%%%%%", /*inTempFolder=*/false);
  std::error_code error;
  if ((error = objectFile.write(*object)))
    return report(module) << "cannot write the temporary file '"
                          << objectFile.getName() << "': " << error.message();
  if ((error = library.write("")))
    return report(module) << "cannot write '" << output
                          << "': " << error.message();
  SmallString<128> header(output);
  llvm::sys::path::replace_extension(header, "h");
  if (failed(linkShared(objectFile.getName(), library.getName(),
                        llvm::sys::path::filename(output), options,
                        UnknownLoc::get(module.getContext()))))
    return failure();
  FailureOr<std::string> declarations =
      emit(module, OutputKind::Header, header, options);
  if (failed(declarations) || failed(write(module, header, *declarations)) ||
      failed(
          copyRuntime(module, llvm::sys::path::parent_path(output), options)))
    return failure();
  if ((error = llvm::sys::fs::rename(library.getName(), output)))
    return report(module) << "cannot write '" << output
                          << "': " << error.message();
  return success();
}

//===----------------------------------------------------------------------===//
// Intermediate files
//===----------------------------------------------------------------------===//

/// Write the program at each level. It is lowered anew for each, in a context
/// of its own, so that remarks and errors are not seen twice.
static LogicalResult saveLevels(ModuleOp module, StringRef stem,
                                CompileOptions &options, bool isGPU) {
  std::string bytecode;
  llvm::raw_string_ostream os(bytecode);
  if (failed(writeBytecodeToFile(module, os)))
    return report(module) << "cannot serialize the program";
  SmallVector<StringRef> levels = {"quantized", "loops", "hoisted"};
  if (isGPU)
    levels.append({"kernel", "nvvm"});
  DialectRegistry registry;
  registerCompilerDialects(registry);
  for (StringRef level : levels) {
    MLIRContext context(registry);
    ScopedDiagnosticHandler silence(&context, [](Diagnostic &) {});
    OwningOpRef<ModuleOp> copy =
        parseSourceString<ModuleOp>(bytecode, ParserConfig(&context));
    std::function<LogicalResult(PassManager &)> configure;
    std::swap(configure, options.configure);
    bool isLowered = copy && succeeded(lowerProgram(*copy, options, level));
    std::swap(configure, options.configure);
    // The compilation proper reports it.
    if (!isLowered)
      return success();
    std::string text;
    llvm::raw_string_ostream textOS(text);
    copy->print(textOS);
    textOS << "\n";
    if (failed(write(module, (stem + "." + level + ".mlir").str(), text)))
      return failure();
  }
  return success();
}

static LogicalResult saveLowered(ModuleOp module, StringRef stem,
                                 const CompileOptions &options, bool isGPU) {
  SmallVector<std::pair<OutputKind, StringRef>> outputs = {
      {OutputKind::MLIR, ".lowered.mlir"}, {OutputKind::LLVMIR, ".ll"},
      {OutputKind::Assembly, ".s"},        {OutputKind::Object, ".o"},
      {OutputKind::Header, ".h"},          {OutputKind::JSON, ".json"}};
  if (isGPU && !options.assembleKernels)
    outputs.push_back({OutputKind::PTX, ".ptx"});
  for (auto [kind, suffix] : outputs) {
    std::string path = (stem + suffix).str();
    FailureOr<std::string> content = emit(module, kind, path, options);
    if (failed(content) || failed(write(module, path, *content)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// A shared library is made by a linker, which replaces what is there, and two
/// files come beside it.
static LogicalResult checkShared(ModuleOp module, StringRef output) {
  if (output == "-")
    return report(module) << "a shared library consists of several files and "
                             "cannot go to standard output; name a file by -o";
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(output, status) && exists(status) &&
      !is_regular_file(status))
    return report(module) << "cannot write '" << output
                          << "': a shared library cannot take the place of "
                             "what is no regular file";
  if (llvm::sys::path::extension(output) == ".h" ||
      llvm::sys::path::filename(output) == kRuntimeName)
    return report(module) << "a shared library cannot be called '" << output
                          << "', as its header or the runtime beside it is";
  return success();
}

static LogicalResult checkOutput(ModuleOp module, OutputKind kind, bool isGPU,
                                 StringRef output,
                                 const CompileOptions &options) {
  if (options.printsSchedules && !isGPU)
    return report(module) << "a program for a CPU has no schedules to print, "
                             "which are those of a GPU's kernels; compile for "
                             "target=sm_90a";
  if ((kind == OutputKind::PTX || kind == OutputKind::Cubin) && !isGPU)
    return report(module) << "a program for a CPU has no "
                          << (kind == OutputKind::PTX ? "PTX" : "cubin")
                          << "; compile for target=sm_90a";
  return kind == OutputKind::Shared ? checkShared(module, output) : success();
}

LogicalResult moss::compileToFile(ModuleOp module, OutputKind kind,
                                  StringRef output, CompileOptions &options,
                                  StringRef to) {
  FailureOr<TargetInfo> target = lookupTarget(options.lowering.target);
  bool isGPU = succeeded(target) && target->kind == TargetKind::SM90a;
  if (succeeded(target) &&
      failed(checkOutput(module, kind, isGPU, output, options)))
    return failure();
  // PTX is also what cubins of several kernels are assembled from.
  if (kind == OutputKind::PTX || kind == OutputKind::Cubin)
    options.assembleKernels = false;
  SmallString<128> stem;
  if (!options.tempsFolder.empty()) {
    stem = options.tempsFolder;
    llvm::sys::path::append(
        stem, output == "-" ? "program" : llvm::sys::path::stem(output));
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.tempsFolder))
      return report(module) << "cannot create the folder '"
                            << options.tempsFolder << "': " << error.message();
    if (failed(saveLevels(module, stem, options, isGPU)))
      return failure();
  }
  if (failed(lowerProgram(module, options, to)))
    return failure();
  if (options.printsSchedules)
    printSchedules(module, llvm::errs());
  if (!stem.empty() && to.empty() &&
      failed(saveLowered(module, stem, options, isGPU)))
    return failure();
  if (kind == OutputKind::Shared)
    return buildShared(module, output, options);
  FailureOr<std::string> content = emit(module, kind, output, options);
  if (failed(content))
    return failure();
  return write(module, output, *content);
}
