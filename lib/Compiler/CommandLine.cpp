//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Compiler/CommandLine.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Remark/RemarkStreamer.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// Drivers
//===----------------------------------------------------------------------===//

/// The name of the driver that runs.
static StringRef driverName;

void moss::parseCommandLine(StringRef name, llvm::cl::OptionCategory &category,
                            int argc, char **argv, const char *overview) {
  driverName = name;
  llvm::cl::HideUnrelatedOptions(category);
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  llvm::cl::SetVersionPrinter([](raw_ostream &os) {
    os << driverName << ", with LLVM " LLVM_VERSION_STRING "\n";
  });
  llvm::cl::ParseCommandLineOptions(argc, argv, overview);
}

raw_ostream &moss::printError() {
  return llvm::WithColor::error(llvm::errs(), driverName);
}

LogicalResult moss::reportError(const Twine &message) {
  printError() << message << '\n';
  return failure();
}

static std::shared_ptr<llvm::SourceMgr>
createSourceMgr(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  auto sourceMgr = std::make_shared<llvm::SourceMgr>();
  sourceMgr->AddNewSourceBuffer(std::move(buffer), SMLoc());
  return sourceMgr;
}

static DialectRegistry createRegistry() {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  return registry;
}

ProgramFile::ProgramFile(std::unique_ptr<llvm::MemoryBuffer> buffer)
    : sourceMgr(createSourceMgr(std::move(buffer))), context(createRegistry()),
      sourceHandler(*sourceMgr, &context),
      toolHandler(&context, [](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error ||
            !isa<UnknownLoc>(diagnostic.getLocation()))
          return failure();
        printError() << diagnostic << "\n";
        return success();
      }) {
  // Functions after lowering are too long to be read below an error.
  context.printOpOnDiagnostic(false);
}

std::unique_ptr<ProgramFile> ProgramFile::open(StringRef path,
                                               const RemarkFlags &remarks) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &error);
  if (!buffer) {
    printError() << error << '\n';
    return nullptr;
  }
  std::unique_ptr<ProgramFile> file(new ProgramFile(std::move(buffer)));
  if (failed(remarks.enable(file->context)))
    return nullptr;
  return file;
}

