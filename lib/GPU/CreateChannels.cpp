//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Joins the loads of operand tiles, and of the scales that change with them,
// and their products by a channel, and threads the position in its ring through
// the loops around them.
//
//===----------------------------------------------------------------------===//

#include "OperandTiles.h"
#include "ScaleTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSCREATECHANNELS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// What reads the tile that `operand` is, or is a slice of, or null.
static vector::TransferReadOp getLoad(Value operand) {
  if (vector::ExtractStridedSliceOp slice = getSlice(operand))
    operand = slice.getSource();
  return operand.getDefiningOp<vector::TransferReadOp>();
}

/// Read the tile that holds both operands of `mmas` a second time. CSE merges
/// the loads of a matrix that is multiplied by itself, but a slot of the ring
/// holds a tile for each operand.
static void separateOperands(ArrayRef<MmaOp> mmas) {
  MmaOp first = mmas.front();
  vector::TransferReadOp load = getLoad(first.getLhs());
  if (!load || getLoad(first.getRhs()) != load)
    return;
  OpBuilder builder(load);
  IRMapping mapping;
  builder.clone(*load, mapping);
  for (MmaOp mma : mmas) {
    if (vector::ExtractStridedSliceOp slice = getSlice(mma.getRhs())) {
      builder.setInsertionPoint(mma);
      builder.clone(*slice, mapping);
    }
    mma.getRhsMutable().assign(mapping.lookupOrDefault(mma.getRhs()));
  }
}

/// Whether `load` feeds nothing but `mmas`, as a whole or in slices.
static bool feedsOnly(vector::TransferReadOp load, ArrayRef<MmaOp> mmas) {
  return llvm::all_of(load->getUsers(), [&](Operation *user) {
    auto slice = dyn_cast<vector::ExtractStridedSliceOp>(user);
    if (!slice)
      return llvm::is_contained(mmas, user);
    return llvm::all_of(slice->getUsers(), [&](Operation *sliceUser) {
      return llvm::is_contained(mmas, sliceUser);
    });
  });
}

/// The loads that feed `mmas`, each in their block and for them alone; emits an
/// error if there are none.
static FailureOr<SmallVector<vector::TransferReadOp>>
findLoads(ArrayRef<MmaOp> mmas) {
  MmaOp first = mmas.front();
  SmallVector<vector::TransferReadOp> loads;
  for (Value operand : {first.getLhs(), first.getRhs()}) {
    vector::TransferReadOp load = getLoad(operand);
    if (!load || load->getBlock() != first->getBlock() ||
        !feedsOnly(load, mmas) || !isa<scf::ForOp>(first->getParentOp()))
      return first.emitOpError(
          "needs both operands to be read from memory by vector.transfer_read "
          "in the loop that multiplies them");
    if (!isCopyOfBox(load))
      return load.emitOpError(
          "cannot become a copy into shared memory: it must read a "
          "two-dimensional memref, neither permuted nor masked, and pad with "
          "zeros");
    loads.push_back(load);
  }
  return loads;
}

/// Whether all of `mmas` multiply slices of the same two tiles; emits an error
/// if not.
static LogicalResult checkOneSlot(ArrayRef<MmaOp> mmas) {
  MmaOp first = mmas.front();
  for (MmaOp mma : mmas.drop_front())
    if (!getSlice(mma.getLhs()) || !getSlice(mma.getRhs()) ||
        mma->getBlock() != first->getBlock() ||
        getLoad(mma.getLhs()) != getLoad(first.getLhs()) ||
        getLoad(mma.getRhs()) != getLoad(first.getRhs()))
      return mma.emitOpError("is the second of its kernel, but one ring of "
                             "shared memory serves one loop; tile the matmuls "
                             "in separate kernels");
  return success();
}

/// The schedule on the persistent loop around `mma`, whose ring the tiles that
/// `mma` multiplies, or slices of which, fit; emits an error if there is none.
static FailureOr<ScheduleAttr>
findSchedule(MmaOp mma, ArrayRef<vector::TransferReadOp> loads) {
  ScheduleAttr schedule;
  Operation *parent = mma->getParentOp();
  for (; isa<scf::ForOp>(parent); parent = parent->getParentOp())
    if (auto attr = parent->getAttrOfType<ScheduleAttr>("moss.schedule"))
      schedule = attr;
  // Each iteration advances the position in the ring, so each must be one.
  if (!isa<gpu::GPUFuncOp>(parent))
    return mma.emitOpError("is inside '")
           << parent->getName()
           << "', but only scf.for may enclose the product of a kernel";
  if (!schedule)
    return mma.emitOpError("is in no loop with a schedule; run "
                           "moss-map-to-grid");
  vector::TransferReadOp lhsLoad = loads.front(), rhsLoad = loads.back();
  VectorType lhs = lhsLoad.getVectorType(), rhs = rhsLoad.getVectorType();
  if (lhs.getDimSize(0) != schedule.getTileM() ||
      rhs.getDimSize(0) != schedule.getTileN() ||
      lhs.getDimSize(1) != schedule.getTileK())
    return mma.emitOpError("multiplies tiles of ")
           << lhs << " and " << rhs << ", but its schedule was checked for "
           << schedule;
  return schedule;
}

