//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stack memory for tiles, shared by the passes that take tile values to loops.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_CPU_SCRATCH_H
#define MOSS_CPU_SCRATCH_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::moss {

/// Allocate stack memory at the entry of `function`: an alloca inside a loop
/// would grow the stack with every iteration once the loops are lowered to
/// branches.
inline Value allocateScratch(OpBuilder &builder, FunctionOpInterface function,
                             Location loc, ArrayRef<int64_t> shape,
                             Type elementType) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  return memref::AllocaOp::create(builder, loc,
                                  MemRefType::get(shape, elementType),
                                  builder.getI64IntegerAttr(64));
}

} // namespace mlir::moss

#endif // MOSS_CPU_SCRATCH_H
