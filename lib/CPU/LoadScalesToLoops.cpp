//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers moss.load_scales to a loop over scalar loads.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/CPU/Passes.h"
#include "moss/CPU/Scratch.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSLOADSCALESTOLOOPS
#include "moss/CPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
struct LoadScalesToLoopsPass
    : moss::impl::MossLoadScalesToLoopsBase<LoadScalesToLoopsPass> {
  void runOnOperation() override;
};
} // namespace

/// Index of the group that holds `position`; a group of 0 is the whole extent.
static Value groupIndex(ImplicitLocOpBuilder &b, Value position,
                        int64_t group) {
  if (group == 0)
    return arith::ConstantIndexOp::create(b, 0);
  return arith::DivUIOp::create(b, position,
                                arith::ConstantIndexOp::create(b, group));
}

static void lowerLoadScales(LoadScalesOp op, FunctionOpInterface function) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto type = cast<VectorType>(op.getResult().getType());
  Type element = type.getElementType();
  bool isRows = type.getDimSize(1) == 1;
  Value scratch = allocateScratch(b, function, type.getShape(), element);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value unit = arith::ConstantOp::create(b, b.getFloatAttr(element, 1.0));
  Value k = groupIndex(b, op.getK(), op.getGroupK());

  auto loop = scf::ForOp::create(
      b, zero, arith::ConstantIndexOp::create(b, type.getNumElements()), one);
  Value i = loop.getInductionVar();
  b.setInsertionPointToStart(loop.getBody());
  Value position = arith::AddIOp::create(b, op.getOuter(), i);
  Value inBounds = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position,
                                         op.getBound());
  auto branch = scf::IfOp::create(
      b, inBounds,
      [&](OpBuilder &nested, Location loc) {
        ImplicitLocOpBuilder inner(loc, nested);
        Value group = groupIndex(inner, position, op.getGroupOuter());
        Value scale =
            memref::LoadOp::create(inner, op.getSource(), ValueRange{group, k});
        scf::YieldOp::create(inner, scale);
      },
      [&](OpBuilder &nested, Location loc) {
        scf::YieldOp::create(nested, loc, unit);
      });
  memref::StoreOp::create(b, branch.getResult(0), scratch,
                          isRows ? ValueRange{i, zero} : ValueRange{zero, i});

  b.setInsertionPoint(op);
  Value result =
      vector::TransferReadOp::create(b, type, scratch, ValueRange{zero, zero},
                                     unit, ArrayRef<bool>{true, true});
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

void LoadScalesToLoopsPass::runOnOperation() {
  getOperation()->walk([](FunctionOpInterface function) {
    SmallVector<LoadScalesOp> ops;
    function.walk([&](LoadScalesOp op) { ops.push_back(op); });
    for (LoadScalesOp op : ops)
      lowerLoadScales(op, function);
  });
}
