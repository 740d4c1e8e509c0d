//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleState.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "moss/Transforms/CInterface.h"

using namespace mlir;
using namespace mlir::moss;

BlockArgument moss::appendArgument(func::FuncOp func, Type type,
                                   StringRef name) {
  unsigned number = func.getNumArguments();
  // A parsed function has names for all arguments, and others for none.
  auto names = func->getAttrOfType<ArrayAttr>(kArgumentNamesAttrName);
  if (names && names.size() == number) {
    SmallVector<Attribute> longer(names.getValue());
    longer.push_back(StringAttr::get(func.getContext(), name));
    func->setAttr(kArgumentNamesAttrName,
                  ArrayAttr::get(func.getContext(), longer));
  }
  LogicalResult inserted =
      func.insertArgument(number, type, DictionaryAttr(), func.getLoc());
  assert(succeeded(inserted) && "a func.func takes any argument");
  (void)inserted;
  return func.getArgument(number);
}

void moss::appendUpdate(func::FuncOp func, Value argument, Value value) {
  Builder b(func.getContext());
  NamedAttribute mark(
      WeightAttr::kUpdateName,
      b.getI64IntegerAttr(cast<BlockArgument>(argument).getArgNumber()));
  LogicalResult inserted = func.insertResult(
      func.getNumResults(), value.getType(), b.getDictionaryAttr(mark));
  assert(succeeded(inserted) && "a func.func takes any result");
  (void)inserted;
  func.walk(
      [&](func::ReturnOp ret) { ret.getOperandsMutable().append(value); });
}

void moss::returnUpdates(ImplicitLocOpBuilder &b, func::FuncOp func,
                         ValueRange values) {
  func::ReturnOp::create(b, values);
  unsigned first = func.getNumArguments() - values.size();
  for (unsigned index = 0; index < values.size(); ++index)
    func.setResultAttr(index, WeightAttr::kUpdateName,
                       b.getI64IntegerAttr(first + index));
}

Value moss::extractScalar(ImplicitLocOpBuilder &b, Value table,
                          ArrayRef<int64_t> position) {
  SmallVector<OpFoldResult> ones(position.size(), b.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      b, RankedTensorType::get({}, b.getF32Type()), table,
      getAsIndexOpFoldResult(b.getContext(), position), ones, ones);
}

Value moss::insertScalar(ImplicitLocOpBuilder &b, Value scalar, Value table,
                         ArrayRef<int64_t> position) {
  SmallVector<OpFoldResult> ones(position.size(), b.getIndexAttr(1));
  return tensor::InsertSliceOp::create(
      b, scalar, table, getAsIndexOpFoldResult(b.getContext(), position), ones,
      ones);
}

SchemeAttr moss::getGivenScheme(QuantizeOp op) {
  SchemeAttr scheme = op.getScheme();
  return SchemeAttr::get(op.getContext(), scheme.getElementType(),
                         scheme.getMicroType(), scheme.getGroupOuter(),
                         scheme.getGroupK(), GlobalScale::Given,
                         scheme.getRounding());
}

LogicalResult moss::checkNotCalled(func::FuncOp func,
                                   const SymbolUserMap &users, StringRef reason,
                                   StringRef way) {
  ArrayRef<Operation *> callers = users.getUsers(func);
  if (callers.empty())
    return success();
  InFlightDiagnostic diag = func.emitError(reason)
                            << " and would get further arguments, but is "
                               "called in the module; "
                            << way;
  diag.attachNote(callers.front()->getLoc()) << "called here";
  return diag;
}
