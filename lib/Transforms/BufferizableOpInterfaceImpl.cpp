//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "moss/IR/Moss.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::moss;

namespace {
/// Inits are bufferized in place, and read only by an op that updates them.
template <typename OpT>
struct DestinationStyleModel
    : DstBufferizableOpInterfaceExternalModel<DestinationStyleModel<OpT>, OpT> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    if (!cast<DestinationStyleOpInterface>(op).isDpsInit(&operand))
      return true;
    if constexpr (std::is_same_v<OpT, ScaledMatmulOp>)
      return cast<ScaledMatmulOp>(op).getAccumulates();
    return std::is_same_v<OpT, NextScaleOp> ||
           std::is_same_v<OpT, NextDelayedScaleOp>;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto destinationStyle = cast<DestinationStyleOpInterface>(op);
    SmallVector<Value> buffers, inits;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType())) {
        buffers.push_back(operand.get());
        continue;
      }
      FailureOr<Value> buffer =
          getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
      if (destinationStyle.isDpsInit(&operand))
        inits.push_back(*buffer);
    }
    mlir::clone(rewriter, op, /*newResultTypes=*/TypeRange(), buffers);
    replaceOpWithBufferizedValues(rewriter, op, inits);
    return success();
  }
};
} // namespace

void moss::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, MossDialect *) {
    QuantizeOp::attachInterface<DestinationStyleModel<QuantizeOp>>(*context);
    DequantizeOp::attachInterface<DestinationStyleModel<DequantizeOp>>(
        *context);
    NextScaleOp::attachInterface<DestinationStyleModel<NextScaleOp>>(*context);
    NextDelayedScaleOp::attachInterface<
        DestinationStyleModel<NextDelayedScaleOp>>(*context);
    ScaledMatmulOp::attachInterface<DestinationStyleModel<ScaledMatmulOp>>(
        *context);
  });
}
