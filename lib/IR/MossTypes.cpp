//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "moss/IR/Moss.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moss;

#define GET_TYPEDEF_CLASSES
#include "moss/IR/MossTypes.cpp.inc"

void MossDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "moss/IR/MossTypes.cpp.inc"
      >();
}

bool ChannelType::isExtended(unsigned index) const {
  return llvm::is_contained(getExtended(), static_cast<int64_t>(index));
}

VectorType ChannelType::getExtendedTile(unsigned index) const {
  VectorType tile = getTiles()[index];
  return tile.clone(Float32Type::get(getContext()));
}

SmallVector<VectorType> ChannelType::getReceivedTiles() const {
  SmallVector<VectorType> tiles(getTiles());
  for (int64_t index : getExtended())
    tiles[index] = getExtendedTile(index);
  return tiles;
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t stages, ArrayRef<VectorType> tiles,
                                  ArrayRef<int64_t> extended) {
  if (stages <= 0 || stages > kMaxStages)
    return emitError() << "a channel needs 1 to " << kMaxStages
                       << " stages, but got " << stages;
  if (tiles.empty())
    return emitError() << "a channel needs at least one tile";
  for (VectorType tile : tiles)
    if (tile.getRank() != 2 || tile.isScalable() ||
        !(isScaleTile(tile) ||
          isa<Float8E4M3FNType, Float8E5M2Type, BFloat16Type>(
              tile.getElementType())))
      return emitError() << "a channel's tiles must be two-dimensional vectors "
                            "of f8E4M3FN, f8E5M2, bf16, f32 or f8E8M0FNU, but "
                            "got "
                         << tile;
  for (auto [i, index] : llvm::enumerate(extended)) {
    if (index < 0 || index >= static_cast<int64_t>(tiles.size()) ||
        (i > 0 && index <= extended[i - 1]))
      return emitError() << "'extended' must be ascending positions among "
                         << tiles.size() << " tiles, but has " << index;
    if (!isa<Float8E8M0FNUType>(tiles[index].getElementType()))
      return emitError() << "only tiles of f8E8M0FNU are extended, but tile "
                         << index << " is " << tiles[index];
  }
  return success();
}

Type TensorMapType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> box;
  Type elementType;
  int64_t swizzle;
  if (parser.parseLess() ||
      parser.parseDimensionList(box, /*allowDynamic=*/false) ||
      parser.parseType(elementType) || parser.parseComma() ||
      parser.parseKeyword("swizzle") || parser.parseEqual() ||
      parser.parseInteger(swizzle) || parser.parseGreater())
    return {};
  if (box.size() != 2) {
    parser.emitError(loc) << "a tensor map has a two-dimensional box";
    return {};
  }
  return parser.getChecked<TensorMapType>(loc, parser.getContext(), box[0],
                                          box[1], elementType, swizzle);
}

void TensorMapType::print(AsmPrinter &printer) const {
  printer << "<" << getBoxRows() << "x" << getBoxCols() << "x"
          << getElementType() << ", swizzle = " << getSwizzle() << ">";
}

LogicalResult
TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t boxRows, int64_t boxCols, Type elementType,
                      int64_t swizzle) {
  if (boxRows <= 0 || boxRows > 256 || boxCols <= 0 || boxCols > 256)
    return emitError() << "the copy engine moves boxes of 1 to 256 elements a "
                          "dimension, but got "
                       << boxRows << "x" << boxCols;
  if (!elementType.isFloat() || elementType.getIntOrFloatBitWidth() > 32)
    return emitError() << "unsupported element type " << elementType;
  int64_t rowBytes = boxCols * elementType.getIntOrFloatBitWidth() / 8;
  if (rowBytes % 16 != 0)
    return emitError() << "a row of the box must be a multiple of 16 bytes, "
                          "but has "
                       << rowBytes;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return emitError() << "swizzle must be 0, 32, 64 or 128 bytes, but got "
                       << swizzle;
  if (swizzle != 0 && rowBytes > swizzle)
    return emitError() << "a row of the box has " << rowBytes
                       << " bytes, more than the swizzle of " << swizzle;
  return success();
}
