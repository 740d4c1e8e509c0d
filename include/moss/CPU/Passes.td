//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_CPU_PASSES_TD
#define MOSS_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def MossMmaToLoops : Pass<"moss-mma-to-loops"> {
  let summary = "Lower moss.mma to loops for a CPU";
}

#endif // MOSS_CPU_PASSES_TD
