//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bounds of ops on tensors, for moss-error-bound.
//
//===----------------------------------------------------------------------===//

#include "ErrorBoundTranslator.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::moss;

void Translator::visitStructural(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), builder);
  SmallVector<Value> operands, errors;
  bool isExact = true;
  for (Value operand : op->getOperands()) {
    Bounded x = lookup(operand);
    operands.push_back(x.value);
    isExact &= x.isExact();
  }
  Value value = cloneOnReference(b, op, operands)->getResult(0);
  Value error;
  if (!isExact) {
    Type moved = getElementTypeOrSelf(op->getResult(0).getType());
    for (auto [original, operand] :
         llvm::zip_equal(op->getOperands(), operands))
      errors.push_back(getElementTypeOrSelf(original.getType()) == moved &&
                               !moved.isIndex()
                           ? getErrorOrZero(lookup(original))
                           : operand);
    OperationState state(op->getLoc(), op->getName(), errors,
                         getErrorType(op->getResult(0).getType()));
    state.propertiesAttr = op->getPropertiesAsAttribute();
    error = b.create(state)->getResult(0);
  }
  define(op->getResult(0), {value, error});
}

LogicalResult Translator::visitLinalg(linalg::LinalgOp op) {
  if (!op.hasPureTensorSemantics())
    return op->emitOpError("is on memrefs; moss-error-bound works on tensors");
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  SmallVector<Value> inputs, inits, errorInits;
  SmallVector<AffineMap> maps, initMaps;
  // Which block arguments of the new op stand for one of the old.
  SmallVector<std::pair<unsigned, std::optional<unsigned>>> positions;
  bool isExact = true;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Bounded x = lookup(input->get());
    AffineMap map = op.getMatchingIndexingMap(input);
    positions.push_back({inputs.size(), std::nullopt});
    inputs.push_back(x.value);
    maps.push_back(map);
    if (x.isExact())
      continue;
    isExact = false;
    positions.back().second = inputs.size();
    inputs.push_back(x.error);
    maps.push_back(map);
  }
  for (OpOperand &init : op.getDpsInitsMutable())
    isExact &=
        !op.payloadUsesValueFromOperand(&init) || lookup(init.get()).isExact();
  op.getBlock()->walk(
      [&](Operation *inner) { isExact &= !BoundArithmetic::isRounded(inner); });
  unsigned numInits = op.getNumDpsInits();
  for (auto [i, init] : llvm::enumerate(op.getDpsInitsMutable())) {
    Bounded x = lookup(init.get());
    inits.push_back(x.value);
    initMaps.push_back(op.getMatchingIndexingMap(&init));
    positions.push_back({inputs.size() + i, std::nullopt});
    if (isExact)
      continue;
    errorInits.push_back(
        op.payloadUsesValueFromOperand(&init)
            ? getErrorOrZero(x)
            : Value(tensor::EmptyOp::create(
                  b, tensor::getMixedSizes(b, b.getLoc(), x.value),
                  getElementTypeOrSelf(getErrorType(init.get().getType())))));
    if (op.payloadUsesValueFromOperand(&init))
      positions.back().second = inputs.size() + numInits + i;
  }
  llvm::append_range(maps, initMaps);
  if (!isExact)
    llvm::append_range(maps, initMaps);
  llvm::append_range(inits, errorInits);
  LogicalResult status = success();
  auto generic = linalg::GenericOp::create(
      b, TypeRange(ValueRange(inits)), inputs, inits, maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(nested.getInsertionBlock(),
                                  nested.getInsertionPoint());
        for (auto [argument, position] :
             llvm::zip_equal(op.getBlock()->getArguments(), positions))
          define(argument,
                 {args[position.first],
                  position.second ? args[*position.second] : Value()});
        status = visitBody(*op.getBlock());
        if (failed(status))
          return;
        SmallVector<Value> yielded, errors;
        for (Value value : op.getBlock()->getTerminator()->getOperands()) {
          Bounded x = lookup(value);
          yielded.push_back(x.value);
          if (!isExact)
            errors.push_back(getErrorOrZero(x));
        }
        llvm::append_range(yielded, errors);
        linalg::YieldOp::create(builder, loc, yielded);
      });
  if (failed(status))
    return failure();
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    define(result, {generic.getResult(i),
                    isExact ? Value() : generic.getResult(i + numInits)});
  return success();
}

/// Clone an op without a rule on values in their own types.
LogicalResult Translator::visitUnknown(Operation *op) {
  if (op->walk([](Operation *inner) {
          return isa<QuantizeOp, ScaledMatmulOp, DequantizeOp, func::CallOp>(
                     inner)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        }).wasInterrupted())
    return op->emitOpError(
        "has no reference, since it computes with quantized values or calls a "
        "function; inline the function, or rewrite the op as scf.for");
  ImplicitLocOpBuilder b(op->getLoc(), builder);
  IRMapping mapping;
  bool isExact = true;
  auto map = [&](Value value) {
    isExact &= lookup(value).isExact();
    mapping.map(value, getOriginal(value));
  };
  llvm::for_each(op->getOperands(), map);
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::for_each(captured, map);
  Operation *clone = builder.clone(*op, mapping);
  bool isKnown =
      isExact && !BoundArithmetic::isRounded(op) && op->getNumRegions() == 0;
  for (auto [original, result] :
       llvm::zip_equal(op->getResults(), clone->getResults())) {
    Value value =
        createConverted(b, result, getReferenceType(result.getType()));
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(result.getType()));
    bool isUnknown =
        !isExact || (isFloat && !isKnown && !isa<arith::ConstantOp>(op));
    define(original, {value, isUnknown ? getUnknownError(value) : Value()});
    if (isUnknown)
      noteUnknown(op);
  }
  return success();
}

/// Every float that is carried has a bound that is carried with it.
LogicalResult Translator::visitFor(scf::ForOp op) {
  for (Value bound : {op.getLowerBound(), op.getUpperBound(), op.getStep()})
    if (!lookup(bound).isExact())
      return op->emitOpError("has no reference, since its bounds depend on "
                             "values that are not exact");
  SmallVector<Value> inits, errors;
  for (Value init : op.getInitArgs()) {
    Bounded x = lookup(init);
    inits.push_back(x.value);
    errors.push_back(getErrorOrZero(x));
  }
  unsigned count = inits.size();
  llvm::append_range(inits, errors);
  auto loop = scf::ForOp::create(
      builder, op.getLoc(), lookup(op.getLowerBound()).value,
      lookup(op.getUpperBound()).value, lookup(op.getStep()).value, inits);
  define(op.getInductionVar(), {loop.getInductionVar(), Value()});
  for (auto [i, argument] : llvm::enumerate(op.getRegionIterArgs()))
    define(argument,
           {loop.getRegionIterArg(i), loop.getRegionIterArg(i + count)});
  OpBuilder::InsertionGuard guard(builder);
  // Without carried values the loop has its terminator already.
  if (inits.empty())
    builder.setInsertionPoint(loop.getBody()->getTerminator());
  else
    builder.setInsertionPointToStart(loop.getBody());
  if (failed(visitBody(*op.getBody())))
    return failure();
  SmallVector<Value> yielded, yieldedErrors;
  for (Value value : op.getBody()->getTerminator()->getOperands()) {
    Bounded x = lookup(value);
    yielded.push_back(x.value);
    yieldedErrors.push_back(getErrorOrZero(x));
  }
  llvm::append_range(yielded, yieldedErrors);
  if (!inits.empty())
    scf::YieldOp::create(builder, op.getLoc(), yielded);
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    define(result, {loop.getResult(i), loop.getResult(i + count)});
  return success();
}
