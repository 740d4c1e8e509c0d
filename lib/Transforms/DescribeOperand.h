//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What quantized operands are called in remarks and descriptions.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_TRANSFORMS_DESCRIBEOPERAND_H
#define MOSS_LIB_TRANSFORMS_DESCRIBEOPERAND_H

#include "moss/IR/Moss.h"

namespace mlir::moss {

/// Where an op comes from, as file:line:column without folders.
std::string describeLocation(Location loc);

/// Which operand of which matmul the result of \p op, on tensors, is.
std::string describeOperand(QuantizeOp op);

} // namespace mlir::moss

#endif // MOSS_LIB_TRANSFORMS_DESCRIBEOPERAND_H
