//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DescribeOperand.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::moss;

std::string moss::describeLocation(Location loc) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    return (llvm::sys::path::filename(file.getFilename()) + ":" +
            Twine(file.getLine()) + ":" + Twine(file.getColumn()))
        .str();
  return "an unknown location";
}

std::string moss::describeOperand(QuantizeOp op) {
  for (OpOperand &use : op.getPayloadResult().getUses())
    if (auto matmul = dyn_cast<ScaledMatmulOp>(use.getOwner()))
      return (use.get() == matmul.getLhs() ? "lhs" : "rhs") +
             (" of the matmul at " + describeLocation(matmul.getLoc()));
  return "result of moss.quantize at " + describeLocation(op.getLoc());
}
