//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Command-line options that drivers of the compiler share. They exist while the
// object does, so that a library has none by itself.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_COMPILER_COMMANDLINE_H
#define MOSS_COMPILER_COMMANDLINE_H

#include "mlir/IR/Diagnostics.h"
#include "moss/Compiler/Compiler.h"
#include "llvm/Support/CommandLine.h"

namespace mlir::moss {

/// Parse the command line of the driver called \p name, with MLIR's options for
/// printing, contexts and pass managers. Exits after an error, and for --help
/// and
/// --version.
void parseCommandLine(StringRef name, llvm::cl::OptionCategory &category,
                      int argc, char **argv, const char *overview);

/// Begin an error on standard error with the name that was given to
/// `parseCommandLine`, as the rest of a line.
raw_ostream &printError();

/// Print a line as an error.
LogicalResult reportError(const Twine &message);

class RemarkFlags;

/// The program that a driver works on. Diagnostics go to standard error while
/// this exists: beside the source that they are about, and those without a
/// place in it as errors of the driver.
class ProgramFile {
public:
  /// Open a file, or standard input if \p path is "-". Null after an error.
  static std::unique_ptr<ProgramFile> open(StringRef path,
                                           const RemarkFlags &remarks);

  /// Null after an error.
  OwningOpRef<ModuleOp> parse();

private:
  explicit ProgramFile(std::unique_ptr<llvm::MemoryBuffer> buffer);

  std::shared_ptr<llvm::SourceMgr> sourceMgr;
  MLIRContext context;
  SourceMgrDiagnosticHandler sourceHandler;
  ScopedDiagnosticHandler toolHandler;
};

/// The options of moss-fp8-lower under their own names, except those that
/// `lowerProgram` sets.
class LoweringFlags {
public:
  explicit LoweringFlags(llvm::cl::OptionCategory &category);
  ~LoweringFlags();

  /// Set the options that were given. A wrong value is an error on standard
  /// error.
  LogicalResult apply(FP8LowerOptions &options) const;

private:
  using Flag = llvm::cl::opt<std::string>;
  std::vector<std::unique_ptr<Flag>> flags;
};

/// -O0 to -O3, --mcpu, --device-code, --linker.
class CodeFlags {
public:
  explicit CodeFlags(llvm::cl::OptionCategory &category);

  /// Set the options, and the runtime's folder, which is found from the place
  /// of the program that runs, \p argv0.
  LogicalResult apply(CompileOptions &options, const char *argv0) const;

private:
  llvm::cl::opt<std::string> optLevel;
  llvm::cl::opt<std::string> cpu;
  llvm::cl::opt<std::string> deviceCode;
  llvm::cl::opt<std::string> linker;
};

/// Remarks, as mlir-opt has them: --remark-format, --remarks-output-file,
/// --remarks-filter and its kinds.
class RemarkFlags {
public:
  explicit RemarkFlags(llvm::cl::OptionCategory &category);

  /// Let the context emit what was asked for.
  LogicalResult enable(MLIRContext &context) const;

private:
  using Flag = llvm::cl::opt<std::string>;

  LogicalResult checkPatterns() const;

  Flag format, outputFile, all, passed, failed, missed, analysis;
};

} // namespace mlir::moss

#endif // MOSS_COMPILER_COMMANDLINE_H
