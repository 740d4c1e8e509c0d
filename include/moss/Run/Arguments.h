//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of a run: which come from where.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_ARGUMENTS_H
#define MOSS_RUN_ARGUMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "moss/Run/HostArray.h"
#include "llvm/Support/Error.h"

namespace mlir::moss {

/// What the user says about arguments, as text.
struct ArgumentRequests {
  /// `name=file.npy`, `name=number` for a scalar, or `file.npy` for the next
  /// argument that has none of these.
  std::vector<std::string> inputs;
  /// `name=128x64`, also for results.
  std::vector<std::string> sizes;
  /// `normal` for all, or `name=normal`.
  std::vector<std::string> distributions;
  uint64_t seed = 0;
};

/// The arguments of a function.
struct Arguments {
  SmallVector<std::string> names;
  SmallVector<HostArray> arrays;
  /// As `normal, seed 0` or the name of a file.
  SmallVector<std::string> origins;
  /// Shapes that were given for results.
  SmallVector<std::optional<SmallVector<int64_t>>> resultShapes;
};

/// The names of a function's arguments in its text, or `arg0` and so on.
SmallVector<std::string> getArgumentNames(func::FuncOp func);

/// The name of a result: `result`, or `result0` and so on if there are several.
std::string getResultName(func::FuncOp func, unsigned number);

/// Read or make the arguments of \p func. Fails if a request names nothing, or
/// does not fit a type or another request, if an integer or index has no value,
/// or if a dynamic extent is not known.
llvm::Expected<Arguments> createArguments(func::FuncOp func,
                                          const ArgumentRequests &requests);

} // namespace mlir::moss

#endif // MOSS_RUN_ARGUMENTS_H
