//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes of tiles by the threads themselves: micro scales, the old
// value of an accumulated result, and results that the copy engine cannot
// reach.
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

static Value toIndex(ImplicitLocOpBuilder &b, Value i32) {
  return arith::IndexCastOp::create(b, b.getIndexType(), i32);
}

static Value indexConstant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

/// Whether `op` transfers a tile from or to a two-dimensional memref as it is.
static bool isPlainTransfer(VectorTransferOpInterface op) {
  auto type = dyn_cast<MemRefType>(op.getBase().getType());
  return type && type.getRank() == 2 && op.getPermutationMap().isIdentity() &&
         !op.getMask();
}

/// A position along one dimension: clamped into the array, and whether it was
/// inside.
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
struct ElementGrid {
  SmallVector<ClampedIndex> rows, cols;

  /// The grid of one wave of a tile at (row, col) of `memref`.
  static ElementGrid create(ImplicitLocOpBuilder &b,
                            const DistributionContext &distribution,
                            FragmentLayout layout, int64_t wave, Value memref,
                            Value row, Value col) {
    ElementGrid grid;
    Value height = memref::DimOp::create(b, memref, 0);
    Value width = memref::DimOp::create(b, memref, 1);
    for (int64_t r = 0; r < 2; ++r) {
      Value offset = toIndex(b, distribution.getElementRow(b, layout, wave, r));
      grid.rows.push_back(ClampedIndex::create(
          b, arith::AddIOp::create(b, row, offset), height));
    }
    for (int64_t c = 0; c < layout.getFragmentSize() / 2; ++c) {
      Value offset = toIndex(b, distribution.getElementCol(b, c));
      grid.cols.push_back(ClampedIndex::create(
          b, arith::AddIOp::create(b, col, offset), width));
    }
    return grid;
  }
  /// Row and column of element `i` of the fragment.
  const ClampedIndex &getRow(int64_t i) const { return rows[(i / 2) % 2]; }
  const ClampedIndex &getCol(int64_t i) const {
    return cols[2 * (i / 4) + i % 2];
  }
};

/// moss.load_scales -> one load per row or column of the thread.
struct DistributeLoadScales : OpConversionPattern<LoadScalesOp> {
  DistributeLoadScales(const TypeConverter &converter, MLIRContext *context,
                       const DistributionContext &distribution)
      : OpConversionPattern(converter, context), distribution(distribution) {}

  LogicalResult
  matchAndRewrite(LoadScalesOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentLayout layout = distribution.getLayout(op.getType());
    Value k = op.getGroupK() == 0
                  ? indexConstant(b, 0)
                  : arith::DivUIOp::create(b, op.getK(),
                                           indexConstant(b, op.getGroupK()))
                        .getResult();
    SmallVector<Value> fragments;
    for (int64_t wave = 0; wave < layout.getNumWaves(); ++wave) {
      SmallVector<Value> elements;
      for (int64_t i = 0; i < layout.getFragmentSize(); ++i) {
        Value position = layout.isPerRow()
                             ? distribution.getElementRow(b, layout, wave, i)
                             : distribution.getElementCol(b, i);
        elements.push_back(load(b, op, toIndex(b, position), k));
      }
      fragments.push_back(vector::FromElementsOp::create(
          b, layout.getFragmentType(), elements));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }

private:
  static Value load(ImplicitLocOpBuilder &b, LoadScalesOp op, Value offset,
                    Value k) {
    Value outer = arith::AddIOp::create(b, op.getOuter(), offset);
    ClampedIndex clamped = ClampedIndex::create(b, outer, op.getBound());
    Value group = clamped.index;
    if (op.getGroupOuter() == 0)
      group = indexConstant(b, 0);
    else if (op.getGroupOuter() > 1)
      group = arith::DivUIOp::create(b, group,
                                     indexConstant(b, op.getGroupOuter()));
    Value scale =
        memref::LoadOp::create(b, op.getSource(), ValueRange{group, k});
    Value one =
        arith::ConstantOp::create(b, b.getFloatAttr(scale.getType(), 1.0));
    return arith::SelectOp::create(b, clamped.inside, scale, one);
  }

  const DistributionContext &distribution;
};

/// vector.transfer_read of an old result -> a load per element, zero outside.
struct DistributeRead : OpConversionPattern<vector::TransferReadOp> {
  DistributeRead(const TypeConverter &converter, MLIRContext *context,
                 const DistributionContext &distribution)
      : OpConversionPattern(converter, context), distribution(distribution) {}

  LogicalResult
  matchAndRewrite(vector::TransferReadOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isPlainTransfer(op))
      return rewriter.notifyMatchFailure(op, "permuted, masked or not 2-D");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentLayout layout = distribution.getLayout(op.getType());
    SmallVector<Value> fragments;
    for (int64_t wave = 0; wave < layout.getNumWaves(); ++wave) {
      auto grid =
          ElementGrid::create(b, distribution, layout, wave, op.getBase(),
                              op.getIndices()[0], op.getIndices()[1]);
      SmallVector<Value> elements;
      for (int64_t i = 0; i < layout.getFragmentSize(); ++i) {
        const ClampedIndex &row = grid.getRow(i), &col = grid.getCol(i);
        Value element = memref::LoadOp::create(
            b, op.getBase(), ValueRange{row.index, col.index});
        Value inside = arith::AndIOp::create(b, row.inside, col.inside);
        elements.push_back(
            arith::SelectOp::create(b, inside, element, op.getPadding()));
      }
      fragments.push_back(vector::FromElementsOp::create(
          b, layout.getFragmentType(), elements));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }

private:
  const DistributionContext &distribution;
};

/// vector.transfer_write -> a predicated store per element.
struct DistributeWrite : OpConversionPattern<vector::TransferWriteOp> {
  DistributeWrite(const TypeConverter &converter, MLIRContext *context,
                  const DistributionContext &distribution)
      : OpConversionPattern(converter, context), distribution(distribution) {}

  LogicalResult
  matchAndRewrite(vector::TransferWriteOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!isPlainTransfer(op))
      return rewriter.notifyMatchFailure(op, "permuted, masked or not 2-D");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentLayout layout =
        distribution.getLayout(op.getValueToStore().getType());
    for (auto [wave, fragment] : llvm::enumerate(adaptor.getValueToStore())) {
      auto grid =
          ElementGrid::create(b, distribution, layout, wave, op.getBase(),
                              op.getIndices()[0], op.getIndices()[1]);
      auto elements = vector::ToElementsOp::create(b, fragment).getElements();
      for (auto [i, element] : llvm::enumerate(elements)) {
        const ClampedIndex &row = grid.getRow(i), &col = grid.getCol(i);
        Value inside = arith::AndIOp::create(b, row.inside, col.inside);
        auto guard = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
        OpBuilder::InsertionGuard insertion(b);
        b.setInsertionPointToStart(guard.thenBlock());
        memref::StoreOp::create(b, element, op.getBase(),
                                ValueRange{row.index, col.index});
      }
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  const DistributionContext &distribution;
};

} // namespace

void moss::populateDistributeMemoryPatterns(const TypeConverter &converter,
                                            const DistributionContext &context,
                                            RewritePatternSet &patterns) {
  patterns.add<DistributeLoadScales, DistributeRead, DistributeWrite>(
      converter, patterns.getContext(), context);
}
