//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stores of tiles: fragments into swizzled shared memory, and from there by the
// copy engine (moss.store_tile) or, where it cannot reach the destination, by
// the threads (vector.transfer_write). Each consumer owns kStoreBuffers boxes
// of 64 rows of 128 bytes and uses them in turn, so that the copy engine drains
// one while the next is filled, and past the end of the tile while the next
// tile is multiplied.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moss/Transforms/Target.h"

using namespace mlir;
using namespace mlir::moss;

namespace {

/// Emits the stores of one tile through boxes of shared memory. How a full box
/// gets to global memory is for the derived class to say.
class StoreEmitter {
public:
  StoreEmitter(ImplicitLocOpBuilder &b, Operation *op, VectorType tile,
               const DistributionContext &distribution)
      : b(b), op(op), distribution(distribution),
        layout(distribution.getLayout(tile)),
        elementType(tile.getElementType()) {}
  virtual ~StoreEmitter() = default;

  void emit(ValueRange fragments);

protected:
  Value i32(int64_t value) { return i32Constant(b, value); }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  }
  void emitForLeader(llvm::function_ref<void()> body);
  /// Let the thread that starts copies wait for all but the latest \p later.
  void awaitCopies(int64_t later) {
    emitForLeader([&] {
      NVVM::CpAsyncBulkWaitGroupOp::create(b, later, b.getUnitAttr());
    });
  }

  /// Make sure that the boxes to be filled have been read, but for a barrier
  /// that follows; all but the latest \p later stores must have.
  virtual void awaitBoxes(int64_t later) {}
  /// Make what was written to boxes visible to its reader, but for a barrier.
  virtual void publishBoxes() {}
  /// Store the box whose first element is at (row, col) of the tile.
  virtual void drainBox(Value box, Value row, Value col) = 0;

  ImplicitLocOpBuilder &b;
  Operation *op;
  const DistributionContext &distribution;
  FragmentLayout layout;
  Type elementType;

private:
  /// A thread's share of a box, and where in the tile the box begins.
  struct Box {
    Value row;
    int64_t col;
    ValueRange elements;
  };

  /// Store \p boxes through the buffers from number \p firstBuffer on.
  void emitBoxes(ArrayRef<Box> boxes, int64_t firstBuffer, int64_t later);
  Value getBoxBase();
  void fillBoxBF16(Value box, ArrayRef<Value> elements);
  void fillBoxF32(Value box, ArrayRef<Value> elements);
};

/// One thread lets the copy engine store each box.
class CopyEngineStore : public StoreEmitter {
public:
  CopyEngineStore(ImplicitLocOpBuilder &b, StoreTileOp op,
                  const DistributionContext &distribution)
      : StoreEmitter(b, op, cast<VectorType>(op.getTile().getType()),
                     distribution),
        map(op.getMap()), firstRow(toI32(op.getRow())),
        firstCol(toI32(op.getCol())) {}

private:
  void awaitBoxes(int64_t later) override { awaitCopies(later); }
  void publishBoxes() override;
  void drainBox(Value box, Value row, Value col) override;

  Value map, firstRow, firstCol;
};

/// All threads of the warpgroup store each box, 16 bytes at a time, and check
/// bounds.
class ThreadStore : public StoreEmitter {
public:
  ThreadStore(ImplicitLocOpBuilder &b, vector::TransferWriteOp op,
              const DistributionContext &distribution)
      : StoreEmitter(b, op, cast<VectorType>(op.getValueToStore().getType()),
                     distribution),
        write(op) {}

private:
  /// Threads are done with a box at a barrier, but the copy engine may still
  /// read those of another tile.
  void awaitBoxes(int64_t) override {
    if (distribution.storesTiles)
      awaitCopies(/*later=*/0);
  }
  void drainBox(Value box, Value row, Value col) override;
  void storeUnit(Value unit, Value box, Value row, Value col);
  void storeElements(ArrayRef<Value> elements, Value row, Value col,
                     bool isChecked);
  Value isInside(int64_t dim, Value index);

  vector::TransferWriteOp write;
};

} // namespace

