//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss.load_scales -> loads by the threads themselves, directly or, for scales
// that change along K, through windows in shared memory.
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

static Value toIndex(ImplicitLocOpBuilder &b, Value i32) {
  return arith::IndexCastOp::create(b, b.getIndexType(), i32);
}

static Value indexConstant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

static int64_t getNumPositions(LoadScalesOp op) {
  return cast<VectorType>(op.getType()).getNumElements();
}

/// Whether `value` is known to be a multiple of `divisor`.
static bool isMultipleOf(Value value, int64_t divisor) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant % divisor == 0;
  auto product = value.getDefiningOp<arith::MulIOp>();
  return product && (isMultipleOf(product.getLhs(), divisor) ||
                     isMultipleOf(product.getRhs(), divisor));
}

/// Whether all positions of `op` belong to one group, as those of a tile do
/// that divides a group.
static bool isOneGroup(LoadScalesOp op) {
  int64_t group = op.getGroupOuter(), size = getNumPositions(op);
  return group != 0 && group % size == 0 && isMultipleOf(op.getOuter(), size);
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
// Windows in shared memory
//===----------------------------------------------------------------------===//

/// Positions of which the threads of a warpgroup read all groups of a window at
/// once.
static constexpr int64_t kPositionsPerRead = 128 / kScaleWindowGroups;

/// The ring that the consumers of `op` read.
static ChannelType getChannelType(LoadScalesOp op) {
  auto get = *op->getBlock()->getOps<GetOp>().begin();
  return get.getChannel().getType();
}

/// Whether the E8M0 scales of a tile's rows stay in L1, all of K, and no scales
/// of columns are read besides. Then loads by each thread are 3 % faster.
static bool stayInCache(LoadScalesOp op) {
  auto isOfRows = [](LoadScalesOp load) {
    return cast<VectorType>(load.getType()).getDimSize(1) == 1 ||
           isOneGroup(load);
  };
  const int64_t maxGroups = 64;
  MemRefType source = op.getSource().getType();
  return !source.getElementType().isF32() && !source.isDynamicDim(1) &&
         source.getDimSize(1) <= maxGroups &&
         llvm::all_of(op->getBlock()->getOps<LoadScalesOp>(), isOfRows);
}

bool moss::isReadInWindows(LoadScalesOp op, int64_t consumers) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || op.getK() != loop.getInductionVar() ||
      loop.getBody()->getOps<GetOp>().empty() || isOneGroup(op) ||
      stayInCache(op))
    return false;
  // The first iteration and every first group of a window fill it.
  std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (first != 0 || !step || op.getGroupK() % *step != 0)
    return false;
  FragmentLayout layout(cast<VectorType>(op.getType()), consumers);
  int64_t positions =
      layout.isPerRow() ? layout.getConsumerRows() : getNumPositions(op);
  return positions % kPositionsPerRead == 0 &&
         getScaleWindows(getChannelType(op), consumers).fit;
}

namespace {
/// Reads the scales of one op through a window: those of kScaleWindowGroups
/// groups, of the rows of a consumer or of all columns.
class ScaleWindow {
public:
  ScaleWindow(ImplicitLocOpBuilder &b, LoadScalesOp op,
              const DistributionContext &distribution);

  /// Whether the current group is the first of a window.
  Value isFirst() {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, groupInWindow,
                                 i32(0));
  }
  /// This thread's share of the scales of the window.
  SmallVector<Value> load();
  void store(ArrayRef<Value> scales);
  /// The fragment of a wave.
  Value read(int64_t wave);

private:
  Value i32(int64_t value) { return i32Constant(b, value); }
  Value getAddress(Value position, Value groupInWindow);

  ImplicitLocOpBuilder &b;
  LoadScalesOp op;
  const DistributionContext &distribution;
  FragmentLayout layout;
  /// Scales lie as integers where a type of LLVM has no such floats.
  Type elementType, storedType;
  int64_t positions, bytes;
  Value base, group, groupInWindow;
  /// What this thread copies, first of all.
  Value threadPosition, threadGroup;
};
} // namespace

ScaleWindow::ScaleWindow(ImplicitLocOpBuilder &b, LoadScalesOp op,
                         const DistributionContext &distribution)
    : b(b), op(op), distribution(distribution),
      layout(distribution.getLayout(op.getType())),
      elementType(layout.getFragmentType().getElementType()),
      storedType(elementType.isF32() ? elementType : b.getI8Type()) {
  positions =
      layout.isPerRow() ? layout.getConsumerRows() : getNumPositions(op);
  ScaleWindows windows =
      getScaleWindows(getChannelType(op), distribution.consumers);
  int64_t offset =
      windows.offset + (layout.isPerRow() ? 0 : windows.colsOffset);
  base = offsetPointer(b, offsetPointer(b, getSharedMemoryBase(b), offset),
                       arith::MulIOp::create(b, distribution.position.consumer,
                                             i32(windows.bytesPerConsumer)));
  bytes = storedType.getIntOrFloatBitWidth() / 8;
  threadGroup = arith::AndIOp::create(b, distribution.position.thread,
                                      i32(kScaleWindowGroups - 1));
  threadPosition = arith::DivUIOp::create(b, distribution.position.thread,
                                          i32(kScaleWindowGroups));
  group = getGroupAlongK(b, op);
  Value group32 = arith::IndexCastOp::create(b, b.getI32Type(), group);
  groupInWindow =
      arith::AndIOp::create(b, group32, i32(kScaleWindowGroups - 1));
}

/// Groups of a position are apart by all positions and a few more, so that
/// threads that read neighboring groups store to different banks.
Value ScaleWindow::getAddress(Value position, Value groupInWindow) {
  Value first = arith::MulIOp::create(b, groupInWindow,
                                      i32(positions + kScaleWindowPadding));
  Value element = arith::AddIOp::create(b, first, position);
  return offsetPointer(b, base, arith::MulIOp::create(b, element, i32(bytes)));
}

