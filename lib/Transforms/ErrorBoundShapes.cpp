//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors of values and of bounds, for moss-error-bound.
//
//===----------------------------------------------------------------------===//

#include "ErrorBound.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::moss;

static Type withElementType(Type type, Type element) {
  if (auto shaped = dyn_cast<RankedTensorType>(type))
    return RankedTensorType::get(shaped.getShape(), element);
  return element;
}

Type moss::getReferenceType(Type type) {
  if (!isa<FloatType>(getElementTypeOrSelf(type)))
    return type;
  return withElementType(type, Float32Type::get(type.getContext()));
}

Type moss::getErrorType(Type type) {
  MLIRContext *context = type.getContext();
  if (isa<FloatType>(getElementTypeOrSelf(type)))
    return withElementType(type, Float32Type::get(context));
  return withElementType(type, IntegerType::get(context, 1));
}

Operation *moss::cloneOnReference(OpBuilder &b, Operation *op,
                                  ValueRange operands) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  for (Type type : op->getResultTypes())
    state.addTypes(getReferenceType(type));
  state.addAttributes(op->getDiscardableAttrDictionary().getValue());
  state.propertiesAttr = op->getPropertiesAsAttribute();
  return b.create(state);
}

SmallVector<Value> moss::createElementwise(
    ImplicitLocOpBuilder &b, ValueRange tensors, TypeRange elementTypes,
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)> body) {
  auto type = cast<RankedTensorType>(tensors[0].getType());
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), tensors[0]);
  SmallVector<Value> inits;
  for (Type element : elementTypes)
    inits.push_back(tensor::EmptyOp::create(b, sizes, element));
  SmallVector<AffineMap> maps(tensors.size() + inits.size(),
                              b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      b, TypeRange(ValueRange(inits)), tensors, inits, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        ImplicitLocOpBuilder nb(loc, nested);
        linalg::YieldOp::create(nb, body(nb, args));
      });
  return llvm::to_vector(ValueRange(op.getResults()));
}

Value moss::createFilled(ImplicitLocOpBuilder &b, Value shaped, Value element) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), shaped);
  Value empty = tensor::EmptyOp::create(b, sizes, element.getType());
  return linalg::FillOp::create(b, element, empty).getResult(0);
}

Value moss::createConverted(ImplicitLocOpBuilder &b, Value x, Type type) {
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(x));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  if (!from || !to || from == to)
    return x;
  auto convert = [&](ImplicitLocOpBuilder &nb, Value value) -> Value {
    if (from.getWidth() < to.getWidth())
      return arith::ExtFOp::create(nb, to, value);
    return arith::TruncFOp::create(nb, to, value);
  };
  if (!isa<RankedTensorType>(x.getType()))
    return convert(b, x);
  return createElementwise(b, x, to,
                           [&](ImplicitLocOpBuilder &nb,
                               ValueRange args) -> SmallVector<Value> {
                             return {convert(nb, args[0])};
                           })
      .front();
}