//===----------------------------------------------------------------------===//
// StoreEmitter
//===----------------------------------------------------------------------===//

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

void StoreEmitter::emit(ValueRange fragments) {
  // A thread's elements of one box: half of the box's columns.
  int64_t perBox = getStoreBoxCols(elementType) / 2;
  SmallVector<Box> boxes;
  for (auto [wave, fragment] : llvm::enumerate(fragments)) {
    Value row = distribution.getWaveRow(b, layout, wave);
    auto elements = vector::ToElementsOp::create(b, fragment).getElements();
    for (int64_t first = 0; first < layout.getFragmentSize(); first += perBox)
      boxes.push_back({row, 2 * first, elements.slice(first, perBox)});
  }
  int64_t count = boxes.size();
  // Every tile ends on the last buffer, so that the next one knows where those
  // in use are. Boxes that have a buffer each are filled and stored together,
  // between two barriers.
  if (count <= kStoreBuffers)
    return emitBoxes(boxes, kStoreBuffers - count, /*later=*/0);
  // The first round skips `shift` buffers, which those before it did not.
  int64_t shift = (kStoreBuffers - count % kStoreBuffers) % kStoreBuffers;
  for (int64_t i = 0; i < count; ++i)
    emitBoxes(boxes[i], (i + shift) % kStoreBuffers,
              kStoreBuffers - 1 - (i + shift < kStoreBuffers ? shift : 0));
}

void StoreEmitter::emitBoxes(ArrayRef<Box> boxes, int64_t firstBuffer,
                             int64_t later) {
  SmallVector<Value> buffers;
  for (size_t i = 0; i < boxes.size(); ++i)
    buffers.push_back(
        offsetPointer(b, getBoxBase(),
                      (firstBuffer + i) * kStoreBoxRows * kStoreBoxRowBytes));
  awaitBoxes(later);
  distribution.emitBarrier(b);
  for (auto [box, buffer] : llvm::zip(boxes, buffers)) {
    SmallVector<Value> elements(box.elements);
    if (elementType.isF32())
      fillBoxF32(buffer, elements);
    else
      fillBoxBF16(buffer, elements);
  }
  publishBoxes();
  distribution.emitBarrier(b);
  for (auto [box, buffer] : llvm::zip(boxes, buffers))
    drainBox(buffer, box.row, i32(box.col));
}

//===----------------------------------------------------------------------===//
// CopyEngineStore
//===----------------------------------------------------------------------===//

void CopyEngineStore::publishBoxes() {
  auto space =
      NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  NVVM::FenceProxyOp::create(b, NVVM::ProxyKind::async_shared, space);
}

void CopyEngineStore::drainBox(Value box, Value row, Value col) {
  row = arith::AddIOp::create(b, firstRow, row);
  col = arith::AddIOp::create(b, firstCol, col);
  emitForLeader([&] {
    Value pointer =
        UnrealizedConversionCastOp::create(
            b, LLVM::LLVMPointerType::get(b.getContext()), ValueRange{map})
            .getResult(0);
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
        b, pointer, box, ValueRange{col, row}, Value(),
        NVVM::TMAStoreMode::TILE, Value());
    NVVM::CpAsyncBulkCommitGroupOp::create(b);
  });
}

//===----------------------------------------------------------------------===//
// ThreadStore
//===----------------------------------------------------------------------===//

/// Bytes that a thread moves at a time, the unit of the boxes' swizzle.
static constexpr int64_t kUnitBytes = 16;

void ThreadStore::drainBox(Value box, Value row, Value col) {
  int64_t units = kStoreBoxRows * kStoreBoxRowBytes / kUnitBytes;
  auto loop =
      scf::ForOp::create(b, distribution.position.thread, i32(units), i32(128));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  storeUnit(loop.getInductionVar(), box, row, col);
}

/// Whether \p index is inside dimension \p dim; null if it is known to be.
Value ThreadStore::isInside(int64_t dim, Value index) {
  if (write.isDimInBounds(dim))
    return {};
  Value extent = memref::DimOp::create(b, write.getBase(), dim);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, extent);
}

