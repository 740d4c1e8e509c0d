//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes of tiles by the threads themselves: the old value of an
// accumulated result, and results that the copy engine cannot reach.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::moss;

/// A position along one dimension: clamped into the array, and whether it was
/// inside; null if it is known to be.
struct ClampedIndex {
  Value index, inside;

  static ClampedIndex create(ImplicitLocOpBuilder &b, Value index,
                             Value extent) {
    Value last = arith::SubIOp::create(b, extent, indexConstant(b, 1));
    return {arith::MinUIOp::create(b, index, last),
            arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, extent)};
  }
};

namespace {

/// A thread's elements of a 2-D array, by their clamped rows and columns.
class ElementGrid {
public:
  /// The grid of one wave of the tile that `op` transfers.
  static ElementGrid create(ImplicitLocOpBuilder &b,
                            const DistributionContext &distribution,
                            FragmentLayout layout, int64_t wave,
                            VectorTransferOpInterface op) {
    auto getIndex = [&](int64_t dim, Value offset) -> ClampedIndex {
      Value index =
          arith::AddIOp::create(b, op.getIndices()[dim], toIndex(b, offset));
      if (op.isDimInBounds(dim))
        return {index, Value()};
      Value extent = memref::DimOp::create(b, op.getBase(), dim);
      return ClampedIndex::create(b, index, extent);
    };
    ElementGrid grid;
    for (int64_t r = 0; r < 2; ++r)
      grid.rows.push_back(
          getIndex(0, distribution.getElementRow(b, layout, wave, r)));
    for (int64_t c = 0; c < layout.getFragmentSize() / 2; ++c)
      grid.cols.push_back(getIndex(1, distribution.getElementCol(b, c)));
    return grid;
  }
  /// The indices of element `i` of the fragment.
  SmallVector<Value> getIndices(int64_t i) const {
    return {getRow(i).index, getCol(i).index};
  }
  /// Whether element `i` is inside; null if it is known to be.
  Value isInside(ImplicitLocOpBuilder &b, int64_t i) const {
    Value row = getRow(i).inside, col = getCol(i).inside;
    if (!row || !col)
      return row ? row : col;
    return arith::AndIOp::create(b, row, col);
  }

private:
  const ClampedIndex &getRow(int64_t i) const { return rows[(i / 2) % 2]; }
  const ClampedIndex &getCol(int64_t i) const {
    return cols[2 * (i / 4) + i % 2];
  }

  SmallVector<ClampedIndex> rows, cols;
};

/// vector.transfer_read of an old result -> a load per element, zero outside.
struct DistributeRead : DistributePattern<vector::TransferReadOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(vector::TransferReadOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isPlainTransfer(op))
      return rewriter.notifyMatchFailure(op, "permuted, masked or not 2-D");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentLayout layout = distribution.getLayout(op.getType());
    SmallVector<Value> fragments;
    for (int64_t wave = 0; wave < layout.getNumWaves(); ++wave) {
      auto grid = ElementGrid::create(b, distribution, layout, wave, op);
      SmallVector<Value> elements;
      for (int64_t i = 0; i < layout.getFragmentSize(); ++i) {
        Value element =
            memref::LoadOp::create(b, op.getBase(), grid.getIndices(i));
        if (Value inside = grid.isInside(b, i))
          element =
              arith::SelectOp::create(b, inside, element, op.getPadding());
        elements.push_back(element);
      }
      fragments.push_back(vector::FromElementsOp::create(
          b, layout.getFragmentType(), elements));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }
};

/// vector.transfer_write of a tile that is not whole boxes of f32 or bf16
/// (these have a faster way) -> a predicated store per element.
struct DistributeElementWrite : DistributePattern<vector::TransferWriteOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(vector::TransferWriteOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isPlainTransfer(op))
      return rewriter.notifyMatchFailure(op, "permuted, masked or not 2-D");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentLayout layout =
        distribution.getLayout(op.getValueToStore().getType());
    for (auto [wave, fragment] : llvm::enumerate(adaptor.getValueToStore())) {
      auto grid = ElementGrid::create(b, distribution, layout, wave, op);
      auto elements = vector::ToElementsOp::create(b, fragment).getElements();
      for (auto [i, element] : llvm::enumerate(elements)) {
        OpBuilder::InsertionGuard insertion(b);
        if (Value inside = grid.isInside(b, i)) {
          auto guard = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
          b.setInsertionPointToStart(guard.thenBlock());
        }
        memref::StoreOp::create(b, element, op.getBase(), grid.getIndices(i));
      }
    }
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void moss::populateDistributeMemoryPatterns(const TypeConverter &converter,
                                            const DistributionContext &context,
                                            RewritePatternSet &patterns) {
  patterns.add<DistributeRead, DistributeElementWrite>(
      converter, patterns.getContext(), context);
}
