//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The moss dialect: attributes, types and ops.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_IR_MOSS_H
#define MOSS_IR_MOSS_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

#include "moss/IR/MossDialect.h.inc"
#include "moss/IR/MossEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "moss/IR/MossAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "moss/IR/MossTypes.h.inc"

#define GET_OP_CLASSES
#include "moss/IR/MossOps.h.inc"

namespace mlir::moss {

/// Bytes along K that one step of the matrix unit takes of a row or column.
inline constexpr int64_t kMmaStepBytes = 32;

/// The K extent of one step of the matrix unit on FP8, and of two on BF16.
inline constexpr int64_t kMmaStepK = 32;

/// The smallest K extent of a tile, and so of a micro group: half a step of
/// FP8, whose other half is zeros.
inline constexpr int64_t kMinTileK = 16;

/// Whether a tile may have this K extent: whole steps, or half of one.
inline bool isTileK(int64_t extent) {
  return extent == kMinTileK || (extent > 0 && extent % kMmaStepK == 0);
}

/// Bytes of an element of an operand: 1 for FP8 and 2 for BF16.
inline int64_t getElementBytes(Type elementType) {
  return elementType.getIntOrFloatBitWidth() / 8;
}

/// The K extent of one step of the matrix unit on operands of `elementType`: 32
/// for FP8 and 16 for BF16.
inline int64_t getMmaStepK(Type elementType) {
  return kMmaStepBytes / getElementBytes(elementType);
}

/// Bytes of an operand tile in memory, and of each of its rows.
inline int64_t getTileBytes(VectorType tile) {
  return tile.getNumElements() * getElementBytes(tile.getElementType());
}
inline int64_t getTileRowBytes(VectorType tile) {
  return tile.getDimSize(1) * getElementBytes(tile.getElementType());
}

/// Whether a tile of a channel holds micro scales and not an operand.
inline bool isScaleTile(VectorType tile) {
  return isa<Float32Type, Float8E8M0FNUType>(tile.getElementType());
}

/// The tensor that an op may write to instead of adding to `init`, when `init`
/// is known to be all zeros: the destination of a fill, or a new tensor.empty
/// for a constant. Null otherwise. Zeros of either sign count, as
/// scaled_matmul's sum does not tell them apart from its own.
Value getDestinationOfZeros(OpBuilder &builder, Value init);

} // namespace mlir::moss

#endif // MOSS_IR_MOSS_H
