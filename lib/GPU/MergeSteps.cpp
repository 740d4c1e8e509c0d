//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the operands of several products, which have scales of their own, as
// tiles of the schedule's K extent, and multiplies slices of these.
//
//===----------------------------------------------------------------------===//

#include "OperandTiles.h"
#include "ScaleTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSMERGESTEPS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// A loop over K of which several steps become one.
struct Steps {
  scf::ForOp loop;
  /// What reads the operands of the loop's product.
  SmallVector<vector::TransferReadOp> loads;
  /// K extents of a step and of the tiles to read.
  int64_t productK, tileK;

  /// Whether the K extent of `load`'s source is known to be whole tiles.
  bool isWhole(vector::TransferReadOp load) const {
    int64_t extent = cast<ShapedType>(load.getBase().getType()).getDimSize(1);
    return !ShapedType::isDynamic(extent) && extent % tileK == 0;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// The read of `operand` in `loop`, if it is that of a tile of a matrix at the
/// loop's position along K, with zeros past its bounds.
static vector::TransferReadOp matchLoad(scf::ForOp loop, Value operand) {
  auto load = operand.getDefiningOp<vector::TransferReadOp>();
  if (!load || load->getBlock() != loop.getBody() ||
      load.getTransferRank() != 2 ||
      load.getIndices().back() != loop.getInductionVar() ||
      !loop.isDefinedOutsideOfLoop(load.getIndices().front()) ||
      !loop.isDefinedOutsideOfLoop(load.getBase()) || !isCopyOfBox(load))
    return {};
  return load;
}

/// Whether `loop` adds products, rescaled, to its one sum and does nothing
/// else, so that steps on zeros past the end change nothing.
static bool onlyAddsProducts(scf::ForOp loop, MmaOp mma) {
  if (loop.getNumResults() != 1 || !mma->hasOneUse() ||
      !matchPattern(mma.getAcc(), m_AnyZeroFloat()))
    return false;
  auto sum = loop.getYieldedValues().front().getDefiningOp<AddRescaledOp>();
  return sum && sum.getTile() == mma.getResult() &&
         sum.getAcc() == loop.getRegionIterArg(0) &&
         llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) {
           return isMemoryEffectFree(&op) ||
                  hasSingleEffect<MemoryEffects::Read>(&op);
         });
}

/// The steps around `mma` that tiles of `tileK` hold; nothing if `mma`
/// multiplies whole tiles, or if they cannot be merged, when `why` is set.
static std::optional<Steps> matchSteps(MmaOp mma, int64_t tileK,
                                       StringRef &why) {
  int64_t productK = mma.getLhs().getType().getDimSize(1);
  if (productK >= tileK || tileK % productK != 0)
    return std::nullopt;
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  if (!loop || getConstantIntValue(loop.getStep()) != productK ||
      !matchPattern(loop.getLowerBound(), m_Zero())) {
    why = "the product is not in a loop that begins at 0 and steps by its K "
          "extent";
    return std::nullopt;
  }
  if (!onlyAddsProducts(loop, mma)) {
    why = "the loop does not only add rescaled products to a sum";
    return std::nullopt;
  }
  Steps steps{loop, {}, productK, tileK};
  for (Value operand : {mma.getLhs(), mma.getRhs()}) {
    vector::TransferReadOp load = matchLoad(loop, operand);
    if (!load) {
      why = "an operand is not read by vector.transfer_read at the loop's "
            "position along K";
      return std::nullopt;
    }
    if (!llvm::is_contained(steps.loads, load))
      steps.loads.push_back(load);
  }
  return steps;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// The tile that holds what `load` reads at several steps.
static Value loadTile(ImplicitLocOpBuilder &b, const Steps &steps,
                      vector::TransferReadOp load, Value k) {
  VectorType narrow = load.getVectorType();
  auto wide = VectorType::get({narrow.getDimSize(0), steps.tileK},
                              narrow.getElementType());
  bool inBounds[] = {load.getInBoundsValues().front(), steps.isWhole(load)};
  return vector::TransferReadOp::create(
      b, wide, load.getBase(), ValueRange{load.getIndices().front(), k},
      load.getPadding(), ArrayRef<bool>(inBounds));
}

/// Keep the position of scales that threads load in bounds. The last scales do
/// as well as those past the end, whose products are zero; where the copy
/// engine reads scales, these are zero too.
static void clampPosition(ImplicitLocOpBuilder &b, LoadScalesOp load,
                          Value end) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(load);
  Value last =
      arith::SubIOp::create(b, end, arith::ConstantIndexOp::create(b, 1));
  load.getKMutable().assign(arith::MinUIOp::create(b, load.getK(), last));
}

