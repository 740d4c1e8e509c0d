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

#ifndef MOSS_RUN_EXECUTABLE_H
#define MOSS_RUN_EXECUTABLE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "moss/Compiler/Compiler.h"
#include "moss/Run/HostArray.h"

namespace mlir {
class ExecutionEngine;

namespace moss {

/// The public function of the given name, or the only one if the name is empty.
/// It has a body, and takes and returns tensors and scalars. Failure after an
/// error.
FailureOr<func::FuncOp> findEntry(ModuleOp module, StringRef name);

/// A copy of the module of \p entry in which there is no other function, since
/// all its calls are inlined.
FailureOr<OwningOpRef<ModuleOp>> inlineCalls(func::FuncOp entry);

/// What follows from the shapes of arguments.
struct ProgramShapes {
  /// The shape of each result; dynamic extents are those that do not follow.
  SmallVector<SmallVector<int64_t>> results;
  /// Multiplications and additions of all matmuls that become FP8, or nothing
  /// if that depends on more than shapes.
  std::optional<double> operations;
};

/// Derive the shapes of results of \p entry, and the work of its matmuls under
/// \p lowering. A scalar has no extents.
FailureOr<ProgramShapes>
inferShapes(func::FuncOp entry, ArrayRef<SmallVector<int64_t>> argumentShapes,
            const FP8LowerOptions &lowering);

/// Report at \p loc that \p entry has marked weights, whose predicted scales it
/// would take as further parameters.
LogicalResult failForWeights(Location loc, StringRef entry);

/// Where an argument or a result lies, on the host or the device.
struct ArrayPointer {
  void *data;
  ArrayRef<int64_t> shape;
};

/// A program in machine code, with one function to call.
class Executable {
public:
  ~Executable();

  /// Compile a program for the target that the options name. Null after an
  /// error. \p module is consumed.
  static std::unique_ptr<Executable> create(OwningOpRef<ModuleOp> module,
                                            StringRef entry,
                                            CompileOptions &options);

  /// Call the function with its arguments followed by memory for its results.
  /// Arrays are contiguous. \p stream is a CUstream or null; without a GPU it
  /// has no meaning. Failure after an error, at no location.
  LogicalResult call(ArrayRef<ArrayPointer> parameters, void *stream);

private:
  Executable() = default;

  OwningOpRef<ModuleOp> module;
  std::unique_ptr<ExecutionEngine> engine;
  void (*function)(void **) = nullptr;
  std::string symbol;
  /// Whether a parameter is passed by value, and which of its extents are.
  struct Parameter {
    bool isValue;
    SmallVector<bool> isDynamic;
  };
  SmallVector<Parameter> parameters;
};

} // namespace moss
} // namespace mlir

#endif // MOSS_RUN_EXECUTABLE_H
