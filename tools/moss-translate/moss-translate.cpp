//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-translate: mlir-translate with Moss's translations.
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "moss/Target/Translation.h"

int main(int argc, char **argv) {
  mlir::registerAllTranslations();
  mlir::moss::registerToPTXTranslation();
  return failed(mlir::mlirTranslateMain(argc, argv, "Moss translation driver"));
}
