//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-compile: from a program to code that others can call.
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllPasses.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "moss/Compiler/CommandLine.h"
#include "moss/Pipelines/Pipelines.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::moss;

namespace {
/// What is to be made: a kind and, for MLIR, the level.
struct Emission {
  OutputKind kind;
  StringRef level;
};

/// The options of this tool.
struct Flags {
  llvm::cl::OptionCategory category{"moss-compile options"};
  llvm::cl::opt<std::string> input{
      llvm::cl::Positional, llvm::cl::desc("<input file>"), llvm::cl::init("-"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> output{
      "o", llvm::cl::desc("Output file (default: -, standard output)"),
      llvm::cl::init("-"), llvm::cl::cat(category)};
  llvm::cl::opt<std::string> emit{
      "emit",
      llvm::cl::desc("What to make, if not as the output's suffix says: "
                     "mlir-quantized, mlir-loops, mlir-hoisted, mlir-kernel, "
                     "mlir-nvvm, mlir, llvm-ir, ptx, cubin, asm, obj, shared, "
                     "header, json"),
      llvm::cl::cat(category)};
  llvm::cl::opt<std::string> temps{
      "save-temps", llvm::cl::ValueOptional,
      llvm::cl::desc("Write the program at every level to this folder "
                     "(default: the output's)"),
      llvm::cl::cat(category)};
  llvm::cl::opt<bool> printSchedule{
      "print-schedule",
      llvm::cl::desc("sm_90a: print the shape and the schedule of each matmul "
                     "kernel to standard error"),
      llvm::cl::cat(category)};
  LoweringFlags lowering{category};
  CodeFlags code{category};
  RemarkFlags remarks{category};
};
} // namespace

//===----------------------------------------------------------------------===//
// What to make
//===----------------------------------------------------------------------===//

static std::optional<Emission> lookupEmission(StringRef name) {
  if (name.consume_front("mlir-") &&
      llvm::is_contained({"quantized", "loops", "hoisted", "kernel", "nvvm"},
                         name))
    return Emission{OutputKind::MLIR, name};
  auto kind = llvm::StringSwitch<std::optional<OutputKind>>(name)
                  .Case("mlir", OutputKind::MLIR)
                  .Case("llvm-ir", OutputKind::LLVMIR)
                  .Case("ptx", OutputKind::PTX)
                  .Case("cubin", OutputKind::Cubin)
                  .Case("asm", OutputKind::Assembly)
                  .Case("obj", OutputKind::Object)
                  .Case("shared", OutputKind::Shared)
                  .Case("header", OutputKind::Header)
                  .Case("json", OutputKind::JSON)
                  .Default(std::nullopt);
  return kind ? std::optional(Emission{*kind, ""}) : std::nullopt;
}

static StringRef getEmissionOfSuffix(StringRef suffix) {
  return llvm::StringSwitch<StringRef>(suffix)
      .Case(".mlir", "mlir")
      .Case(".ll", "llvm-ir")
      .Case(".ptx", "ptx")
      .Case(".cubin", "cubin")
      .Case(".s", "asm")
      .Case(".o", "obj")
      .Case(".so", "shared")
      .Case(".h", "header")
      .Case(".json", "json")
      .Default("");
}

static FailureOr<Emission> chooseEmission(const Flags &flags) {
  StringRef name = flags.emit;
  if (name.empty()) {
    name = flags.output == "-"
               ? "mlir"
               : getEmissionOfSuffix(llvm::sys::path::extension(flags.output));
    if (name.empty()) {
      return reportError("'" + flags.output +
                         "' has none of the suffixes .mlir, .ll, .ptx, .cubin, "
                         ".s, .o, .so, .h and .json; say by --emit what to "
                         "make");
    }
  }
  if (std::optional<Emission> emission = lookupEmission(name))
    return *emission;
  return reportError("--emit=" + name +
                     ": nothing of this name can be made; see --help for what "
                     "can");
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

static LogicalResult setOptions(const Flags &flags, CompileOptions &options,
                                const char *argv0) {
  if (failed(flags.lowering.apply(options.lowering)) ||
      failed(flags.code.apply(options, argv0)))
    return failure();
  options.printsSchedules = flags.printSchedule;
  if (flags.temps.getNumOccurrences() > 0) {
    StringRef folder = flags.temps;
    if (folder.empty())
      folder = llvm::sys::path::parent_path(flags.output);
    options.tempsFolder = folder.empty() ? "." : folder.str();
  }
  return success();
}

static LogicalResult compile(const Flags &flags, const char *argv0) {
  CompileOptions options;
  FailureOr<Emission> emission = chooseEmission(flags);
  if (failed(emission) || failed(setOptions(flags, options, argv0)))
    return failure();
  std::unique_ptr<ProgramFile> file =
      ProgramFile::open(flags.input, flags.remarks);
  if (!file)
    return failure();
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope scope = timing.getRootScope();
  options.configure = [&](PassManager &pm) {
    pm.enableTiming(scope);
    return applyPassManagerCLOptions(pm);
  };
  OwningOpRef<ModuleOp> module = file->parse();
  return success(module &&
                 succeeded(compileToFile(*module, emission->kind, flags.output,
                                         options, emission->level)));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // For options that name a pass.
  registerAllPasses();
  registerPassesAndPipelines();
  Flags flags;
  registerDefaultTimingManagerCLOptions();
  parseCommandLine(
      "moss-compile", flags.category, argc, argv,
      "From linalg IR to FP8 kernels that C, C++ and Python can call\n");
  return failed(compile(flags, argv[0]));
}
