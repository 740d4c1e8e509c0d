//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss.store_tile -> fragments into swizzled shared memory, and from there by
// the copy engine. Each consumer owns kStoreBuffers boxes of 64 rows of 128
// bytes and uses them in turn, so that a store drains while the next box is
// filled, and past the end of the tile while the next tile is multiplied.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moss/Transforms/Target.h"

using namespace mlir;
using namespace mlir::moss;

namespace {

/// Emits the stores of one op.
class StoreEmitter {
public:
  StoreEmitter(ImplicitLocOpBuilder &b, StoreTileOp op,
               const DistributionContext &distribution)
      : b(b), op(op), distribution(distribution),
        layout(distribution.getLayout(op.getTile().getType())),
        elementType(cast<VectorType>(op.getTile().getType()).getElementType()) {
  }

  void emit(ValueRange fragments);

private:
  Value i32(int64_t value) { return i32Constant(b, value); }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  }
  Value getBoxBase();
  void emitForLeader(llvm::function_ref<void()> body);
  void emitBarrier();
  void fillBoxBF16(Value box, ArrayRef<Value> elements);
  void fillBoxF32(Value box, ArrayRef<Value> elements);
  void storeBox(Value box, Value row, Value col);

  ImplicitLocOpBuilder &b;
  StoreTileOp op;
  const DistributionContext &distribution;
  FragmentLayout layout;
  Type elementType;
};

} // namespace

/// Base of this consumer's boxes.
Value StoreEmitter::getBoxBase() {
  auto roles = op->getParentOfType<WarpSpecializeOp>();
  int64_t offset = 0;
  roles->getParentOp()->walk([&](ChannelOp channel) {
    offset = getSharedMemoryLayout(channel.getChannel().getType(),
                                   distribution.consumers)
                 .outputOffset;
  });
  Value bytes = arith::MulIOp::create(
      b, distribution.position.consumer,
      i32(kStoreBuffers * kStoreBoxRows * kStoreBoxRowBytes));
  Value base = offsetPointer(b, getSharedMemoryBase(b), offset);
  return offsetPointer(b, base, bytes);
}

/// Run `body` in one thread of the warpgroup.
void StoreEmitter::emitForLeader(llvm::function_ref<void()> body) {
  Value isLeader = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         distribution.position.thread, i32(0));
  auto branch = scf::IfOp::create(b, isLeader, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// A barrier of this warpgroup alone: ids from 1, one per consumer.
void StoreEmitter::emitBarrier() {
  Value id = arith::AddIOp::create(b, distribution.position.consumer, i32(1));
  NVVM::BarrierOp::create(b, Type(), id, i32(128), NVVM::BarrierReductionAttr(),
                          Value());
}

/// 64 x 64 bf16 by stmatrix: each instruction stores 16 rows of 16 columns of
/// a warp, as four 8 x 8 matrices. Lane l gives the address of row l % 8 of
/// matrix l / 8; 16-byte chunk c of row r is at chunk c xor (r % 8).
void StoreEmitter::fillBoxBF16(Value box, ArrayRef<Value> elements) {
  const ThreadPosition &position = distribution.position;
  Value matrix = arith::ShRUIOp::create(b, position.lane, i32(3));
  Value rowInMatrix = arith::AndIOp::create(b, position.lane, i32(7));
  Value lower = arith::AndIOp::create(b, matrix, i32(1));
  Value right = arith::ShRUIOp::create(b, matrix, i32(1));
  Value warp = arith::ShRUIOp::create(b, position.thread, i32(5));
  Value row = arith::AddIOp::create(
      b, arith::MulIOp::create(b, warp, i32(16)),
      arith::AddIOp::create(b, arith::MulIOp::create(b, lower, i32(8)),
                            rowInMatrix));
  Value rowBytes = arith::MulIOp::create(b, row, i32(kStoreBoxRowBytes));
  for (size_t i = 0; i < elements.size(); i += 8) {
    Value chunk = arith::AddIOp::create(b, right, i32(i / 4));
    chunk = arith::XOrIOp::create(b, chunk, rowInMatrix);
    Value offset = arith::AddIOp::create(
        b, rowBytes, arith::MulIOp::create(b, chunk, i32(16)));
    SmallVector<Value> registers;
    for (size_t j = i; j < i + 8; j += 2) {
      Value pair = vector::FromElementsOp::create(
          b, VectorType::get({2}, elementType),
          ValueRange{elements[j], elements[j + 1]});
      registers.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), pair));
    }
    NVVM::StMatrixOp::create(
        b, offsetPointer(b, box, offset), registers, NVVM::MMALayout::row,
        NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8),
        NVVM::LdStMatrixEltType::B16);
  }
}

