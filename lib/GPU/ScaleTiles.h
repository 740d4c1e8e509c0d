//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which scales travel with the operands, through the ring of a kernel, and
// which are one for a whole tile.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_GPU_SCALETILES_H
#define MOSS_LIB_GPU_SCALETILES_H

#include "moss/IR/Moss.h"

namespace mlir::moss {

/// The tile of a channel, 1 x R, that holds what `load` reads, or nothing if it
/// cannot: `load` must be in the loop over K of its product, and its source
/// must suit (see getScaleTile in Target.h).
std::optional<VectorType> getScaleTile(LoadScalesOp load);

/// Whether the scales of `load`, which travel through the ring, are extended to
/// f32 there: those that areExtended in Target.h names, if nothing but sums
/// reads them. `moss.rescale` adds exponents as integers, which E8M0 scales
/// are.
bool isExtended(LoadScalesOp load);

/// Whether all positions of `load` are known to belong to one group, as those
/// of a tile do that divides a group.
bool readsOneGroup(LoadScalesOp load);

/// Whether `value` is known to be a multiple of `divisor`.
bool isMultipleOf(Value value, int64_t divisor);

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_SCALETILES_H
