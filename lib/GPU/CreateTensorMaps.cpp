//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives kernels tensor maps for what they copy: operand tiles put into
// channels, and result tiles whose destination the copy engine can reach.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/SymbolTable.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSCREATETENSORMAPS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// Adds tensor map arguments to one kernel and encodes them at its launches.
class TensorMapCreator {
public:
  TensorMapCreator(gpu::GPUFuncOp kernel, ArrayRef<gpu::LaunchFuncOp> launches)
      : kernel(kernel), launches(launches) {}

  LogicalResult run();

private:
  FailureOr<Value> getMap(Operation *user, Value memref, TensorMapType type);
  LogicalResult convertPut(PutOp put);
  LogicalResult convertWrite(vector::TransferWriteOp write);

  gpu::GPUFuncOp kernel;
  ArrayRef<gpu::LaunchFuncOp> launches;
  /// Maps made so far, by the kernel argument they describe and their type.
  DenseMap<std::pair<unsigned, Type>, Value> maps;
};
} // namespace

/// Why the copy engine cannot write `type`, or an empty string. It needs a
/// contiguous innermost dimension and a row stride of whole 16-byte units.
static std::string whyUnreachable(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || strides[1] != 1)
    return "its innermost stride is not 1";
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  if (ShapedType::isDynamic(strides[0]))
    return "its row stride is not known to be a multiple of 16 bytes";
  if (strides[0] * bytes % 16 != 0)
    return "its row stride of " + std::to_string(strides[0] * bytes) +
           " bytes is not a multiple of 16";
  if (offset != 0 && (ShapedType::isDynamic(offset) || offset * bytes % 16))
    return "its offset is not known to be a multiple of 16 bytes";
  return "";
}

/// The map of a kernel argument, made on first use.
FailureOr<Value> TensorMapCreator::getMap(Operation *user, Value memref,
                                          TensorMapType type) {
  auto argument = dyn_cast<BlockArgument>(memref);
  if (!argument || argument.getOwner() != &kernel.getBody().front())
    return user->emitOpError("copies from a memref that is not an argument of "
                             "its kernel, so the host cannot describe it");
  unsigned number = argument.getArgNumber();
  Value &map = maps[{number, type}];
  if (map)
    return map;
  for (gpu::LaunchFuncOp launch : launches) {
    OpBuilder b(launch);
    Value encoded = EncodeTensorMapOp::create(b, launch.getLoc(), type,
                                              launch.getKernelOperand(number));
    launch.getKernelOperandsMutable().append(encoded);
  }
  unsigned position = kernel.getNumArguments();
  FunctionType old = kernel.getFunctionType();
  SmallVector<Type> inputs(old.getInputs());
  inputs.push_back(type);
  kernel.setFunctionType(
      FunctionType::get(kernel.getContext(), inputs, old.getResults()));
  // Arguments of the function come before its shared-memory attributions.
  map = kernel.getBody().front().insertArgument(position, type, user->getLoc());
  return map;
}

/// Shared-memory swizzle for rows of `bytes` bytes: all of a row.
static int64_t getSwizzle(int64_t bytes) {
  return std::min<int64_t>(bytes, 128);
}

LogicalResult TensorMapCreator::convertPut(PutOp put) {
  for (auto [index, tile] :
       llvm::enumerate(put.getChannel().getType().getTiles())) {
    Value source = put.getSources()[index];
    if (isa<TensorMapType>(source.getType()))
      continue;
    auto type = TensorMapType::get(put.getContext(),
                                   std::min<int64_t>(tile.getDimSize(0), 256),
                                   tile.getDimSize(1), tile.getElementType(),
                                   getSwizzle(tile.getDimSize(1)));
    FailureOr<Value> map = getMap(put, source, type);
    if (failed(map))
      return failure();
    put.getSourcesMutable()[index].assign(*map);
  }
  return success();
}

LogicalResult TensorMapCreator::convertWrite(vector::TransferWriteOp write) {
  auto memrefType = dyn_cast<MemRefType>(write.getBase().getType());
  auto tile = cast<VectorType>(write.getValueToStore().getType());
  if (!memrefType || tile.getRank() != 2 ||
      !(tile.getElementType().isF32() || tile.getElementType().isBF16()))
    return success();
  if (std::string why = whyUnreachable(memrefType); !why.empty()) {
    remark::missed(write.getLoc(), remark::RemarkOpts::name("direct-store")
                                       .category("moss-create-tensor-maps"))
        << "the result is stored by the threads, which is slower than by the "
           "copy engine: " +
               why;
    return success();
  }
  int64_t cols = kStoreBoxRowBytes * 8 / tile.getElementTypeBitWidth();
  auto type = TensorMapType::get(write.getContext(), kStoreBoxRows, cols,
                                 tile.getElementType(), kStoreBoxRowBytes);
  FailureOr<Value> map = getMap(write, write.getBase(), type);
  if (failed(map))
    return failure();
  OpBuilder b(write);
  StoreTileOp::create(b, write.getLoc(), write.getValueToStore(), *map,
                      write.getIndices()[0], write.getIndices()[1]);
  write.erase();
  return success();
}

LogicalResult TensorMapCreator::run() {
  SmallVector<Operation *> users;
  kernel.walk([&](Operation *op) {
    if (isa<PutOp, vector::TransferWriteOp>(op))
      users.push_back(op);
  });
  for (Operation *user : users) {
    auto put = dyn_cast<PutOp>(user);
    if (failed(put ? convertPut(put)
                   : convertWrite(cast<vector::TransferWriteOp>(user))))
      return failure();
  }
  return success();
}

namespace {
struct CreateTensorMapsPass
    : moss::impl::MossCreateTensorMapsBase<CreateTensorMapsPass> {
  void runOnOperation() override {
    DenseMap<Operation *, SmallVector<gpu::LaunchFuncOp>> launches;
    SymbolTableCollection symbols;
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      launches[symbols.lookupNearestSymbolFrom(launch, launch.getKernel())]
          .push_back(launch);
    });
    SmallVector<gpu::GPUFuncOp> kernels;
    getOperation().walk([&](gpu::GPUFuncOp kernel) {
      bool hasChannel =
          kernel.walk([](PutOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
      if (hasChannel)
        kernels.push_back(kernel);
    });
    for (gpu::GPUFuncOp kernel : kernels)
      if (failed(TensorMapCreator(kernel, launches[kernel]).run()))
        return signalPassFailure();
  }
};
} // namespace