OwningOpRef<ModuleOp> ProgramFile::parse() {
  return parseProgram(sourceMgr, &context);
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

namespace {
/// The options of moss-fp8-lower by name.
struct NamedOptions : FP8LowerOptions {
  llvm::cl::Option *find(StringRef name) { return OptionsMap.lookup(name); }
  SmallVector<llvm::cl::Option *> getSorted() {
    SmallVector<llvm::cl::Option *> sorted;
    for (auto &entry : OptionsMap)
      sorted.push_back(entry.second);
    llvm::sort(sorted, [](llvm::cl::Option *a, llvm::cl::Option *b) {
      return a->ArgStr < b->ArgStr;
    });
    return sorted;
  }
};
} // namespace

static bool followsFromOutput(StringRef name) {
  return name == "to" || name == "c-interface" || name == "opt-level";
}

LoweringFlags::LoweringFlags(llvm::cl::OptionCategory &category) {
  NamedOptions options;
  for (llvm::cl::Option *option : options.getSorted())
    if (!followsFromOutput(option->ArgStr))
      flags.push_back(std::make_unique<Flag>(option->ArgStr,
                                             llvm::cl::desc(option->HelpStr),
                                             llvm::cl::cat(category)));
}

LoweringFlags::~LoweringFlags() = default;

LogicalResult LoweringFlags::apply(FP8LowerOptions &options) const {
  NamedOptions parsed;
  // Who calls a driver wants FP8, and sees no remarks unless asking for them.
  parsed.warnUnquantized = true;
  for (const std::unique_ptr<Flag> &flag : flags)
    if (flag->getNumOccurrences() > 0 &&
        parsed.find(flag->ArgStr)
            ->addOccurrence(/*pos=*/0, flag->ArgStr, flag->getValue()))
      return failure();
  options.copyOptionValuesFrom(parsed);
  return success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

CodeFlags::CodeFlags(llvm::cl::OptionCategory &category)
    : optLevel(
          "O", llvm::cl::Prefix, llvm::cl::ValueOptional,
          llvm::cl::desc("Level of optimization of kernels, and of code for "
                         "the CPU, 0 to 3 (default: 3)"),
          llvm::cl::init("3"), llvm::cl::cat(category)),
      cpu("mcpu",
          llvm::cl::desc("CPU to generate host code for, as LLVM calls it, or "
                         "native (default: any of the architecture)"),
          llvm::cl::cat(category)),
      deviceCode("device-code",
                 llvm::cl::desc("What objects and libraries hold of kernels: "
                                "ptx, which the driver assembles (default), or "
                                "cubin, assembled by CUDA's ptxas"),
                 llvm::cl::init("ptx"), llvm::cl::cat(category)),
      linker("linker",
             llvm::cl::desc("C compiler to link with (default: the first of "
                            "clang-22, clang, cc, gcc)"),
             llvm::cl::cat(category)) {}

/// The folder of libmoss_runtime.so, beside that of the program.
static std::string findRuntimeFolder(const char *argv0) {
  static int anchor;
  SmallString<128> folder(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(
          llvm::sys::fs::getMainExecutable(argv0, &anchor))));
  llvm::sys::path::append(folder, "lib");
  return folder.str().str();
}

LogicalResult CodeFlags::apply(CompileOptions &options,
                               const char *argv0) const {
  unsigned level;
  if (optLevel.size() != 1 || !llvm::to_integer(optLevel, level) || level > 3)
    return reportError("-O" + optLevel + ": the level must be 0 to 3");
  if (deviceCode != "ptx" && deviceCode != "cubin")
    return reportError("--device-code=" + deviceCode +
                       ": expected ptx or cubin");
  options.optLevel = level;
  options.cpu = cpu;
  options.assembleKernels = deviceCode == "cubin";
  options.linker = linker;
  options.runtimeFolder = findRuntimeFolder(argv0);
  return success();
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

RemarkFlags::RemarkFlags(llvm::cl::OptionCategory &category)
    : format("remark-format",
             llvm::cl::desc("How remarks are emitted: emitRemark (as "
                            "diagnostics, the default), yaml or bitstream (to "
                            "a file)"),
             llvm::cl::init("emitRemark"), llvm::cl::cat(category)),
      outputFile("remarks-output-file",
                 llvm::cl::desc("File for remarks in yaml or bitstream"),
                 llvm::cl::cat(category)),
      all("remarks-filter",
          llvm::cl::desc("Emit remarks of categories that match this regular "
                         "expression, as moss-.*"),
          llvm::cl::cat(category)),
      passed("remarks-filter-passed",
             llvm::cl::desc("The same, for what was done"),
             llvm::cl::cat(category)),
      failed("remarks-filter-failed",
             llvm::cl::desc("The same, for what failed"),
             llvm::cl::cat(category)),
      missed("remarks-filter-missed",
             llvm::cl::desc("The same, for what was not done"),
             llvm::cl::cat(category)),
      analysis("remarks-filter-analyse",
               llvm::cl::desc("The same, for what was found out"),
               llvm::cl::cat(category)) {}

LogicalResult RemarkFlags::checkPatterns() const {
  for (const Flag *flag : {&all, &passed, &failed, &missed, &analysis}) {
    std::string error;
    if (flag->empty() || llvm::Regex(flag->getValue()).isValid(error))
      continue;
    return reportError("--" + flag->ArgStr + "=" + *flag +
                       ": not a regular expression: " + error);
  }
  return success();
}

LogicalResult RemarkFlags::enable(MLIRContext &context) const {
  if (mlir::failed(checkPatterns()))
    return failure();
  std::string forAll = all;
  bool isAsked = !all.empty();
  for (const Flag *flag : {&passed, &failed, &missed, &analysis})
    isAsked |= !flag->empty();
  if (!isAsked && format.getNumOccurrences() == 0)
    return success();
  if (!isAsked)
    forAll = ".*";
  // The engine asks only the pattern of a remark's kind.
  auto pattern = [&](const Flag &flag) -> std::optional<std::string> {
    if (flag.empty() && forAll.empty())
      return std::nullopt;
    return flag.empty()     ? forAll
           : forAll.empty() ? flag.getValue()
                            : "(" + forAll + ")|(" + flag.getValue() + ")";
  };
  remark::RemarkCategories categories{std::nullopt, pattern(passed),
                                      pattern(missed), pattern(analysis),
                                      pattern(failed)};
  bool wantsFile = format.getNumOccurrences() > 0 && format != "emitRemark";
  auto policy = std::make_unique<remark::RemarkEmittingPolicyAll>();
  if (!wantsFile)
    return remark::enableOptimizationRemarks(context, /*streamer=*/nullptr,
                                             std::move(policy), categories,
                                             /*printAsEmitRemarks=*/true);
  if (format != "yaml" && format != "bitstream")
    return reportError("--remark-format=" + format +
                       ": expected emitRemark, yaml or bitstream");
  if (outputFile.empty())
    return reportError("--remark-format=" + format +
                       " needs a file: --remarks-output-file");
  // The streamer does not say why it cannot open a file.
  std::error_code error;
  llvm::raw_fd_ostream(outputFile, error, llvm::sys::fs::CD_OpenAlways);
  if (!error && succeeded(remark::enableOptimizationRemarksWithLLVMStreamer(
                    context, outputFile,
                    format == "yaml" ? llvm::remarks::Format::YAML
                                     : llvm::remarks::Format::Bitstream,
                    std::move(policy), categories)))
    return success();
  return reportError("cannot write remarks to '" + outputFile + "'" +
                     (error ? ": " + error.message() : ""));
}
