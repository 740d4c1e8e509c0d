//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that take tiled loops to a Hopper kernel.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_GPU_PASSES_H
#define MOSS_GPU_PASSES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

#define GEN_PASS_DECL
#include "moss/GPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "moss/GPU/Passes.h.inc"

} // namespace mlir::moss

#endif // MOSS_GPU_PASSES_H
