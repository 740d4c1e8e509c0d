//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers and syntax of the ops of scheduled kernels.
//
//===----------------------------------------------------------------------===//

#include "moss/IR/Moss.h"

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// PutOp, ExtendScalesOp and GetOp
//===----------------------------------------------------------------------===//

LogicalResult PutOp::verify() {
  ChannelType channel = getChannel().getType();
  if (getSources().size() != channel.getTiles().size())
    return emitOpError("the channel's slots hold ")
           << channel.getTiles().size() << " tiles, but there are "
           << getSources().size() << " sources";
  for (auto [source, tile] :
       llvm::zip_equal(getSources(), channel.getTiles())) {
    if (auto map = dyn_cast<TensorMapType>(source.getType())) {
      if (map.getBoxRows() > tile.getDimSize(0) ||
          map.getBoxCols() != tile.getDimSize(1) ||
          map.getElementType() != tile.getElementType())
        return emitOpError("the box of ")
               << source.getType() << " does not fit the tile " << tile;
      // What reads the slot cannot know how it was swizzled.
      if (isScaleTile(tile) && map.getSwizzle() != 0)
        return emitOpError("copies the tile ")
               << tile << " with swizzle = " << map.getSwizzle()
               << ", but scales are not swizzled";
      if (!isScaleTile(tile) && map.getSwizzle() != getTileRowBytes(tile))
        return emitOpError("copies the tile ")
               << tile << " with swizzle = " << map.getSwizzle()
               << ", but operands are swizzled over whole rows, here of "
               << getTileRowBytes(tile) << " bytes";
      continue;
    }
    Type elementType = cast<MemRefType>(source.getType()).getElementType();
    if (elementType != tile.getElementType())
      return emitOpError("source has element type ")
             << elementType << ", but its tile is " << tile;
  }
  return success();
}

LogicalResult ExtendScalesOp::verify() {
  if (getChannel().getType().getExtended().empty())
    return emitOpError("needs a channel with extended tiles, but got ")
           << getChannel().getType();
  return success();
}

LogicalResult GetOp::verify() {
  ChannelType channel = getChannel().getType();
  if (!llvm::equal(getTiles().getTypes(), channel.getReceivedTiles()))
    return emitOpError("must yield the channel's tiles, f32 for those that it "
                       "extends");
  return success();
}

//===----------------------------------------------------------------------===//
// ReadScalesOp
//===----------------------------------------------------------------------===//

LogicalResult ReadScalesOp::verify() {
  auto tile = cast<VectorType>(getTile().getType());
  auto scales = cast<VectorType>(getScales().getType());
  bool isRowsOrCols = scales.getDimSize(0) == 1 || scales.getDimSize(1) == 1;
  bool isWhole = scales.getNumElements() == tile.getDimSize(1);
  if (!isRowsOrCols || (!isWhole && !getIndex()) ||
      scales.getElementType() != tile.getElementType())
    return emitOpError("reads ")
           << scales << " from a tile of " << tile
           << ", but must read Rx1 or 1xR scales from a row of GxR of the same "
              "type, or one by its index";
  if (static_cast<int64_t>(getRow()) >= tile.getDimSize(0))
    return emitOpError("reads row ")
           << getRow() << " of a tile of " << tile.getDimSize(0);
  return success();
}

//===----------------------------------------------------------------------===//
// ApplyPowersOp
//===----------------------------------------------------------------------===//

LogicalResult ApplyPowersOp::verify() {
  auto powers = dyn_cast<VectorType>(getPowers().getType());
  if (!powers)
    return success();
  ArrayRef<int64_t> tile = getType().getShape();
  ArrayRef<int64_t> shape = powers.getShape();
  if (shape == ArrayRef<int64_t>{tile[0], 1} ||
      shape == ArrayRef<int64_t>{1, tile[1]})
    return success();
  return emitOpError("has powers of ")
         << powers << " for a tile of " << getType()
         << ", but takes one f32, one for each row (" << tile[0]
         << "x1) or one for each column (1x" << tile[1] << ")";
}

//===----------------------------------------------------------------------===//
// StoreTileOp
//===----------------------------------------------------------------------===//

