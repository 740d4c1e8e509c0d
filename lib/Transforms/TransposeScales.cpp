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
#define GEN_PASS_DEF_MOSSTRANSPOSESCALES
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

static Value transpose(ImplicitLocOpBuilder &b, Value matrix) {
  auto swapped =
      AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, b.getContext());
  return memref::TransposeOp::create(b, matrix, AffineMapAttr::get(swapped));
}

/// Whether scales of neighbors are adjacent in `micro`, and those of a group
/// along K known to begin at whole units, as the copy engine wants.
static bool isTransposed(Value micro) {
  auto type = cast<MemRefType>(micro.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides[0] != 1)
    return false;
  // The pass itself makes such buffers.
  if (auto transpose = micro.getDefiningOp<memref::TransposeOp>())
    if (auto view = transpose.getIn().getDefiningOp<memref::SubViewOp>())
      if (view.getSource().getDefiningOp<memref::AllocOp>())
        return true;
  int64_t unit = getRowUnit(type.getElementType());
  return !ShapedType::isDynamic(strides[1]) && strides[1] % unit == 0 &&
         !ShapedType::isDynamic(offset) && offset % unit == 0;
}

/// The allocation of `micro`, if the program writes it by `moss.quantize` and
/// reads it by `moss.scaled_matmul` only, so that its layout is free.
static memref::AllocOp getOwnBuffer(Value micro) {
  auto alloc = micro.getDefiningOp<memref::AllocOp>();
  if (!alloc || !alloc.getType().getLayout().isIdentity() ||
      alloc.getType().getMemorySpace())
    return {};
  bool isFree = llvm::all_of(alloc->getUsers(), [](Operation *user) {
    return isa<QuantizeOp, ScaledMatmulOp, memref::DeallocOp>(user);
  });
  return isFree ? alloc : memref::AllocOp();
}

/// Allocate the buffer the other way around.
static void transposeBuffer(memref::AllocOp alloc) {
  ImplicitLocOpBuilder b(alloc.getLoc(), alloc);
  SmallVector<OpFoldResult> sizes = alloc.getMixedSizes();
  auto buffer = PaddedBuffer::create(b, sizes[1], sizes[0],
                                     alloc.getType().getElementType());
  Value view = transpose(b, buffer.view);
  alloc->replaceUsesWithIf(ValueRange(view), [](OpOperand &use) {
    return !isa<memref::DeallocOp>(use.getOwner());
  });
  alloc->replaceAllUsesWith(ValueRange(buffer.buffer));
  alloc.erase();
}

/// Copy `micro` into a buffer the other way around, freed after `op`.
static Value copyTransposed(ScaledMatmulOp op, Value micro) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto buffer =
      PaddedBuffer::create(b, memref::getMixedSize(b, b.getLoc(), micro, 1),
                           memref::getMixedSize(b, b.getLoc(), micro, 0),
                           cast<MemRefType>(micro.getType()).getElementType());
  Value view = transpose(b, buffer.view);
  linalg::CopyOp::create(b, micro, view);
  b.setInsertionPointAfter(op);
  memref::DeallocOp::create(b, buffer.buffer);
  return view;
}

namespace {
struct TransposeScalesPass
    : moss::impl::MossTransposeScalesBase<TransposeScalesPass> {
  void runOnOperation() override {
    getOperation()->walk([](ScaledMatmulOp op) {
      if (op.getLhsMicro())
        visit(op, op.getLhsScheme(), op.getLhsMicroMutable(), "left");
      if (op.getRhsMicro())
        visit(op, op.getRhsScheme(), op.getRhsMicroMutable(), "right");
    });
  }

private:
  static void visit(ScaledMatmulOp op, SchemeAttr scheme,
                    MutableOperandRange operand, StringRef side) {
    Value micro = operand[0].get();
    if (!isa<MemRefType>(micro.getType()) || scheme.isConstantAlongK() ||
        scheme.getGroupOuter() != 1 || isTransposed(micro))
      return;
    if (memref::AllocOp alloc = getOwnBuffer(micro))
      return transposeBuffer(alloc);
    remark::missed(op.getLoc(), remark::RemarkOpts::name("copied").category(
                                    "moss-transpose-scales"))
        << ("the micro scales of the " + side +
            " operand are copied first: scales of neighboring rows are not "
            "known to be adjacent, in rows that begin at multiples of 16 "
            "bytes, "
            "which the copy engine needs")
               .str();
    operand.assign(copyTransposed(op, micro));
  }
};
} // namespace