/// Store unit \p unit of the box, counted along its rows of 8 units.
void ThreadStore::storeUnit(Value unit, Value box, Value row, Value col) {
  int64_t count = kUnitBytes * 8 / elementType.getIntOrFloatBitWidth();
  Value unitRow = arith::ShRUIOp::create(b, unit, i32(3));
  Value chunk = arith::AndIOp::create(b, unit, i32(7));
  Value swizzled = arith::XOrIOp::create(
      b, chunk, arith::AndIOp::create(b, unitRow, i32(7)));
  Value offset = arith::AddIOp::create(
      b, arith::MulIOp::create(b, unitRow, i32(kStoreBoxRowBytes)),
      arith::MulIOp::create(b, swizzled, i32(kUnitBytes)));
  Value loaded = LLVM::LoadOp::create(b, VectorType::get({count}, elementType),
                                      offsetPointer(b, box, offset),
                                      /*alignment=*/kUnitBytes);
  SmallVector<Value> elements(
      vector::ToElementsOp::create(b, loaded).getElements());

  auto toGlobal = [&](int64_t dim, Value first, Value within) -> Value {
    Value index = arith::IndexCastOp::create(
        b, b.getIndexType(), arith::AddIOp::create(b, first, within));
    return arith::AddIOp::create(b, write.getIndices()[dim], index);
  };
  Value globalRow = toGlobal(0, row, unitRow);
  Value globalCol =
      toGlobal(1, col, arith::MulIOp::create(b, chunk, i32(count)));
  OpBuilder::InsertionGuard guard(b);
  if (Value inside = isInside(0, globalRow)) {
    auto branch = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  Value last = arith::AddIOp::create(
      b, globalCol, arith::ConstantIndexOp::create(b, count - 1));
  Value whole = isInside(1, last);
  if (!whole)
    return storeElements(elements, globalRow, globalCol, /*isChecked=*/false);
  auto branch = scf::IfOp::create(b, whole, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  storeElements(elements, globalRow, globalCol, /*isChecked=*/false);
  b.setInsertionPointToStart(branch.elseBlock());
  storeElements(elements, globalRow, globalCol, /*isChecked=*/true);
}

/// Store consecutive elements of a row, each only if it is inside when
/// \p isChecked.
void ThreadStore::storeElements(ArrayRef<Value> elements, Value row, Value col,
                                bool isChecked) {
  for (auto [i, element] : llvm::enumerate(elements)) {
    Value index =
        arith::AddIOp::create(b, col, arith::ConstantIndexOp::create(b, i));
    OpBuilder::InsertionGuard guard(b);
    if (isChecked) {
      auto branch = scf::IfOp::create(b, isInside(1, index),
                                      /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    memref::StoreOp::create(b, element, write.getBase(),
                            ValueRange{row, index});
  }
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
struct DistributeStoreTile : DistributePattern<StoreTileOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(StoreTileOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    CopyEngineStore(b, op, distribution).emit(adaptor.getTile());
    rewriter.eraseOp(op);
    return success();
  }
};

struct DistributeWrite : DistributePattern<vector::TransferWriteOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(vector::TransferWriteOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto tile = cast<VectorType>(op.getValueToStore().getType());
    Type elementType = tile.getElementType();
    if (!isPlainTransfer(op) ||
        !(elementType.isF32() || elementType.isBF16()) ||
        tile.getDimSize(1) % getStoreBoxCols(elementType) != 0)
      return rewriter.notifyMatchFailure(
          op, "not an unmasked f32 or bf16 tile of whole boxes in 2-D memory");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    ThreadStore(b, op, distribution).emit(adaptor.getValueToStore());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

void moss::populateDistributeStorePatterns(const TypeConverter &converter,
                                           const DistributionContext &context,
                                           RewritePatternSet &patterns) {
  MLIRContext *mlirContext = patterns.getContext();
  patterns.add<DistributeStoreTile>(converter, mlirContext, context);
  // Before the store of single elements.
  patterns.add<DistributeWrite>(converter, mlirContext, context, /*benefit=*/2);
}
