//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Spreads the tile values of consumers over their threads. Most of it is a type
// conversion: a tile becomes one vector per wave, and elementwise ops on tiles
// become the same ops on these. Products, rescaled sums, loads and stores have
// patterns of their own in DistributeMma.cpp, DistributeRescale.cpp,
// DistributeMemory.cpp and DistributeStores.cpp.
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "OperandTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moss/GPU/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSDISTRIBUTETILES
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Whether `type` is that of a tile.
static bool isTile(Type type) {
  auto tile = dyn_cast<VectorType>(type);
  return tile && tile.getRank() == 2;
}

/// Whether `value` is a tile that is spread over threads. Operands and their
/// slices stay in shared memory, where moss.get has found them.
static bool isDistributed(Value value) {
  return isTile(value.getType()) && !SlotTile::lookup(value);
}

/// Waves of each moss.mma of the consumers, whose tiles are all alike.
static int64_t countWaves(WarpSpecializeOp roles) {
  int64_t waves = 1;
  roles.getConsumer().walk([&](MmaOp mma) {
    FragmentLayout layout(mma.getType(), roles.getNumConsumers());
    waves = layout.getNumWaves();
  });
  return waves;
}

namespace {

/// op(tile...) -> op(fragment...) per wave, for any elementwise op.
struct DistributeElementwise : ConversionPattern {
  DistributeElementwise(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), /*benefit=*/1,
                          context) {}

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "not elementwise");
    SmallVector<Type> types;
    if (failed(typeConverter->convertTypes(op->getResultTypes(), types)))
      return rewriter.notifyMatchFailure(op, "cannot convert its type");
    SmallVector<Value> fragments;
    for (auto [wave, type] : llvm::enumerate(types)) {
      SmallVector<Value> parts;
      for (ValueRange range : operands)
        parts.push_back(range[range.size() == 1 ? 0 : wave]);
      OpBuilder::InsertionGuard guard(rewriter);
      setInsertionPointEarly(rewriter, op, parts);
      OperationState state(op->getLoc(), op->getName(), parts, type,
                           op->getAttrs());
      fragments.push_back(rewriter.create(state)->getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }
};

/// A splat constant is the same for every thread.
struct DistributeConstant : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!splat)
      return rewriter.notifyMatchFailure(op, "not a splat");
    SmallVector<Type> types;
    if (failed(typeConverter->convertType(op.getType(), types)))
      return failure();
    SmallVector<Value> fragments;
    for (Type type : types)
      fragments.push_back(arith::ConstantOp::create(
          rewriter, op.getLoc(), splat.resizeSplat(cast<ShapedType>(type))));
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }
};

/// Scalars, row values and column values, each repeated over a tile.
struct DistributeBroadcast : DistributePattern<vector::BroadcastOp> {
  using DistributePattern::DistributePattern;

  LogicalResult
  matchAndRewrite(vector::BroadcastOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    FragmentLayout layout = distribution.getLayout(op.getType());
    auto source = dyn_cast<VectorType>(op.getSourceType());
    if (source && source.getRank() != 2)
      return rewriter.notifyMatchFailure(op,
                                         "source is neither scalar nor 2-D");
    ValueRange parts = adaptor.getSource();
    SmallVector<Value> fragments;
    for (int64_t wave = 0; wave < layout.getNumWaves(); ++wave) {
      Value part = parts[parts.size() == 1 ? 0 : wave];
      OpBuilder::InsertionGuard guard(rewriter);
      setInsertionPointEarly(rewriter, op, part);
      fragments.push_back(
          broadcast(rewriter, op.getLoc(), source, part, layout));
    }
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }

private:
  static Value broadcast(OpBuilder &b, Location loc, VectorType source,
                         Value part, FragmentLayout layout) {
    VectorType type = layout.getFragmentType();
    if (!source)
      return vector::BroadcastOp::create(b, loc, type, part);
    if (part.getType() == type)
      return part;
    return layout.spread(b, loc, part,
                         /*isPerRow=*/source.getDimSize(1) == 1);
  }
};

/// f32 -> bf16, two elements an instruction. The generic lowering of
/// arith.truncf to LLVM converts elements one by one.
struct DistributeTruncate : OpConversionPattern<arith::TruncFOp> {
  DistributeTruncate(const TypeConverter &converter, MLIRContext *context)
      : OpConversionPattern(converter, context, /*benefit=*/2) {}

  LogicalResult
  matchAndRewrite(arith::TruncFOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto from = cast<VectorType>(op.getIn().getType());
    auto to = cast<VectorType>(op.getType());
    if (!from.getElementType().isF32() || !to.getElementType().isBF16() ||
        op.getRoundingmodeAttr())
      return rewriter.notifyMatchFailure(op, "not a plain f32 to bf16");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> fragments;
    for (Value fragment : adaptor.getIn())
      fragments.push_back(truncate(b, fragment));
    rewriter.replaceOpWithMultiple(op, {fragments});
    return success();
  }

private:
  static Value truncate(ImplicitLocOpBuilder &b, Value fragment) {
    auto elements = vector::ToElementsOp::create(b, fragment).getElements();
    auto pairType = VectorType::get({2}, b.getBF16Type());
    SmallVector<Value> truncated;
    for (size_t i = 0; i < elements.size(); i += 2) {
      Value pair = NVVM::ConvertF32x2ToBF16x2Op::create(
          b, pairType, elements[i + 1], elements[i], Value(),
          NVVM::FPRoundingMode::RN);
      llvm::append_range(truncated,
                         vector::ToElementsOp::create(b, pair).getElements());
    }
    return vector::FromElementsOp::create(
        b,
        VectorType::get({static_cast<int64_t>(elements.size())},
                        b.getBF16Type()),
        truncated);
  }
};

