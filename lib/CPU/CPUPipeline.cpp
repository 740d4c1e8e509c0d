//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "moss/CPU/Pipeline.h"
#include "moss/Transforms/CInterface.h"
#include "moss/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::moss;

/// Tiles and their ops to loops over rows, and FP8 conversions to integers.
static void addTilePasses(OpPassManager &pm, MmaArithmetic arithmetic) {
  pm.addPass(createMossForallToFor());
  pm.addPass(createMossLoadScalesToLoops());
  pm.addPass(createMossExpandRescale());
  MossMmaToLoopsOptions mmaOptions;
  mmaOptions.arithmetic = arithmetic;
  pm.addPass(createMossMmaToLoops(mmaOptions));
  pm.addPass(createMossTilesToRows());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(createMossExpandFp8());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static void addLLVMPasses(OpPassManager &pm, bool cInterface) {
  pm.addNestedPass<func::FuncOp>(vector::createLowerVectorMultiReductionPass(
      vector::VectorMultiReductionLowering::InnerReduction));
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createMossHoistAllocas());
  // bf16 is expanded, since LLVM calls a library function for it on a CPU
  // without such an instruction. Math first: conversions are for the passes
  // after it.
  math::MathExtendToSupportedTypesOptions mathOptions;
  mathOptions.targetTypeStr = "f32";
  pm.addPass(math::createMathExtendToSupportedTypes(mathOptions));
  arith::ArithEmulateUnsupportedFloatsOptions emulateOptions;
  emulateOptions.sourceTypeStrs = {"bf16"};
  emulateOptions.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulateOptions));
  arith::ArithExpandOpsPassOptions expandOptions;
  expandOptions.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expandOptions));
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addNestedPass<func::FuncOp>(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  // Before arith: the lowering of memref.dim must still see its constant index.
  FinalizeMemRefToLLVMConversionPassOptions memrefOptions;
  // The runtime frees what a failed call holds.
  memrefOptions.useGenericFunctions = cInterface;
  pm.addPass(createFinalizeMemRefToLLVMConversionPass(memrefOptions));
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createMossBF16ToBits());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void moss::buildCPUPipeline(OpPassManager &pm,
                            const CPUPipelineOptions &options) {
  // Callable from C, as the functions of the GPU's host code are.
  pm.addNestedPass<func::FuncOp>(createMossRequestCWrappers());
  pm.addPass(createMossExpandNextScale());
  MossAssertToLLVMOptions assertOptions;
  if (options.cInterface) {
    assertOptions.handler = kAssertionHandlerName.str();
    assertOptions.comparisonHandler = kComparisonHandlerName.str();
  }
  pm.addPass(createMossAssertToLLVM(assertOptions));
  pm.addPass(createMossQuantizeToLoops());
  addTilePasses(pm, options.arithmetic);
  addLLVMPasses(pm, options.cInterface);
  pm.addPass(createMossVerifyLowered());
  if (!options.cInterface)
    return;
  MossCreateCInterfaceOptions interfaceOptions;
  interfaceOptions.target = "cpu";
  pm.addPass(createMossCreateCInterface(interfaceOptions));
}

void moss::registerCPUPipeline() {
  PassPipelineRegistration<CPUPipelineOptions>(
      "moss-lower-to-cpu",
      "Lower tiled loops, and what is around them, to the LLVM dialect",
      buildCPUPipeline);
}
