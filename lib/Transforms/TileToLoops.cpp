//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers moss.scaled_matmul to naive tile loops: the loop nest, the loads of
// tiles and scales, the products, and the epilogue, in this order.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSTILETOLOOPS
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {

/// One operand of the matmul: its buffers and scheme.
struct Operand {
  Value payload, micro, global;
  /// The payload's outer extent.
  Value extent;
  SchemeAttr scheme;
  int64_t tileOuter;
  bool isRows;
};

/// Emits the loops of one op.
class TileLoopEmitter {
public:
  TileLoopEmitter(ScaledMatmulOp op)
      : op(op), schedule(*op.getSchedule()),
        productK(getProductK(op, schedule.getTileK())), b(op.getLoc(), op),
        lhs{op.getLhs(),         op.getLhsMicro(),  op.getLhsGlobal(),
            dim(op.getLhs(), 0), op.getLhsScheme(), schedule.getTileM(),
            /*isRows=*/true},
        rhs{op.getRhs(),         op.getRhsMicro(),  op.getRhsGlobal(),
            dim(op.getRhs(), 0), op.getRhsScheme(), schedule.getTileN(),
            /*isRows=*/false} {}

  void emit();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value dim(Value memref, int64_t d) {
    return b.createOrFold<memref::DimOp>(memref, d);
  }
  VectorType getSumType() {
    return VectorType::get({schedule.getTileM(), schedule.getTileN()},
                           b.getF32Type());
  }
  SmallVector<bool> getInBounds(Value memref, ArrayRef<int64_t> tile);
  Value loadTile(const Operand &operand, Value outer, Value k);
  Value loadScales(const Operand &operand, Value outer, Value k);
  Value multiply(Value m, Value n, Value k, Value acc);
  Value multiplyInterval(Value m, Value n, Value k, Value kEnd);
  Value emitSum(Value m, Value n);
  SmallVector<Value> loadGlobalScales();
  void storeTile(Value tile, Value m, Value n);
  void emitEmptySum();
  DictionaryAttr describeMatmul();

  ScaledMatmulOp op;
  ScheduleAttr schedule;
  int64_t productK;
  ImplicitLocOpBuilder b;
  Operand lhs, rhs;
  Value zero, kExtent;
};

} // namespace

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// A dimension needs no bounds when its extent is a multiple of the tile's.
SmallVector<bool> TileLoopEmitter::getInBounds(Value memref,
                                               ArrayRef<int64_t> tile) {
  SmallVector<bool> inBounds;
  for (auto [extent, step] :
       llvm::zip_equal(cast<MemRefType>(memref.getType()).getShape(), tile))
    inBounds.push_back(!ShapedType::isDynamic(extent) && extent % step == 0);
  return inBounds;
}

Value TileLoopEmitter::loadTile(const Operand &operand, Value outer, Value k) {
  Type elementType = operand.scheme.getElementType();
  int64_t shape[] = {operand.tileOuter, productK};
  Value padding =
      arith::ConstantOp::create(b, b.getFloatAttr(elementType, 0.0));
  return vector::TransferReadOp::create(
      b, VectorType::get(shape, elementType), operand.payload,
      ValueRange{outer, k}, padding,
      ArrayRef<bool>(getInBounds(operand.payload, shape)));
}

/// The micro scales of a tile's rows or columns; null if there are none.
Value TileLoopEmitter::loadScales(const Operand &operand, Value outer,
                                  Value k) {
  if (!operand.micro)
    return {};
  int64_t shape[] = {1, 1};
  shape[operand.isRows ? 0 : 1] = operand.tileOuter;
  return LoadScalesOp::create(
      b, VectorType::get(shape, operand.scheme.getMicroType()), operand.micro,
      outer, k, operand.extent, operand.scheme.getGroupOuter(),
      operand.scheme.getGroupK());
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value TileLoopEmitter::multiply(Value m, Value n, Value k, Value acc) {
  Value a = loadTile(lhs, m, k), c = loadTile(rhs, n, k);
  return MmaOp::create(b, a, c, acc);
}

/// The partial sum of [k, kEnd), chained in the matrix unit's accumulator.
Value TileLoopEmitter::multiplyInterval(Value m, Value n, Value k, Value kEnd) {
  Value limit = arith::MinUIOp::create(b, kEnd, kExtent);
  auto loop = scf::ForOp::create(
      b, k, limit, index(productK), ValueRange{zero},
      [&](OpBuilder &, Location, Value iv, ValueRange args) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(args.front().getParentBlock());
        scf::YieldOp::create(b, multiply(m, n, iv, args.front()));
      });
  return loop.getResult(0);
}

