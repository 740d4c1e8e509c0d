//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss.add_rescaled by rows and columns -> a multiplication and a fused
// multiply-add per element, in a branch that is taken while no scale is
// extreme. (With scales of one kind, moss-expand-rescale needs no branch.)
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moss/Transforms/ScaleArithmetic.h"
#include "moss/Transforms/ScaleFactor.h"

using namespace mlir;
using namespace mlir::moss;

/// The bits of f32 2^exponent.
static constexpr int64_t powerBits(int64_t exponent) {
  return (exponent + 127) << 23;
}

/// The bits of f32 numbers, as i32.
static Value getBits(ImplicitLocOpBuilder &b, Value numbers) {
  auto type = cast<VectorType>(numbers.getType());
  return arith::BitcastOp::create(b, type.clone(b.getI32Type()), numbers);
}

/// The conjunction of the elements of a vector of integers.
static Value conjunction(ImplicitLocOpBuilder &b, Value vector) {
  auto elements = vector::ToElementsOp::create(b, vector).getElements();
  Value all = elements.front();
  for (Value element : elements.drop_front())
    all = arith::AndIOp::create(b, all, element);
  return all;
}

/// Whether all exponents are between -62 and 62, which is where
/// ScaleFactorEmitter::bound changes nothing. `scales` are f32.
static Value areBounded(ImplicitLocOpBuilder &b, Value scales) {
  constexpr int64_t low = powerBits(-BoundedScale::kMaxExponent);
  constexpr int64_t high = powerBits(BoundedScale::kMaxExponent + 1);
  Value bits = getBits(b, scales);
  Type type = bits.getType();
  Value magnitude = arith::AndIOp::create(
      b, bits, createConstant(b, type, int64_t(INT32_MAX)));
  Value offset =
      arith::SubIOp::create(b, magnitude, createConstant(b, type, low));
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, offset,
                                       createConstant(b, type, high - low));
  return conjunction(b, inside);
}

/// Whether all exponents are between -63 and 64: their products with bounded
/// scales are normal numbers. There are many columns, so this takes two
/// instructions each: bit 30 is set, after 64 was added to the exponent, for
/// just those. `scales` are f32.
static Value haveNormalProducts(ImplicitLocOpBuilder &b, Value scales) {
  Value bits = getBits(b, scales);
  Value shifted = arith::AddIOp::create(
      b, bits, createConstant(b, bits.getType(), int64_t(64) << 23));
  Value bit = arith::AndIOp::create(b, conjunction(b, shifted),
                                    i32Constant(b, 1 << 30));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, bit,
                               i32Constant(b, 0));
}

/// tile * factor + acc by NVVM's intrinsic. LLVM would merge its own with that
/// of the other branch, and then sink the additions of all waves to the end of
/// the loop, where all their products would be alive at a time.
static Value fuseMultiplyAdd(ImplicitLocOpBuilder &b, Value tile, Value factor,
                             Value acc) {
  auto tiles = vector::ToElementsOp::create(b, tile).getElements();
  auto factors = vector::ToElementsOp::create(b, factor).getElements();
  auto accs = vector::ToElementsOp::create(b, acc).getElements();
  SmallVector<Value> sums;
  for (auto [t, f, c] : llvm::zip_equal(tiles, factors, accs))
    sums.push_back(LLVM::CallIntrinsicOp::create(
                       b, b.getF32Type(), b.getStringAttr("llvm.nvvm.fma.rn.f"),
                       ValueRange{t, f, c})
                       .getResult(0));
  return vector::FromElementsOp::create(b, cast<VectorType>(acc.getType()),
                                        sums);
}

namespace {

/// Emits the sum of one wave from the scales of its rows and of the columns;
/// either may be null.
class RescaledWave {
public:
  RescaledWave(ImplicitLocOpBuilder &b, Value rows, Value cols, int64_t size)
      : b(b), rows(rows), cols(cols), size(size) {}

  /// The sum under scales of one kind. Nothing overflows before it is rounded.
  Value emit(Value acc, Value tile) {
    ScaleFactorEmitter emitter(b, b.getLoc());
    Value factor =
        rows ? perRow(emitter.toF32(rows)) : perCol(emitter.toF32(cols));
    return vector::FMAOp::create(b, tile, factor, acc);
  }
  /// The sum under scales of both.
  Value emitProduct(Value acc, Value tile);

private:
  Value perRow(Value values) {
    return repeat(values, [](int64_t i) { return (i / 2) % 2; });
  }
  Value perCol(Value values) {
    return repeat(values, [](int64_t i) { return 2 * (i / 4) + i % 2; });
  }
  Value repeat(Value values, function_ref<int64_t(int64_t)> position);
  Value multiply(Value lhs, Value rhs) {
    return arith::MulFOp::create(b, lhs, rhs);
  }
  Value emitExtreme(Value acc, Value tile);

  ImplicitLocOpBuilder &b;
  Value rows, cols;
  int64_t size;
};

/// moss.add_rescaled -> per wave, a branch on the size of the scales.
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
      fragments.push_back(rows && cols ? sum.emitProduct(acc, tile)
                                       : sum.emit(acc, tile));
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

/// As moss-expand-rescale does it for whole tiles.
Value RescaledWave::emitExtreme(Value acc, Value tile) {
  ScaleFactorEmitter emitter(b, b.getLoc());
  BoundedScale row = emitter.bound(rows), col = emitter.bound(cols);
  tile = multiply(multiply(tile, perRow(row.power)), perCol(col.power));
  Value factor = multiply(perRow(row.factor), perCol(col.factor));
  return vector::FMAOp::create(b, tile, factor, acc);
}

Value RescaledWave::emitProduct(Value acc, Value tile) {
  ScaleFactorEmitter emitter(b, b.getLoc());
  Value rowFactors = emitter.toF32(rows), colFactors = emitter.toF32(cols);
  Value isUsual = arith::AndIOp::create(b, areBounded(b, rowFactors),
                                        haveNormalProducts(b, colFactors));
  // The whole warp takes the same way.
  isUsual = NVVM::VoteSyncOp::create(b, b.getI1Type(), i32Constant(b, -1),
                                     isUsual, NVVM::VoteSyncKind::all);
  auto branch = scf::IfOp::create(b, acc.getType(), isUsual,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value factor = multiply(perRow(rowFactors), perCol(colFactors));
  scf::YieldOp::create(b, fuseMultiplyAdd(b, tile, factor, acc));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, emitExtreme(acc, tile));
  return branch.getResult(0);
}

void moss::populateDistributeRescalePatterns(const TypeConverter &converter,
                                             const DistributionContext &context,
                                             RewritePatternSet &patterns) {
  patterns.add<DistributeAddRescaled>(converter, patterns.getContext(),
                                      context);
}