/// 64 x 32 f32 by 8-byte stores, with the same swizzle.
void StoreEmitter::fillBoxF32(Value box, ArrayRef<Value> elements) {
  const ThreadPosition &position = distribution.position;
  Value swizzle = arith::AndIOp::create(b, position.row, i32(7));
  auto pairType = VectorType::get({2}, elementType);
  // Bytes of the thread's first column within its 8 columns, two chunks.
  Value colBytes = arith::MulIOp::create(b, position.col, i32(4));
  Value firstChunk = arith::ShRUIOp::create(b, colBytes, i32(4));
  Value inChunk = arith::AndIOp::create(b, colBytes, i32(15));
  for (size_t i = 0; i < elements.size(); i += 2) {
    Value row = arith::AddIOp::create(b, position.row, i32(8 * ((i / 2) % 2)));
    Value chunk = arith::AddIOp::create(b, firstChunk, i32(2 * (i / 4)));
    chunk = arith::XOrIOp::create(b, chunk, swizzle);
    Value offset = arith::AddIOp::create(
        b, arith::MulIOp::create(b, row, i32(kStoreBoxRowBytes)),
        arith::AddIOp::create(b, arith::MulIOp::create(b, chunk, i32(16)),
                              inChunk));
    Value pair = vector::FromElementsOp::create(
        b, pairType, ValueRange{elements[i], elements[i + 1]});
    LLVM::StoreOp::create(b, pair, offsetPointer(b, box, offset));
  }
}

void StoreEmitter::storeBox(Value box, Value row, Value col) {
  Value map = UnrealizedConversionCastOp::create(
                  b, LLVM::LLVMPointerType::get(b.getContext()),
                  ValueRange{op.getMap()})
                  .getResult(0);
  NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
      b, map, box, ValueRange{col, row}, Value(), NVVM::TMAStoreMode::TILE,
      Value());
  NVVM::CpAsyncBulkCommitGroupOp::create(b);
}

void StoreEmitter::emit(ValueRange fragments) {
  Value base = getBoxBase();
  Value firstRow = toI32(op.getRow()), firstCol = toI32(op.getCol());
  int64_t boxCols = op.getMap().getType().getBoxCols();
  // A thread's elements of one box: half of the box's columns.
  int64_t perBox = boxCols / 2;
  auto space =
      NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  // Every tile ends on the last buffer, so that the next one knows where those
  // in use are.
  int64_t boxes = fragments.size() * layout.getFragmentSize() / perBox;
  int64_t shift = (kStoreBuffers - boxes % kStoreBuffers) % kStoreBuffers;
  int64_t count = 0;
  for (auto [wave, fragment] : llvm::enumerate(fragments)) {
    Value row = arith::AddIOp::create(b, firstRow,
                                      distribution.getWaveRow(b, layout, wave));
    SmallVector<Value> elements(
        vector::ToElementsOp::create(b, fragment).getElements());
    for (int64_t first = 0; first < layout.getFragmentSize();
         first += perBox, ++count) {
      Value box = offsetPointer(b, base,
                                (count + shift) % kStoreBuffers *
                                    kStoreBoxRows * kStoreBoxRowBytes);
      // The store that used this box must have read it; later ones need not.
      // The first round skips `shift` boxes, which those before it did not.
      int64_t later = kStoreBuffers - 1;
      if (count + shift < kStoreBuffers)
        later -= shift;
      emitForLeader([&] {
        NVVM::CpAsyncBulkWaitGroupOp::create(b, later, b.getUnitAttr());
      });
      emitBarrier();
      ArrayRef<Value> part = ArrayRef(elements).slice(first, perBox);
      if (elementType.isF32())
        fillBoxF32(box, part);
      else
        fillBoxBF16(box, part);
      NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_shared, space);
      emitBarrier();
      Value col = arith::AddIOp::create(b, firstCol, i32(2 * first));
      emitForLeader([&] { storeBox(box, row, col); });
    }
  }
}

namespace {
struct DistributeStoreTile : DistributePattern<StoreTileOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(StoreTileOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    StoreEmitter(b, op, distribution).emit(adaptor.getTile());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void moss::populateDistributeStorePatterns(const TypeConverter &converter,
                                           const DistributionContext &context,
                                           RewritePatternSet &patterns) {
  patterns.add<DistributeStoreTile>(converter, patterns.getContext(), context);
}
