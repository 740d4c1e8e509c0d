//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor maps as kernel parameters, and their encoding on the host.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/FunctionCallUtils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSLOWERKERNELTENSORMAPS
#define GEN_PASS_DEF_MOSSMARKTENSORMAPS
#define GEN_PASS_DEF_MOSSCONVERTTENSORMAPSTOLLVM
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Alignment of a tensor map in bytes.
static constexpr int64_t kMapAlignment = 64;

/// Marks a kernel whose pointers of alignment 64 stand for tensor maps. Of the
/// attributes of arguments only a few, the alignment among them, survive
/// convert-gpu-to-nvvm, which also renumbers the arguments.
static constexpr StringLiteral kTensorMapsAttrName = "moss.tensor_maps";

/// The 128 bytes of a tensor map.
static LLVM::LLVMArrayType getMapStorageType(MLIRContext *context) {
  return LLVM::LLVMArrayType::get(IntegerType::get(context, 64), 16);
}

//===----------------------------------------------------------------------===//
// Kernel parameters
//===----------------------------------------------------------------------===//

/// Replace the uses of a tensor map in a kernel by uses of a pointer to it.
static void replaceMapByPointer(OpBuilder &builder, BlockArgument argument) {
  Type mapType = argument.getType();
  auto pointerType = LLVM::LLVMPointerType::get(builder.getContext());
  argument.setType(pointerType);
  for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
    auto cast = dyn_cast<UnrealizedConversionCastOp>(use.getOwner());
    if (cast && cast.getResultTypes() == TypeRange(pointerType)) {
      cast.getResult(0).replaceAllUsesWith(argument);
      cast.erase();
      continue;
    }
    builder.setInsertionPoint(use.getOwner());
    use.set(UnrealizedConversionCastOp::create(
                builder, use.getOwner()->getLoc(), mapType, argument)
                .getResult(0));
  }
}

static void lowerKernel(gpu::GPUFuncOp kernel) {
  OpBuilder builder(kernel.getContext());
  SmallVector<Type> inputs(kernel.getArgumentTypes());
  for (auto [index, type] : llvm::enumerate(inputs)) {
    if (!isa<TensorMapType>(type))
      continue;
    type = LLVM::LLVMPointerType::get(builder.getContext());
    replaceMapByPointer(builder, kernel.getArgument(index));
    kernel.setArgAttr(index, LLVM::LLVMDialect::getAlignAttrName(),
                      builder.getI64IntegerAttr(kMapAlignment));
    kernel->setAttr(kTensorMapsAttrName, builder.getUnitAttr());
  }
  kernel.setFunctionType(
      builder.getFunctionType(inputs, kernel.getResultTypes()));
}

static void lowerLaunch(gpu::LaunchFuncOp launch) {
  OpBuilder builder(launch);
  auto pointerType = LLVM::LLVMPointerType::get(builder.getContext());
  for (OpOperand &operand : launch.getKernelOperandsMutable())
    if (isa<TensorMapType>(operand.get().getType()))
      operand.set(UnrealizedConversionCastOp::create(builder, launch.getLoc(),
                                                     pointerType, operand.get())
                      .getResult(0));
}

namespace {
struct LowerKernelTensorMapsPass
    : moss::impl::MossLowerKernelTensorMapsBase<LowerKernelTensorMapsPass> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto kernel = dyn_cast<gpu::GPUFuncOp>(op))
        lowerKernel(kernel);
      else if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
        lowerLaunch(launch);
    });
  }
};
} // namespace

