//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results that are updated arguments, by the attribute `moss.updates`.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_UPDATEDARGUMENTS_H
#define MOSS_TRANSFORMS_UPDATEDARGUMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::moss {

/// For each result of a function, the number of the argument that it is the
/// updated value of, or nothing.
using UpdatedArguments = SmallVector<std::optional<unsigned>>;

/// Those that are marked in `func`. Fails, with a diagnostic, if a mark is not
/// the number of an argument, if types differ or are no ranked tensors, or if
/// two results update one argument.
FailureOr<UpdatedArguments> getUpdatedArguments(func::FuncOp func);

/// Whether bufferization may compute a tensor in memory that a to_tensor
/// reads, such as that of an updated argument, other than the memref `own`.
bool mayBeInOtherMemory(OpOperand &operand, Value own);

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_UPDATEDARGUMENTS_H
