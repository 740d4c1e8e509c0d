//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FragmentLayout.h"
#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::moss;

ThreadPosition ThreadPosition::create(ImplicitLocOpBuilder &b,
                                      Value consumerIndex) {
  ThreadPosition position;
  Type i32 = b.getI32Type();
  auto constant = [&](int64_t value) { return i32Constant(b, value); };
  Value tid = NVVM::ThreadIdXOp::create(b, i32);
  // Consumers are whole warpgroups after the producer's.
  position.thread = arith::AndIOp::create(b, tid, constant(127));
  position.lane = arith::AndIOp::create(b, tid, constant(31));
  position.consumer = arith::IndexCastOp::create(b, i32, consumerIndex);
  Value warp = arith::ShRUIOp::create(b, position.thread, constant(5));
  Value warpRow = arith::ShLIOp::create(b, warp, constant(4));
  Value laneRow = arith::ShRUIOp::create(b, position.lane, constant(2));
  position.row = arith::AddIOp::create(b, warpRow, laneRow);
  Value quad = arith::AndIOp::create(b, position.lane, constant(3));
  position.col = arith::ShLIOp::create(b, quad, constant(1));
  return position;
}

Value FragmentLayout::spread(OpBuilder &b, Location loc, Value values,
                             bool isPerRow) const {
  SmallVector<int64_t> positions;
  for (int64_t i = 0; i < getFragmentSize(); ++i)
    positions.push_back(isPerRow ? (i / 2) % 2 : 2 * (i / 4) + i % 2);
  return vector::ShuffleOp::create(b, loc, values, values, positions);
}

Value DistributionContext::getWaveRow(ImplicitLocOpBuilder &b,
                                      FragmentLayout layout,
                                      int64_t wave) const {
  Value first = arith::MulIOp::create(b, position.consumer,
                                      i32Constant(b, layout.getConsumerRows()));
  return arith::AddIOp::create(b, first, i32Constant(b, wave * kWaveRows));
}

Value DistributionContext::getElementRow(ImplicitLocOpBuilder &b,
                                         FragmentLayout layout, int64_t wave,
                                         int64_t r) const {
  Value row =
      arith::AddIOp::create(b, getWaveRow(b, layout, wave), position.row);
  return arith::AddIOp::create(b, row, i32Constant(b, 8 * r));
}

Value DistributionContext::getElementCol(ImplicitLocOpBuilder &b,
                                         int64_t c) const {
  return arith::AddIOp::create(b, position.col,
                               i32Constant(b, 8 * (c / 2) + c % 2));
}

void DistributionContext::emitBarrier(ImplicitLocOpBuilder &b) const {
  Value id = arith::AddIOp::create(b, position.consumer, i32Constant(b, 1));
  NVVM::BarrierOp::create(b, Type(), id, i32Constant(b, 128),
                          NVVM::BarrierReductionAttr(), Value());
}

void moss::setInsertionPointEarly(OpBuilder &builder, Operation *op,
                                  ValueRange operands) {
  Operation *last = nullptr;
  for (Value operand : operands) {
    Operation *def = operand.getDefiningOp();
    if (!def || def->getBlock() != op->getBlock())
      continue;
    if (!last || last->isBeforeInBlock(def))
      last = def;
  }
  if (last)
    builder.setInsertionPointAfter(last);
}

bool moss::isPlainTransfer(VectorTransferOpInterface op) {
  auto type = dyn_cast<MemRefType>(op.getBase().getType());
  return type && type.getRank() == 2 && op.getPermutationMap().isIdentity() &&
         !op.getMask();
}
