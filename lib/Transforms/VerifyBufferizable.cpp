//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSVERIFYBUFFERIZABLE
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

static LogicalResult verifyOp(Operation *op) {
  auto isTensor = llvm::IsaPred<TensorType>;
  bool hasTensors = llvm::any_of(op->getOperandTypes(), isTensor) ||
                    llvm::any_of(op->getResultTypes(), isTensor);
  if (!hasTensors || isa<bufferization::BufferizableOpInterface>(op))
    return success();
  return op->emitError("'")
         << op->getName()
         << "' on tensors has no lowering: Moss lowers func, scf and cf, and "
            "on "
            "tensors linalg, tensor, bufferization, moss, and elementwise ops "
            "of arith and math; convert it to these first";
}

namespace {
struct VerifyBufferizablePass
    : moss::impl::MossVerifyBufferizableBase<VerifyBufferizablePass> {
  void runOnOperation() override {
    bool failedAny = false;
    getOperation()->walk(
        [&](Operation *op) { failedAny |= failed(verifyOp(op)); });
    if (failedAny)
      signalPassFailure();
  }
};
} // namespace
