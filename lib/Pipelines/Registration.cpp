//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "moss/CPU/Passes.h"
#include "moss/CPU/Pipeline.h"
#include "moss/GPU/HostPipeline.h"
#include "moss/GPU/Passes.h"
#include "moss/IR/Moss.h"
#include "moss/Pipelines/Pipelines.h"
#include "moss/Transforms/BufferizableOpInterfaceImpl.h"
#include "moss/Transforms/Passes.h"

using namespace mlir;

void moss::registerDialects(DialectRegistry &registry) {
  registry.insert<MossDialect>();
  // gpu-module-to-binary translates kernels to LLVM IR.
  registerAllGPUToLLVMIRTranslations(registry);
  registerBufferizableOpInterfaceExternalModels(registry);
}

void moss::registerPassesAndPipelines() {
  registerMossTransformsPasses();
  registerMossCPUPasses();
  registerCPUPipeline();
  registerMossGPUPasses();
  registerHostPipelines();
  registerFP8LowerPipeline();
}
