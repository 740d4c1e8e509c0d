//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unrolls loops over K whose steps wait for their products.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSUNROLLSTEPS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Whether each iteration of `loop` is one step that waits for its products:
/// they start from zero, so that their sums are read, and added to what the
/// loop carries. Where K is one step, the loop over tiles holds it, and carries
/// no sum.
static bool waitsForProducts(scf::ForOp loop) {
  auto mmas = loop.getBody()->getOps<MmaOp>();
  if (!llvm::hasSingleElement(mmas))
    return false;
  MmaOp mma = *mmas.begin();
  return matchPattern(mma.getAcc(), m_AnyZeroFloat()) &&
         llvm::is_contained(loop.getResultTypes(), mma.getType());
}

/// Whether sums of `loop` take a scale for each column: many registers, of
/// which more steps at a time need more than there are.
static bool scalesColumns(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<AddRescaledOp>(),
                      [](AddRescaledOp add) {
                        Value cols = add.getCols();
                        if (!cols)
                          return false;
                        auto read = cols.getDefiningOp<ReadScalesOp>();
                        return !read || !read.getIndex();
                      });
}

/// Whether \p factor steps of \p loop in one iteration measured slower than
/// one: two, where each of \p consumers has one wave of rows, scaled by rows.
static bool isSlower(scf::ForOp loop, uint64_t factor, int64_t consumers) {
  MmaOp mma = *loop.getBody()->getOps<MmaOp>().begin();
  return factor == 2 && mma.getType().getDimSize(0) == kWaveRows * consumers &&
         !loop.getBody()->getOps<AddRescaledOp>().empty() &&
         !scalesColumns(loop);
}

/// Whether a rest of \p loop's steps, in a loop of its own, makes the assembler
/// spill: both loops take scales of columns, and load those of rows.
static bool spillsRest(scf::ForOp loop) {
  return scalesColumns(loop) &&
         llvm::any_of(loop.getBody()->getOps<AddRescaledOp>(),
                      [&](AddRescaledOp add) {
                        Value rows = add.getRows();
                        return rows && rows.getDefiningOp<LoadScalesOp>() &&
                               !loop.isDefinedOutsideOfLoop(rows);
                      });
}

/// How many of \p count steps are to be in iterations of \p factor: as many as
/// leave none or at least two, and 0 if those are fewer than two iterations.
/// Where no loop remains of steps, unrolled or left, the assembler runs out of
/// registers and serializes products.
static uint64_t countUnrolled(uint64_t count, uint64_t factor) {
  uint64_t rest = count % factor;
  if (rest == 1)
    rest += factor;
  return count >= rest + 2 * factor ? count - rest : 0;
}

/// Lets LLVM leave \p loop a loop. Of two steps it makes one block, whose
/// registers the assembler spills. Lowerings hand this on by the name that it
/// has on a branch.
static void keepLoop(scf::ForOp loop) {
  MLIRContext *context = loop.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(
      context, /*disable=*/BoolAttr::get(context, true), /*count=*/{},
      /*runtimeDisable=*/{}, /*full=*/{}, /*followupUnrolled=*/{},
      /*followupRemainder=*/{}, /*followupAll=*/{});
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(
                    context, /*disableNonforced=*/{}, /*vectorize=*/{},
                    /*interleave=*/{}, unroll, /*unrollAndJam=*/{}, /*licm=*/{},
                    /*distribute=*/{}, /*pipeline=*/{}, /*peeled=*/{},
                    /*unswitch=*/{}, /*mustProgress=*/{}, /*isVectorized=*/{},
                    /*startLoc=*/{}, /*endLoc=*/{}, /*parallelAccesses=*/{}));
}

/// Moves the first \p count steps of \p loop, which begins at \p lower, to a
/// loop in front of it.
static void splitLoop(scf::ForOp loop, int64_t lower, uint64_t count) {
  OpBuilder b(loop);
  int64_t bound = lower + loop.getConstantStep()->getSExtValue() * count;
  Value boundary = arith::ConstantOp::create(
      b, loop.getLoc(),
      b.getIntegerAttr(loop.getUpperBound().getType(), bound));
  auto first = cast<scf::ForOp>(b.clone(*loop));
  keepLoop(first);
  first.setUpperBound(boundary);
  loop.setLowerBound(boundary);
  loop.getInitArgsMutable().assign(first.getResults());
}

namespace {
struct UnrollStepsPass : moss::impl::MossUnrollStepsBase<UnrollStepsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](WarpSpecializeOp roles) {
      SmallVector<scf::ForOp> loops;
      roles.getConsumer().walk([&](scf::ForOp loop) {
        if (waitsForProducts(loop))
          loops.push_back(loop);
      });
      return WalkResult(success(llvm::all_of(loops, [&](scf::ForOp loop) {
        return succeeded(unroll(loop, roles.getNumConsumers()));
      })));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult unroll(scf::ForOp loop, int64_t consumers) {
    auto named = [](StringRef name) {
      return remark::RemarkOpts::name(name).category("moss-unroll-steps");
    };
    std::optional<APInt> count = loop.getStaticTripCount();
    std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
    if (!count || !lower) {
      remark::missed(loop.getLoc(), named("dynamic"))
          << "steps are not unrolled: how many there are is not known";
      return success();
    }
    uint64_t steps = count->getZExtValue();
    uint64_t factor = scalesColumns(loop) ? 2 : 4;
    while (factor > 1 && !countUnrolled(steps, factor))
      factor /= 2;
    if (factor == 1) {
      remark::missed(loop.getLoc(), named("few"))
          << "steps are not unrolled: they are so few that no loop would "
             "remain";
      return success();
    }
    if (isSlower(loop, factor, consumers)) {
      remark::missed(loop.getLoc(), named("slower"))
          << "steps are not unrolled: they are so few that two would be an "
             "iteration, and two scaled steps are slower than one";
      return success();
    }
    uint64_t rest = steps - countUnrolled(steps, factor);
    if (rest && spillsRest(loop)) {
      remark::missed(loop.getLoc(), named("rest"))
          << "steps are not unrolled: their number is odd, and a rest that "
             "loads scales of rows spills registers";
      return success();
    }
    remark::passed(loop.getLoc(), named("unrolled"))
        << (Twine(factor) + " steps are one iteration" +
            (rest ? ", after a rest of " + Twine(rest) : Twine()))
               .str();
    ++numUnrolled;
    if (rest)
      splitLoop(loop, *lower, rest);
    return loopUnrollByFactor(loop, factor);
  }
};
} // namespace
