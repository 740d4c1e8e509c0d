//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PaddedBuffer.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSPADOPERANDS
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Whether the rows of an allocation are whole units by their static or
/// computed length.
static bool hasAlignedRows(memref::AllocOp alloc) {
  int64_t unit = getRowUnit(alloc.getType().getElementType());
  int64_t cols = alloc.getType().getShape().back();
  if (!ShapedType::isDynamic(cols))
    return cols % unit == 0;
  auto length =
      alloc.getDynamicSizes().back().getDefiningOp<affine::AffineApplyOp>();
  return length && length.getAffineMap().getResult(0).isMultipleOf(unit);
}

/// Whether the copy engine can read `payload`, as far as the program shows:
/// its innermost stride is 1, and rows begin at whole units.
static bool isReachable(Value payload) {
  auto type = cast<MemRefType>(payload.getType());
  // Nothing is read of an empty payload.
  if (llvm::is_contained(type.getShape(), 0))
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides[1] != 1)
    return false;
  // Views of a buffer keep its row stride when they start at its first column.
  while (auto view = payload.getDefiningOp<memref::SubViewOp>()) {
    if (!view.hasUnitStride() || view.getType().getRank() != 2 ||
        view.getSourceType().getRank() != 2 ||
        getConstantIntValue(view.getMixedOffsets()[1]) != 0)
      break;
    payload = view.getSource();
  }
  if (auto alloc = payload.getDefiningOp<memref::AllocOp>())
    return alloc.getType().getLayout().isIdentity() && hasAlignedRows(alloc);
  int64_t unit = getRowUnit(type.getElementType());
  return !ShapedType::isDynamic(strides[0]) && strides[0] % unit == 0 &&
         !ShapedType::isDynamic(offset) && offset % unit == 0;
}

/// Copy `payload` into a buffer with rows of whole units, freed after `op`.
static Value copyPadded(ImplicitLocOpBuilder &b, Operation *op, Value payload) {
  auto buffer = PaddedBuffer::create(
      b, memref::getMixedSize(b, b.getLoc(), payload, 0),
      memref::getMixedSize(b, b.getLoc(), payload, 1),
      cast<MemRefType>(payload.getType()).getElementType());
  linalg::CopyOp::create(b, payload, buffer.view);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(op);
  memref::DeallocOp::create(b, buffer.buffer);
  return buffer.view;
}

namespace {
struct PadOperandsPass : moss::impl::MossPadOperandsBase<PadOperandsPass> {
  void runOnOperation() override {
    getOperation()->walk([](ScaledMatmulOp op) {
      ImplicitLocOpBuilder b(op.getLoc(), op);
      for (OpOperand *operand : {&op.getLhsMutable(), &op.getRhsMutable()}) {
        if (!isa<MemRefType>(operand->get().getType()) ||
            isReachable(operand->get()))
          continue;
        remark::missed(op.getLoc(), remark::RemarkOpts::name("copied").category(
                                        "moss-pad-operands"))
            << (operand == &op.getLhsMutable() ? "the left" : "the right") +
                   std::string(" payload is copied first: its rows are not "
                               "known to begin at multiples of 16 bytes, which "
                               "the copy engine needs");
        operand->set(copyPadded(b, op, operand->get()));
      }
    });
  }
};
} // namespace
