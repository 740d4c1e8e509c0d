//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which scales travel with the operands, through the ring of a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_GPU_SCALETILES_H
#define MOSS_LIB_GPU_SCALETILES_H

#include "moss/IR/Moss.h"

namespace mlir::moss {

/// The tile of a channel, 1 x R, that holds what `load` reads, or nothing if it
/// cannot: `load` must be in the loop over K of its product, have a group along
/// K for each row or column, and scales of neighbors must be adjacent in
/// memory.
std::optional<VectorType> getScaleTile(LoadScalesOp load);

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_SCALETILES_H
