//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the roles of a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_GPU_ROLESTONVVM_H
#define MOSS_LIB_GPU_ROLESTONVVM_H

#include "moss/IR/Moss.h"

namespace mlir::moss {

/// Warps of a warpgroup.
inline constexpr int64_t kWarpsPerWarpgroup = 4;

/// Replace `roles` by branches on the warpgroup, and in the first of them on
/// the warp: warp 0 is the producer, of which one thread runs, and warp 1 the
/// converter, if there is one. Asks the machine for the register budgets of the
/// roles.
void lowerRoles(WarpSpecializeOp roles);

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_ROLESTONVVM_H
