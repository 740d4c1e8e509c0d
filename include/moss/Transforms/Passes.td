//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_PASSES_TD
#define MOSS_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def MossExpandRescale : Pass<"moss-expand-rescale"> {
  let summary = "Expand moss.rescale into arithmetic on tile values";
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // MOSS_TRANSFORMS_PASSES_TD
