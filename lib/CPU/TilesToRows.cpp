//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers two-dimensional vectors (tiles) to loops over their rows. Every tile
// value has a buffer, which holds it from its definition to its last use; a
// loop that carries tiles copies them at its entry and, unless they were
// computed in place, at the end of every iteration.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "moss/CPU/Passes.h"
#include "moss/CPU/Scratch.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSTILESTOROWS
#include "moss/CPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// Rewrites the tiles of one function.
class TileLowering {
public:
  explicit TileLowering(FunctionOpInterface function) : function(function) {}

  void run();

private:
  void lower(Operation *op);
  void assignBuffer(ImplicitLocOpBuilder &b, Operation *op);
  void lowerElementwise(Operation *op);
  void lowerTransferRead(vector::TransferReadOp op);
  void lowerTransferWrite(vector::TransferWriteOp op);
  void lowerLoop(scf::ForOp loop);
  void lowerYield(scf::YieldOp yield, scf::ForOp loop);
  void lowerOther(Operation *op);
  void storeTiles(ImplicitLocOpBuilder &b, ValueRange values);

  /// Call `body` in a loop over the rows of a tile of `type`.
  void forEachRow(ImplicitLocOpBuilder &b, VectorType type,
                  function_ref<void(ImplicitLocOpBuilder &, Value)> body);
  Value readRow(ImplicitLocOpBuilder &b, Value tile, Value row);
  Value readBroadcastRow(ImplicitLocOpBuilder &b, vector::BroadcastOp op,
                         Value row);
  void writeRow(ImplicitLocOpBuilder &b, Value row, Value buffer, Value index);
  void copy(ImplicitLocOpBuilder &b, Value tile, Value buffer);
  Value materialize(ImplicitLocOpBuilder &b, Value tile);

  Value allocate(ImplicitLocOpBuilder &b, Type type);
  Value getBuffer(ImplicitLocOpBuilder &b, Value tile);

  FunctionOpInterface function;
  DenseMap<Value, Value> buffers;
  SmallVector<Operation *> lowered;
};

struct TilesToRowsPass : moss::impl::MossTilesToRowsBase<TilesToRowsPass> {
  void runOnOperation() override;
};
} // namespace

static bool isTile(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getRank() == 2 && !vector.isScalable();
}

static bool isTile(Value value) { return isTile(value.getType()); }

static VectorType rowType(Type tile) {
  auto vector = cast<VectorType>(tile);
  return VectorType::get(vector.getDimSize(1), vector.getElementType());
}

static bool isSplatConstant(Value value) {
  DenseElementsAttr attr;
  return matchPattern(value, m_Constant(&attr)) && attr.isSplat();
}

/// Whether rows of the tile are computed where they are used.
static bool isLazy(Value tile) {
  return isSplatConstant(tile) || tile.getDefiningOp<vector::BroadcastOp>();
}

//===----------------------------------------------------------------------===//
// Rows and buffers
//===----------------------------------------------------------------------===//

Value TileLowering::allocate(ImplicitLocOpBuilder &b, Type type) {
  auto vector = cast<VectorType>(type);
  return allocateScratch(b, function, vector.getShape(),
                         vector.getElementType());
}

Value TileLowering::getBuffer(ImplicitLocOpBuilder &b, Value tile) {
  Value &buffer = buffers[tile];
  if (!buffer)
    buffer = allocate(b, tile.getType());
  return buffer;
}

void TileLowering::forEachRow(
    ImplicitLocOpBuilder &b, VectorType type,
    function_ref<void(ImplicitLocOpBuilder &, Value)> body) {
  OpBuilder::InsertionGuard guard(b);
  auto loop =
      scf::ForOp::create(b, arith::ConstantIndexOp::create(b, 0),
                         arith::ConstantIndexOp::create(b, type.getDimSize(0)),
                         arith::ConstantIndexOp::create(b, 1));
  b.setInsertionPointToStart(loop.getBody());
  body(b, loop.getInductionVar());
}

Value TileLowering::readBroadcastRow(ImplicitLocOpBuilder &b,
                                     vector::BroadcastOp op, Value row) {
  VectorType type = rowType(op.getType());
  auto sourceType = dyn_cast<VectorType>(op.getSource().getType());
  if (!sourceType || sourceType.getRank() < 2)
    return vector::BroadcastOp::create(b, type, op.getSource());
  if (sourceType.getDimSize(0) == 1)
    row = arith::ConstantIndexOp::create(b, 0);
  Value source = readRow(b, op.getSource(), row);
  return source.getType() == type
             ? source
             : vector::BroadcastOp::create(b, type, source).getResult();
}

Value TileLowering::readRow(ImplicitLocOpBuilder &b, Value tile, Value row) {
  VectorType type = rowType(tile.getType());
  DenseElementsAttr attr;
  if (matchPattern(tile, m_Constant(&attr)) && attr.isSplat())
    return arith::ConstantOp::create(b, attr.resizeSplat(type));
  if (auto op = tile.getDefiningOp<vector::BroadcastOp>())
    return readBroadcastRow(b, op, row);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  return vector::LoadOp::create(b, type, getBuffer(b, tile),
                                ValueRange{row, zero});
}

