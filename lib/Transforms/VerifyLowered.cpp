//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

/// A note at every op that still has the type which the cast bridges.
static void noteNeighbors(InFlightDiagnostic &diag,
                          UnrealizedConversionCastOp cast) {
  for (Value input : cast.getInputs())
    if (Operation *producer = input.getDefiningOp())
      diag.attachNote(producer->getLoc())
          << "its input is made by '" << producer->getName() << "'";
  for (Operation *user : cast->getUsers())
    diag.attachNote(user->getLoc())
        << "its result is used by '" << user->getName() << "'";
}

static LogicalResult verifyOp(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == MossDialect::getDialectNamespace())
    return op->emitError("'")
           << op->getName()
           << "' was not lowered: no pass of this pipeline lowers it where it "
              "is; run the passes of the earlier levels first";
  if ((dialect == "arith" || dialect == "math") &&
      (llvm::any_of(op->getOperandTypes(), isFp8) ||
       llvm::any_of(op->getResultTypes(), isFp8)))
    return op->emitError("'")
           << op->getName()
           << "' on FP8 values was not lowered: only extf, truncf from f32 or "
              "narrower to nearest even, bitcast and select are supported; "
              "compute in f32 and convert";
  if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op)) {
    InFlightDiagnostic diag =
        cast.emitError("'")
        << op->getName() << "' from " << cast.getOperandTypes() << " to "
        << cast.getResultTypes()
        << " was left behind: an op beside it has no lowering; rewrite that op "
           "or lower it before this pipeline";
    noteNeighbors(diag, cast);
    return diag;
  }
  return success();
}

void VerifyLoweredPass::runOnOperation() {
  bool failedAny = false;
  getOperation()->walk(
      [&](Operation *op) { failedAny |= failed(verifyOp(op)); });
  if (failedAny)
    signalPassFailure();
}