struct DistributeTilesPass
    : moss::impl::MossDistributeTilesBase<DistributeTilesPass> {
  void runOnOperation() override {
    SmallVector<WarpSpecializeOp> roles;
    getOperation().walk([&](WarpSpecializeOp op) { roles.push_back(op); });
    for (WarpSpecializeOp op : roles)
      if (failed(checkProducts(op)) || failed(checkShapes(op)) ||
          failed(distribute(op)))
        return signalPassFailure();
  }

private:
  static LogicalResult checkProducts(WarpSpecializeOp roles);
  static LogicalResult checkShapes(WarpSpecializeOp roles);
  static LogicalResult distribute(WarpSpecializeOp roles);
};
} // namespace

/// Every product must be the consumers', and one that the matrix unit does.
LogicalResult DistributeTilesPass::checkProducts(WarpSpecializeOp roles) {
  WalkResult result = roles.walk([&](MmaOp op) -> WalkResult {
    if (!roles.getConsumer().isAncestor(op->getParentRegion()))
      return op.emitOpError("is not in the consumers' region of "
                            "moss.warp_specialize, which multiply");
    return checkProduct(op);
  });
  return failure(result.wasInterrupted());
}

/// Every tile must divide into whole waves of the consumers.
LogicalResult DistributeTilesPass::checkShapes(WarpSpecializeOp roles) {
  int64_t consumers = roles.getNumConsumers();
  WalkResult result = roles.getConsumer().walk([&](Operation *op) {
    for (Value tile : op->getResults()) {
      if (!isDistributed(tile) ||
          FragmentLayout(cast<VectorType>(tile.getType()), consumers).isValid())
        continue;
      op->emitOpError("yields the tile ")
          << tile.getType() << ", which does not divide into whole waves of "
          << kWaveRows << " rows for " << consumers << " consumers";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult DistributeTilesPass::distribute(WarpSpecializeOp roles) {
  MLIRContext *context = roles.getContext();
  ImplicitLocOpBuilder b(roles.getLoc(), context);
  b.setInsertionPointToStart(&roles.getConsumer().front());
  DistributionContext distribution;
  distribution.consumers = roles.getNumConsumers();
  distribution.productWaves = countWaves(roles);
  distribution.position =
      ThreadPosition::create(b, roles.getConsumer().getArgument(0));

  // Constants outside the roles are copied in, so that they convert with them.
  roles.getConsumer().walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      if (def && def->hasTrait<OpTrait::ConstantLike>() &&
          isDistributed(operand.get()) &&
          !roles.getConsumer().isAncestor(def->getParentRegion()))
        operand.set(b.clone(*def)->getResult(0));
    }
  });

  TypeConverter converter;
  converter.addConversion([](Type type) { return type; });
  converter.addConversion(
      [&](VectorType type,
          SmallVectorImpl<Type> &results) -> std::optional<LogicalResult> {
        if (!isTile(type))
          return std::nullopt;
        FragmentLayout layout(type, distribution.consumers);
        results.append(layout.getNumWaves(), layout.getFragmentType());
        return success();
      });

  // Asked before the conversion by type.
  converter.addConversion([](Value value) -> std::optional<Type> {
    if (SlotTile::lookup(value))
      return value.getType();
    return std::nullopt;
  });

  // Shared memory must outlive the copies that read it.
  distribution.storesTiles =
      roles.getConsumer()
          .walk([](StoreTileOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (distribution.storesTiles) {
    b.setInsertionPointToEnd(&roles.getConsumer().front());
    NVVM::CpAsyncBulkWaitGroupOp::create(b, 0, UnitAttr());
  }

  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([&](Operation *op) {
    return llvm::none_of(op->getOperands(), isDistributed) &&
           llvm::none_of(op->getResults(), isDistributed) &&
           llvm::all_of(op->getRegions(), [](Region &region) {
             return llvm::all_of(region.getBlocks(), [](Block &block) {
               return llvm::none_of(block.getArguments(), isDistributed);
             });
           });
  });

  RewritePatternSet patterns(context);
  scf::populateSCFStructuralTypeConversions(converter, patterns);
  patterns.add<DistributeElementwise, DistributeConstant, DistributeTruncate>(
      converter, context);
  patterns.add<DistributeBroadcast>(converter, context, distribution);
  populateDistributeMmaPatterns(converter, distribution, patterns);
  populateDistributeRescalePatterns(converter, distribution, patterns);
  populateDistributeScalesPatterns(converter, distribution, patterns);
  populateDistributeMemoryPatterns(converter, distribution, patterns);
  populateDistributeStorePatterns(converter, distribution, patterns);
  return applyPartialConversion(roles, target, std::move(patterns));
}
