//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "moss/Compiler/Compiler.h"
#include "moss/Pipelines/Pipelines.h"
#include "moss/Transforms/Target.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::moss;

void moss::registerCompilerDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registerAllToLLVMIRTranslations(registry);
  registerDialects(registry);
}

LogicalResult moss::lowerProgram(ModuleOp module, CompileOptions &options,
                                 StringRef to) {
  FailureOr<TargetInfo> target = lookupTarget(options.lowering.target);
  bool isGPU = succeeded(target) && target->kind == TargetKind::SM90a;
  options.lowering.to = to.empty() && isGPU
                            ? (options.assembleKernels ? "cubin" : "ptx")
                            : to.str();
  options.lowering.optLevel = options.optLevel;
  options.lowering.cInterface = true;
  PassManager pm(module.getContext());
  if (options.configure && failed(options.configure(pm)))
    return failure();
  auto report = [&](const Twine &message) {
    return emitError(UnknownLoc::get(module.getContext())) << message;
  };
  if (failed(buildFP8LowerPipeline(pm, options.lowering, report)))
    return failure();
  return pm.run(module);
}
