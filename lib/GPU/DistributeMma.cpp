//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss.mma on tiles in shared memory -> chains of wgmma, one per wave.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "OperandTiles.h"
#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moss;

static NVVM::WGMMATypes getOperandType(Value tile) {
  Type elementType = cast<VectorType>(tile.getType()).getElementType();
  if (elementType.isBF16())
    return NVVM::WGMMATypes::bf16;
  return isa<Float8E4M3FNType>(elementType) ? NVVM::WGMMATypes::e4m3
                                            : NVVM::WGMMATypes::e5m2;
}

/// A fragment as the register list that wgmma takes, and back.
static Value packRegisters(ImplicitLocOpBuilder &b, Value fragment,
                           Type registers) {
  Value packed = LLVM::PoisonOp::create(b, registers);
  auto elements = vector::ToElementsOp::create(b, fragment).getElements();
  for (auto [i, element] : llvm::enumerate(elements))
    packed = LLVM::InsertValueOp::create(b, packed, element,
                                         static_cast<int64_t>(i));
  return packed;
}

static Value unpackRegisters(ImplicitLocOpBuilder &b, Value registers,
                             VectorType fragment) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < fragment.getNumElements(); ++i)
    elements.push_back(LLVM::ExtractValueOp::create(b, registers, i));
  return vector::FromElementsOp::create(b, fragment, elements);
}

/// Where in shared memory `operand` begins: at the first row of a tile, and
/// at a whole step along its K. Nothing if it does not, which checkProduct
/// reports.
static std::optional<SlotTile> findOperand(Value operand) {
  std::optional<SlotTile> found = SlotTile::lookup(operand);
  auto type = cast<VectorType>(operand.getType());
  if (!found || found->row != 0 ||
      found->col % getMmaStepK(type.getElementType()) != 0)
    return std::nullopt;
  return found;
}

LogicalResult moss::checkProduct(MmaOp op) {
  VectorType lhs = op.getLhs().getType();
  int64_t k = lhs.getDimSize(1), n = op.getType().getDimSize(1);
  int64_t stepK = getMmaStepK(lhs.getElementType());
  if (k % stepK != 0)
    return op.emitOpError("has K = ")
           << k << ", but the matrix unit multiplies " << lhs.getElementType()
           << " in steps of " << stepK << "; use a multiple of " << stepK;
  if (n % 8 != 0 || n > kMaxWaveCols)
    return op.emitOpError("has N = ")
           << n << ", but the matrix unit takes a multiple of 8, at most "
           << kMaxWaveCols;
  for (Value operand : {op.getLhs(), op.getRhs()})
    if (!findOperand(operand))
      return op.emitOpError("multiplies ")
             << operand.getType()
             << " that is not in a slot: it must be a tile that moss.get "
                "yields, or a slice of one, from row 0 and a multiple of "
             << stepK << " along K on";
  return success();
}

