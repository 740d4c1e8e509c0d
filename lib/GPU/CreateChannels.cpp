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

#include "ScaleTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSCREATECHANNELS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Whether the copy engine can do what `load` does: copy a box of a matrix,
/// with zeros past its bounds.
static bool isCopyOfBox(vector::TransferReadOp load) {
  auto source = dyn_cast<MemRefType>(load.getBase().getType());
  return source && source.getRank() == 2 && !load.getMask() &&
         load.getPermutationMap().isIdentity() &&
         (!load.hasOutOfBoundsDim() ||
          matchPattern(load.getPadding(), m_PosZeroFloat()));
}

/// Read the tile that is both operands of `mma` a second time. CSE merges the
/// loads of a matrix that is multiplied by itself, but a slot of the ring holds
/// a tile for each operand.
static void separateOperands(MmaOp mma) {
  auto load = mma.getLhs().getDefiningOp<vector::TransferReadOp>();
  if (!load || mma.getLhs() != mma.getRhs())
    return;
  OpBuilder builder(load);
  mma.getRhsMutable().assign(builder.clone(*load)->getResult(0));
}

/// The loads that feed `mma`, each in its block and for it alone; emits an
/// error if there are none.
static FailureOr<SmallVector<vector::TransferReadOp>> findLoads(MmaOp mma) {
  SmallVector<vector::TransferReadOp> loads;
  for (Value operand : {mma.getLhs(), mma.getRhs()}) {
    auto load = operand.getDefiningOp<vector::TransferReadOp>();
    if (!load || load->getBlock() != mma->getBlock() || !load->hasOneUse() ||
        !isa<scf::ForOp>(mma->getParentOp()))
      return mma.emitOpError(
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

/// The schedule on the persistent loop around `mma`, whose ring `mma` fits;
/// emits an error if there is none.
static FailureOr<ScheduleAttr> findSchedule(MmaOp mma) {
  ScheduleAttr schedule;
  Operation *parent = mma->getParentOp();
  for (; isa<scf::ForOp>(parent); parent = parent->getParentOp())
    if (auto attr = parent->getAttrOfType<ScheduleAttr>("moss.schedule"))
      schedule = attr;
  // Positions in the ring count iterations, so each of them must be one.
  if (!isa<gpu::GPUFuncOp>(parent))
    return mma.emitOpError("is inside '")
           << parent->getName()
           << "', but only scf.for may enclose the product of a kernel";
  if (!schedule)
    return mma.emitOpError("is in no loop with a schedule; run "
                           "moss-map-to-grid");
  auto lhs = cast<VectorType>(mma.getLhs().getType());
  auto rhs = cast<VectorType>(mma.getRhs().getType());
  if (lhs.getDimSize(0) != schedule.getTileM() ||
      rhs.getDimSize(0) != schedule.getTileN() ||
      lhs.getDimSize(1) != schedule.getTileK())
    return mma.emitOpError("multiplies tiles of ")
           << lhs << " and " << rhs << ", but its schedule was checked for "
           << schedule;
  return schedule;
}

/// Count the iterations of `innermost` across all loops around it, in an i32
/// carried by each. Returns the count inside the innermost loop.
static Value threadPosition(RewriterBase &rewriter, scf::ForOp innermost,
                            Value zero) {
  auto addCounter = [&](scf::ForOp loop, const NewYieldValuesFn &next) {
    auto replaced = *loop.replaceWithAdditionalYields(
        rewriter, zero, /*replaceInitOperandUsesInLoop=*/false, next);
    return cast<scf::ForOp>(replaced.getOperation());
  };
  scf::ForOp inner = addCounter(
      innermost, [](OpBuilder &b, Location loc, ArrayRef<BlockArgument> args) {
        Value one = arith::ConstantIntOp::create(b, loc, 1, 32);
        Value next = arith::AddIOp::create(b, loc, args.back(), one);
        return SmallVector<Value>{next};
      });
  Value position = inner.getRegionIterArgs().back();
  while (auto parent = dyn_cast<scf::ForOp>(inner->getParentOp())) {
    parent =
        addCounter(parent, [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
          return SmallVector<Value>{inner.getResults().back()};
        });
    inner.getInitArgsMutable()[inner.getInitArgs().size() - 1].assign(
        parent.getRegionIterArgs().back());
    inner = parent;
  }
  return position;
}

std::optional<VectorType> moss::getScaleTile(LoadScalesOp load) {
  auto mmas = load->getBlock()->getOps<MmaOp>();
  if (!isa<scf::ForOp>(load->getParentOp()) || mmas.empty() ||
      load.getGroupK() == 0 ||
      (load.getGroupOuter() > 1 && !readsOneGroup(load)))
    return std::nullopt;
  // The slot is received in front of the product.
  Operation *mma = *mmas.begin();
  if (llvm::any_of(load->getUsers(), [&](Operation *user) {
        return user->getBlock() == mma->getBlock() &&
               user->isBeforeInBlock(mma);
      }))
    return std::nullopt;
  return getScaleTile(load.getSource().getType(), load.getGroupOuter(),
                      cast<VectorType>(load.getType()).getNumElements());
}

bool moss::isExtended(LoadScalesOp load) {
  auto type = cast<VectorType>(load.getType());
  return type.getDimSize(0) == 1 &&
         areExtended(type.getElementType(), load.getGroupOuter()) &&
         llvm::all_of(load->getUsers(), llvm::IsaPred<AddRescaledOp>);
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

static Value getGroupAlongK(ImplicitLocOpBuilder &b, LoadScalesOp load) {
  return arith::DivUIOp::create(
      b, load.getK(), arith::ConstantIndexOp::create(b, load.getGroupK()));
}

/// Scales of single rows are adjacent, so that a group along K of all of them
/// is a row of the transposed scales. Of others the tile holds a unit of groups
/// along K, and begins at a multiple of it: the copy engine reads whole units
/// only.
static TileSource getSource(ImplicitLocOpBuilder &b, LoadScalesOp load) {
  VectorType tile = *getScaleTile(load);
  Value group = getGroupAlongK(b, load);
  if (load.getGroupOuter() > 1) {
    auto constant = [&](int64_t value) {
      return arith::ConstantIndexOp::create(b, value);
    };
    Value row = arith::DivUIOp::create(b, load.getOuter(),
                                       constant(load.getGroupOuter()));
    Value unit = constant(tile.getNumElements());
    Value first =
        arith::MulIOp::create(b, arith::DivUIOp::create(b, group, unit), unit);
    return {tile, load.getSource(), row, first};
  }
  auto swapped =
      AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, b.getContext());
  Value transposed = memref::TransposeOp::create(b, load.getSource(),
                                                 AffineMapAttr::get(swapped));
  return {tile, transposed, group, load.getOuter()};
}

/// Read what `load` did from `tile`, behind the product, which need not wait
/// for it.
static Value readScales(ImplicitLocOpBuilder &b, LoadScalesOp load, Value tile,
                        MmaOp mma) {
  Value index;
  b.setInsertionPoint(mma);
  if (load.getGroupOuter() > 1) {
    Value unit = arith::ConstantIndexOp::create(
        b, cast<VectorType>(tile.getType()).getNumElements());
    Value inUnit = arith::RemUIOp::create(b, getGroupAlongK(b, load), unit);
    index = arith::IndexCastUIOp::create(b, b.getI32Type(), inUnit);
  }
  b.setInsertionPointAfter(mma);
  auto type = cast<VectorType>(load.getType());
  Type elementType = cast<VectorType>(tile.getType()).getElementType();
  return ReadScalesOp::create(b, type.clone(elementType), tile, index);
}

/// The op after which the scales of `loads` and the operands of `mma` are read
/// no more. Those of columns are many, so that threads read them when they add.
static Operation *findLastReader(MmaOp mma, ArrayRef<LoadScalesOp> loads) {
  Operation *last = mma;
  for (LoadScalesOp load : loads)
    if (load.getGroupOuter() == 1 &&
        cast<VectorType>(load.getType()).getDimSize(0) == 1)
      for (Operation *user : load->getUsers())
        if (user->getBlock() == mma->getBlock() && last->isBeforeInBlock(user))
          last = user;
  return last;
}

/// The channel that carries what `loads` and `scaleLoads` read.
static ChannelType getChannelType(ArrayRef<vector::TransferReadOp> loads,
                                  ArrayRef<LoadScalesOp> scaleLoads,
                                  int64_t stages) {
  SmallVector<VectorType> tiles;
  SmallVector<int64_t> extended;
  for (vector::TransferReadOp load : loads)
    tiles.push_back(cast<VectorType>(load.getType()));
  for (LoadScalesOp load : scaleLoads) {
    if (isExtended(load))
      extended.push_back(tiles.size());
    tiles.push_back(*getScaleTile(load));
  }
  return ChannelType::get(tiles.front().getContext(), stages, tiles, extended);
}

/// Replace the loads by put and get, and release the slot after the last reader
/// of its tiles.
static void createChannel(MmaOp mma, ArrayRef<vector::TransferReadOp> loads,
                          ArrayRef<LoadScalesOp> scaleLoads, int64_t stages,
                          gpu::GPUFuncOp func) {
  IRRewriter rewriter(func.getContext());
  ImplicitLocOpBuilder b(mma.getLoc(), func.getContext());
  b.setInsertionPointToStart(&func.getBody().front());
  ChannelType type = getChannelType(loads, scaleLoads, stages);
  Value channel = ChannelOp::create(b, type);
  Value zero = arith::ConstantIntOp::create(b, 0, 32);
  Value position =
      threadPosition(rewriter, cast<scf::ForOp>(mma->getParentOp()), zero);

  b.setInsertionPoint(mma);
  SmallVector<Value> sources, rows, cols;
  auto add = [&](const TileSource &source) {
    sources.push_back(source.source);
    rows.push_back(source.row);
    cols.push_back(source.col);
  };
  for (vector::TransferReadOp load : loads)
    add(getSource(load));
  for (LoadScalesOp load : scaleLoads)
    add(getSource(b, load));
  PutOp::create(b, channel, position, sources, rows, cols);
  if (!type.getExtended().empty())
    ExtendScalesOp::create(b, channel, position);
  SmallVector<VectorType> received = type.getReceivedTiles();
  auto get =
      GetOp::create(b, SmallVector<Type>(received.begin(), received.end()),
                    channel, position);
  b.setInsertionPointAfter(findLastReader(mma, scaleLoads));
  ReleaseOp::create(b, channel, position);
  for (auto [load, tile] :
       llvm::zip_equal(loads, get.getTiles().take_front(loads.size())))
    rewriter.replaceOp(load, tile);
  for (auto [load, tile] :
       llvm::zip_equal(scaleLoads, get.getTiles().drop_front(loads.size()))) {
    // Not replaceOp, since extended scales have another type.
    Value scales = readScales(b, load, tile, mma);
    rewriter.replaceAllUsesWith(load->getResult(0), scales);
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
    if (mmas.size() > 1) {
      mmas[1].emitOpError("is the second of its kernel, but one ring of shared "
                          "memory serves one loop; tile the matmuls in "
                          "separate kernels");
      return signalPassFailure();
    }
    MmaOp mma = mmas.front();
    separateOperands(mma);
    FailureOr<SmallVector<vector::TransferReadOp>> loads = findLoads(mma);
    if (failed(loads))
      return signalPassFailure();
    FailureOr<ScheduleAttr> schedule = findSchedule(mma);
    if (failed(schedule))
      return signalPassFailure();
    SmallVector<LoadScalesOp> scaleLoads;
    for (auto load : mma->getBlock()->getOps<LoadScalesOp>())
      if (getScaleTile(load))
        scaleLoads.push_back(load);
    createChannel(mma, *loads, scaleLoads, schedule->getStages(), func);
  }
};
} // namespace
