//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSMAPTOGRID
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// Maps one loop over tiles to a launch of a persistent grid.
class GridMapper {
public:
  GridMapper(scf::ForallOp forall, ScheduleAttr schedule,
             const KernelBudget &budget)
      : forall(forall), schedule(schedule), budget(budget),
        b(forall.getLoc(), forall) {}

  void run();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value i32(int64_t value) {
    return arith::ConstantIntOp::create(b, value, 32);
  }
  Value toI32(Value value) {
    return arith::IndexCastOp::create(b, b.getI32Type(), value);
  }
  Value toIndex(Value value) {
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  }
  Value countTiles(unsigned dim);
  std::pair<Value, Value> divideByHeight(Value position, Value firstM,
                                         Value tilesM);
  std::pair<Value, Value> rasterize(Value tile, Value tilesM, Value tilesN);

  scf::ForallOp forall;
  ScheduleAttr schedule;
  const KernelBudget &budget;
  ImplicitLocOpBuilder b;
};
} // namespace

/// ceil(extent / tile) along one dimension of the result.
Value GridMapper::countTiles(unsigned dim) {
  int64_t step = forall.getStaticStep()[dim];
  Value extent = forall.getUpperBound(b)[dim];
  return arith::CeilDivUIOp::create(b, extent, index(step));
}

/// The quotient of \p position in the group of tiles that begins at \p firstM
/// by the group's height, and the height. All groups have `raster` tiles along
/// M, but the last may have fewer. Where M is static, divisors are constants,
/// since a division by anything else is a call of twenty instructions that wait
/// for each other.
std::pair<Value, Value> GridMapper::divideByHeight(Value position, Value firstM,
                                                   Value tilesM) {
  int64_t raster = schedule.getRaster();
  auto divide = [&](Value divisor) -> Value {
    return arith::DivUIOp::create(b, position, divisor);
  };
  std::optional<int64_t> extent =
      getConstantIntValue(forall.getMixedUpperBound().front());
  if (!extent) {
    Value rest = arith::SubIOp::create(b, tilesM, firstM);
    Value height = arith::MinUIOp::create(b, rest, i32(raster));
    return {divide(height), height};
  }
  int64_t count = llvm::divideCeil(*extent, schedule.getTileM());
  Value usual = i32(std::max<int64_t>(std::min(count, raster), 1));
  if (count <= raster || count % raster == 0)
    return {divide(usual), usual};
  Value last = i32(count % raster);
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, firstM,
                                       i32(count - count % raster));
  auto select = [&](Value value, Value otherwise) -> Value {
    return arith::SelectOp::create(b, isLast, value, otherwise);
  };
  return {select(divide(last), divide(usual)), select(last, usual)};
}

/// The tile coordinates of the linear tile number, both i32: groups of
/// `raster` tiles along M are visited column by column, so that the tiles in
/// flight share operands in L2.
std::pair<Value, Value> GridMapper::rasterize(Value tile, Value tilesM,
                                              Value tilesN) {
  Value raster = i32(schedule.getRaster());
  Value perGroup = arith::MulIOp::create(b, tilesN, raster);
  Value group = arith::DivUIOp::create(b, tile, perGroup);
  Value firstM = arith::MulIOp::create(b, group, raster);
  Value inGroup = arith::RemUIOp::create(b, tile, perGroup);
  auto [n, height] = divideByHeight(inGroup, firstM, tilesM);
  Value m =
      arith::SubIOp::create(b, inGroup, arith::MulIOp::create(b, n, height));
  return {arith::AddIOp::create(b, firstM, m), n};
}

