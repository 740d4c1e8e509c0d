//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSFUSEACCUMULATOR
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

static constexpr llvm::StringLiteral kCategory = "moss-fuse-accumulator";

/// Say what keeping the sum in the matrix unit costs. One step on FP8 aligns 32
/// products and the accumulator to the largest of them, cuts each toward zero
/// at 13 fraction bits, and cuts the sum once more (MMA-Sim, arXiv 2511.10909):
/// 32 terms lose less than 2^-13 of the largest, and their sum 2^-13 of itself,
/// together less than 33 * 2^-13 of the largest product or partial sum
/// (docs/Numerics.md derives the bound of the whole sum from this). On bf16 it
/// is 17 terms at 25 fraction bits and the sum at 23, less than 21 * 2^-25.
static void remarkBound(scf::ForOp loop, MmaOp mma) {
  Type elementType = mma.getLhs().getType().getElementType();
  int64_t stepK = getMmaStepK(elementType);
  std::optional<int64_t> extent = getConstantIntValue(loop.getUpperBound());
  std::string steps = extent ? std::to_string(llvm::divideCeil(*extent, stepK))
                             : "K / " + std::to_string(stepK);
  std::string loss = elementType.isBF16() ? "21 * 2^-25" : "33 * 2^-13";
  remark::passed(mma.getLoc(),
                 remark::RemarkOpts::name("fast").category(kCategory))
      << "the whole sum stays in the matrix unit: each of " + steps +
             " steps may lose up to " + loss +
             " of the largest partial sum or product, toward zero; "
             "#moss.accumulate<promoted(128)> bounds this by " +
             std::to_string(128 / stepK) + " steps";
}

/// Fuse `carried + rescale(partial)` into one op, which rounds once.
static void fuseRescale(arith::AddFOp add, Value carried, RescaleOp rescale,
                        bool isFast) {
  if (isFast)
    remark::missed(add.getLoc(),
                   remark::RemarkOpts::name("rescaled").category(kCategory))
        << "partial sums are rescaled inside the loop, so they cannot stay in "
           "the matrix unit";
  if (!rescale->hasOneUse() || !rescale.getScalars().empty())
    return;
  OpBuilder b(add);
  Value sum = AddRescaledOp::create(b, add.getLoc(), carried, rescale.getTile(),
                                    rescale.getRows(), rescale.getCols());
  add.getResult().replaceAllUsesWith(sum);
  add.erase();
  rescale.erase();
}

/// Fuse `carried + mma(a, b, 0)` into `mma(a, b, carried)`, if the matrix unit
/// may keep the sum, and `carried + rescale(partial)` in any case.
static void fuse(scf::ForOp loop, unsigned index, bool isFast) {
  Value carried = loop.getRegionIterArg(index);
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  auto add = yield.getOperand(index).getDefiningOp<arith::AddFOp>();
  if (!add || !carried.hasOneUse())
    return;
  if (add.getLhs() != carried && add.getRhs() != carried)
    return;
  Value other = add.getLhs() == carried ? add.getRhs() : add.getLhs();
  if (auto rescale = other.getDefiningOp<RescaleOp>())
    return fuseRescale(add, carried, rescale, isFast);
  auto mma = other.getDefiningOp<MmaOp>();
  // A product from outside the loop cannot start from the loop's sum.
  if (!isFast || !mma || other == carried || !mma->hasOneUse() ||
      mma->getBlock() != loop.getBody())
    return;
  if (!matchPattern(mma.getAcc(), m_AnyZeroFloat()))
    return;
  remarkBound(loop, mma);
  mma.getAccMutable().assign(carried);
  add.getResult().replaceAllUsesWith(mma.getResult());
  add.erase();
}

namespace {
struct FuseAccumulatorPass
    : moss::impl::MossFuseAccumulatorBase<FuseAccumulatorPass> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      // A loop split at group boundaries asks on its outer loop.
      auto accumulate = loop->getAttrOfType<AccumulateAttr>("moss.accumulate");
      if (!accumulate)
        return;
      for (unsigned index = 0; index < loop.getNumRegionIterArgs(); ++index)
        fuse(loop, index, accumulate.isFast());
    });
  }
};
} // namespace
