//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linalg ops on memrefs to loops that are mapped to a grid.
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/Transforms/ParallelLoopMapper.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"

#include "moss/GPU/Passes.h"
#include <numeric>

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSLINALGTODEVICELOOPS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Rows of fewer elements than a warp has threads share blocks.
static constexpr int64_t kWarpSize = 32;

//===----------------------------------------------------------------------===//
// To parallel loops
//===----------------------------------------------------------------------===//

/// Copies that `gpu.memcpy` cannot make, since it moves contiguous bytes.
static void stridedCopyToLinalg(RewriterBase &rewriter, memref::CopyOp copy) {
  auto source = dyn_cast<MemRefType>(copy.getSource().getType());
  auto target = dyn_cast<MemRefType>(copy.getTarget().getType());
  if (!source || !target ||
      (source.getLayout().isIdentity() && target.getLayout().isIdentity()))
    return;
  rewriter.setInsertionPoint(copy);
  rewriter.replaceOpWithNewOp<linalg::CopyOp>(copy, copy.getSource(),
                                              copy.getTarget());
}

/// Put an op that has no parallel dimension into a parallel loop of one
/// iteration, so that it runs on the device like all others.
static void wrapInSingleIteration(RewriterBase &rewriter, Operation *op) {
  Location loc = op->getLoc();
  rewriter.setInsertionPoint(op);
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  auto loop = scf::ParallelOp::create(rewriter, loc, ValueRange{zero},
                                      ValueRange{one}, ValueRange{one});
  rewriter.moveOpBefore(op, loop.getBody()->getTerminator());
}

static LogicalResult linalgToParallelLoops(RewriterBase &rewriter,
                                           linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics())
    return op.emitError("is not on memrefs; bufferize first");
  if (op.getNumParallelLoops() == 0)
    wrapInSingleIteration(rewriter, op);
  rewriter.setInsertionPoint(op);
  if (failed(linalg::linalgOpToParallelLoops(rewriter, op)))
    return op.emitError("cannot be lowered to loops");
  rewriter.eraseOp(op);
  return success();
}

//===----------------------------------------------------------------------===//
// Mapping
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getStaticExtent(scf::ParallelOp loop,
                                              unsigned dim) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound()[dim]);
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound()[dim]);
  std::optional<int64_t> step = getConstantIntValue(loop.getStep()[dim]);
  if (!lower || !upper || !step)
    return std::nullopt;
  return llvm::divideCeil(std::max<int64_t>(*upper - *lower, 0), *step);
}

/// Collapse to [all outer dimensions, innermost dimension], or to one dimension
/// if the innermost one would leave most threads of a warp idle.
static void collapse(RewriterBase &rewriter, scf::ParallelOp loop) {
  unsigned rank = loop.getNumLoops();
  std::optional<int64_t> inner = getStaticExtent(loop, rank - 1);
  bool isNarrow = inner && *inner < kWarpSize;
  if (rank == 1 || (rank == 2 && !isNarrow))
    return;
  std::vector<unsigned> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  if (isNarrow)
    return collapseParallelLoops(rewriter, loop, {dims});
  dims.pop_back();
  collapseParallelLoops(rewriter, loop, {dims, {rank - 1}});
}

static void setMapping(scf::ParallelOp loop,
                       ArrayRef<gpu::Processor> processors) {
  AffineMap identity = AffineMap::getMultiDimIdentityMap(1, loop.getContext());
  SmallVector<gpu::ParallelLoopDimMappingAttr> mapping;
  for (gpu::Processor processor : processors)
    mapping.push_back(gpu::ParallelLoopDimMappingAttr::get(
        loop.getContext(), processor, identity, identity));
  LogicalResult isValid = gpu::setMappingAttr(loop, mapping);
  assert(succeeded(isValid) && "each processor is used once");
  (void)isValid;
}

/// Cut a loop of rank 1 or 2 into blocks of threads.
static void mapToBlocksAndThreads(scf::ParallelOp loop, int64_t blockSize) {
  unsigned rank = loop.getNumLoops();
  SmallVector<int64_t> tile(rank, 1);
  std::optional<int64_t> inner = getStaticExtent(loop, rank - 1);
  tile.back() =
      inner ? std::max<int64_t>(std::min(blockSize, *inner), 1) : blockSize;
  auto [blocks, threads] =
      scf::tileParallelLoop(loop, tile, /*noMinMaxBounds=*/true);
  using gpu::Processor;
  if (rank == 1) {
    setMapping(blocks, {Processor::BlockX});
    setMapping(threads, {Processor::ThreadX});
    return;
  }
  setMapping(blocks, {Processor::BlockX, Processor::BlockY});
  setMapping(threads, {Processor::Sequential, Processor::ThreadX});
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct LinalgToDeviceLoopsPass
    : moss::impl::MossLinalgToDeviceLoopsBase<LinalgToDeviceLoopsPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (!usesDeviceMemory(func))
      return;
    if (blockSize < 1 || blockSize > 1024) {
      func.emitError("block-size must be 1 to 1024, but is ")
          << blockSize.getValue();
      return signalPassFailure();
    }
    IRRewriter rewriter(&getContext());
    if (failed(lowerLinalg(rewriter)) || failed(checkLoops()))
      return signalPassFailure();
    for (scf::ParallelOp loop : getTopLevelLoops())
      collapse(rewriter, loop);
    for (scf::ParallelOp loop : getTopLevelLoops())
      mapToBlocksAndThreads(loop, blockSize);
  }

private:
  LogicalResult lowerLinalg(RewriterBase &rewriter) {
    SmallVector<memref::CopyOp> copies;
    walkHostCode(getOperation(), [&](Operation *op) {
      if (auto copy = dyn_cast<memref::CopyOp>(op))
        copies.push_back(copy);
    });
    for (memref::CopyOp copy : copies)
      stridedCopyToLinalg(rewriter, copy);
    SmallVector<linalg::LinalgOp> ops;
    walkHostCode(getOperation(), [&](Operation *op) {
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        ops.push_back(linalgOp);
    });
    for (linalg::LinalgOp op : ops)
      if (failed(linalgToParallelLoops(rewriter, op)))
        return failure();
    return success();
  }

  /// Outermost parallel loops that nothing has mapped yet.
  SmallVector<scf::ParallelOp> getTopLevelLoops() {
    SmallVector<scf::ParallelOp> loops;
    walkHostCode(getOperation(), [&](Operation *op) {
      auto loop = dyn_cast<scf::ParallelOp>(op);
      if (loop && !loop->getParentOfType<scf::ParallelOp>() &&
          !loop->hasAttr(gpu::getMappingAttrName()))
        loops.push_back(loop);
    });
    return loops;
  }

  LogicalResult checkLoops() {
    for (scf::ParallelOp loop : getTopLevelLoops())
      if (loop.getNumResults() != 0)
        return loop.emitError("reduces to a scalar, which the host cannot "
                              "receive; write the result to a memref with a "
                              "linalg op");
    return success();
  }
};
} // namespace