/// One scale for each round and thread, which reads neighboring groups beside
/// its neighbors.
SmallVector<Value> ScaleWindow::load() {
  Value offset = toIndex(b, threadPosition);
  if (layout.isPerRow())
    offset = arith::AddIOp::create(
        b, offset, toIndex(b, distribution.getWaveRow(b, layout, 0)));
  Value extent = memref::DimOp::create(b, op.getSource(), 1);
  Value last = arith::SubIOp::create(b, extent, indexConstant(b, 1));
  Value first = arith::SubIOp::create(b, group, toIndex(b, groupInWindow));
  Value groupK = arith::MinUIOp::create(
      b, arith::AddIOp::create(b, first, toIndex(b, threadGroup)), last);
  SmallVector<Value> scales;
  for (int64_t i = 0; i < positions; i += kPositionsPerRead)
    scales.push_back(loadScale(
        b, op, arith::AddIOp::create(b, offset, indexConstant(b, i)), groupK));
  return scales;
}

void ScaleWindow::store(ArrayRef<Value> scales) {
  Value address = getAddress(threadPosition, threadGroup);
  for (auto [round, scale] : llvm::enumerate(scales)) {
    Value stored = scale;
    if (storedType != elementType)
      stored = arith::BitcastOp::create(b, storedType, scale);
    LLVM::StoreOp::create(
        b, stored,
        offsetPointer(b, address, round * kPositionsPerRead * bytes));
  }
}

Value ScaleWindow::read(int64_t wave) {
  const ThreadPosition &thread = distribution.position;
  Value first =
      getAddress(layout.isPerRow() ? thread.row : thread.col, groupInWindow);
  auto load = [&](Type type, int64_t position, int64_t alignment) -> Value {
    return LLVM::LoadOp::create(
        b, type, offsetPointer(b, first, position * bytes), alignment);
  };
  SmallVector<Value> elements;
  if (layout.isPerRow()) {
    for (int64_t i = 0; i < layout.getFragmentSize(); ++i)
      elements.push_back(load(storedType, wave * kWaveRows + 8 * i, bytes));
  } else {
    // Columns of a thread are pairs of neighbors.
    auto pairType = VectorType::get({2}, storedType);
    for (int64_t i = 0; i < layout.getFragmentSize() / 2; ++i)
      llvm::append_range(elements, vector::ToElementsOp::create(
                                       b, load(pairType, 8 * i, 2 * bytes))
                                       .getElements());
  }
  if (storedType != elementType)
    for (Value &element : elements)
      element = arith::BitcastOp::create(b, elementType, element);
  return vector::FromElementsOp::create(b, layout.getFragmentType(), elements);
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
    SmallVector<Value> fragments;
    if (distribution.windowed.contains(op)) {
      if (distribution.windowed.front() == op)
        fillWindows(b, op);
      fragments = readWindow(b, op);
    } else if (isOneGroup(op)) {
      fragments = loadOne(b, op);
    } else {
      fragments = loadEach(b, op);
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }

private:
  void fillWindows(ImplicitLocOpBuilder &b, LoadScalesOp op) const;
  SmallVector<Value> readWindow(ImplicitLocOpBuilder &b, LoadScalesOp op) const;
  SmallVector<Value> loadOne(ImplicitLocOpBuilder &b, LoadScalesOp op) const;
  SmallVector<Value> loadEach(ImplicitLocOpBuilder &b, LoadScalesOp op) const;
};
} // namespace

/// Fill the windows of all loads in the loop, of which `op` is the first. Loads
/// before stores, so that one latency is that of all.
void DistributeLoadScales::fillWindows(ImplicitLocOpBuilder &b,
                                       LoadScalesOp op) const {
  SmallVector<ScaleWindow, 2> windows;
  Value isFirst;
  for (auto load : op->getBlock()->getOps<LoadScalesOp>()) {
    if (!distribution.windowed.contains(load))
      continue;
    windows.emplace_back(b, load, distribution);
    Value isFirstHere = windows.back().isFirst();
    isFirst =
        isFirst ? arith::OrIOp::create(b, isFirst, isFirstHere) : isFirstHere;
  }
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<SmallVector<Value>> scales;
  for (ScaleWindow &window : windows)
    scales.push_back(window.load());
  // The last reads of the old windows are over, and then the stores.
  distribution.emitBarrier(b);
  for (auto [window, loaded] : llvm::zip_equal(windows, scales))
    window.store(loaded);
  distribution.emitBarrier(b);
}

/// Scales of columns are many, so they are read where they are used, unless
/// sums of several waves use them.
SmallVector<Value> DistributeLoadScales::readWindow(ImplicitLocOpBuilder &b,
                                                    LoadScalesOp op) const {
  FragmentLayout layout = distribution.getLayout(op.getType());
  ScaleWindow window(b, op, distribution);
  if (layout.isPerCol() && op->hasOneUse()) {
    auto sum = dyn_cast<AddRescaledOp>(*op->user_begin());
    if (sum && sum->getBlock() == op->getBlock() &&
        distribution.getLayout(sum.getType()).getNumWaves() == 1)
      b.setInsertionPoint(sum);
  }
  SmallVector<Value> fragments;
  for (int64_t wave = 0; wave < layout.getNumWaves(); ++wave)
    fragments.push_back(window.read(wave));
  return fragments;
}

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

void moss::populateDistributeScalesPatterns(const TypeConverter &converter,
                                            const DistributionContext &context,
                                            RewritePatternSet &patterns) {
  patterns.add<DistributeLoadScales>(converter, patterns.getContext(), context);
}
