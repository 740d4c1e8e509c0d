//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes within the levels of quantized tensors and tiled loops.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_PASSES_H
#define MOSS_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

#define GEN_PASS_DECL
#include "moss/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "moss/Transforms/Passes.h.inc"

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_PASSES_H
