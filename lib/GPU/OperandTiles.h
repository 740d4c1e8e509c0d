//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the operands of a product come from: memory, and then a slot of a
// channel.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_GPU_OPERANDTILES_H
#define MOSS_LIB_GPU_OPERANDTILES_H

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// Whether the copy engine can do what `load` does: copy a box of a matrix,
/// with zeros past its bounds.
bool isCopyOfBox(vector::TransferReadOp load);

/// The slice whose value \p tile is, or null.
vector::ExtractStridedSliceOp getSlice(Value tile);

/// A tile that moss.get yields, and the row and column of it where a slice
/// begins.
struct SlotTile {
  Value tile;
  int64_t row = 0, col = 0;

  /// What \p value is, or is a slice of; nothing if it is not in a slot.
  static std::optional<SlotTile> lookup(Value value);
};

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_OPERANDTILES_H
