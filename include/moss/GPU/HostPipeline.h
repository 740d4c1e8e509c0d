//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pipelines for what is around the matmul kernels of a GPU program: the other
// ops, and the host code that allocates, encodes tensor maps and launches.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_GPU_HOSTPIPELINE_H
#define MOSS_GPU_HOSTPIPELINE_H

#include "mlir/Pass/PassOptions.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {

struct HostPipelineOptions : PassPipelineOptions<HostPipelineOptions> {
  PassOptions::Option<std::string> chip{
      *this, "chip", llvm::cl::desc("The GPU to compile for"),
      llvm::cl::init("sm_90a")};
  PassOptions::Option<std::string> features{
      *this, "features", llvm::cl::desc("The PTX version to emit"),
      llvm::cl::init("+ptx80")};
  PassOptions::Option<unsigned> optLevel{
      *this, "opt-level",
      llvm::cl::desc("Level of optimization of LLVM and the PTX assembler"),
      llvm::cl::init(3)};
  PassOptions::Option<std::string> format{
      *this, "format",
      llvm::cl::desc("What gpu.binary holds: isa (PTX, assembled by the driver "
                     "when it is loaded), or bin or fatbin (assembled now by "
                     "CUDA's ptxas)"),
      llvm::cl::init("isa")};
  PassOptions::Option<bool> cInterface{
      *this, "c-interface",
      llvm::cl::desc("Give functions that moss-results-to-arguments has "
                     "prepared their C functions"),
      llvm::cl::init(false)};
};

/// Add passes that turn linalg ops and parallel loops of host functions (on
/// memrefs) into `gpu.launch`, and outline every `gpu.launch` to a kernel.
void addLinalgToGPUPasses(OpPassManager &pm);

/// Add passes that take a `gpu.module`, whose body may hold affine, arith,
/// math, memref, scf, gpu and nvvm ops, to the NVVM dialect.
void addKernelToNVVMPasses(OpPassManager &gpuModulePM);

/// Add passes that take outlined kernels to the NVVM dialect, and the host
/// functions that launch them to the LLVM dialect. Every function gets a C
/// wrapper `_mlir_ciface_<name>`, whose memref arguments are device memory.
void addGPUToNVVMPasses(OpPassManager &pm, const HostPipelineOptions &options);

/// Add passes that compile each `gpu.module` into a `gpu.binary`.
void addSerializePasses(OpPassManager &pm, const HostPipelineOptions &options);

/// The two in turn.
void buildGPUToLLVMPipeline(OpPassManager &pm,
                            const HostPipelineOptions &options);

/// Add passes that take tiled loops with schedules (`scf.forall` over tiles) to
/// outlined kernels with producer and consumer roles; what else of the host
/// functions runs on the GPU is outlined too.
void addKernelPasses(OpPassManager &pm);

/// Add passes that take scheduled kernels from roles and tiles to threads and
/// instructions.
void addKernelToThreadsPasses(OpPassManager &pm);

/// Register the pipelines as `moss-linalg-to-gpu` and `moss-gpu-to-llvm`.
void registerHostPipelines();

} // namespace mlir::moss

#endif // MOSS_GPU_HOSTPIPELINE_H
