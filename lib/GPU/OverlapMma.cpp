//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps products in flight over the back edge of a loop that only accumulates.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSOVERLAPMMA
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Whether the registers that a wgmma writes reach nothing in the loop but the
/// next wgmma of its chain, in the next iteration too. Reading them while
/// products are in flight would be undefined.
static bool onlyAccumulates(Value registers, scf::ForOp loop) {
  SetVector<Value> reached;
  reached.insert(registers);
  for (unsigned i = 0; i < reached.size(); ++i) {
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      if (user == loop.getBody()->getTerminator())
        reached.insert(loop.getRegionIterArg(use.getOperandNumber()));
      else if (isa<LLVM::ExtractValueOp, LLVM::InsertValueOp,
                   vector::FromElementsOp, vector::ToElementsOp>(user))
        reached.insert(user->result_begin(), user->result_end());
      else if (!isa<NVVM::WgmmaMmaAsyncOp>(user))
        return false;
    }
  }
  return true;
}

namespace {
/// What the rewrite needs of a loop.
struct MmaLoop {
  scf::ForOp loop;
  SmallVector<NVVM::WgmmaWaitGroupSyncOp> waits;
  ReleaseOp release;
};
} // namespace

/// Match a loop whose products can stay in flight; `why` is set if it has
/// products and they cannot.
static std::optional<MmaLoop> matchLoop(scf::ForOp loop, StringRef &why) {
  MmaLoop match{loop, {}, {}};
  bool accumulates = true;
  for (Operation &op : *loop.getBody()) {
    if (auto wait = dyn_cast<NVVM::WgmmaWaitGroupSyncOp>(op))
      match.waits.push_back(wait);
    else if (auto release = dyn_cast<ReleaseOp>(op))
      match.release = release;
    else if (auto mma = dyn_cast<NVVM::WgmmaMmaAsyncOp>(op))
      accumulates &= mma.getScaleD() == NVVM::WGMMAScaleOut::one &&
                     onlyAccumulates(mma.getResults(), loop);
  }
  if (match.waits.empty() || !match.release)
    return std::nullopt;
  if (!accumulates) {
    why = "the partial sums are read in every iteration";
    return std::nullopt;
  }
  // The next iteration would wait for a slot that only it releases.
  if (match.release.getChannel().getType().getStages() == 1) {
    why = "the ring has one slot, which the next iteration needs";
    return std::nullopt;
  }
  return match;
}

/// Release the slot at `position` if `condition` holds.
static void releaseIf(ImplicitLocOpBuilder &b, Value condition, Value channel,
                      Value position) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  ReleaseOp::create(b, channel, position);
}

/// Wait for the previous iteration's products instead of this one's, release
/// the slot they have read, and settle the last iteration after the loop.
static void overlap(const MmaLoop &match) {
  ReleaseOp release = match.release;
  Value channel = release.getChannel(), position = release.getPosition();
  ImplicitLocOpBuilder b(release.getLoc(), match.loop);
  // The first iteration has none before it, and does not look.
  Value none = arith::ConstantIntOp::create(b, 0, 32);
  IRRewriter rewriter(b.getContext());
  auto replaced = *scf::ForOp(match.loop)
                       .replaceWithAdditionalYields(
                           rewriter, none, /*replaceInitOperandUsesInLoop=*/
                           false, [&](OpBuilder &, Location, auto) {
                             return SmallVector<Value>{position};
                           });
  auto loop = cast<scf::ForOp>(replaced.getOperation());

  b.setInsertionPoint(release);
  NVVM::WgmmaWaitGroupSyncOp::create(b, match.waits.size());
  Value notFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loop.getInductionVar(),
                            loop.getLowerBound());
  releaseIf(b, notFirst, channel, loop.getRegionIterArgs().back());

  b.setInsertionPointAfter(loop);
  NVVM::WgmmaWaitGroupSyncOp::create(b, 0);
  Value ran = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                    loop.getLowerBound(), loop.getUpperBound());
  releaseIf(b, ran, channel, loop.getResults().back());

  for (NVVM::WgmmaWaitGroupSyncOp wait : match.waits)
    wait.erase();
  release.erase();
}

namespace {
struct OverlapMmaPass : moss::impl::MossOverlapMmaBase<OverlapMmaPass> {
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) {
      StringRef why;
      auto named = [](StringRef name) {
        return remark::RemarkOpts::name(name).category("moss-overlap-mma");
      };
      if (std::optional<MmaLoop> match = matchLoop(loop, why)) {
        remark::passed(loop.getLoc(), named("overlapped"))
            << "products of one iteration overlap with the next";
        overlap(*match);
      } else if (!why.empty()) {
        remark::missed(loop.getLoc(), named("waits"))
            << ("every iteration waits for its products: " + why).str();
      }
    });
  }
};
} // namespace
