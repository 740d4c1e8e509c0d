//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "moss/GPU/HostPipeline.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "moss/Transforms/CInterface.h"
#include "moss/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::moss;

void moss::addLinalgToGPUPasses(OpPassManager &pm) {
  pm.addNestedPass<func::FuncOp>(createMossLinalgToDeviceLoops());
  pm.addNestedPass<func::FuncOp>(createConvertParallelLoopToGpuPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Last before outlining: canonicalization moves constants out of launches.
  pm.addPass(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createGpuKernelOutliningPass());
}

void moss::addKernelToNVVMPasses(OpPassManager &pm) {
  pm.addPass(createMossConvertFp8ToNVVM());
  pm.addPass(createMossExpandDeviceMath());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertGpuOpsToNVVMOps());
  pm.addPass(createMossMarkTensorMaps());
  // Last, for the ops that become inline assembly.
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Serialization would only report a failed translation.
  pm.addPass(createMossVerifyLowered());
}

static void addHostToLLVMPasses(OpPassManager &pm,
                                const HostPipelineOptions &options) {
  MossAssertToLLVMOptions assertOptions;
  if (options.cInterface) {
    assertOptions.handler = kAssertionHandlerName.str();
    assertOptions.comparisonHandler = kComparisonHandlerName.str();
  }
  pm.addPass(createMossAssertToLLVM(assertOptions));
  pm.addNestedPass<func::FuncOp>(createMossRequestCWrappers());
  pm.addPass(createMossConvertTensorMapsToLLVM());
  pm.addNestedPass<func::FuncOp>(createConvertMathToLLVMPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createGpuToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createMossShareLaunches());
  pm.addPass(createMossVerifyLowered());
  if (!options.cInterface)
    return;
  MossCreateCInterfaceOptions interfaceOptions;
  interfaceOptions.target = options.chip;
  pm.addPass(createMossCreateCInterface(interfaceOptions));
}

static void addTarget(OpPassManager &pm, const HostPipelineOptions &options) {
  GpuNVVMAttachTargetOptions target;
  target.chip = options.chip;
  target.features = options.features;
  target.optLevel = options.optLevel;
  pm.addPass(createGpuNVVMAttachTarget(target));
}

void moss::addGPUToNVVMPasses(OpPassManager &pm,
                              const HostPipelineOptions &options) {
  pm.addPass(createMossLowerKernelTensorMaps());
  pm.addNestedPass<func::FuncOp>(createMossHostToDevice());
  addKernelToNVVMPasses(pm.nest<gpu::GPUModuleOp>());
  pm.addNestedPass<func::FuncOp>(createGpuAsyncRegionPass());
  addHostToLLVMPasses(pm, options);
  addTarget(pm, options);
}

void moss::addSerializePasses(OpPassManager &pm,
                              const HostPipelineOptions &options) {
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = options.format;
  pm.addPass(createGpuModuleToBinaryPass(binary));
  pm.addPass(createMossStripTimings());
}

void moss::buildGPUToLLVMPipeline(OpPassManager &pm,
                                  const HostPipelineOptions &options) {
  addGPUToNVVMPasses(pm, options);
  addSerializePasses(pm, options);
}

void moss::addKernelPasses(OpPassManager &pm) {
  pm.addPass(createMossMergeSteps());
  pm.addPass(createMossMapToGrid());
  addLinalgToGPUPasses(pm);
  pm.addPass(createMossMergeKernels());
  pm.nest<gpu::GPUModuleOp>().addNestedPass<gpu::GPUFuncOp>(
      createMossCreateChannels());
  pm.addPass(createMossCreateTensorMaps());
  pm.nest<gpu::GPUModuleOp>().addNestedPass<gpu::GPUFuncOp>(
      createMossSpecializeWarps());
  // Kernels are apart now, and only the host code around launches is copied.
  pm.addPass(createMossInlineSharedOps());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void moss::addKernelToThreadsPasses(OpPassManager &pm) {
  pm.addPass(createMossVerifyLaunches());
  MossExpandRescaleOptions expand;
  expand.forThreads = true;
  pm.addPass(createMossExpandRescale(expand));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  OpPassManager &modulePM = pm.nest<gpu::GPUModuleOp>();
  modulePM.addNestedPass<gpu::GPUFuncOp>(createMossHoistScalars());
  modulePM.addNestedPass<gpu::GPUFuncOp>(createMossNarrowLoops());
  modulePM.addNestedPass<gpu::GPUFuncOp>(createMossUnrollSteps());
  modulePM.addPass(createMossDistributeTiles());
  modulePM.addPass(createCanonicalizerPass());
  modulePM.addPass(createCSEPass());
  modulePM.addNestedPass<gpu::GPUFuncOp>(createMossOverlapMma());
  modulePM.addPass(createMossChannelsToNVVM());
  modulePM.addPass(createCanonicalizerPass());
  modulePM.addPass(createCSEPass());
}

void moss::registerHostPipelines() {
  PassPipelineRegistration<>(
      "moss-linalg-to-gpu",
      "Run the linalg ops and parallel loops of host functions on the GPU",
      addLinalgToGPUPasses);
  PassPipelineRegistration<HostPipelineOptions>(
      "moss-gpu-to-llvm",
      "Lower kernels, and host functions on device memory, to the LLVM dialect",
      buildGPUToLLVMPipeline);
}
