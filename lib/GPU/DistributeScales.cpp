//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss.load_scales -> loads by the threads themselves; moss.read_scales ->
// loads from a slot in shared memory.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "ScaleTiles.h"
#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::moss;

static int64_t getNumPositions(LoadScalesOp op) {
  return cast<VectorType>(op.getType()).getNumElements();
}

bool moss::isMultipleOf(Value value, int64_t divisor) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant % divisor == 0;
  if (scf::ForallOp forall = scf::getForallOpThreadIndexOwner(value))
    for (auto [iv, lower, step] :
         llvm::zip_equal(forall.getInductionVars(), forall.getMixedLowerBound(),
                         forall.getMixedStep()))
      if (iv == value)
        return isZeroInteger(lower) &&
               getConstantIntValue(step).value_or(1) % divisor == 0;
  auto product = value.getDefiningOp<arith::MulIOp>();
  return product && (isMultipleOf(product.getLhs(), divisor) ||
                     isMultipleOf(product.getRhs(), divisor));
}

bool moss::readsOneGroup(LoadScalesOp load) {
  int64_t group = load.getGroupOuter(), size = getNumPositions(load);
  return group != 0 && group % size == 0 && isMultipleOf(load.getOuter(), size);
}

/// The group along K of position `op.getK()`.
static Value getGroupAlongK(ImplicitLocOpBuilder &b, LoadScalesOp op) {
  if (op.getGroupK() == 0)
    return indexConstant(b, 0);
  return arith::DivUIOp::create(b, op.getK(), indexConstant(b, op.getGroupK()));
}

/// The scale of position `offset` of the tile, in group `groupK`. Past the
/// bound any scale will do, so the last one does.
static Value loadScale(ImplicitLocOpBuilder &b, LoadScalesOp op, Value offset,
                       Value groupK) {
  Value outer = arith::AddIOp::create(b, op.getOuter(), offset);
  int64_t size = getNumPositions(op);
  if (!isMultipleOf(op.getOuter(), size) || !isMultipleOf(op.getBound(), size))
    outer = arith::MinUIOp::create(
        b, outer, arith::SubIOp::create(b, op.getBound(), indexConstant(b, 1)));
  if (op.getGroupOuter() == 0)
    outer = indexConstant(b, 0);
  else if (op.getGroupOuter() > 1)
    outer =
        arith::DivUIOp::create(b, outer, indexConstant(b, op.getGroupOuter()));
  return memref::LoadOp::create(b, op.getSource(), ValueRange{outer, groupK});
}

//===----------------------------------------------------------------------===//
// Pattern
//===----------------------------------------------------------------------===//

namespace {
struct DistributeLoadScales : DistributePattern<LoadScalesOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(LoadScalesOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> fragments =
        readsOneGroup(op) ? loadOne(b, op) : loadEach(b, op);
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }

private:
  SmallVector<Value> loadOne(ImplicitLocOpBuilder &b, LoadScalesOp op) const;
  SmallVector<Value> loadEach(ImplicitLocOpBuilder &b, LoadScalesOp op) const;
};
} // namespace

/// A single load if all positions share a scale.
SmallVector<Value> DistributeLoadScales::loadOne(ImplicitLocOpBuilder &b,
                                                 LoadScalesOp op) const {
  FragmentLayout layout = distribution.getLayout(op.getType());
  Value scale = loadScale(b, op, indexConstant(b, 0), getGroupAlongK(b, op));
  return SmallVector<Value>(
      layout.getNumWaves(),
      vector::BroadcastOp::create(b, layout.getFragmentType(), scale));
}

/// One load per row or column of the thread. Positions differ by constants, so
/// that all loads share an address.
SmallVector<Value> DistributeLoadScales::loadEach(ImplicitLocOpBuilder &b,
                                                  LoadScalesOp op) const {
  FragmentLayout layout = distribution.getLayout(op.getType());
  Value group = getGroupAlongK(b, op);
  Value first =
      toIndex(b, layout.isPerRow() ? distribution.getElementRow(b, layout, 0, 0)
                                   : distribution.getElementCol(b, 0));
  SmallVector<Value> fragments;
  for (int64_t wave = 0; wave < layout.getNumWaves(); ++wave) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < layout.getFragmentSize(); ++i) {
      int64_t distance =
          layout.isPerRow() ? wave * kWaveRows + 8 * i : 8 * (i / 2) + i % 2;
      Value position =
          arith::AddIOp::create(b, first, indexConstant(b, distance));
      elements.push_back(loadScale(b, op, position, group));
    }
    fragments.push_back(
        vector::FromElementsOp::create(b, layout.getFragmentType(), elements));
  }
  return fragments;
}

