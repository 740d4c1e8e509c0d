//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss.add_rescaled on tiles -> a fused multiply-add per element.
// moss.apply_powers on tiles -> a multiplication that threads may skip.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moss/Transforms/ScaleFactor.h"

using namespace mlir;
using namespace mlir::moss;

namespace {

/// Emits the sum of one wave from the scales of its rows and of the columns,
/// fragments of which either may be null.
class RescaledWave {
public:
  RescaledWave(ImplicitLocOpBuilder &b, Value rows, Value cols,
               FragmentLayout layout)
      : b(b), rows(rows), cols(cols), layout(layout) {}

  Value emit(Value acc, Value tile) {
    return LLVM::FMAOp::create(b, tile, getFactor(), acc);
  }

private:
  Value perRow(Value values) {
    return layout.spread(b, b.getLoc(), values, /*isPerRow=*/true);
  }
  Value perCol(Value values) {
    return layout.spread(b, b.getLoc(), values, /*isPerRow=*/false);
  }
  Value multiply(Value lhs, Value rhs);
  Value getFactor();

  ImplicitLocOpBuilder &b;
  Value rows, cols;
  FragmentLayout layout;
};

/// moss.add_rescaled -> sums per wave. Scales are converted after the products
/// that they apply to, which hide the latency of their loads; what
/// moss-expand-rescale would emit is computed where the scales are loaded.
struct DistributeAddRescaled : DistributePattern<AddRescaledOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(AddRescaledOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentLayout layout = distribution.getLayout(op.getType());
    SmallVector<Value> fragments;
    for (int64_t wave = 0; wave < layout.getNumWaves(); ++wave) {
      Value acc = adaptor.getAcc()[wave], tile = adaptor.getTile()[wave];
      Value rows = op.getRows() ? adaptor.getRows()[wave] : Value();
      Value cols = op.getCols() ? adaptor.getCols().front() : Value();
      SmallVector<Value> operands{acc, tile};
      for (Value scales : {rows, cols})
        if (scales)
          operands.push_back(scales);
      setInsertionPointEarly(b, op, operands);
      RescaledWave sum(b, rows, cols, layout);
      fragments.push_back(sum.emit(acc, tile));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }
};

/// moss.apply_powers -> a branch around a multiplication for each wave.
struct DistributeApplyPowers : DistributePattern<ApplyPowersOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(ApplyPowersOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentLayout layout = distribution.getLayout(op.getType());
    SmallVector<Value> fragments;
    for (auto [wave, tile] : llvm::enumerate(adaptor.getTile())) {
      ValueRange parts = adaptor.getPowers();
      Value powers = parts[parts.size() == 1 ? 0 : wave];
      OpBuilder::InsertionGuard guard(b);
      setInsertionPointEarly(b, op, {tile, powers});
      // Mostly not, so that the assembler may put the multiplication aside.
      Value isExpected = LLVM::ConstantOp::create(b, b.getI1Type(), false);
      Value condition =
          LLVM::ExpectOp::create(b, isNeeded(b, powers), isExpected);
      auto branch = scf::IfOp::create(b, tile.getType(), condition,
                                      /*withElseRegion=*/true);
      fragments.push_back(branch.getResult(0));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, tile);
      b.setInsertionPointToStart(branch.thenBlock());
      Value factors = spread(b, op, powers, layout);
      scf::YieldOp::create(b,
                           ValueRange{arith::MulFOp::create(b, tile, factors)});
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }

private:
  /// Whether one of `powers` is not 1.
  static Value isNeeded(ImplicitLocOpBuilder &b, Value powers) {
    Type type = powers.getType();
    TypedAttr one = b.getF32FloatAttr(1.0);
    if (auto vector = dyn_cast<VectorType>(type))
      one = DenseElementsAttr::get(vector, Attribute(one));
    Value differs = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, powers,
                                          arith::ConstantOp::create(b, one));
    if (!isa<VectorType>(type))
      return differs;
    return vector::ReductionOp::create(b, vector::CombiningKind::OR, differs);
  }

  static Value spread(ImplicitLocOpBuilder &b, ApplyPowersOp op, Value powers,
                      FragmentLayout layout) {
    auto type = dyn_cast<VectorType>(op.getPowers().getType());
    if (!type)
      return vector::BroadcastOp::create(b, layout.getFragmentType(), powers);
    if (type == op.getType())
      return powers;
    return layout.spread(b, b.getLoc(), powers,
                         /*isPerRow=*/type.getDimSize(1) == 1);
  }
};

} // namespace

/// Not arith.mulf: ptxas lets other warps issue between FFMAs, but not between
/// FMULs, and a warp that keeps the scheduler keeps others' wgmma from it.
/// Adding zero changes no bit, as scales have no sign.
Value RescaledWave::multiply(Value lhs, Value rhs) {
  Value zero = LLVM::ZeroOp::create(b, lhs.getType());
  return LLVM::FMAOp::create(b, lhs, rhs, zero);
}

/// The factor of every element. A scale that all columns share joins those of
/// the two rows.
Value RescaledWave::getFactor() {
  ScaleFactorEmitter emitter(b, b.getLoc());
  if (!rows)
    return perCol(emitter.toF32(cols));
  Value rowFactors = emitter.toF32(rows);
  if (!cols)
    return perRow(rowFactors);
  if (auto shared = cols.getDefiningOp<vector::BroadcastOp>()) {
    Value splat =
        vector::BroadcastOp::create(b, cast<VectorType>(rowFactors.getType()),
                                    emitter.toF32(shared.getSource()));
    return perRow(multiply(rowFactors, splat));
  }
  return multiply(perRow(rowFactors), perCol(emitter.toF32(cols)));
}

void moss::populateDistributeRescalePatterns(const TypeConverter &converter,
                                             const DistributionContext &context,
                                             RewritePatternSet &patterns) {
  patterns.add<DistributeAddRescaled, DistributeApplyPowers>(
      converter, patterns.getContext(), context);
}
