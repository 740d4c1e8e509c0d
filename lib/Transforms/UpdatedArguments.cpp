//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/UpdatedArguments.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "moss/IR/Moss.h"

using namespace mlir;
using namespace mlir::moss;

FailureOr<UpdatedArguments> moss::getUpdatedArguments(func::FuncOp func) {
  UpdatedArguments updates(func.getNumResults());
  for (unsigned result = 0; result < func.getNumResults(); ++result) {
    Attribute mark = func.getResultAttr(result, WeightAttr::kUpdateName);
    if (!mark)
      continue;
    auto number = dyn_cast<IntegerAttr>(mark);
    if (!number || number.getValue().isNegative() ||
        number.getValue().uge(func.getNumArguments()))
      return func.emitError("'")
             << WeightAttr::kUpdateName
             << "' must be the number of an argument, but is " << mark;
    unsigned argument = number.getValue().getZExtValue();
    if (func.getArgumentTypes()[argument] != func.getResultTypes()[result])
      return func.emitError("result ")
             << result << " has another type than argument " << argument
             << ", which it is marked to update";
    if (!isa<RankedTensorType>(func.getResultTypes()[result]))
      return func.emitError("result ")
             << result << " is marked to update argument " << argument
             << ", but is not a tensor of known rank";
    if (llvm::is_contained(updates, argument))
      return func.emitError("result ")
             << result << " is marked to update argument " << argument
             << ", which another result updates";
    updates[result] = argument;
  }
  return updates;
}

bool moss::mayBeInOtherMemory(OpOperand &operand, Value own) {
  bufferization::BufferizationOptions options;
  bufferization::AnalysisState state(options);
  SetVector<Value> sources =
      state.findValueInReverseUseDefChain(&operand, [](Value value) {
        return value.getDefiningOp<bufferization::ToTensorOp>() != nullptr;
      });
  return llvm::any_of(sources, [&](Value source) {
    Operation *op = source.getDefiningOp();
    if (auto load = dyn_cast_or_null<bufferization::ToTensorOp>(op))
      return load.getBuffer() != own;
    // Elementwise ops become linalg ops that compute in this operand.
    if (!op || !OpTrait::hasElementwiseMappableTraits(op))
      return false;
    auto *place = llvm::find_if(op->getOpOperands(), [&](OpOperand &other) {
      return other.get().getType() == source.getType();
    });
    return place != op->getOpOperands().end() &&
           mayBeInOtherMemory(*place, own);
  });
}
