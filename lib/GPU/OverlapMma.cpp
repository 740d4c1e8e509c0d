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
#include "mlir/IR/Matchers.h"
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

/// Whether `position` counts the iterations of `loop` that begin with it.
static bool countsIterations(Value position, scf::ForOp loop) {
  auto argument = dyn_cast<BlockArgument>(position);
  if (!argument || argument.getOwner() != loop.getBody() ||
      argument == loop.getInductionVar())
    return false;
  auto next = loop.getTiedLoopYieldedValue(argument)
                  ->get()
                  .getDefiningOp<arith::AddIOp>();
  return next &&
         ((next.getLhs() == position && matchPattern(next.getRhs(), m_One())) ||
          (next.getRhs() == position && matchPattern(next.getLhs(), m_One())));
}

namespace {
/// What the rewrite needs of a loop.
struct MmaLoop {
  scf::ForOp loop;
  SmallVector<NVVM::WgmmaWaitGroupSyncOp> waits;
  ReleaseOp release;
  /// The iteration argument that is the position of the release.
  BlockArgument position;
};
} // namespace

/// Match a loop whose products can stay in flight; `why` is set if it has
/// products and they cannot.
static std::optional<MmaLoop> matchLoop(scf::ForOp loop, StringRef &why) {
  MmaLoop match{loop, {}, {}, {}};
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
  if (!countsIterations(match.release.getPosition(), loop)) {
    why = "the position of the released slot does not count its iterations";
    return std::nullopt;
  }
  match.position = cast<BlockArgument>(match.release.getPosition());
  return match;
}

/// Release the slot before `position` if `condition` holds.
static void releasePrevious(ImplicitLocOpBuilder &b, Value channel,
                            Value position, Value condition) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value one = arith::ConstantIntOp::create(b, 1, 32);
  ReleaseOp::create(b, channel, arith::SubIOp::create(b, position, one));
}

/// Wait for the previous iteration's products instead of this one's, release
/// the slot they have read, and settle the last iteration after the loop.
static void overlap(const MmaLoop &match) {
  scf::ForOp loop = match.loop;
  ReleaseOp release = match.release;
  ImplicitLocOpBuilder b(release.getLoc(), release);
  Value channel = release.getChannel();
  NVVM::WgmmaWaitGroupSyncOp::create(b, match.waits.size());
  Value notFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loop.getInductionVar(),
                            loop.getLowerBound());
  releasePrevious(b, channel, match.position, notFirst);

  b.setInsertionPointAfter(loop);
  NVVM::WgmmaWaitGroupSyncOp::create(b, 0);
  Value ran = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                    loop.getLowerBound(), loop.getUpperBound());
  unsigned index = match.position.getArgNumber() - loop.getNumInductionVars();
  releasePrevious(b, channel, loop.getResult(index), ran);

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
