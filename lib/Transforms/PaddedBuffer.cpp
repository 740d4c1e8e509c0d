//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PaddedBuffer.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "moss/IR/Moss.h"

using namespace mlir;
using namespace mlir::moss;

int64_t moss::getRowUnit(Type elementType) {
  const int64_t rowAlignment = 16;
  return rowAlignment / getElementBytes(elementType);
}

PaddedBuffer PaddedBuffer::create(ImplicitLocOpBuilder &b, OpFoldResult rows,
                                  OpFoldResult cols, Type elementType) {
  int64_t unit = getRowUnit(elementType);
  AffineExpr length = b.getAffineSymbolExpr(0).ceilDiv(unit) * unit;
  OpFoldResult padded = affine::makeComposedFoldedAffineApply(
      b, b.getLoc(), AffineMap::get(0, 1, length), {cols});
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults({rows, padded}, dynamic, shape);
  // A view cannot begin in a buffer that is known to be empty.
  for (int64_t &extent : shape)
    extent = extent == 0 ? unit : extent;
  PaddedBuffer result;
  result.buffer =
      memref::AllocOp::create(b, MemRefType::get(shape, elementType), dynamic);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  result.view = memref::SubViewOp::create(
      b, result.buffer, ArrayRef<OpFoldResult>{zero, zero},
      ArrayRef<OpFoldResult>{rows, cols}, ArrayRef<OpFoldResult>{one, one});
  return result;
}
