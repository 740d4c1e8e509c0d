//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_GPU_PASSES_TD
#define MOSS_GPU_PASSES_TD

include "moss/GPU/HostPasses.td"
include "moss/GPU/KernelPasses.td"
include "moss/GPU/MachinePasses.td"

#endif // MOSS_GPU_PASSES_TD
