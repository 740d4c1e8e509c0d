//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-error-bound: from functions to their references with bounds.
//
//===----------------------------------------------------------------------===//

#include "ErrorBoundTranslator.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "moss/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSERRORBOUND
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// Values and their bounds
//===----------------------------------------------------------------------===//

SmallVector<Bounded> Translator::lookupAll(ValueRange originals) {
  return llvm::map_to_vector(originals,
                             [&](Value value) { return lookup(value); });
}

Value Translator::getOriginal(Value value) {
  ImplicitLocOpBuilder b(value.getLoc(), builder);
  return createConverted(b, lookup(value).value, value.getType());
}

static Value createFilledError(OpBuilder &builder, Value value, bool isZero) {
  ImplicitLocOpBuilder b(value.getLoc(), builder);
  Value element;
  if (getElementTypeOrSelf(getErrorType(value.getType())).isF32()) {
    BoundArithmetic bounds(b);
    element = isZero ? bounds.constant(0) : bounds.unknown();
  } else {
    element = arith::ConstantOp::create(b, b.getBoolAttr(!isZero));
  }
  if (!isa<RankedTensorType>(value.getType()))
    return element;
  return createFilled(b, value, element);
}

Value Translator::getZeroError(Value value) {
  return createFilledError(builder, value, /*isZero=*/true);
}

Value Translator::getUnknownError(Value value) {
  return createFilledError(builder, value, /*isZero=*/false);
}

void Translator::noteUnknown(Operation *op) {
  if (kind != ErrorKind::Bound)
    return;
  remark::missed(op->getLoc(), remark::RemarkOpts::name("unbounded")
                                   .category("moss-error-bound")
                                   .function(func.getName()))
      << "there is no rule for the error of this op, so nothing is known of "
         "results that depend on it";
  unknownOps.push_back(builder.getStringAttr(
      op->getName().getStringRef() + " at " + describeLocation(op->getLoc())));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// An op that moves elements without looking at them.
static bool isStructural(Operation *op) {
  return isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ConcatOp,
             tensor::EmptyOp, tensor::ExpandShapeOp, tensor::ExtractOp,
             tensor::ExtractSliceOp, tensor::FromElementsOp, tensor::InsertOp,
             tensor::InsertSliceOp, tensor::ReshapeOp, tensor::SplatOp,
             bufferization::AllocTensorOp>(op);
}

/// Whether BoundArithmetic can take the op.
static bool isScalarOp(Operation *op) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
             op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(), isScalar) &&
         llvm::all_of(op->getResultTypes(), isScalar);
}

LogicalResult Translator::visit(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return visitLinalg(linalgOp);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitFor(loop);
  if (isa<tensor::DimOp>(op)) {
    Value value = cloneOnReference(builder, op,
                                   {lookup(op->getOperand(0)).value,
                                    lookup(op->getOperand(1)).value})
                      ->getResult(0);
    define(op->getResult(0), {value, Value()});
    return success();
  }
  if (isStructural(op)) {
    visitStructural(op);
    return success();
  }
  if (isScalarOp(op)) {
    ImplicitLocOpBuilder b(op->getLoc(), builder);
    BoundArithmetic bounds(b);
    SmallVector<Bounded> results =
        bounds.apply(op, lookupAll(op->getOperands()));
    if (bounds.isUnknown())
      noteUnknown(op);
    for (auto [original, result] : llvm::zip_equal(op->getResults(), results))
      define(original, result);
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](QuantizeOp quantize) {
        visitQuantize(quantize);
        return success();
      })
      .Case([&](ScaledMatmulOp matmul) {
        visitMatmul(matmul);
        return success();
      })
      .Case([&](DequantizeOp dequantize) {
        visitDequantize(dequantize);
        return success();
      })
      .Default([&](Operation *op) { return visitUnknown(op); });
}

LogicalResult Translator::visitBody(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(visit(&op)))
      return failure();
  return success();
}

/// The errors of what \p op returns, as f32.
void Translator::appendErrors(func::ReturnOp op, SmallVector<Value> &results) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  for (Value operand : op.getOperands()) {
    Value error = getErrorOrZero(lookup(operand));
    auto toBound = [](ImplicitLocOpBuilder &nb, Value differs) -> Value {
      BoundArithmetic bounds(nb);
      return arith::SelectOp::create(nb, differs, bounds.unknown(),
                                     bounds.constant(0));
    };
    if (getElementTypeOrSelf(error).isInteger(1))
      error =
          isa<RankedTensorType>(error.getType())
              ? createElementwise(b, error, b.getF32Type(),
                                  [&](ImplicitLocOpBuilder &nb,
                                      ValueRange args) -> SmallVector<Value> {
                                    return {toBound(nb, args[0])};
                                  })
                    .front()
              : toBound(b, error);
    results.push_back(error);
  }
}

/// Return the reference, the bounds, the estimates and the counts.
LogicalResult Translator::translateBody(Block &original, Block &entry) {
  auto returned = cast<func::ReturnOp>(original.getTerminator());
  SmallVector<Value> results;
  SmallVector<ErrorKind> kinds = {ErrorKind::Bound};
  if (hasEstimate)
    kinds.push_back(ErrorKind::Estimate);
  for (ErrorKind next : kinds) {
    kind = next;
    dequantized.clear();
    for (auto [from, to] :
         llvm::zip_equal(original.getArguments(), entry.getArguments())) {
      ImplicitLocOpBuilder b(from.getLoc(), builder);
      define(from,
             {createConverted(b, to, getReferenceType(to.getType())), Value()});
    }
    if (failed(visitBody(original)))
      return failure();
    if (kind == ErrorKind::Bound)
      for (Value operand : returned.getOperands())
        results.push_back(lookup(operand).value);
    appendErrors(returned, results);
  }
  llvm::append_range(results, flushCounts);
  func::ReturnOp::create(builder, returned.getLoc(), results);
  return success();
}

LogicalResult Translator::run() {
  if (!func.getBody().hasOneBlock())
    return func.emitOpError("has no reference, since it has branches; use ops "
                            "of the scf dialect");
  Block *original = &func.getBody().front();
  auto reference = func::FuncOp::create(func.getLoc(), func.getName(),
                                        func.getFunctionType());
  reference.setVisibility(func.getVisibility());
  Block *entry = reference.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  auto done = [&](LogicalResult result) {
    reference.erase();
    return result;
  };
  if (failed(translateBody(*original, *entry)))
    return done(failure());
  reference.setType(builder.getFunctionType(
      func.getArgumentTypes(), entry->getTerminator()->getOperandTypes()));
  func.getBody().takeBody(reference.getBody());
  func.setType(reference.getFunctionType());
  func.removeResAttrsAttr();
  func->setAttr("moss.quantized_operands", builder.getArrayAttr(operandNames));
  func->setAttr("moss.unbounded_ops", builder.getArrayAttr(unknownOps));
  return done(success());
}

namespace {
struct ErrorBoundPass : moss::impl::MossErrorBoundBase<ErrorBoundPass> {
  using MossErrorBoundBase::MossErrorBoundBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!func.isExternal() &&
        failed(Translator(func, matrixUnit, estimate).run()))
      signalPassFailure();
  }
};
} // namespace
