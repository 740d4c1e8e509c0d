//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransposeTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::moss;

/// Enough blocks to fill the largest GPU several times over; beyond that, more
/// work per block beats more blocks.
static constexpr int64_t kMaxBlocks = 2048;

/// The extents of a tile, in elements.
static constexpr int64_t kTile = 64;

static Value createIndex(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

Value moss::createCeilDiv(ImplicitLocOpBuilder &b, Value x, int64_t divisor) {
  Value padded = arith::AddIOp::create(b, x, createIndex(b, divisor - 1));
  return arith::DivUIOp::create(b, padded, createIndex(b, divisor));
}

MemRefType moss::getSharedType(OpBuilder &b, ArrayRef<int64_t> shape,
                               Type elementType) {
  auto space = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  return MemRefType::get(shape, elementType, MemRefLayoutAttrInterface(),
                         space);
}

void moss::createKernel(ImplicitLocOpBuilder &b, StringRef name, Value blocks,
                        TypeRange shared, function_ref<void(Kernel)> body) {
  Value one = createIndex(b, 1);
  Value atMost = arith::MinUIOp::create(b, blocks, createIndex(b, kMaxBlocks));
  Value grid = arith::MaxUIOp::create(b, atMost, one);
  auto launch = gpu::LaunchOp::create(
      b, grid, one, one, createIndex(b, kBlockSize), one, one,
      /*dynamicSharedMemorySize=*/Value(), /*asyncTokenType=*/Type(),
      /*asyncDependencies=*/ValueRange(), shared);
  launch.setFunctionAttr(FlatSymbolRefAttr::get(b.getContext(), name));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&launch.getBody().front());
  Value thread = launch.getThreadIds().x;
  Value warpSize = createIndex(b, kWarpSize);
  Kernel kernel{launch.getBlockIds().x,
                launch.getGridSize().x,
                thread,
                arith::RemUIOp::create(b, thread, warpSize),
                arith::DivUIOp::create(b, thread, warpSize),
                {}};
  llvm::append_range(kernel.shared, launch.getWorkgroupAttributions());
  body(kernel);
  gpu::TerminatorOp::create(b);
}

//===----------------------------------------------------------------------===//
// Vector accesses
//===----------------------------------------------------------------------===//

static int64_t getBytes(Value memref) {
  return getElementBytes(getElementTypeOrSelf(memref.getType()));
}

int64_t moss::getVectorWidth(ArrayRef<Value> memrefs) {
  int64_t bytes = 1;
  for (Value memref : memrefs) {
    if (!cast<MemRefType>(memref.getType()).isLastDimUnitStride())
      return 1;
    bytes = std::max(bytes, getBytes(memref));
  }
  return 16 / bytes;
}

Value moss::createIsAligned(ImplicitLocOpBuilder &b, ArrayRef<Value> memrefs,
                            int64_t width) {
  // The disjunction of all that must be a multiple of something.
  Value misaligned;
  auto require = [&](Value x, int64_t factor) {
    // A factor is a power of two.
    Value rest = arith::AndIOp::create(b, x, createIndex(b, factor - 1));
    misaligned = misaligned
                     ? arith::OrIOp::create(b, misaligned, rest).getResult()
                     : rest;
  };
  for (Value memref : memrefs) {
    auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
    require(metadata.getStrides()[0], width);
    require(metadata.getOffset(), width);
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
    require(address, width * getBytes(memref));
  }
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, misaligned,
                               createIndex(b, 0));
}

//===----------------------------------------------------------------------===//
// Transposition
//===----------------------------------------------------------------------===//

namespace {
/// Emits the kernel: a block reads a tile along the rows of the source, and
/// writes it along the rows of the destination.
class TransposeEmitter {
public:
  TransposeEmitter(ImplicitLocOpBuilder &b, Value source, Value destination)
      : b(b), source(source), destination(destination),
        readWidth(getVectorWidth(source)),
        writeWidth(getVectorWidth({source, destination})) {}

  void emit(StringRef name, function_ref<Value(Value)> convert,
            function_ref<void(Kernel)> prologue, function_ref<void()> epilogue,
            TypeRange otherShared);

private:
  Value index(int64_t value) { return createIndex(b, value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value isBelow(Value x, Value bound) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, bound);
  }
  void when(Value condition, function_ref<void()> then,
            function_ref<void()> otherwise = nullptr);
  void forEachChunk(int64_t width, function_ref<void(Value, Value)> body);
  void accessChunk(Value begin, int64_t width, Value bound, Value isAligned,
                   function_ref<void()> whole,
                   function_ref<void(int64_t, Value)> single);
  void readTile(Value k0, Value i0);
  void writeTile(Value k0, Value i0, function_ref<Value(Value)> convert);

  ImplicitLocOpBuilder &b;
  Value source, destination;
  int64_t readWidth, writeWidth;
  Value isReadAligned, isWriteAligned;
  Value outer, depth, thread, tile;
};
} // namespace