namespace {
struct DistributeMma : DistributePattern<MmaOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(MmaOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    FragmentLayout layout = distribution.getLayout(op.getType());
    // The first step of a sum that starts from zero does not read its
    // accumulator.
    bool startsAnew = matchPattern(op.getAcc(), m_AnyZeroFloat());
    Value zero = i32Constant(b, 0);
    Value rhs = describe(b, *findOperand(op.getRhs()), zero);
    SmallVector<Value> fragments;
    Value registers = findPrevious(op);
    for (int64_t wave = 0; wave < layout.getNumWaves(); ++wave) {
      Value row = distribution.getWaveRow(b, layout, wave);
      Value lhs = describe(b, *findOperand(op.getLhs()), row);
      Value acc = startsAnew ? Value() : adaptor.getAcc()[wave];
      registers = emitWave(b, op, lhs, rhs, acc, registers, layout);
      fragments.push_back(
          unpackRegisters(b, registers, layout.getFragmentType()));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }

private:
  static LLVM::LLVMStructType getRegisters(VectorType fragment) {
    return LLVM::LLVMStructType::getLiteral(
        fragment.getContext(), SmallVector<Type>(fragment.getNumElements(),
                                                 fragment.getElementType()));
  }

  /// Whether threads read tiles of the slot that the operands of `op` are in.
  static bool readsScales(MmaOp op) {
    auto get = findOperand(op.getLhs())->tile.getDefiningOp<GetOp>();
    return llvm::any_of(get.getChannel().getType().getTiles(), isScaleTile);
  }

  /// The descriptor of an operand that begins in `tile`, from `row` on.
  static Value describe(ImplicitLocOpBuilder &b, SlotTile tile, Value row) {
    auto type = cast<VectorType>(tile.tile.getType());
    return advance(b, TileDescriptorOp::create(b, tile.tile, row),
                   tile.col / getMmaStepK(type.getElementType()));
  }

  /// The registers of the last product before `op` in its block, or null.
  static Value findPrevious(MmaOp op) {
    for (Operation &other : llvm::reverse(
             llvm::make_range(op->getBlock()->begin(), op->getIterator())))
      if (auto mma = dyn_cast<NVVM::WgmmaMmaAsyncOp>(other))
        return mma.getResults();
    return Value();
  }

  /// The chain of wgmma over the tile's K, as a list of registers. `acc` is
  /// null for zero; then the chain overwrites the registers of the `previous`
  /// wave or product, if there are any. The assembler cannot tell that it
  /// should: it would let sums of one wave wait for the products of the next,
  /// and spill both.
  static Value emitWave(ImplicitLocOpBuilder &b, MmaOp op, Value lhs, Value rhs,
                        Value acc, Value previous, FragmentLayout layout) {
    auto registers = getRegisters(layout.getFragmentType());
    Value sum = previous;
    if (acc)
      sum = packRegisters(b, acc, registers);
    else if (!sum)
      sum = LLVM::UndefOp::create(b, registers);
    NVVM::WgmmaFenceAlignedOp::create(b);
    VectorType lhsType = op.getLhs().getType();
    int64_t stepK = getMmaStepK(lhsType.getElementType());
    auto shape = NVVM::MMAShapeAttr::get(b.getContext(), kWaveRows,
                                         op.getType().getDimSize(1), stepK);
    int64_t steps = lhsType.getDimSize(1) / stepK;
    for (int64_t step = 0; step < steps; ++step) {
      auto scale = acc || step > 0 ? NVVM::WGMMAScaleOut::one
                                   : NVVM::WGMMAScaleOut::zero;
      sum = NVVM::WgmmaMmaAsyncOp::create(
          b, registers, sum, advance(b, lhs, step), advance(b, rhs, step),
          shape, getOperandType(op.getLhs()), getOperandType(op.getRhs()),
          NVVM::WGMMATypes::f32, scale, NVVM::WGMMAScaleIn::one,
          NVVM::WGMMAScaleIn::one, NVVM::MMALayout::row, NVVM::MMALayout::col,
          NVVM::MMAIntOverflowAttr());
    }
    NVVM::WgmmaGroupSyncAlignedOp::create(b);
    // Reads of scales come next. The assembler would move them in front of all
    // products but the first, which then wait for memory.
    if (readsScales(op))
      NVVM::SyncWarpOp::create(b, i32Constant(b, -1));
    NVVM::WgmmaWaitGroupSyncOp::create(b, 0);
    return sum;
  }

  /// The descriptor of the next K step: addresses count 16 bytes.
  static Value advance(ImplicitLocOpBuilder &b, Value descriptor,
                       int64_t step) {
    if (step == 0)
      return descriptor;
    Value offset =
        arith::ConstantIntOp::create(b, step * kMmaStepBytes / 16, 64);
    return arith::AddIOp::create(b, descriptor, offset);
  }
};
} // namespace

void moss::populateDistributeMmaPatterns(const TypeConverter &converter,
                                         const DistributionContext &context,
                                         RewritePatternSet &patterns) {
  patterns.add<DistributeMma>(converter, patterns.getContext(), context);
}
