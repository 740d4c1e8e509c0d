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
/// they start from zero, so that their sums are read.
static bool waitsForProducts(scf::ForOp loop) {
  auto mmas = loop.getBody()->getOps<MmaOp>();
  return llvm::hasSingleElement(mmas) &&
         matchPattern((*mmas.begin()).getAcc(), m_AnyZeroFloat());
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
    if (!count) {
      remark::missed(loop.getLoc(), named("dynamic"))
          << "steps are not unrolled: how many there are is not known";
      return success();
    }
    // Without a loop the assembler runs out of registers and serializes
    // products.
    uint64_t factor = scalesColumns(loop) ? 2 : 4;
    while (factor > 1 && (count->urem(factor) != 0 || count->ule(factor)))
      factor /= 2;
    if (factor == 1) {
      remark::missed(loop.getLoc(), named("few"))
          << "steps are not unrolled: their number is odd, or so small that no "
             "loop would remain";
      return success();
    }
    if (isSlower(loop, factor, consumers)) {
      remark::missed(loop.getLoc(), named("slower"))
          << "steps are not unrolled: their number allows two in an iteration, "
             "and two scaled steps are slower than one";
      return success();
    }
    remark::passed(loop.getLoc(), named("unrolled"))
        << (Twine(factor) + " steps are one iteration").str();
    ++numUnrolled;
    return loopUnrollByFactor(loop, factor);
  }
};
} // namespace
