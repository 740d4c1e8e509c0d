//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers whose rows the copy engine can read.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_TRANSFORMS_PADDEDBUFFER_H
#define MOSS_LIB_TRANSFORMS_PADDEDBUFFER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::moss {

/// Elements of `elementType` in 16 bytes, of which the engine's row strides and
/// bases are multiples.
int64_t getRowUnit(Type elementType);

/// A new buffer with rows of whole units, and the view of `rows` x `cols` of
/// its elements.
struct PaddedBuffer {
  Value buffer, view;

  static PaddedBuffer create(ImplicitLocOpBuilder &b, OpFoldResult rows,
                             OpFoldResult cols, Type elementType);
};

} // namespace mlir::moss

#endif // MOSS_LIB_TRANSFORMS_PADDEDBUFFER_H
