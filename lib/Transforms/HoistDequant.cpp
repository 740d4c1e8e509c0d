//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves moss.rescale out of loops that add its results. For each candidate the
// pass splits the scales into those that are constant over the loop, those
// that change at the boundary of a micro group longer than a step, and those
// that change at every step, and moves each as far as it can go.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "moss/Transforms/Passes.h"
#include <numeric>

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSHOISTDEQUANT
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {

/// The sum `carried + rescale(partial)` of one iteration argument of a loop.
struct RescaledSum {
  scf::ForOp loop;
  unsigned index;
  arith::AddFOp add;
  RescaleOp rescale;
};

/// How far a scale can move.
enum class Reach { Absent, Epilogue, GroupBoundary, Step };

/// Where the scales of a sum can move to, if its rounding may change.
struct Moves {
  /// To the epilogue.
  Value rows, cols;
  SmallVector<Value> scalars;
  /// Whether others change in the loop.
  bool leavesOthers = false;
  /// The extent of the micro group to whose boundary the others move; 0 if
  /// there are none, or they stay.
  int64_t group = 0;
  /// Why scales stay, if that is to be said.
  StringRef obstacle;

  bool hasEpilogue() const { return rows || cols || !scalars.empty(); }
};

} // namespace

static constexpr llvm::StringLiteral kCategory = "moss-hoist-dequant";

