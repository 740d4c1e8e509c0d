//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the ops on quantized tensors are bufferized.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define MOSS_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace moss {

/// Let One-Shot Bufferize handle quantize, dequantize and scaled_matmul.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace moss
} // namespace mlir

#endif // MOSS_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