void TransposeEmitter::when(Value condition, function_ref<void()> then,
                            function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(b, condition, static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  then();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}

/// This thread's chunks of a tile, of `width` elements along a row each. `body`
/// gets the row and the column in the tile.
void TransposeEmitter::forEachChunk(int64_t width,
                                    function_ref<void(Value, Value)> body) {
  int64_t perRow = kTile / width;
  auto loop =
      scf::ForOp::create(b, thread, index(kTile * perRow), index(kBlockSize));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value chunk = loop.getInductionVar();
  Value row = arith::DivUIOp::create(b, chunk, index(perRow));
  Value position = arith::RemUIOp::create(b, chunk, index(perRow));
  body(row, arith::MulIOp::create(b, position, index(width)));
}

/// Access a chunk from `begin` on as a whole if it is aligned and within the
/// bound, and otherwise each of its elements that is.
void TransposeEmitter::accessChunk(Value begin, int64_t width, Value bound,
                                   Value isAligned, function_ref<void()> whole,
                                   function_ref<void(int64_t, Value)> single) {
  auto singly = [&] {
    for (int64_t c = 0; c < width; ++c) {
      Value position = add(begin, index(c));
      when(isBelow(position, bound), [&] { single(c, position); });
    }
  };
  if (width == 1)
    return singly();
  Value isInside = isBelow(add(begin, index(width - 1)), bound);
  when(arith::AndIOp::create(b, isAligned, isInside), whole, singly);
}

void TransposeEmitter::readTile(Value k0, Value i0) {
  forEachChunk(readWidth, [&](Value row, Value column) {
    Value k = add(k0, row), i = add(i0, column);
    auto put = [&](int64_t c, Value x) {
      memref::StoreOp::create(b, x, tile, {row, add(column, index(c))});
    };
    auto whole = [&] {
      auto type =
          VectorType::get(readWidth, getElementTypeOrSelf(source.getType()));
      Value chunk =
          vector::LoadOp::create(b, type, source, {k, i},
                                 /*nontemporal=*/false, llvm::Align(16));
      for (int64_t c = 0; c < readWidth; ++c)
        put(c, vector::ExtractOp::create(b, chunk, c));
    };
    auto single = [&](int64_t c, Value position) {
      put(c, memref::LoadOp::create(b, source, {k, position}));
    };
    when(isBelow(k, depth), [&] {
      accessChunk(i, readWidth, outer, isReadAligned, whole, single);
    });
  });
}

void TransposeEmitter::writeTile(Value k0, Value i0,
                                 function_ref<Value(Value)> convert) {
  forEachChunk(writeWidth, [&](Value row, Value column) {
    Value i = add(i0, row), k = add(k0, column);
    auto get = [&](int64_t c) -> Value {
      return memref::LoadOp::create(b, tile, {add(column, index(c)), row});
    };
    auto whole = [&] {
      SmallVector<Value> elements;
      for (int64_t c = 0; c < writeWidth; ++c)
        elements.push_back(get(c));
      auto type = VectorType::get(writeWidth, elements.front().getType());
      Value chunk = vector::FromElementsOp::create(b, type, elements);
      int64_t bytes = writeWidth * getBytes(destination);
      vector::StoreOp::create(b, convert(chunk), destination, {i, k},
                              /*nontemporal=*/false, llvm::Align(bytes));
    };
    auto single = [&](int64_t c, Value position) {
      memref::StoreOp::create(b, convert(get(c)), destination, {i, position});
    };
    when(isBelow(i, outer), [&] {
      accessChunk(k, writeWidth, depth, isWriteAligned, whole, single);
    });
  });
}

void TransposeEmitter::emit(StringRef name, function_ref<Value(Value)> convert,
                            function_ref<void(Kernel)> prologue,
                            function_ref<void()> epilogue,
                            TypeRange otherShared) {
  depth = b.createOrFold<memref::DimOp>(source, 0);
  outer = b.createOrFold<memref::DimOp>(source, 1);
  isReadAligned = createIsAligned(b, source, readWidth);
  isWriteAligned = createIsAligned(b, destination, writeWidth);
  Value columns = createCeilDiv(b, depth, kTile);
  Value tiles =
      arith::MulIOp::create(b, createCeilDiv(b, outer, kTile), columns);
  // One element of padding spreads a column over the banks.
  SmallVector<Type> shared{getSharedType(
      b, {kTile, kTile + 1}, getElementTypeOrSelf(source.getType()))};
  llvm::append_range(shared, otherShared);
  createKernel(b, name, tiles, shared, [&](Kernel kernel) {
    thread = kernel.thread;
    tile = kernel.shared.front();
    prologue(kernel);
    auto loop = scf::ForOp::create(b, kernel.block, tiles, kernel.blocks);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Value row = arith::DivUIOp::create(b, number, columns);
    Value column = arith::RemUIOp::create(b, number, columns);
    Value i0 = arith::MulIOp::create(b, row, index(kTile));
    Value k0 = arith::MulIOp::create(b, column, index(kTile));
    readTile(k0, i0);
    gpu::BarrierOp::create(b);
    writeTile(k0, i0, convert);
    // The next tile overwrites this one.
    gpu::BarrierOp::create(b);
    b.setInsertionPointAfter(loop);
    epilogue();
  });
}

void moss::createTransposeKernel(ImplicitLocOpBuilder &b, StringRef name,
                                 Value source, Value destination,
                                 function_ref<Value(Value)> convert,
                                 function_ref<void(Kernel)> prologue,
                                 function_ref<void()> epilogue,
                                 TypeRange shared) {
  TransposeEmitter(b, source, destination)
      .emit(name, convert, prologue, epilogue, shared);
}