Value TileLoopEmitter::emitSum(Value m, Value n) {
  int64_t chain = getChainLength(op, schedule.getTileK());
  Value c0 = index(0);
  // Scales that are constant along K are read once, before the loop.
  Value rows, cols;
  if (lhs.scheme.isConstantAlongK())
    rows = loadScales(lhs, m, c0);
  if (rhs.scheme.isConstantAlongK())
    cols = loadScales(rhs, n, c0);

  auto loop = scf::ForOp::create(
      b, c0, kExtent, index(chain), ValueRange{zero},
      [&](OpBuilder &, Location, Value k, ValueRange args) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(args.front().getParentBlock());
        // Scales before products: what is computed from them need not wait.
        Value r = rows ? rows : loadScales(lhs, m, k);
        Value c = cols ? cols : loadScales(rhs, n, k);
        Value partial =
            chain == productK
                ? multiply(m, n, k, zero)
                : multiplyInterval(m, n, k,
                                   arith::AddIOp::create(b, k, index(chain)));
        if (r || c)
          partial = RescaleOp::create(b, partial, r, c, ValueRange{});
        Value sum = arith::AddFOp::create(b, args.front(), partial);
        scf::YieldOp::create(b, sum);
      });
  loop->setAttr("moss.accumulate", op.getAccumulate());
  return loop.getResult(0);
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

/// Read before the loop over K, behind which the latency hides.
SmallVector<Value> TileLoopEmitter::loadGlobalScales() {
  SmallVector<Value> scalars;
  for (Value global : {lhs.global, rhs.global})
    if (global)
      scalars.push_back(memref::LoadOp::create(b, global, ValueRange{}));
  return scalars;
}

void TileLoopEmitter::storeTile(Value tile, Value m, Value n) {
  auto initType = cast<MemRefType>(op.getInit().getType());
  Type elementType = initType.getElementType();
  auto tileType = VectorType::get(getSumType().getShape(), elementType);
  SmallVector<bool> inBounds = getInBounds(op.getInit(), tileType.getShape());
  if (op.getAccumulates()) {
    Value padding =
        arith::ConstantOp::create(b, b.getFloatAttr(elementType, 0.0));
    Value old = vector::TransferReadOp::create(b, tileType, op.getInit(),
                                               ValueRange{m, n}, padding,
                                               ArrayRef<bool>(inBounds));
    if (!elementType.isF32())
      old = arith::ExtFOp::create(b, getSumType(), old);
    tile = arith::AddFOp::create(b, old, tile);
  }
  if (!elementType.isF32())
    tile = arith::TruncFOp::create(b, tileType, tile);
  vector::TransferWriteOp::create(b, tile, op.getInit(), ValueRange{m, n},
                                  ArrayRef<bool>(inBounds));
}

/// A sum over nothing is zero, and adding it changes nothing. A loop without
/// iterations would be folded, and leave tiles that no product distributes.
void TileLoopEmitter::emitEmptySum() {
  Type elementType = cast<MemRefType>(op.getInit().getType()).getElementType();
  if (!op.getAccumulates()) {
    Value scalar = arith::ConstantOp::create(b, b.getZeroAttr(elementType));
    linalg::FillOp::create(b, scalar, op.getInit());
  }
  op.erase();
}

/// What the loops compute, for descriptions of their kernel: extents M, N and K
/// and, as text, since lowerings replace types in attributes, the rest.
DictionaryAttr TileLoopEmitter::describeMatmul() {
  auto print = [&](Attribute attribute) {
    std::string text;
    llvm::raw_string_ostream(text) << attribute;
    return b.getStringAttr(text);
  };
  auto getExtent = [](Value memref, unsigned dim) {
    return cast<MemRefType>(memref.getType()).getDimSize(dim);
  };
  int64_t shape[] = {getExtent(op.getLhs(), 0), getExtent(op.getRhs(), 0),
                     getExtent(op.getLhs(), 1)};
  return b.getDictionaryAttr(
      {b.getNamedAttr("accumulate", print(op.getAccumulate())),
       b.getNamedAttr("lhs", print(op.getLhsScheme())),
       b.getNamedAttr("rhs", print(op.getRhsScheme())),
       b.getNamedAttr("shape", b.getDenseI64ArrayAttr(shape))});
}

