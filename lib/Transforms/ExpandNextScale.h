//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What moss-expand-next-scale consists of.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_TRANSFORMS_EXPANDNEXTSCALE_H
#define MOSS_LIB_TRANSFORMS_EXPANDNEXTSCALE_H

#include "moss/IR/Moss.h"

namespace mlir::moss {

/// Replace \p op, on memrefs, by a parallel loop over its tensors.
void expandDelayedScale(NextDelayedScaleOp op);

} // namespace mlir::moss

#endif // MOSS_LIB_TRANSFORMS_EXPANDNEXTSCALE_H
