//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The mark of functions that several equal ops share, that of functions which
// stay on the host, and how kernels are named.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_SHAREDOPS_H
#define MOSS_TRANSFORMS_SHAREDOPS_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir::moss {

/// Marks a function of `moss-share-ops`: private, of one block, without
/// results.
constexpr StringLiteral kSharedAttrName = "moss.shared";

/// A part of a symbol for \p shape: `128x64`, with `dyn` for extents that are
/// not static.
std::string getShapeName(ArrayRef<int64_t> shape);

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_SHAREDOPS_H