void TileLoopEmitter::emit() {
  if (cast<MemRefType>(op.getLhs().getType()).getDimSize(1) == 0 ||
      cast<MemRefType>(op.getRhs().getType()).getDimSize(1) == 0)
    return emitEmptySum();
  kExtent = dim(op.getLhs(), 1);
  zero = arith::ConstantOp::create(b, b.getZeroAttr(getSumType()));
  auto forall = scf::ForallOp::create(
      b, ArrayRef<OpFoldResult>{b.getIndexAttr(0), b.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{getAsOpFoldResult(lhs.extent),
                             getAsOpFoldResult(rhs.extent)},
      ArrayRef<OpFoldResult>{b.getIndexAttr(schedule.getTileM()),
                             b.getIndexAttr(schedule.getTileN())},
      ValueRange{}, std::nullopt);
  forall->setAttr("moss.schedule", schedule);
  forall->setAttr("moss.matmul", describeMatmul());
  // Loops that are mapped to something are not folded when they have a single
  // iteration, so that small results get a kernel too.
  auto mapTo = [&](gpu::MappingId id) -> Attribute {
    return gpu::GPUBlockMappingAttr::get(b.getContext(), id);
  };
  forall.setMappingAttr(b.getArrayAttr(
      {mapTo(gpu::MappingId::DimY), mapTo(gpu::MappingId::DimX)}));
  b.setInsertionPoint(forall.getTerminator());
  Value m = forall.getInductionVar(0), n = forall.getInductionVar(1);
  SmallVector<Value> scalars = loadGlobalScales();
  Value sum = emitSum(m, n);
  if (!scalars.empty())
    sum = RescaleOp::create(b, sum, Value(), Value(), scalars);
  storeTile(sum, m, n);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Whether the op can be tiled as its schedule says; emits an error if not.
static LogicalResult checkTileable(ScaledMatmulOp op) {
  if (!isa<MemRefType>(op.getLhs().getType()))
    return op.emitOpError("must be on memrefs to be tiled; bufferize first");
  std::optional<ScheduleAttr> schedule = op.getSchedule();
  if (!schedule)
    return op.emitOpError("has no schedule; run moss-choose-schedule or "
                          "attach one");
  int64_t tileK = schedule->getTileK();
  int64_t extent = cast<ShapedType>(op.getLhs().getType()).getDimSize(1);
  for (SchemeAttr scheme : {op.getLhsScheme(), op.getRhsScheme()}) {
    if (!scheme.isConstantAlongK() && scheme.getGroupK() % kMinTileK != 0)
      return op.emitOpError("micro groups of ")
             << scheme.getGroupK() << " elements along K cannot be tiled; "
             << "quantize with 'full' groups or multiples of " << kMinTileK;
    if (!scheme.isConstantAlongK() && scheme.getGroupK() % tileK != 0 &&
        tileK % scheme.getGroupK() != 0)
      return op.emitOpError("tile K = ")
             << tileK << " holds parts of micro groups of "
             << scheme.getGroupK()
             << " elements; use a tile K that divides it or is a multiple of "
                "it, and that is "
             << kMinTileK << " or a multiple of " << kMmaStepK;
    // One step has no loop to merge steps of.
    if (!scheme.isConstantAlongK() && tileK > scheme.getGroupK() &&
        !ShapedType::isDynamic(extent) && extent <= scheme.getGroupK())
      return op.emitOpError("tile K = ")
             << tileK << " holds several micro groups of " << scheme.getGroupK()
             << " elements, but K has only one; use a tile K of "
             << scheme.getGroupK();
  }
  if (!op.getAccumulate().isFast() &&
      op.getAccumulate().getInterval() % tileK != 0)
    return op.emitOpError("the promotion interval ")
           << op.getAccumulate().getInterval()
           << " must be a multiple of tile K = " << tileK;
  return success();
}

namespace {
struct TileToLoopsPass : moss::impl::MossTileToLoopsBase<TileToLoopsPass> {
  void runOnOperation() override {
    SmallVector<ScaledMatmulOp> ops;
    getOperation()->walk([&](ScaledMatmulOp op) { ops.push_back(op); });
    if (llvm::any_of(
            ops, [](ScaledMatmulOp op) { return failed(checkTileable(op)); }))
      return signalPassFailure();
    for (ScaledMatmulOp op : ops)
      TileLoopEmitter(op).emit();
  }
};
} // namespace
