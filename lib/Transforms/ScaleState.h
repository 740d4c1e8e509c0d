//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How functions keep scales from one call to the next: in tables of a row for
// each tensor, which are arguments that results replace. Shared by
// moss-auto-scale and moss-delay-scales.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_TRANSFORMS_SCALESTATE_H
#define MOSS_LIB_TRANSFORMS_SCALESTATE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// Append an argument, with its name in C; all types are fine for a func.func.
BlockArgument appendArgument(func::FuncOp func, Type type, StringRef name);

/// Append a result, which every return yields, as the updated `argument`.
void appendUpdate(func::FuncOp func, Value argument, Value value);

/// Return `values`, which update the function's last arguments.
void returnUpdates(ImplicitLocOpBuilder &b, func::FuncOp func,
                   ValueRange values);

/// The element of `table` at `position` as a tensor<f32>, and the table with
/// another value there.
Value extractScalar(ImplicitLocOpBuilder &b, Value table,
                    ArrayRef<int64_t> position);
Value insertScalar(ImplicitLocOpBuilder &b, Value scalar, Value table,
                   ArrayRef<int64_t> position);

/// The scheme of `op` under a scale that is given instead.
SchemeAttr getGivenScheme(QuantizeOp op);

/// Fails, with a diagnostic at `func`, if the function is called in its module:
/// further arguments and results would not match the calls. `reason` says why
/// it would get them, and `way` what the user can do.
LogicalResult checkNotCalled(func::FuncOp func, const SymbolUserMap &users,
                             StringRef reason, StringRef way);

} // namespace mlir::moss

#endif // MOSS_LIB_TRANSFORMS_SCALESTATE_H
