//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TypeUtilities.h"
#include "moss/CPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSBF16TOBITS
#include "moss/CPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

static bool isBF16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

/// Extend bf16 to types wider than f32 by the f32 whose high half it is.
/// arith-expand knows f32 only.
static void extendByF32(LLVM::FPExtOp op) {
  Type from = op.getArg().getType(), to = op.getType();
  if (!isBF16(from) || getElementTypeOrSelf(to).getIntOrFloatBitWidth() <= 32)
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto withElement = [&](Type element) -> Type {
    auto vectorType = dyn_cast<VectorType>(from);
    return vectorType ? vectorType.clone(element) : element;
  };
  Type i32 = withElement(b.getI32Type());
  TypedAttr sixteen = b.getI32IntegerAttr(16);
  if (auto vectorType = dyn_cast<VectorType>(i32))
    sixteen = DenseElementsAttr::get(vectorType, Attribute(sixteen));
  Value half =
      LLVM::BitcastOp::create(b, loc, withElement(b.getI16Type()), op.getArg());
  Value wide = LLVM::ZExtOp::create(b, loc, i32, half);
  Value shift = LLVM::ConstantOp::create(b, loc, i32, sixteen);
  Value bits = LLVM::ShlOp::create(b, loc, wide, shift);
  Value f32 =
      LLVM::BitcastOp::create(b, loc, withElement(b.getF32Type()), bits);
  op->replaceAllUsesWith(LLVM::FPExtOp::create(b, loc, to, f32));
  op->erase();
}

/// Whether `op` computes with bf16 rather than moving it.
static bool computesInBF16(Operation *op) {
  if (!isa<LLVM::FPExtOp, LLVM::FPTruncOp, LLVM::FAddOp, LLVM::FSubOp,
           LLVM::FMulOp, LLVM::FDivOp, LLVM::FRemOp, LLVM::FNegOp, LLVM::FCmpOp,
           LLVM::SIToFPOp, LLVM::UIToFPOp, LLVM::FPToSIOp, LLVM::FPToUIOp>(op))
    return false;
  return llvm::any_of(op->getOperandTypes(), isBF16) ||
         llvm::any_of(op->getResultTypes(), isBF16);
}

namespace {
struct BF16ToBitsPass : moss::impl::MossBF16ToBitsBase<BF16ToBitsPass> {
  void runOnOperation() override {
    getOperation().walk(extendByF32);
    WalkResult result = getOperation().walk([](Operation *op) {
      if (!computesInBF16(op))
        return WalkResult::advance();
      op->emitError("computes in bf16, which has to be expanded to f32 first; "
                    "run arith-emulate-unsupported-floats and arith-expand");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();

    Type i16 = IntegerType::get(&getContext(), 16);
    AttrTypeReplacer replacer;
    replacer.addReplacement([=](BFloat16Type) { return i16; });
    replacer.addReplacement([=](FloatAttr attr) -> std::optional<Attribute> {
      if (!attr.getType().isBF16())
        return std::nullopt;
      return IntegerAttr::get(i16, attr.getValue().bitcastToAPInt());
    });
    replacer.addReplacement(
        [=](DenseFPElementsAttr attr) -> std::optional<Attribute> {
          if (!attr.getElementType().isBF16())
            return std::nullopt;
          return attr.bitcast(i16);
        });
    replacer.recursivelyReplaceElementsIn(getOperation(),
                                          /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
  }
};
} // namespace
