//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of a lowered program.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_COMPILER_KERNELS_H
#define MOSS_LIB_COMPILER_KERNELS_H

#include "mlir/IR/BuiltinOps.h"

namespace llvm::json {
class OStream;
} // namespace llvm::json

namespace mlir::moss {

/// What ptxas has made of a kernel.
struct AssembledKernel {
  /// Registers of a thread.
  int64_t registers;
  /// Bytes of a thread's stack, where registers are spilled to.
  int64_t stackBytes;
};

/// What a cubin says of one of its kernels, if it can be read.
std::optional<AssembledKernel> readKernelOfCubin(StringRef cubin,
                                                 StringRef kernel);

/// Write the array of a program's kernels.
void describeKernels(ModuleOp module, llvm::json::OStream &json);

} // namespace mlir::moss

#endif // MOSS_LIB_COMPILER_KERNELS_H