/// Carry the position in the ring of `channel` through all loops, and advance
/// it in each iteration of `innermost`. Returns the position inside this loop.
static Value threadPosition(RewriterBase &rewriter, scf::ForOp innermost,
                            Value channel, Value zero) {
  auto addPosition = [&](scf::ForOp loop, const NewYieldValuesFn &next) {
    auto replaced = *loop.replaceWithAdditionalYields(
        rewriter, zero, /*replaceInitOperandUsesInLoop=*/false, next);
    return cast<scf::ForOp>(replaced.getOperation());
  };
  scf::ForOp inner = addPosition(innermost, [&](OpBuilder &b, Location loc,
                                                ArrayRef<BlockArgument> args) {
    return SmallVector<Value>{AdvanceOp::create(b, loc, channel, args.back())};
  });
  Value position = inner.getRegionIterArgs().back();
  while (auto parent = dyn_cast<scf::ForOp>(inner->getParentOp())) {
    parent = addPosition(parent,
                         [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
                           return SmallVector<Value>{inner.getResults().back()};
                         });
    inner.getInitArgsMutable()[inner.getInitArgs().size() - 1].assign(
        parent.getRegionIterArgs().back());
    inner = parent;
  }
  return position;
}

namespace {
/// What `put` copies into one tile of a slot.
struct TileSource {
  VectorType tile;
  Value source, row, col;
};
} // namespace

static TileSource getSource(vector::TransferReadOp load) {
  return {cast<VectorType>(load.getType()), load.getBase(),
          load.getIndices()[0], load.getIndices()[1]};
}

static Value getGroupAlongK(ImplicitLocOpBuilder &b, LoadScalesOp load,
                            Value k) {
  return arith::DivUIOp::create(
      b, k, arith::ConstantIndexOp::create(b, load.getGroupK()));
}

/// Scales of single rows are adjacent, so that a group along K of all of them
/// is a row of the transposed scales. Of others the tile holds a unit of groups
/// along K, and begins at a multiple of it: the copy engine reads whole units
/// only.
static TileSource getSource(ImplicitLocOpBuilder &b, const ScaleTile &tile) {
  LoadScalesOp load = tile.loads.front();
  Value group = getGroupAlongK(
      b, load, getValueOrCreateConstantIndexOp(b, b.getLoc(), tile.k));
  if (load.getGroupOuter() > 1) {
    auto constant = [&](int64_t value) {
      return arith::ConstantIndexOp::create(b, value);
    };
    Value row = arith::DivUIOp::create(b, load.getOuter(),
                                       constant(load.getGroupOuter()));
    Value unit = constant(tile.type.getNumElements());
    Value first =
        arith::MulIOp::create(b, arith::DivUIOp::create(b, group, unit), unit);
    return {tile.type, load.getSource(), row, first};
  }
  auto swapped =
      AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, b.getContext());
  Value transposed = memref::TransposeOp::create(b, load.getSource(),
                                                 AffineMapAttr::get(swapped));
  return {tile.type, transposed, group, load.getOuter()};
}

/// The product that the scales of `load` apply to: the last before their use.
static MmaOp findProduct(LoadScalesOp load) {
  Block *block = load->getBlock();
  Operation *user = block->getTerminator();
  for (Operation *other : load->getUsers())
    if (Operation *ancestor = block->findAncestorOpInBlock(*other))
      if (ancestor->isBeforeInBlock(user))
        user = ancestor;
  while (!isa<MmaOp>(user))
    user = user->getPrevNode();
  return cast<MmaOp>(user);
}

/// Read what `load` did from `row` of `tile`, behind the product, which need
/// not wait for it.
static Value readScales(ImplicitLocOpBuilder &b, LoadScalesOp load, Value tile,
                        int64_t row) {
  MmaOp mma = findProduct(load);
  auto type = cast<VectorType>(tile.getType());
  Value index;
  b.setInsertionPoint(mma);
  if (load.getGroupOuter() > 1) {
    Value unit = arith::ConstantIndexOp::create(b, type.getNumElements());
    Value inUnit =
        arith::RemUIOp::create(b, getGroupAlongK(b, load, load.getK()), unit);
    index = arith::IndexCastUIOp::create(b, b.getI32Type(), inUnit);
  }
  b.setInsertionPointAfter(mma);
  auto scales = cast<VectorType>(load.getType());
  return ReadScalesOp::create(b, scales.clone(type.getElementType()), tile,
                              index, row);
}

/// The op after which the scales of `tiles` and the operands of `mma`, the
/// last product, are read no more. Scales of columns are many, so that threads
/// read them when they add.
static Operation *findLastReader(MmaOp mma, ArrayRef<ScaleTile> tiles) {
  Operation *last = mma;
  for (const ScaleTile &tile : tiles)
    for (LoadScalesOp load : tile.loads)
      if (load.getGroupOuter() == 1 &&
          cast<VectorType>(load.getType()).getDimSize(0) == 1)
        for (Operation *user : load->getUsers())
          if (user->getBlock() == mma->getBlock() &&
              last->isBeforeInBlock(user))
            last = user;
  return last;
}

