//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bounds of quantized values, for moss-error-bound.
//
//===----------------------------------------------------------------------===//

#include "ErrorBoundTranslator.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::moss;

/// How many elements of the source are not zero, and how many of these are zero
/// in the payload, as a tensor of two i64.
Value Translator::createFlushCount(QuantizeOp op, Value source, Value payload) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  Type i64 = b.getI64Type();
  Value zero = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
  Value empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>{}, i64);
  Value init = linalg::FillOp::create(b, zero, empty).getResult(0);
  AffineMap identity = b.getMultiDimIdentityMap(2);
  AffineMap sourceMap =
      op.getTranspose()
          ? AffineMap::getMultiDimMapWithTargets(2, {1, 0}, b.getContext())
          : identity;
  AffineMap scalar = AffineMap::get(2, 0, b.getContext());
  using utils::IteratorType;
  auto counts = linalg::GenericOp::create(
      b, TypeRange{init.getType(), init.getType()}, ValueRange{source, payload},
      ValueRange{init, init},
      ArrayRef<AffineMap>{sourceMap, identity, scalar, scalar},
      ArrayRef<IteratorType>{IteratorType::reduction, IteratorType::reduction},
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        ImplicitLocOpBuilder nb(loc, nested);
        Value zero = arith::ConstantOp::create(nb, nb.getF32FloatAttr(0));
        auto compare = [&](arith::CmpFPredicate predicate, Value x) -> Value {
          Value wide = createConverted(nb, x, nb.getF32Type());
          return arith::CmpFOp::create(nb, predicate, wide, zero);
        };
        Value isFull = compare(arith::CmpFPredicate::UNE, args[0]);
        Value isZero = compare(arith::CmpFPredicate::OEQ, args[1]);
        Value isFlushed = arith::AndIOp::create(nb, isFull, isZero);
        Value full = arith::ExtUIOp::create(nb, i64, isFull);
        Value flushed = arith::ExtUIOp::create(nb, i64, isFlushed);
        linalg::YieldOp::create(
            nb, ValueRange{arith::AddIOp::create(nb, args[2], full),
                           arith::AddIOp::create(nb, args[3], flushed)});
      });
  SmallVector<Value> scalars;
  for (Value count : counts.getResults())
    scalars.push_back(tensor::ExtractOp::create(b, count, ValueRange()));
  return tensor::FromElementsOp::create(b, scalars);
}

/// The results themselves are quantized references, whose bounds are unknown.
/// Only what they stand for together has a bound.
void Translator::visitQuantize(QuantizeOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  Value scale = op.getScale() ? lookup(op.getScale()).value : Value();
  dequantized[op.getPayloadResult()] =
      createQuantizedBound(b, op, lookup(op.getSource()), scale);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (operand == op.getSource() || operand == op.getScale())
      mapping.map(operand, getOriginal(operand));
  // What the destinations hold is not looked at.
  for (Value init : op.getDpsInits())
    mapping.map(init,
                tensor::EmptyOp::create(
                    b, tensor::getMixedSizes(b, b.getLoc(), lookup(init).value),
                    getElementTypeOrSelf(init)));
  auto clone = cast<QuantizeOp>(builder.clone(*op, mapping));
  for (auto [original, result] :
       llvm::zip_equal(op.getResults(), clone.getResults())) {
    Value value =
        createConverted(b, result, getReferenceType(result.getType()));
    define(original, {value, getUnknownError(value)});
  }
  // Those in loops differ from one iteration to the next.
  if (op->getParentOp() != func || kind != ErrorKind::Bound)
    return;
  flushCounts.push_back(
      createFlushCount(op, clone.getSource(), clone.getPayloadResult()));
  operandNames.push_back(b.getStringAttr(describeOperand(op)));
}

Bounded Translator::getDequantized(SchemeAttr scheme, Value payload,
                                   Value micro, Value global) {
  if (auto it = dequantized.find(payload); it != dequantized.end())
    return it->second;
  if (!scheme.isQuantized()) {
    Bounded x = lookup(payload);
    return {x.value, getErrorOrZero(x)};
  }
  ImplicitLocOpBuilder b(payload.getLoc(), builder);
  Value original = getOriginal(payload);
  Value init = tensor::EmptyOp::create(
      b, tensor::getMixedSizes(b, b.getLoc(), original), b.getF32Type());
  Value value =
      DequantizeOp::create(b, TypeRange(init.getType()), scheme, original,
                           micro ? getOriginal(micro) : Value(),
                           global ? getOriginal(global) : Value(), init)
          .getResult(0);
  bool isExact = lookup(payload).isExact() &&
                 (!micro || lookup(micro).isExact()) &&
                 (!global || lookup(global).isExact());
  return {value, isExact ? getZeroError(value) : getUnknownError(value)};
}

void Translator::visitMatmul(ScaledMatmulOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  Bounded lhs = getDequantized(op.getLhsScheme(), op.getLhs(), op.getLhsMicro(),
                               op.getLhsGlobal());
  Bounded rhs = getDequantized(op.getRhsScheme(), op.getRhs(), op.getRhsMicro(),
                               op.getRhsGlobal());
  // The matrix unit keeps sums of BF16 products in a whole f32.
  bool cutsSums = hasMatrixUnit && op.getLhsScheme().isQuantized();
  auto found = sums.find(op);
  SmallVector<Value> opSums =
      found == sums.end() ? createMatmulSums(b, lhs, rhs) : found->second;
  if (op->getParentOp() == func)
    sums[op] = opSums;
  define(op->getResult(0),
         createMatmulBound(b, op, lhs, rhs, lookup(op.getInit()), opSums,
                           cutsSums, kind));
}

void Translator::visitDequantize(DequantizeOp op) {
  Bounded x = getDequantized(op.getScheme(), op.getPayload(), op.getMicro(),
                             op.getGlobal());
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getInit()));
  Value error =
      createElementwise(
          b, {x.value, getErrorOrZero(x)}, b.getF32Type(),
          [&](ImplicitLocOpBuilder &nb, ValueRange args) -> SmallVector<Value> {
            BoundArithmetic bounds(nb);
            Value scaled = bounds.addRounding(args[0], args[1], 0x1p-20);
            return {bounds.addConversion({args[0], scaled}, type)};
          })
          .front();
  define(op->getResult(0), {x.value, error});
}