static remark::RemarkOpts remarkNamed(StringRef name) {
  return remark::RemarkOpts::name(name).category(kCategory);
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Match iteration argument `index` of `loop` as a sum of rescaled values that
/// starts from zero and is used for nothing else.
static std::optional<RescaledSum> matchRescaledSum(scf::ForOp loop,
                                                   unsigned index) {
  Value carried = loop.getRegionIterArg(index);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  auto add = yield.getOperand(index).getDefiningOp<arith::AddFOp>();
  if (!add || add->getBlock() != loop.getBody() || !add->hasOneUse() ||
      !carried.hasOneUse() ||
      !matchPattern(loop.getInitArgs()[index], m_AnyZeroFloat()))
    return std::nullopt;
  Value other;
  if (add.getLhs() == carried)
    other = add.getRhs();
  else if (add.getRhs() == carried)
    other = add.getLhs();
  else
    return std::nullopt;
  auto rescale = other.getDefiningOp<RescaleOp>();
  if (!rescale || !rescale->hasOneUse() ||
      rescale->getBlock() != loop.getBody())
    return std::nullopt;
  return RescaledSum{loop, index, add, rescale};
}

/// Whether `value` is certainly a sum of products of FP8 tiles, on which the
/// theorem's bounds on magnitudes rest.
static bool isSumOfProducts(Value value, SmallPtrSetImpl<Operation *> &loops) {
  if (matchPattern(value, m_AnyZeroFloat()))
    return true;
  if (auto mma = value.getDefiningOp<MmaOp>())
    return !mma.getLhs().getType().getElementType().isBF16() &&
           isSumOfProducts(mma.getAcc(), loops);
  if (auto add = value.getDefiningOp<arith::AddFOp>())
    return isSumOfProducts(add.getLhs(), loops) &&
           isSumOfProducts(add.getRhs(), loops);
  if (auto loop = value.getDefiningOp<scf::ForOp>()) {
    unsigned index = cast<OpResult>(value).getResultNumber();
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    loops.insert(loop);
    return loop->getNumResults() == 1 &&
           isSumOfProducts(loop.getInitArgs()[index], loops) &&
           isSumOfProducts(yield.getOperand(index), loops);
  }
  // What a loop of one sum carries is what is being checked.
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && loops.contains(argument.getOwner()->getParentOp());
}

/// Whether an op in the loop may write to memory, so that a load of scales
/// cannot be moved.
static bool mayWriteMemory(scf::ForOp loop) {
  return loop
      .walk([](Operation *op) {
        bool isHarmless = op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
                          isMemoryEffectFree(op) ||
                          hasSingleEffect<MemoryEffects::Read>(op);
        return isHarmless ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// The load of `scales` if it changes only every groupK elements of the loop,
/// which begins at 0 and steps evenly through the group.
static LoadScalesOp matchGroupedLoad(scf::ForOp loop, Value scales) {
  auto load = scales.getDefiningOp<LoadScalesOp>();
  if (!load || load.getK() != loop.getInductionVar() ||
      load->getBlock() != loop.getBody() ||
      !loop.isDefinedOutsideOfLoop(load.getSource()) ||
      !loop.isDefinedOutsideOfLoop(load.getOuter()) ||
      !loop.isDefinedOutsideOfLoop(load.getBound()) || mayWriteMemory(loop))
    return {};
  APInt step;
  if (!matchPattern(loop.getLowerBound(), m_Zero()) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return {};
  int64_t group = load.getGroupK();
  if (group <= step.getSExtValue() || group % step.getSExtValue() != 0)
    return {};
  return load;
}

static Reach getReach(scf::ForOp loop, Value scales) {
  if (!scales)
    return Reach::Absent;
  if (loop.isDefinedOutsideOfLoop(scales))
    return Reach::Epilogue;
  return matchGroupedLoad(loop, scales) ? Reach::GroupBoundary : Reach::Step;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Read column scales that only \p rescale uses right before it instead of
/// before
/// \p loop: a thread of a kernel holds many of them, too many to keep over a
/// loop.
static void sinkColumnScales(RewriterBase &rewriter, scf::ForOp loop,
                             RescaleOp rescale) {
  if (!rescale.getCols())
    return;
  auto load = rescale.getCols().getDefiningOp<LoadScalesOp>();
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(loop);
  bool onlyReads =
      effects && llvm::all_of(*effects, [](MemoryEffects::EffectInstance &it) {
        return isa<MemoryEffects::Read>(it.getEffect());
      });
  if (load && load->hasOneUse() && load->getBlock() == loop->getBlock() &&
      load->isBeforeInBlock(loop) && onlyReads)
    rewriter.moveOpBefore(load, rescale);
}

/// Move the parts of `sum`'s rescale that are given to after the loop; keep the
/// others where they are.
static void hoistToEpilogue(RewriterBase &rewriter, RescaledSum sum, Value rows,
                            Value cols, ArrayRef<Value> scalars) {
  RescaleOp rescale = sum.rescale;
  // The sum's value is the same as before only after the hoisted rescale.
  rewriter.setInsertionPointAfter(sum.loop);
  Value result = sum.loop.getResult(sum.index);
  auto hoisted = RescaleOp::create(rewriter, rescale.getLoc(), result, rows,
                                   cols, scalars);
  rewriter.replaceAllUsesExcept(result, hoisted.getResult(), hoisted);

  rewriter.modifyOpInPlace(rescale, [&] {
    if (rows)
      rescale.getRowsMutable().clear();
    if (cols)
      rescale.getColsMutable().clear();
    if (!scalars.empty())
      rescale.getScalarsMutable().clear();
  });
  if (!rescale.getRows() && !rescale.getCols() && rescale.getScalars().empty())
    rewriter.replaceOp(rescale, rescale.getTile());
  sinkColumnScales(rewriter, sum.loop, hoisted);
}

/// Split the loop at group boundaries of `group` elements:
///
///   for k0 = 0 to K step group
///     inner = for k = k0 to min(k0 + group, K) step s { inner + partial }
///     outer = outer + rescale(inner)
static void stripMine(RewriterBase &rewriter, RescaledSum sum, int64_t group) {
  scf::ForOp loop = sum.loop;
  ImplicitLocOpBuilder b(loop.getLoc(), rewriter);
  b.setInsertionPoint(loop);
  Value step = arith::ConstantIndexOp::create(b, group);
  auto outer = scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(),
                                  step, loop.getInitArgs());
  outer->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  rewriter.replaceAllUsesWith(loop.getResults(), outer.getResults());

  b.setInsertionPointToEnd(outer.getBody());
  Value end = arith::AddIOp::create(b, outer.getInductionVar(), step);
  end = arith::MinUIOp::create(b, end, loop.getUpperBound());
  // The old loop becomes the inner one: it starts its sum anew.
  rewriter.moveOpBefore(loop, outer.getBody(), outer.getBody()->end());
  rewriter.modifyOpInPlace(loop, [&] {
    loop.setLowerBound(outer.getInductionVar());
    loop.setUpperBound(end);
  });

  // Scales of the group are read once, at its first element.
  b.setInsertionPointToEnd(outer.getBody());
  RescaleOp rescale = sum.rescale;
  auto atBoundary = [&](Value scales) -> Value {
    if (!scales || loop.isDefinedOutsideOfLoop(scales))
      return scales;
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), outer.getInductionVar());
    return b.clone(*scales.getDefiningOp(), mapping)->getResult(0);
  };
  Value scaled = RescaleOp::create(
      b, loop.getResult(sum.index), atBoundary(rescale.getRows()),
      atBoundary(rescale.getCols()), rescale.getScalars());
  Value total = arith::AddFOp::create(b, outer.getRegionIterArg(sum.index),
                                      scaled, sum.add.getFastmathAttr());
  scf::YieldOp::create(b, total);
  rewriter.replaceOp(rescale, rescale.getTile());
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// How long the groups are at whose boundary all `scales` of `loop` change,
/// each a grouped load.
static int64_t getCommonGroup(scf::ForOp loop, ArrayRef<Value> scales) {
  int64_t group = 0;
  for (Value grouped : scales)
    group = std::gcd(group, matchGroupedLoad(loop, grouped).getGroupK());
  return group;
}

static Moves findMoves(RescaledSum sum) {
  RescaleOp rescale = sum.rescale;
  Moves moves;
  SmallVector<Value> grouped;
  bool stays = false;
  for (auto [scales, moved] : {std::pair(rescale.getRows(), &moves.rows),
                               std::pair(rescale.getCols(), &moves.cols)}) {
    Reach reach = getReach(sum.loop, scales);
    if (reach == Reach::Epilogue)
      *moved = scales;
    else if (reach == Reach::GroupBoundary)
      grouped.push_back(scales);
    stays |= reach == Reach::Step;
  }
  if (llvm::all_of(rescale.getScalars(), [&](Value scalar) {
        return sum.loop.isDefinedOutsideOfLoop(scalar);
      }))
    moves.scalars = rescale.getScalars();
  else
    stays = true;

  moves.leavesOthers = stays || !grouped.empty();
  if (stays && !moves.hasEpilogue())
    moves.obstacle = "left in the loop: its scales change at every step of it";
  if (stays || grouped.empty())
    return moves;

  int64_t group = getCommonGroup(sum.loop, grouped);
  if (group <= sum.loop.getConstantStep()->getSExtValue())
    moves.obstacle = "left in the loop: the micro groups of the two operands "
                     "have no common boundary longer than a step";
  else if (sum.loop.getNumResults() != 1)
    moves.obstacle = "left in the loop: it carries other values, so it cannot "
                     "be split at group boundaries";
  else
    moves.group = group;
  return moves;
}

namespace {
class SumHoister {
public:
  SumHoister(RewriterBase &rewriter, bool allowReassociation)
      : rewriter(rewriter), allowReassociation(allowReassociation) {}

  void run(RescaledSum sum);

private:
  void remark(RescaledSum sum, bool moved, StringRef name, StringRef reason) {
    Location loc = sum.rescale.getLoc();
    if (moved)
      remark::passed(loc, remarkNamed(name)) << reason;
    else
      remark::missed(loc, remarkNamed(name)) << reason;
  }
  bool mayReassociate(RescaledSum sum) {
    return allowReassociation ||
           bitEnumContainsAll(sum.add.getFastmath(),
                              arith::FastMathFlags::reassoc);
  }

  RewriterBase &rewriter;
  bool allowReassociation;
};
} // namespace

void SumHoister::run(RescaledSum sum) {
  RescaleOp rescale = sum.rescale;
  // What keeps scales in place whatever their kind comes first: the advice on
  // rounding is for scales that it lets move.
  Moves moves = findMoves(sum);
  if (!moves.hasEpilogue() && moves.group == 0) {
    if (!moves.obstacle.empty())
      remark(sum, false, "kept", moves.obstacle);
    return;
  }

  bool reassociate = mayReassociate(sum);
  bool isExact =
      rescale.hasOnlyPowerOfTwoTiles() && rescale.getScalars().empty();
  if (!isExact && !reassociate)
    return remark(sum, false, "kept",
                  "left in the loop: its scales are not powers of two, so "
                  "moving them would change rounding; the flag reassoc or "
                  "allow-reassociation permits it");

  SmallPtrSet<Operation *, 4> loops;
  if (!reassociate && !isSumOfProducts(rescale.getTile(), loops))
    return remark(sum, false, "kept",
                  "left in the loop: what it rescales is not known to be a sum "
                  "of products of FP8 values, so it might overflow unscaled");

  if (moves.hasEpilogue()) {
    std::string reason = "moved to the epilogue: ";
    reason += isExact ? "powers of two, constant over the loop"
                      : "reassociation is allowed";
    if (moves.leavesOthers)
      reason += "; the other scales change along K";
    remark(sum, true, "epilogue", reason);
    hoistToEpilogue(rewriter, sum, moves.rows, moves.cols, moves.scalars);
  }
  if (!moves.obstacle.empty())
    return remark(sum, false, "kept", moves.obstacle);
  if (moves.group == 0)
    return;
  remark(sum, true, "group-boundary",
         ("moved to the boundary of the micro group, every " +
          Twine(moves.group) + " elements of K: " +
          (isExact ? "powers of two, constant over the group"
                   : "reassociation is allowed"))
             .str());
  stripMine(rewriter, sum, moves.group);
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

namespace {
/// rescale(rescale(t, a), b) -> rescale(t, a, b), when one of them has only
/// powers of two and no kind of scale is in both.
struct MergeRescales : OpRewritePattern<RescaleOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RescaleOp outer,
                                PatternRewriter &rewriter) const override {
    auto inner = outer.getTile().getDefiningOp<RescaleOp>();
    if (!inner || !inner->hasOneUse())
      return rewriter.notifyMatchFailure(outer, "no single rescale before it");
    if ((inner.getRows() && outer.getRows()) ||
        (inner.getCols() && outer.getCols()) ||
        inner.getScalars().size() + outer.getScalars().size() > 2)
      return rewriter.notifyMatchFailure(outer, "both have the same scales");
    auto isExact = [](RescaleOp op) {
      return op.hasOnlyPowerOfTwoTiles() && op.getScalars().empty();
    };
    if (!isExact(inner) && !isExact(outer))
      return rewriter.notifyMatchFailure(outer, "merging changes rounding");
    SmallVector<Value> scalars(inner.getScalars());
    llvm::append_range(scalars, outer.getScalars());
    rewriter.replaceOpWithNewOp<RescaleOp>(
        outer, inner.getTile(),
        inner.getRows() ? inner.getRows() : outer.getRows(),
        inner.getCols() ? inner.getCols() : outer.getCols(), scalars);
    return success();
  }
};

struct HoistDequantPass : moss::impl::MossHoistDequantBase<HoistDequantPass> {
  using MossHoistDequantBase::MossHoistDequantBase;

  void runOnOperation() override {
    // Innermost loops first, so that a scale leaves several loops in turn.
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    IRRewriter rewriter(&getContext());
    SumHoister hoister(rewriter, allowReassociation);
    for (scf::ForOp loop : loops)
      for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index)
        if (std::optional<RescaledSum> sum = matchRescaledSum(loop, index))
          hoister.run(*sum);

    RewritePatternSet patterns(&getContext());
    patterns.add<MergeRescales>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
