//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSVERIFYLOWERED
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
struct VerifyLoweredPass
    : moss::impl::MossVerifyLoweredBase<VerifyLoweredPass> {
  void runOnOperation() override;
};
} // namespace

static bool isFp8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type, Float8E8M0FNUType>(
      getElementTypeOrSelf(type));
}

static bool isMossOp(Operation *op) {
  return op->getName().getDialectNamespace() ==
         MossDialect::getDialectNamespace();
}

static bool isFp8Arithmetic(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return (dialect == "arith" || dialect == "math") &&
         (llvm::any_of(op->getOperandTypes(), isFp8) ||
          llvm::any_of(op->getResultTypes(), isFp8));
}

/// The ops that give to or take from a cast.
static SmallVector<Operation *> getNeighbors(UnrealizedConversionCastOp cast) {
  SmallVector<Operation *> neighbors;
  for (Value input : cast.getInputs())
    if (Operation *producer = input.getDefiningOp())
      neighbors.push_back(producer);
  llvm::append_range(neighbors, cast->getUsers());
  return neighbors;
}

static LogicalResult verifyCast(UnrealizedConversionCastOp cast) {
  SmallVector<Operation *> neighbors = getNeighbors(cast);
  // The op that the cast is there for has its own error.
  if (llvm::any_of(neighbors, [](Operation *op) {
        return isMossOp(op) || isFp8Arithmetic(op);
      }))
    return failure();
  InFlightDiagnostic diag =
      cast.emitError("'")
      << cast->getName() << "' from " << cast.getOperandTypes() << " to "
      << cast.getResultTypes()
      << " was left behind: an op beside it has no lowering; rewrite that op "
         "or lower it before this pipeline";
  for (Operation *neighbor : neighbors)
    diag.attachNote(neighbor->getLoc())
        << "'" << neighbor->getName() << "' is beside it";
  return diag;
}

static LogicalResult verifyOp(Operation *op) {
  if (isMossOp(op))
    return op->emitError("'")
           << op->getName()
           << "' was not lowered: no pass of this pipeline lowers it where it "
              "is; run the passes of the earlier levels first";
  if (isFp8Arithmetic(op))
    return op->emitError("'")
           << op->getName()
           << "' on FP8 values was not lowered: only extf, truncf from f32 or "
              "narrower to nearest even, bitcast and select are supported; "
              "compute in f32 and convert";
  if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op))
    return verifyCast(cast);
  return success();
}

void VerifyLoweredPass::runOnOperation() {
  bool failedAny = false;
  getOperation()->walk(
      [&](Operation *op) { failedAny |= failed(verifyOp(op)); });
  if (failedAny)
    signalPassFailure();
}