/// Clone the body of the loop for the step at `k`, which is `offset` past the
/// position that `tiles` were read at. Returns the new sum.
static Value cloneStep(ImplicitLocOpBuilder &b, const Steps &steps,
                       ArrayRef<Value> tiles, Value k, int64_t offset,
                       Value sum) {
  scf::ForOp loop = steps.loop;
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), k);
  mapping.map(loop.getRegionIterArg(0), sum);
  for (auto [read, tile] : llvm::zip_equal(steps.loads, tiles)) {
    vector::TransferReadOp load = read;
    int64_t size = load.getVectorType().getDimSize(0);
    mapping.map(load.getResult(), vector::ExtractStridedSliceOp::create(
                                      b, tile, ArrayRef<int64_t>{0, offset},
                                      ArrayRef<int64_t>{size, steps.productK},
                                      ArrayRef<int64_t>{1, 1})
                                      .getResult());
  }
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (llvm::is_contained(steps.loads, &op))
      continue;
    Operation *clone = b.clone(op, mapping);
    auto scales = dyn_cast<LoadScalesOp>(op);
    if (scales && !getScaleTile(scales) && !steps.isWhole(steps.loads.front()))
      clampPosition(b, cast<LoadScalesOp>(clone), loop.getUpperBound());
  }
  return mapping.lookup(loop.getYieldedValues().front());
}

/// Replace the loop by one over tiles, with a copy of its body for each step
/// that they hold. Upstream's loopUnrollByFactor leaves a second loop for steps
/// that do not fill a tile; here these are on zeros.
static void merge(const Steps &steps) {
  scf::ForOp loop = steps.loop;
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  Value step = arith::ConstantIndexOp::create(b, steps.tileK);
  auto merged = scf::ForOp::create(
      b, loop.getLowerBound(), loop.getUpperBound(), step, loop.getInitArgs());
  merged->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  b.setInsertionPointToEnd(merged.getBody());
  Value first = merged.getInductionVar();
  SmallVector<Value> tiles;
  for (vector::TransferReadOp load : steps.loads)
    tiles.push_back(loadTile(b, steps, load, first));
  Value sum = merged.getRegionIterArg(0);
  for (int64_t offset = 0; offset < steps.tileK; offset += steps.productK) {
    Value k = first;
    if (offset != 0)
      k = arith::AddIOp::create(b, first,
                                arith::ConstantIndexOp::create(b, offset));
    sum = cloneStep(b, steps, tiles, k, offset, sum);
  }
  scf::YieldOp::create(b, sum);
  loop.replaceAllUsesWith(merged.getResults());
  loop.erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct MergeStepsPass : moss::impl::MossMergeStepsBase<MergeStepsPass> {
  void runOnOperation() override {
    SmallVector<std::pair<MmaOp, ScheduleAttr>> mmas;
    getOperation()->walk([&](scf::ForallOp forall) {
      auto schedule = forall->getAttrOfType<ScheduleAttr>("moss.schedule");
      if (schedule)
        forall.walk([&](MmaOp mma) { mmas.push_back({mma, schedule}); });
    });
    for (auto [mma, schedule] : mmas) {
      auto named = [](StringRef name) {
        return remark::RemarkOpts::name(name).category("moss-merge-steps");
      };
      StringRef why;
      std::optional<Steps> steps = matchSteps(mma, schedule.getTileK(), why);
      if (steps) {
        remark::passed(mma.getLoc(), named("merged"))
            << (Twine(steps->tileK / steps->productK) + " steps of " +
                Twine(steps->productK) + " elements along K share a tile")
                   .str();
        merge(*steps);
      } else if (!why.empty()) {
        remark::missed(mma.getLoc(), named("kept"))
            << ("steps are not merged into tiles of the schedule: " + why)
                   .str();
      }
    }
  }
};
} // namespace