namespace {
/// moss.read_scales -> loads from shared memory.
struct DistributeReadScales : DistributePattern<ReadScalesOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(ReadScalesOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentLayout layout = distribution.getLayout(op.getType());
    // Scales of columns are many, so they are read where they are used.
    if (layout.isPerCol() && !op.getIndex() && op->hasOneUse() &&
        op->user_begin()->getBlock() == op->getBlock())
      b.setInsertionPoint(*op->user_begin());
    SmallVector<Operation *> waits = findWaits(op, distribution.productWaves);
    if (op.getIndex())
      waits.resize(std::min<size_t>(waits.size(), 1));
    bool isBeforeWait = op.getIndex() || layout.isPerRow();
    SmallVector<Value> fragments;
    for (int64_t wave = 0; wave < layout.getNumWaves(); ++wave) {
      if (isBeforeWait && wave < static_cast<int64_t>(waits.size()))
        b.setInsertionPoint(waits[wave]);
      fragments.push_back(read(b, op, layout, wave));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }

private:
  static SmallVector<Operation *> findWaits(ReadScalesOp op, int64_t count);
  Value read(ImplicitLocOpBuilder &b, ReadScalesOp op, FragmentLayout layout,
             int64_t wave) const;
};
} // namespace

/// The last `count` waits before `op`, those for the waves of the product that
/// the scales apply to. Reading while a wave multiplies takes no time of its
/// own.
SmallVector<Operation *> DistributeReadScales::findWaits(ReadScalesOp op,
                                                         int64_t count) {
  SmallVector<Operation *> waits;
  for (Operation &other :
       llvm::make_range(op->getBlock()->begin(), op->getIterator()))
    if (isa<NVVM::WgmmaWaitGroupSyncOp>(other))
      waits.push_back(&other);
  if (static_cast<int64_t>(waits.size()) > count)
    waits.erase(waits.begin(), waits.end() - count);
  return waits;
}

/// The fragment of a wave. Columns of a thread are pairs of neighbors.
Value DistributeReadScales::read(ImplicitLocOpBuilder &b, ReadScalesOp op,
                                 FragmentLayout layout, int64_t wave) const {
  // Scales lie as integers where a type of LLVM has no such floats.
  VectorType fragment = layout.getFragmentType();
  Type elementType = fragment.getElementType();
  Type stored = elementType.isF32() ? elementType : b.getI8Type();
  int64_t bytes = stored.getIntOrFloatBitWidth() / 8;
  Value tile = LLVM::IntToPtrOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 3),
      TileAddressOp::create(b, op.getTile()).getAddress());
  if (op.getRow() != 0)
    tile = offsetPointer(
        b, tile,
        static_cast<int64_t>(op.getRow()) *
            getTileRowBytes(cast<VectorType>(op.getTile().getType())));
  auto load = [&](Value address, int64_t width) {
    Type type = width == 1 ? stored : VectorType::get({width}, stored);
    Value loaded = LLVM::LoadOp::create(b, type, address, width * bytes);
    SmallVector<Value> elements{loaded};
    if (width > 1)
      elements = vector::ToElementsOp::create(b, loaded).getElements();
    if (stored != elementType)
      for (Value &element : elements)
        element = arith::BitcastOp::create(b, elementType, element);
    return elements;
  };
  Value position = op.getIndex();
  if (!position)
    position = layout.isPerRow()
                   ? distribution.getElementRow(b, layout, wave, 0)
                   : distribution.getElementCol(b, 0);
  Value first = offsetPointer(
      b, tile, arith::MulIOp::create(b, position, i32Constant(b, bytes)));
  if (op.getIndex())
    return vector::BroadcastOp::create(b, fragment, load(first, 1).front());

  int64_t width = layout.isPerRow() ? 1 : 2;
  SmallVector<Value> elements;
  for (int64_t i = 0; i < layout.getFragmentSize(); i += width)
    llvm::append_range(
        elements,
        load(offsetPointer(b, first, 8 * (i / width) * bytes), width));
  return vector::FromElementsOp::create(b, fragment, elements);
}

void moss::populateDistributeScalesPatterns(const TypeConverter &converter,
                                            const DistributionContext &context,
                                            RewritePatternSet &patterns) {
  patterns.add<DistributeLoadScales, DistributeReadScales>(
      converter, patterns.getContext(), context);
}
