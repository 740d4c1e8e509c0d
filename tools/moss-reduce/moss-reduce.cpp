//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-reduce: mlir-reduce with Moss's dialect, passes and pipelines. It
// shrinks a module for which something goes wrong to a small one for which it
// still does.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "moss/Pipelines/Pipelines.h"
#include "llvm/Support/SourceMgr.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  mlir::moss::registerPassesAndPipelines();

  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry);
  mlir::moss::registerDialects(registry);

  mlir::MLIRContext context(registry);
  // opt-reduction-pass runs passes without loading the dialects that they
  // depend on.
  context.loadAllAvailableDialects();
  // By default MLIR drops warnings, and that the module is not interesting to
  // begin with is one.
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  return failed(mlir::mlirReduceMain(argc, argv, context));
}
