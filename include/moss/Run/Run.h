//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-run: compile a program, run it, and say how exact and how fast it is.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_RUN_H
#define MOSS_RUN_RUN_H

#include "moss/Compiler/Compiler.h"
#include "moss/Run/Arguments.h"
#include "moss/Run/Report.h"

namespace mlir::moss {

/// What to run, and how.
struct RunOptions {
  /// The function, or the only public one if empty.
  std::string entry;
  ArgumentRequests arguments;
  /// Where results go: `file.npy` for the next, or `name=file.npy`.
  std::vector<std::string> outputs;
  /// What to compare to instead of the reference's values, likewise.
  std::vector<std::string> expected;
  /// Whether to derive and evaluate a reference.
  bool hasReference = true;
  /// Factor of every bound.
  double boundScale = 1;
  /// What the relative error may be; the reference's own if not set.
  std::optional<double> tolerance;
  /// Calls to time; 0 for none.
  unsigned benchmarkCalls = 0;
  unsigned warmUpCalls = 3;
  /// Called with what is done next.
  std::function<void(const Twine &)> progress = [](const Twine &) {};
};

/// Run a program, as parsed. Files are written when all else has succeeded.
/// Failure after an error, a diagnostic of the program's context.
FailureOr<Report> runProgram(ModuleOp program, CompileOptions &compile,
                             const RunOptions &options);

} // namespace mlir::moss

#endif // MOSS_RUN_RUN_H
