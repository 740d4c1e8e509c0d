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
/// cannot: `load` must be in the loop over K of its product, or in that over
/// tiles if the former had one iteration and was folded, and its source must
/// suit (see getScaleTile in Target.h).
std::optional<VectorType> getScaleTile(LoadScalesOp load);

/// A tile of a channel that holds what several loads of scales read, at the
/// same position or at constant distances from it along K.
struct ScaleTile {
  VectorType type;
  /// Whether it is extended to f32 in the slot: scales that areExtended in
  /// Target.h names, if nothing but sums reads them. `moss.rescale` adds
  /// exponents as integers, which E8M0 scales are.
  bool isExtended;
  /// The loads, of which the first is the nearest to the tile's beginning, and
  /// the rows of the tile that hold their scales.
  SmallVector<LoadScalesOp> loads;
  SmallVector<int64_t> rows;
  /// The position along K of the tile's first row.
  OpFoldResult k;
};

/// The tiles for the loads of scales in \p body, the body of a loop over K,
/// that can travel in a slot with the operands of its products.
SmallVector<ScaleTile> collectScaleTiles(Block &body);

/// Whether all positions of `load` are known to belong to one group, as those
/// of a tile do that divides a group.
bool readsOneGroup(LoadScalesOp load);

/// Whether `value` is known to be a multiple of `divisor`.
bool isMultipleOf(Value value, int64_t divisor);

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_SCALETILES_H