/// Move what slices the tiles of `loads` behind the point in front of the first
/// product where the slot is received, and set `b` there.
static void setInsertionPointToGet(ImplicitLocOpBuilder &b, MmaOp first,
                                   ArrayRef<vector::TransferReadOp> loads) {
  b.setInsertionPoint(first);
  SmallVector<Operation *> slices;
  for (Operation &op :
       llvm::make_range(first->getBlock()->begin(), first->getIterator())) {
    vector::ExtractStridedSliceOp slice =
        dyn_cast<vector::ExtractStridedSliceOp>(op);
    if (slice && llvm::is_contained(loads, slice.getSource().getDefiningOp()))
      slices.push_back(slice);
  }
  for (Operation *slice : slices)
    slice->moveBefore(first);
  if (!slices.empty())
    b.setInsertionPoint(slices.front());
}

/// The channel that carries what `loads` read, and the scales for the products
/// of `body`.
static ChannelType getChannelType(ArrayRef<vector::TransferReadOp> loads,
                                  Block &body, int64_t stages) {
  SmallVector<VectorType> tiles;
  SmallVector<int64_t> extended;
  for (vector::TransferReadOp load : loads)
    tiles.push_back(load.getVectorType());
  for (const ScaleTile &tile : collectScaleTiles(body)) {
    if (tile.isExtended)
      extended.push_back(tiles.size());
    tiles.push_back(tile.type);
  }
  return ChannelType::get(body.front().getContext(), stages, tiles, extended);
}

/// Replace the loads by put and get, and release the slot after the last reader
/// of its tiles.
static void createChannel(ArrayRef<MmaOp> mmas,
                          ArrayRef<vector::TransferReadOp> loads,
                          int64_t stages, gpu::GPUFuncOp func) {
  IRRewriter rewriter(func.getContext());
  MmaOp first = mmas.front();
  ImplicitLocOpBuilder b(first.getLoc(), func.getContext());
  b.setInsertionPointToStart(&func.getBody().front());
  ChannelType type = getChannelType(loads, *first->getBlock(), stages);
  Value channel = ChannelOp::create(b, type);
  Value zero = arith::ConstantIntOp::create(b, 0, 32);
  Value position = threadPosition(
      rewriter, cast<scf::ForOp>(first->getParentOp()), channel, zero);
  // The loops are others now, and what they count is too.
  SmallVector<ScaleTile> scaleTiles = collectScaleTiles(*first->getBlock());

  setInsertionPointToGet(b, first, loads);
  SmallVector<Value> sources, rows, cols;
  auto add = [&](const TileSource &source) {
    sources.push_back(source.source);
    rows.push_back(source.row);
    cols.push_back(source.col);
  };
  for (vector::TransferReadOp load : loads)
    add(getSource(load));
  for (const ScaleTile &tile : scaleTiles)
    add(getSource(b, tile));
  PutOp::create(b, channel, position, sources, rows, cols);
  if (!type.getExtended().empty())
    ExtendScalesOp::create(b, channel, position);
  SmallVector<VectorType> received = type.getReceivedTiles();
  auto get =
      GetOp::create(b, SmallVector<Type>(received.begin(), received.end()),
                    channel, position);
  b.setInsertionPointAfter(findLastReader(mmas.back(), scaleTiles));
  ReleaseOp::create(b, channel, position);
  for (auto [load, tile] :
       llvm::zip_equal(loads, get.getTiles().take_front(loads.size())))
    rewriter.replaceOp(load, tile);
  for (auto [scales, tile] :
       llvm::zip_equal(scaleTiles, get.getTiles().drop_front(loads.size())))
    for (auto [load, row] : llvm::zip_equal(scales.loads, scales.rows)) {
      // Not replaceOp, since extended scales have another type.
      rewriter.replaceAllUsesWith(load->getResult(0),
                                  readScales(b, load, tile, row));
      rewriter.eraseOp(load);
    }
}

namespace {
struct CreateChannelsPass
    : moss::impl::MossCreateChannelsBase<CreateChannelsPass> {
  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    SmallVector<MmaOp> mmas;
    func.walk([&](MmaOp mma) { mmas.push_back(mma); });
    if (mmas.empty())
      return;
    if (failed(checkOneSlot(mmas)))
      return signalPassFailure();
    separateOperands(mmas);
    FailureOr<SmallVector<vector::TransferReadOp>> loads = findLoads(mmas);
    if (failed(loads))
      return signalPassFailure();
    FailureOr<ScheduleAttr> schedule = findSchedule(mmas.front(), *loads);
    if (failed(schedule))
      return signalPassFailure();
    createChannel(mmas, *loads, schedule->getStages(), func);
  }
};
} // namespace
