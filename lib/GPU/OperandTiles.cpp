//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OperandTiles.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moss;

bool moss::isCopyOfBox(vector::TransferReadOp load) {
  auto source = dyn_cast<MemRefType>(load.getBase().getType());
  return source && source.getRank() == 2 && !load.getMask() &&
         load.getPermutationMap().isIdentity() &&
         (!load.hasOutOfBoundsDim() ||
          matchPattern(load.getPadding(), m_PosZeroFloat()));
}

vector::ExtractStridedSliceOp moss::getSlice(Value tile) {
  return tile.getDefiningOp<vector::ExtractStridedSliceOp>();
}

std::optional<SlotTile> SlotTile::lookup(Value value) {
  SlotTile found{value};
  if (vector::ExtractStridedSliceOp slice = getSlice(value)) {
    SmallVector<int64_t> offsets;
    slice.getOffsets(offsets);
    if (offsets.size() != 2)
      return std::nullopt;
    found = {slice.getSource(), offsets[0], offsets[1]};
  }
  if (!found.tile.getDefiningOp<GetOp>())
    return std::nullopt;
  return found;
}