void GridMapper::run() {
  Value tilesM = countTiles(0), tilesN = countTiles(1);
  Value tiles = arith::MulIOp::create(b, tilesM, tilesN);
  // An empty result still launches one block, which then has nothing to do.
  Value blocks = arith::MinUIOp::create(b, tiles, index(schedule.getBlocks()));
  Value one = index(1);
  blocks = arith::MaxUIOp::create(b, blocks, one);
  auto launch = gpu::LaunchOp::create(
      b, blocks, one, one, index(budget.threads), one, one,
      arith::ConstantIntOp::create(b, budget.shared.totalBytes, 32));
  b.setInsertionPointToEnd(&launch.getBody().front());
  gpu::TerminatorOp::create(b);
  b.setInsertionPointToStart(&launch.getBody().front());

  // 32-bit arithmetic: 64-bit division costs a hundred instructions.
  Value m32 = toI32(tilesM), n32 = toI32(tilesN);
  auto loop = scf::ForOp::create(b, launch.getBlockIds().x, tiles,
                                 launch.getGridSize().x);
  loop->setAttr("moss.schedule", schedule);
  if (Attribute matmul = forall->getAttr("moss.matmul"))
    loop->setAttr("moss.matmul", matmul);
  b.setInsertionPointToStart(loop.getBody());
  auto [m, n] = rasterize(toI32(loop.getInductionVar()), m32, n32);
  Value row = arith::MulIOp::create(b, toIndex(m), index(schedule.getTileM()));
  Value col = arith::MulIOp::create(b, toIndex(n), index(schedule.getTileN()));

  IRRewriter rewriter(b.getContext());
  rewriter.eraseOp(forall.getTerminator());
  rewriter.inlineBlockBefore(forall.getBody(), loop.getBody()->getTerminator(),
                             {row, col});
  rewriter.eraseOp(forall);
}

/// The element type of the operands that a loop over tiles multiplies. One that
/// multiplies nothing has no ring, and any type will do.
static Type getOperandType(scf::ForallOp forall) {
  Type elementType = Float8E4M3FNType::get(forall.getContext());
  forall.walk([&](MmaOp mma) {
    elementType = mma.getLhs().getType().getElementType();
  });
  return elementType;
}

/// The scales that travel through the ring of a loop over tiles.
static ScaleTiles getScaleTiles(scf::ForallOp forall) {
  ScaleTiles tiles;
  forall.walk([&](Block *block) {
    for (const ScaleTile &tile : collectScaleTiles(*block))
      tiles.add(tile.type, tile.isExtended);
  });
  return tiles;
}

/// Whether the loop is one over the tiles of a result, as its schedule says;
/// emits an error if not.
static LogicalResult checkMappable(scf::ForallOp forall) {
  auto schedule = forall->getAttrOfType<ScheduleAttr>("moss.schedule");
  if (!schedule)
    return forall.emitOpError("attribute 'moss.schedule' must be a "
                              "#moss.schedule, but is ")
           << forall->getAttr("moss.schedule");
  if (forall.getRank() != 2 || forall.getNumResults() != 0 ||
      ShapedType::isDynamicShape(forall.getStaticStep()))
    return forall.emitOpError("is not a two-dimensional loop over tiles of "
                              "static size on memrefs");
  if (llvm::any_of(forall.getStaticLowerBound(),
                   [](int64_t bound) { return bound != 0; }))
    return forall.emitOpError("must begin at 0 in both dimensions");
  ArrayRef<int64_t> step = forall.getStaticStep();
  if (step[0] != schedule.getTileM() || step[1] != schedule.getTileN())
    return forall.emitOpError("steps by ")
           << step[0] << " and " << step[1] << ", but its schedule's tile is "
           << schedule.getTileM() << " x " << schedule.getTileN();
  if (forall->getParentOfType<scf::ForallOp>() ||
      forall->getParentOfType<gpu::LaunchOp>())
    return forall.emitOpError("is inside another parallel loop or launch, but "
                              "a kernel cannot launch a grid");
  return success();
}

namespace {
struct MapToGridPass : moss::impl::MossMapToGridBase<MapToGridPass> {
  using MossMapToGridBase::MossMapToGridBase;

  void runOnOperation() override {
    TargetInfo target = *lookupTarget("sm_90a");
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk([&](scf::ForallOp forall) {
      if (forall->hasAttr("moss.schedule"))
        loops.push_back(forall);
    });
    for (scf::ForallOp forall : loops) {
      if (failed(checkMappable(forall)))
        return signalPassFailure();
      auto schedule = forall->getAttrOfType<ScheduleAttr>("moss.schedule");
      // How many sums are held decides about registers; it was checked when the
      // schedule was chosen.
      FailureOr<KernelBudget> budget = computeKernelBudget(
          [&] { return forall.emitOpError(); }, target, schedule,
          getOperandType(forall), getScaleTiles(forall), TileSums());
      if (failed(budget))
        return signalPassFailure();
      GridMapper(forall, schedule, *budget).run();
    }
  }
};
} // namespace
