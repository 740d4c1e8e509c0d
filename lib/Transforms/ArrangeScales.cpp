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
#define GEN_PASS_DEF_MOSSARRANGESCALES
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

static Value transpose(ImplicitLocOpBuilder &b, Value matrix) {
  auto swapped =
      AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, b.getContext());
  return memref::TransposeOp::create(b, matrix, AffineMapAttr::get(swapped));
}

/// Whether groups of `scheme` have a row each, so that scales of neighboring
/// rows should be adjacent, and not those of neighboring groups along K.
static bool wantsTransposed(SchemeAttr scheme) {
  return scheme.getGroupOuter() == 1;
}

/// Whether `view` begins its allocation, whose rows are whole units, as in a
/// PaddedBuffer. Its type does not say so where extents are dynamic.
static bool isPaddedView(Value view) {
  auto subview = view.getDefiningOp<memref::SubViewOp>();
  if (!subview || !llvm::all_of(subview.getMixedOffsets(), isZeroInteger) ||
      !subview.hasUnitStride())
    return false;
  auto alloc = subview.getSource().getDefiningOp<memref::AllocOp>();
  if (!alloc || !alloc.getType().getLayout().isIdentity())
    return false;
  OpFoldResult length = alloc.getMixedSizes().back();
  int64_t unit = getRowUnit(alloc.getType().getElementType());
  if (std::optional<int64_t> constant = getConstantIntValue(length))
    return *constant % unit == 0;
  auto apply = cast<Value>(length).getDefiningOp<affine::AffineApplyOp>();
  return apply && apply.getAffineMap().getResult(0).isMultipleOf(unit);
}

/// Whether `micro` is laid out as the copy engine wants: adjacent in the right
/// direction, and known to begin at whole units in the other.
static bool isArranged(Value micro, SchemeAttr scheme) {
  Value view = micro;
  if (auto transpose = micro.getDefiningOp<memref::TransposeOp>())
    view = transpose.getIn();
  if (isPaddedView(view))
    return wantsTransposed(scheme) == (view != micro);

  auto type = cast<MemRefType>(micro.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  if (wantsTransposed(scheme))
    std::swap(strides[0], strides[1]);
  int64_t unit = getRowUnit(type.getElementType());
  return strides[1] == 1 && !ShapedType::isDynamic(strides[0]) &&
         strides[0] % unit == 0 && !ShapedType::isDynamic(offset) &&
         offset % unit == 0;
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

/// An arranged buffer for scales of the given type and sizes. Its view has the
/// shape of the scales.
static PaddedBuffer createBuffer(ImplicitLocOpBuilder &b, SchemeAttr scheme,
                                 ArrayRef<OpFoldResult> sizes, Type type) {
  if (!wantsTransposed(scheme))
    return PaddedBuffer::create(b, sizes[0], sizes[1], type);
  auto buffer = PaddedBuffer::create(b, sizes[1], sizes[0], type);
  buffer.view = transpose(b, buffer.view);
  return buffer;
}

static void replaceBuffer(memref::AllocOp alloc, SchemeAttr scheme) {
  ImplicitLocOpBuilder b(alloc.getLoc(), alloc);
  auto buffer = createBuffer(b, scheme, alloc.getMixedSizes(),
                             alloc.getType().getElementType());
  alloc->replaceUsesWithIf(ValueRange(buffer.view), [](OpOperand &use) {
    return !isa<memref::DeallocOp>(use.getOwner());
  });
  alloc->replaceAllUsesWith(ValueRange(buffer.buffer));
  alloc.erase();
}

/// Copy `micro` into an arranged buffer, freed after `op`.
static Value copyArranged(ScaledMatmulOp op, SchemeAttr scheme, Value micro) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto buffer =
      createBuffer(b, scheme, memref::getMixedSizes(b, b.getLoc(), micro),
                   cast<MemRefType>(micro.getType()).getElementType());
  linalg::CopyOp::create(b, micro, buffer.view);
  b.setInsertionPointAfter(op);
  memref::DeallocOp::create(b, buffer.buffer);
  return buffer.view;
}

namespace {
struct ArrangeScalesPass
    : moss::impl::MossArrangeScalesBase<ArrangeScalesPass> {
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
    // Scales of groups that span all rows are loaded one by one.
    if (!isa<MemRefType>(micro.getType()) || scheme.isConstantAlongK() ||
        scheme.getGroupOuter() == 0 || isArranged(micro, scheme))
      return;
    if (memref::AllocOp alloc = getOwnBuffer(micro))
      return replaceBuffer(alloc, scheme);
    StringRef neighbors = wantsTransposed(scheme) ? "rows" : "groups along K";
    remark::missed(op.getLoc(), remark::RemarkOpts::name("copied").category(
                                    "moss-arrange-scales"))
        << ("the micro scales of the " + side +
            " operand are copied first: the copy engine needs those of "
            "neighboring " +
            neighbors +
            " adjacent, in rows that begin at multiples of 16 bytes, which "
            "they are not known to be")
               .str();
    operand.assign(copyArranged(op, scheme, micro));
  }
};
} // namespace