void TileLowering::writeRow(ImplicitLocOpBuilder &b, Value row, Value buffer,
                            Value index) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  vector::StoreOp::create(b, row, buffer, ValueRange{index, zero});
}

void TileLowering::copy(ImplicitLocOpBuilder &b, Value tile, Value buffer) {
  if (!isLazy(tile) && getBuffer(b, tile) == buffer)
    return;
  forEachRow(b, cast<VectorType>(tile.getType()),
             [&](ImplicitLocOpBuilder &b, Value row) {
               writeRow(b, readRow(b, tile, row), buffer, row);
             });
}

/// The tile as a vector, for an op that stays.
Value TileLowering::materialize(ImplicitLocOpBuilder &b, Value tile) {
  if (isSplatConstant(tile))
    return tile;
  Value buffer;
  if (isLazy(tile)) {
    buffer = allocate(b, tile.getType());
    copy(b, tile, buffer);
  } else {
    buffer = getBuffer(b, tile);
  }
  auto type = cast<VectorType>(tile.getType());
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value padding =
      arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
  return vector::TransferReadOp::create(b, type, buffer, ValueRange{zero, zero},
                                        padding, ArrayRef<bool>{true, true});
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The buffer of an elementwise op's result. It takes over that of an operand
/// which dies here: a loop that adds to the tile it carries needs no copy.
void TileLowering::assignBuffer(ImplicitLocOpBuilder &b, Operation *op) {
  Value result = op->getResult(0);
  auto elementType = getElementTypeOrSelf(result);
  for (Value operand : op->getOperands())
    if (isTile(operand) && !isLazy(operand) && operand.hasOneUse() &&
        operand.getParentBlock() == op->getBlock() &&
        getElementTypeOrSelf(operand) == elementType) {
      buffers[result] = getBuffer(b, operand);
      return;
    }
}

void TileLowering::lowerElementwise(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  assignBuffer(b, op);
  Value buffer = getBuffer(b, op->getResult(0));
  auto type = cast<VectorType>(op->getResult(0).getType());
  forEachRow(b, type, [&](ImplicitLocOpBuilder &b, Value row) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isTile(operand) ? readRow(b, operand, row) : operand);
    OperationState state(op->getLoc(), op->getName(), operands, rowType(type),
                         op->getAttrs());
    writeRow(b, b.create(state)->getResult(0), buffer, row);
  });
  lowered.push_back(op);
}

/// The memory indices of row `row` of a transfer, and a condition that the row
/// is within bounds (null when it is known to be).
template <typename TransferOp>
static std::pair<SmallVector<Value>, Value>
getRowIndices(ImplicitLocOpBuilder &b, TransferOp op, Value row) {
  SmallVector<Value> indices(op.getIndices());
  int64_t dim = indices.size() - 2;
  indices[dim] = arith::AddIOp::create(b, indices[dim], row);
  if (op.isDimInBounds(0))
    return {indices, Value()};
  Value extent = memref::DimOp::create(b, op.getBase(), dim);
  return {indices, arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                         indices[dim], extent)};
}

void TileLowering::lowerTransferRead(vector::TransferReadOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value buffer = getBuffer(b, op.getResult());
  VectorType type = rowType(op.getType());
  bool inBounds = op.isDimInBounds(1);
  forEachRow(b, op.getVectorType(), [&](ImplicitLocOpBuilder &b, Value row) {
    auto [indices, condition] = getRowIndices(b, op, row);
    auto read = [&, &indices = indices](OpBuilder &nested,
                                        Location loc) -> Value {
      return vector::TransferReadOp::create(nested, loc, type, op.getBase(),
                                            indices, op.getPadding(),
                                            ArrayRef<bool>{inBounds});
    };
    if (!condition)
      return writeRow(b, read(b, op.getLoc()), buffer, row);
    auto branch = scf::IfOp::create(
        b, condition,
        [&](OpBuilder &nested, Location loc) {
          scf::YieldOp::create(nested, loc, read(nested, loc));
        },
        [&](OpBuilder &nested, Location loc) {
          Value padding =
              vector::BroadcastOp::create(nested, loc, type, op.getPadding());
          scf::YieldOp::create(nested, loc, padding);
        });
    writeRow(b, branch.getResult(0), buffer, row);
  });
  lowered.push_back(op);
}

