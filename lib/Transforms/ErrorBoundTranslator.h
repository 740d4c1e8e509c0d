//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The translation of one function by moss-error-bound.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_TRANSFORMS_ERRORBOUNDTRANSLATOR_H
#define MOSS_LIB_TRANSFORMS_ERRORBOUNDTRANSLATOR_H

#include "DescribeOperand.h"
#include "ErrorBound.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::moss {

/// Translates the body of one function.
class Translator {
public:
  Translator(func::FuncOp func, bool hasMatrixUnit, bool hasEstimate)
      : func(func), hasMatrixUnit(hasMatrixUnit), hasEstimate(hasEstimate) {}

  /// Replace the function by its reference.
  LogicalResult run();

private:
  LogicalResult translateBody(Block &original, Block &entry);
  LogicalResult visit(Operation *op);
  LogicalResult visitBody(Block &block);
  LogicalResult visitLinalg(linalg::LinalgOp op);
  void visitStructural(Operation *op);
  LogicalResult visitUnknown(Operation *op);
  LogicalResult visitFor(scf::ForOp op);
  void visitQuantize(QuantizeOp op);
  void visitMatmul(ScaledMatmulOp op);
  void visitDequantize(DequantizeOp op);
  void appendErrors(func::ReturnOp op, SmallVector<Value> &results);

  Bounded lookup(Value value) { return values.at(value); }
  void define(Value original, Bounded bounded) { values[original] = bounded; }
  SmallVector<Bounded> lookupAll(ValueRange originals);
  /// The value in its type before translation.
  Value getOriginal(Value value);
  Value getZeroError(Value value);
  Value getUnknownError(Value value);
  Value getErrorOrZero(Bounded x) {
    return x.error ? x.error : getZeroError(x.value);
  }
  /// What the operand of a matmul stands for.
  Bounded getDequantized(SchemeAttr scheme, Value payload, Value micro,
                         Value global);
  Value createFlushCount(QuantizeOp op, Value source, Value payload);
  void noteUnknown(Operation *op);

  func::FuncOp func;
  bool hasMatrixUnit, hasEstimate;
  /// What `values` holds: the body is translated once for each kind.
  ErrorKind kind = ErrorKind::Bound;
  OpBuilder builder{func.getContext()};
  DenseMap<Value, Bounded> values;
  /// What the payloads that moss.quantize makes stand for.
  DenseMap<Value, Bounded> dequantized;
  /// The sums of matmuls outside of loops, which both kinds use.
  DenseMap<Operation *, SmallVector<Value>> sums;
  SmallVector<Value> flushCounts;
  SmallVector<Attribute> operandNames, unknownOps;
};

} // namespace mlir::moss

#endif // MOSS_LIB_TRANSFORMS_ERRORBOUNDTRANSLATOR_H
