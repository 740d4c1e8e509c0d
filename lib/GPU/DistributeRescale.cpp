//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss.add_rescaled on tiles -> a fused multiply-add per element.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moss/Transforms/ScaleFactor.h"

using namespace mlir;
using namespace mlir::moss;

namespace {

/// Emits the sum of one wave from the scales of its rows and of the columns,
/// fragments of which either may be null.
class RescaledWave {
public:
  RescaledWave(ImplicitLocOpBuilder &b, Value rows, Value cols, int64_t size)
      : b(b), rows(rows), cols(cols), size(size) {}

  Value emit(Value acc, Value tile) {
    return LLVM::FMAOp::create(b, tile, getFactor(), acc);
  }

private:
  Value perRow(Value values) {
    return repeat(values, [](int64_t i) { return (i / 2) % 2; });
  }
  Value perCol(Value values) {
    return repeat(values, [](int64_t i) { return 2 * (i / 4) + i % 2; });
  }
  Value repeat(Value values, function_ref<int64_t(int64_t)> position);
  Value getFactor();

  ImplicitLocOpBuilder &b;
  Value rows, cols;
  int64_t size;
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
      RescaledWave sum(b, rows, cols, layout.getFragmentSize());
      fragments.push_back(sum.emit(acc, tile));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }
};

} // namespace

/// A vector of `size` elements, of which element i is that of `values` at
/// `position(i)`.
Value RescaledWave::repeat(Value values,
                           function_ref<int64_t(int64_t)> position) {
  SmallVector<int64_t> positions;
  for (int64_t i = 0; i < size; ++i)
    positions.push_back(position(i));
  return vector::ShuffleOp::create(b, values, values, positions);
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
    return perRow(arith::MulFOp::create(b, rowFactors, splat));
  }
  // Not arith.mulf: ptxas lets other warps issue between FFMAs, but not between
  // FMULs, and a warp that keeps the scheduler keeps others' wgmma from it.
  // Adding zero changes no bit, as scales have no sign.
  Value ofRows = perRow(rowFactors), ofCols = perCol(emitter.toF32(cols));
  Value zero = LLVM::ZeroOp::create(b, ofRows.getType());
  return LLVM::FMAOp::create(b, ofRows, ofCols, zero);
}

void moss::populateDistributeRescalePatterns(const TypeConverter &converter,
                                             const DistributionContext &context,
                                             RewritePatternSet &patterns) {
  patterns.add<DistributeAddRescaled>(converter, patterns.getContext(),
                                      context);
}
