//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory for tiles, shared by the passes that take tile values to loops.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_CPU_SCRATCH_H
#define MOSS_CPU_SCRATCH_H

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::moss {

/// Allocate memory that lives as long as a call of `function`: at its entry, as
/// an alloca inside a loop would grow the stack with every iteration once the
/// loops are lowered to branches. What is too large for the stack comes from
/// the heap, and is freed where the function returns.
Value allocateScratch(OpBuilder &builder, FunctionOpInterface function,
                      ArrayRef<int64_t> shape, Type elementType);

} // namespace mlir::moss

#endif // MOSS_CPU_SCRATCH_H
