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

/// Prints diagnostics beside the source that they are about, and those without
/// a place in it as errors of the tool.
class ToolDiagnosticHandler {
public:
  ToolDiagnosticHandler(llvm::SourceMgr &sourceMgr, MLIRContext &context);

private:
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
