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
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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
  bool isArgument(Value memref);
  Value getMap(Value memref, TensorMapType type,
               memref::TransposeOp transpose = {});
  LogicalResult convertPut(PutOp put);
  void convertWrite(vector::TransferWriteOp write);
  std::string whyNotByEngine(vector::TransferWriteOp write);

  gpu::GPUFuncOp kernel;
  ArrayRef<gpu::LaunchFuncOp> launches;
  /// Maps made so far, by the kernel argument they describe and their type.
  DenseMap<std::pair<unsigned, Type>, Value> maps;
};
} // namespace

/// Why the copy engine certainly cannot reach `type`, or an empty string. It
/// needs a contiguous innermost dimension and a row stride of whole 16-byte
/// units.
static std::string whyImpossible(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getRank() != 2 || failed(type.getStridesAndOffset(strides, offset)))
    return "it is not a strided matrix";
  if (strides[1] != 1)
    return "its innermost stride is not 1";
  if (type.getMemorySpace())
    return "it is not in global memory";
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  if (!ShapedType::isDynamic(strides[0]) && strides[0] * bytes % 16 != 0)
    return "its row stride of " + std::to_string(strides[0] * bytes) +
           " bytes is not a multiple of 16";
  return "";
}

/// Why the copy engine is not known to reach `type`, or an empty string.
static std::string whyUnreachable(MemRefType type) {
  if (std::string why = whyImpossible(type); !why.empty())
    return why;
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  if (ShapedType::isDynamic(strides[0]))
    return "its row stride is not known to be a multiple of 16 bytes";
  if (offset != 0 && (ShapedType::isDynamic(offset) || offset * bytes % 16))
    return "its offset is not known to be a multiple of 16 bytes";
  return "";
}

/// Whether the host knows `memref`: it is an argument of the kernel.
bool TensorMapCreator::isArgument(Value memref) {
  return llvm::is_contained(kernel.getArguments(), memref);
}

/// The map of a kernel argument, which `transpose` reads if it is not null,
/// made on first use.
Value TensorMapCreator::getMap(Value memref, TensorMapType type,
                               memref::TransposeOp transpose) {
  unsigned number = cast<BlockArgument>(memref).getArgNumber();
  Value &map = maps[{number, type}];
  if (map)
    return map;
  for (gpu::LaunchFuncOp launch : launches) {
    OpBuilder b(launch);
    Value source = launch.getKernelOperand(number);
    if (transpose)
      source = memref::TransposeOp::create(b, launch.getLoc(), source,
                                           transpose.getPermutationAttr());
    Value encoded = EncodeTensorMapOp::create(b, launch.getLoc(), type, source);
    launch.getKernelOperandsMutable().append(encoded);
  }
  // Arguments of the function come before its shared-memory attributions. A
  // kernel has no results, so that its type cannot be refused.
  unsigned position = kernel.getNumArguments();
  (void)kernel.insertArgument(position, type, DictionaryAttr(),
                              memref.getLoc());
  map = kernel.getArgument(position);
  return map;
}

/// The map that fills a slot with `tile`: scales as they are, and operands in
/// as few boxes of equal height as the engine's limit of 256 rows allows,
/// swizzled over whole rows.
static TensorMapType getTileMap(VectorType tile) {
  if (isScaleTile(tile))
    return TensorMapType::get(tile.getContext(), tile.getDimSize(0),
                              tile.getDimSize(1), tile.getElementType(),
                              /*swizzle=*/0);
  int64_t rows = tile.getDimSize(0);
  return TensorMapType::get(
      tile.getContext(), rows / llvm::divideCeil(rows, 256), tile.getDimSize(1),
      tile.getElementType(), getTileRowBytes(tile));
}

