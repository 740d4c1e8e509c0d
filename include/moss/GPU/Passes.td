//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_GPU_PASSES_TD
#define MOSS_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def MossMapToGrid : Pass<"moss-map-to-grid"> {
  let summary = "Map tile loops to a persistent grid of thread blocks";
}

#endif // MOSS_GPU_PASSES_TD
