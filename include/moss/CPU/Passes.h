//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that take tiled loops to the CPU.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_CPU_PASSES_H
#define MOSS_CPU_PASSES_H

#include "mlir/Pass/Pass.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// How moss.mma sums products on the CPU.
enum class MmaArithmetic {
  /// In f32.
  Fp32,
  /// To the bit as Hopper's FP8 matrix unit does.
  Emulate,
};

#define GEN_PASS_DECL
#include "moss/CPU/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "moss/CPU/Passes.h.inc"

} // namespace mlir::moss

#endif // MOSS_CPU_PASSES_H