/// Whether the engine can fill a slot with `tile` from `source`; emits an error
/// if not.
static LogicalResult checkCopy(PutOp put, VectorType tile, MemRefType source) {
  int64_t rows = tile.getDimSize(0), rowBytes = getTileRowBytes(tile);
  if (std::string why = whyImpossible(source); !why.empty())
    return put.emitOpError("copies from ")
           << source << ", which the copy engine cannot reach: " << why;
  if (isScaleTile(tile)) {
    // One box, which the type of its map verifies.
    if (rows > 256 || tile.getDimSize(1) > 256 || rowBytes % 16 != 0)
      return put.emitOpError("copies scales as ")
             << tile
             << ", but a box has at most 256 rows and columns, and rows of "
                "whole units of 16 bytes";
    return success();
  }
  if (rowBytes != 32 && rowBytes != 64 && rowBytes != 128)
    return put.emitOpError("copies tiles with rows of ")
           << rowBytes
           << " bytes, but shared-memory swizzles know rows of 32, 64 and 128";
  // The swizzle repeats after 8 rows.
  if (rows % (8 * llvm::divideCeil(rows, 256)) != 0)
    return put.emitOpError("copies tiles of ")
           << rows << " rows, which do not divide into boxes of at most 256 "
           << "rows, a multiple of 8";
  return success();
}

LogicalResult TensorMapCreator::convertPut(PutOp put) {
  for (auto [index, tile] :
       llvm::enumerate(put.getChannel().getType().getTiles())) {
    Value source = put.getSources()[index];
    if (isa<TensorMapType>(source.getType()))
      continue;
    if (failed(checkCopy(put, tile, cast<MemRefType>(source.getType()))))
      return failure();
    // The host transposes what the kernel would: it moves nothing.
    auto transpose = source.getDefiningOp<memref::TransposeOp>();
    if (transpose)
      source = transpose.getIn();
    if (!isArgument(source))
      return put.emitOpError("copies from a memref that is not an argument of "
                             "its kernel, so the host cannot describe it");
    put.getSourcesMutable()[index].assign(
        getMap(source, getTileMap(tile), transpose));
  }
  return success();
}

/// The map of boxes in which a consumer stores a tile of `elementType`.
static TensorMapType getStoreMap(Type elementType) {
  int64_t cols = getStoreBoxCols(elementType);
  return TensorMapType::get(elementType.getContext(), kStoreBoxRows, cols,
                            elementType, kStoreBoxRowBytes);
}

/// Why the threads must do `write` themselves, or an empty string.
std::string TensorMapCreator::whyNotByEngine(vector::TransferWriteOp write) {
  auto type = dyn_cast<MemRefType>(write.getBase().getType());
  auto tile = cast<VectorType>(write.getValueToStore().getType());
  if (!type || tile.getRank() != 2 || write.getMask() ||
      !write.getPermutationMap().isIdentity())
    return "it is not a plain write of a tile to a matrix";
  if (!tile.getElementType().isF32() && !tile.getElementType().isBF16())
    return "its elements are neither f32 nor bf16";
  TensorMapType map = getStoreMap(tile.getElementType());
  if (tile.getDimSize(0) % map.getBoxRows() != 0 ||
      tile.getDimSize(1) % map.getBoxCols() != 0)
    return "its tile is not a whole number of boxes of " +
           std::to_string(map.getBoxRows()) + " x " +
           std::to_string(map.getBoxCols());
  if (!isArgument(write.getBase()))
    return "its destination is not an argument of the kernel";
  return whyUnreachable(type);
}

void TensorMapCreator::convertWrite(vector::TransferWriteOp write) {
  if (std::string why = whyNotByEngine(write); !why.empty()) {
    remark::missed(write.getLoc(), remark::RemarkOpts::name("direct-store")
                                       .category("moss-create-tensor-maps"))
        << "the result is stored by the threads, which is slower than by the "
           "copy engine: " +
               why;
    return;
  }
  Value tile = write.getValueToStore();
  Type elementType = cast<VectorType>(tile.getType()).getElementType();
  OpBuilder b(write);
  StoreTileOp::create(b, write.getLoc(), tile,
                      getMap(write.getBase(), getStoreMap(elementType)),
                      write.getIndices()[0], write.getIndices()[1]);
  write.erase();
}

LogicalResult TensorMapCreator::run() {
  SmallVector<Operation *> users;
  kernel.walk([&](Operation *op) {
    if (isa<PutOp, vector::TransferWriteOp>(op))
      users.push_back(op);
  });
  for (Operation *user : users) {
    if (auto write = dyn_cast<vector::TransferWriteOp>(user))
      convertWrite(write);
    else if (failed(convertPut(cast<PutOp>(user))))
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