namespace {
struct MarkTensorMapsPass
    : moss::impl::MossMarkTensorMapsBase<MarkTensorMapsPass> {
  void runOnOperation() override {
    getOperation().walk([](LLVM::LLVMFuncOp kernel) {
      if (!kernel->removeAttr(kTensorMapsAttrName))
        return;
      for (unsigned index : llvm::seq(kernel.getNumArguments()))
        if (isTensorMap(kernel, index))
          mark(kernel, index);
    });
  }

private:
  static bool isTensorMap(LLVM::LLVMFuncOp kernel, unsigned index) {
    auto alignment = kernel.getArgAttrOfType<IntegerAttr>(
        index, LLVM::LLVMDialect::getAlignAttrName());
    return alignment && alignment.getInt() == kMapAlignment;
  }

  static void mark(LLVM::LLVMFuncOp kernel, unsigned index) {
    Builder builder(kernel.getContext());
    kernel.setArgAttr(index, LLVM::LLVMDialect::getByValAttrName(),
                      TypeAttr::get(getMapStorageType(builder.getContext())));
    kernel.setArgAttr(index, NVVM::NVVMDialect::getGridConstantAttrName(),
                      builder.getUnitAttr());
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Encoding on the host
//===----------------------------------------------------------------------===//

/// Address of element (0, 0) of a memref.
static Value getAddress(ImplicitLocOpBuilder &builder, Value memref,
                        Value offset, int64_t elementBytes) {
  Value aligned =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, memref);
  Value bytes = arith::ConstantIndexOp::create(builder, elementBytes);
  Value address = arith::AddIOp::create(
      builder, aligned, arith::MulIOp::create(builder, offset, bytes));
  Value integer =
      arith::IndexCastOp::create(builder, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext()), integer);
}

/// Room for one tensor map, allocated once per call of the function even if the
/// encoding is in a loop.
static Value createSlot(EncodeTensorMapOp op) {
  auto func = op->getParentOfType<FunctionOpInterface>();
  auto builder = ImplicitLocOpBuilder::atBlockBegin(
      op.getLoc(), &func.getFunctionBody().front());
  Value one = LLVM::ConstantOp::create(builder, builder.getI64Type(), 1);
  return LLVM::AllocaOp::create(
      builder, LLVM::LLVMPointerType::get(builder.getContext()),
      getMapStorageType(builder.getContext()), one, kMapAlignment);
}

/// The arguments of `mossTensorMapEncode2D`.
static SmallVector<Value> createEncodeArguments(ImplicitLocOpBuilder &builder,
                                                EncodeTensorMapOp op,
                                                Value slot) {
  TensorMapType map = op.getMap().getType();
  int64_t elementBytes = map.getElementType().getIntOrFloatBitWidth() / 8;
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, op.getSource());
  auto toI64 = [&](Value index) -> Value {
    return arith::IndexCastOp::create(builder, builder.getI64Type(), index);
  };
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, builder.getI32Type(), value);
  };
  Value rowStride = arith::MulIOp::create(
      builder, metadata.getStrides()[0],
      arith::ConstantIndexOp::create(builder, elementBytes));
  return {
      slot,
      getAddress(builder, op.getSource(), metadata.getOffset(), elementBytes),
      toI64(metadata.getSizes()[0]),
      toI64(metadata.getSizes()[1]),
      toI64(rowStride),
      constant(elementBytes),
      constant(map.getBoxRows()),
      constant(map.getBoxCols()),
      constant(map.getSwizzle())};
}

/// Launches take the map through a cast to `!llvm.ptr`.
static LogicalResult checkUsers(EncodeTensorMapOp op) {
  for (Operation *user : op.getMap().getUsers()) {
    auto cast = dyn_cast<UnrealizedConversionCastOp>(user);
    if (!cast || !llvm::all_of(cast->getUsers(), [](Operation *op) {
          return isa<gpu::LaunchFuncOp>(op);
        })) {
      InFlightDiagnostic diag =
          op.emitError("is used by something else than a kernel; run "
                       "moss-lower-kernel-tensor-maps first");
      diag.attachNote(user->getLoc()) << "used here";
      return diag;
    }
  }
  return success();
}

static LogicalResult lowerEncode(EncodeTensorMapOp op) {
  if (failed(checkUsers(op)))
    return failure();
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  Value slot = createSlot(op);
  SmallVector<Value> arguments = createEncodeArguments(builder, op, slot);
  FailureOr<LLVM::LLVMFuncOp> encode = LLVM::lookupOrCreateFn(
      builder, op->getParentOfType<ModuleOp>(), "mossTensorMapEncode2D",
      SmallVector<Type>(ValueRange(arguments).getTypes()),
      LLVM::LLVMVoidType::get(op.getContext()));
  if (failed(encode))
    return failure();
  LLVM::CallOp::create(builder, *encode, arguments);
  Value value = LLVM::LoadOp::create(
      builder, getMapStorageType(op.getContext()), slot, kMapAlignment);
  for (Operation *cast : llvm::make_early_inc_range(op.getMap().getUsers())) {
    cast->getResult(0).replaceAllUsesWith(value);
    cast->erase();
  }
  op.erase();
  return success();
}

namespace {
struct ConvertTensorMapsToLLVMPass
    : moss::impl::MossConvertTensorMapsToLLVMBase<ConvertTensorMapsToLLVMPass> {
  void runOnOperation() override {
    SmallVector<EncodeTensorMapOp> ops;
    getOperation().walk([&](EncodeTensorMapOp op) { ops.push_back(op); });
    for (EncodeTensorMapOp op : ops)
      if (failed(lowerEncode(op)))
        return signalPassFailure();
  }
};
} // namespace