LogicalResult StoreTileOp::verify() {
  TensorMapType map = getMap().getType();
  auto tile = cast<VectorType>(getTile().getType());
  if (map.getElementType() != tile.getElementType() ||
      tile.getDimSize(0) % map.getBoxRows() != 0 ||
      tile.getDimSize(1) % map.getBoxCols() != 0)
    return emitOpError("the tile ")
           << tile << " is not a whole number of boxes of " << map;
  return success();
}

//===----------------------------------------------------------------------===//
// WarpSpecializeOp
//===----------------------------------------------------------------------===//

ParseResult WarpSpecializeOp::parse(OpAsmParser &parser,
                                    OperationState &result) {
  Builder &builder = parser.getBuilder();
  auto parseCount = [&](StringRef name) -> ParseResult {
    int64_t value;
    if (parser.parseLParen() || parser.parseInteger(value) ||
        parser.parseRParen())
      return failure();
    result.addAttribute(name, builder.getI64IntegerAttr(value));
    return success();
  };
  Region *producer = result.addRegion(), *converter = result.addRegion(),
         *consumer = result.addRegion();
  OpAsmParser::Argument warpgroup;
  warpgroup.type = builder.getIndexType();
  if (parser.parseKeyword("producer") || parser.parseKeyword("registers") ||
      parseCount(getProducerRegistersAttrName(result.name)) ||
      parser.parseRegion(*producer))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("converter"))) {
    if (parser.parseRegion(*converter))
      return failure();
    if (converter->empty())
      converter->emplaceBlock();
  }
  if (parser.parseKeyword("consumers") ||
      parseCount(getNumConsumersAttrName(result.name)) ||
      parser.parseKeyword("registers") ||
      parseCount(getConsumerRegistersAttrName(result.name)) ||
      parser.parseLParen() || parser.parseArgument(warpgroup) ||
      parser.parseRParen() || parser.parseRegion(*consumer, {warpgroup}) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (producer->empty())
    producer->emplaceBlock();
  return success();
}

void WarpSpecializeOp::print(OpAsmPrinter &printer) {
  printer << " producer registers(" << getProducerRegisters() << ") ";
  printer.printRegion(getProducer(), /*printEntryBlockArgs=*/false);
  if (!getConverter().empty()) {
    printer << " converter ";
    printer.printRegion(getConverter(), /*printEntryBlockArgs=*/false);
  }
  printer << " consumers(" << getNumConsumers() << ") registers("
          << getConsumerRegisters() << ") (";
  printer.printRegionArgument(getConsumer().getArgument(0), {},
                              /*omitType=*/true);
  printer << ") ";
  printer.printRegion(getConsumer(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getNumConsumersAttrName(),
                                 getProducerRegistersAttrName(),
                                 getConsumerRegistersAttrName()});
}

LogicalResult WarpSpecializeOp::verify() {
  if (getProducer().getNumArguments() != 0)
    return emitOpError("the producer region takes no arguments");
  if (getConverter().getNumArguments() != 0)
    return emitOpError("the converter region takes no arguments");
  if (getConsumer().getNumArguments() != 1 ||
      !getConsumer().getArgument(0).getType().isIndex())
    return emitOpError("the consumer region takes the consumer's number, an "
                       "index");
  for (int64_t registers : {getProducerRegisters(), getConsumerRegisters()})
    if (registers < 24 || registers > 256 || registers % 8 != 0)
      return emitOpError("register budgets must be multiples of 8 from 24 to "
                         "256, but got ")
             << registers;
  return success();
}

//===----------------------------------------------------------------------===//
// EncodeTensorMapOp
//===----------------------------------------------------------------------===//

LogicalResult EncodeTensorMapOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  if (source.getElementType() != getMap().getType().getElementType())
    return emitOpError("source has element type ")
           << source.getElementType() << ", but the map says "
           << getMap().getType().getElementType();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(source.getStridesAndOffset(strides, offset)) || strides[1] != 1)
    return emitOpError("needs a memref whose innermost stride is 1, but got ")
           << source;
  return success();
}
