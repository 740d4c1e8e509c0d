//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline from tiled loops to the LLVM dialect on the host's CPU.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_CPU_PIPELINE_H
#define MOSS_CPU_PIPELINE_H

#include "mlir/Pass/PassOptions.h"
#include "moss/CPU/Passes.h"

namespace mlir::moss {

struct CPUPipelineOptions : PassPipelineOptions<CPUPipelineOptions> {
  PassOptions::Option<MmaArithmetic> arithmetic{
      *this, "arithmetic",
      llvm::cl::desc("How moss.mma sums products: 'fp32' (in f32) or 'emulate' "
                     "(to the bit as Hopper's FP8 matrix unit does)"),
      llvm::cl::init(MmaArithmetic::Fp32),
      llvm::cl::values(clEnumValN(MmaArithmetic::Fp32, "fp32", "In f32"),
                       clEnumValN(MmaArithmetic::Emulate, "emulate",
                                  "To the bit as the matrix unit does"))};
  PassOptions::Option<bool> cInterface{
      *this, "c-interface",
      llvm::cl::desc("Give functions that moss-results-to-arguments has "
                     "prepared their C functions"),
      llvm::cl::init(false)};
};

/// Add the passes that take bufferized level 2 loops, and what linalg, math and
/// vector ops are around them, to the LLVM dialect. The result runs in
/// mlir-runner without any library of Moss; anything that could not be lowered
/// is an error.
void buildCPUPipeline(OpPassManager &pm, const CPUPipelineOptions &options);

/// Register the pipeline as `moss-lower-to-cpu`.
void registerCPUPipeline();

} // namespace mlir::moss

#endif // MOSS_CPU_PIPELINE_H