void TileLowering::lowerTransferWrite(vector::TransferWriteOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  bool inBounds = op.isDimInBounds(1);
  forEachRow(b, op.getVectorType(), [&](ImplicitLocOpBuilder &b, Value row) {
    auto [indices, condition] = getRowIndices(b, op, row);
    if (condition) {
      auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    vector::TransferWriteOp::create(b, readRow(b, op.getVector(), row),
                                    op.getBase(), indices,
                                    ArrayRef<bool>{inBounds});
  });
  lowered.push_back(op);
}

/// Copy the initial tiles into the buffers of the loop's arguments, which also
/// hold the results. The op then passes constants through, and the loop's
/// canonicalization removes them.
void TileLowering::lowerLoop(scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  for (auto [init, arg, result] :
       llvm::zip_equal(loop.getInitArgsMutable(), loop.getRegionIterArgs(),
                       loop.getResults())) {
    if (!isTile(arg))
      continue;
    Value buffer = getBuffer(b, arg);
    buffers[result] = buffer;
    copy(b, init.get(), buffer);
    init.set(arith::ConstantOp::create(b, b.getZeroAttr(arg.getType())));
  }
}

void TileLowering::lowerYield(scf::YieldOp yield, scf::ForOp loop) {
  ImplicitLocOpBuilder b(yield.getLoc(), yield);
  SmallVector<std::pair<OpOperand *, Value>> carried;
  for (auto [operand, arg] :
       llvm::zip_equal(yield->getOpOperands(), loop.getRegionIterArgs()))
    if (isTile(arg) && operand.get() != arg)
      carried.emplace_back(&operand, arg);
  // Several tiles may be exchanged, so none is overwritten before all are read.
  SmallVector<Value> temporaries;
  if (carried.size() > 1) {
    for (auto [operand, arg] : carried) {
      Value temporary = allocate(b, arg.getType());
      copy(b, operand->get(), temporary);
      temporaries.push_back(temporary);
    }
  }
  for (auto [index, entry] : llvm::enumerate(carried)) {
    auto [operand, arg] = entry;
    Value buffer = getBuffer(b, arg);
    if (temporaries.empty())
      copy(b, operand->get(), buffer);
    else
      memref::CopyOp::create(b, temporaries[index], buffer);
    operand->set(arg);
  }
}

/// Where tiles are read for an op. A return reads them before scratch memory is
/// freed, which is done last.
static Operation *getReadPoint(Operation *op) {
  if (op->hasTrait<OpTrait::ReturnLike>())
    while (isa_and_nonnull<memref::DeallocOp>(op->getPrevNode()))
      op = op->getPrevNode();
  return op;
}

void TileLowering::lowerOther(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), getReadPoint(op));
  for (OpOperand &operand : op->getOpOperands())
    if (isTile(operand.get()))
      operand.set(materialize(b, operand.get()));
  b.setInsertionPointAfter(op);
  storeTiles(b, op->getResults());
}

/// Write tiles that other ops made to their buffers.
void TileLowering::storeTiles(ImplicitLocOpBuilder &b, ValueRange values) {
  for (Value value : values) {
    if (!isTile(value))
      continue;
    Value zero = arith::ConstantIndexOp::create(b, 0);
    vector::TransferWriteOp::create(b, value, getBuffer(b, value),
                                    ValueRange{zero, zero},
                                    ArrayRef<bool>{true, true});
  }
}

static bool isElementwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) &&
         op->getNumResults() == 1 && isTile(op->getResult(0)) &&
         llvm::all_of(op->getOperands(), [](Value operand) {
           return isTile(operand) || !isa<VectorType>(operand.getType());
         });
}

/// Whether a transfer moves rows of a memref, unmasked.
template <typename TransferOp> static bool movesRows(TransferOp op) {
  return isTile(op.getVectorType()) &&
         isa<MemRefType>(op.getBase().getType()) &&
         op.getPermutationMap().isMinorIdentity() && !op.getMask();
}

void TileLowering::lower(Operation *op) {
  if (isa<arith::ConstantOp>(op) && isSplatConstant(op->getResult(0)))
    return;
  if (isa<vector::BroadcastOp>(op) && isTile(op->getResult(0)))
    return lowered.push_back(op);
  if (isElementwise(op))
    return lowerElementwise(op);
  if (auto read = dyn_cast<vector::TransferReadOp>(op); read && movesRows(read))
    return lowerTransferRead(read);
  if (auto write = dyn_cast<vector::TransferWriteOp>(op);
      write && movesRows(write))
    return lowerTransferWrite(write);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return lowerLoop(loop);
  if (auto yield = dyn_cast<scf::YieldOp>(op))
    if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
      return lowerYield(yield, loop);
  lowerOther(op);
}

void TileLowering::run() {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto isTileType = [](Type type) { return isTile(type); };
    if (llvm::any_of(op->getOperandTypes(), isTileType) ||
        llvm::any_of(op->getResultTypes(), isTileType))
      ops.push_back(op);
  });
  // Arguments of loops are stored by the loops.
  function.walk([&](Block *block) {
    ImplicitLocOpBuilder b(function.getLoc(), function.getContext());
    b.setInsertionPointToStart(block);
    if (!isa<scf::ForOp>(block->getParentOp()))
      storeTiles(b, block->getArguments());
  });
  for (Operation *op : ops)
    lower(op);
  for (Operation *op : llvm::reverse(lowered)) {
    op->dropAllUses();
    op->erase();
  }
}

void TilesToRowsPass::runOnOperation() {
  getOperation()->walk([](FunctionOpInterface function) {
    if (!function.isExternal())
      TileLowering(function).run();
  });
  RewritePatternSet patterns(&getContext());
  scf::ForOp::getCanonicalizationPatterns(patterns, &getContext());
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    signalPassFailure();
}
