//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_PASSES_TD
#define MOSS_TRANSFORMS_PASSES_TD

include "moss/Transforms/AutoScalePasses.td"
include "moss/Transforms/BufferizePasses.td"
include "moss/Transforms/CheckPasses.td"
include "moss/Transforms/InterfacePasses.td"
include "moss/Transforms/LoopPasses.td"
include "moss/Transforms/QuantizePasses.td"

#endif // MOSS_TRANSFORMS_PASSES_TD
