//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deallocations of buffers that nothing else can refer to.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "moss/Transforms/Passes.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSSPLITDEALLOCS
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// Splits one bufferization.dealloc.
class DeallocSplitter {
public:
  DeallocSplitter(bufferization::DeallocOp op,
                  const BufferViewFlowAnalysis &flow);

  void run();

private:
  bool isAlone(Value memref, Value condition) const;
  void replace(ArrayRef<Value> memrefs, ArrayRef<Value> conditions,
               const DenseSet<Value> &returned);

  bufferization::DeallocOp op;
  const BufferViewFlowAnalysis &flow;
  /// How often a value is freed, and whether it is retained.
  DenseMap<Value, unsigned> freed;
  DenseSet<Value> retained;
};
} // namespace

DeallocSplitter::DeallocSplitter(bufferization::DeallocOp op,
                                 const BufferViewFlowAnalysis &flow)
    : op(op), flow(flow),
      retained(op.getRetained().begin(), op.getRetained().end()) {
  for (Value memref : op.getMemrefs())
    ++freed[memref];
}

/// Whether \p memref is an allocation that is freed in any case, and no other
/// operand can refer to it. It may itself be retained.
bool DeallocSplitter::isAlone(Value memref, Value condition) const {
  if (!memref.getDefiningOp<memref::AllocOp>() || freed.lookup(memref) != 1 ||
      !matchPattern(condition, m_One()))
    return false;
  return llvm::all_of(flow.resolve(memref), [&](Value alias) {
    return alias == memref ||
           (!freed.contains(alias) && !retained.contains(alias));
  });
}

/// Replace the op by one that frees \p memrefs. The buffers that are
/// \p returned have been owned by this block, and no longer take part.
void DeallocSplitter::replace(ArrayRef<Value> memrefs,
                              ArrayRef<Value> conditions,
                              const DenseSet<Value> &returned) {
  OpBuilder b(op);
  SmallVector<Value> others;
  for (Value value : op.getRetained())
    if (!returned.contains(value))
      others.push_back(value);
  auto rest = bufferization::DeallocOp::create(b, op.getLoc(), memrefs,
                                               conditions, others);
  Value owned;
  unsigned next = 0;
  for (auto [value, condition] :
       llvm::zip_equal(op.getRetained(), op.getUpdatedConditions())) {
    if (!returned.contains(value)) {
      condition.replaceAllUsesWith(rest.getUpdatedConditions()[next++]);
      continue;
    }
    if (!owned)
      owned = arith::ConstantIntOp::create(b, op.getLoc(), 1, 1);
    condition.replaceAllUsesWith(owned);
  }
  op.erase();
}

void DeallocSplitter::run() {
  OpBuilder b(op);
  SmallVector<Value> memrefs, conditions;
  DenseSet<Value> returned;
  for (auto [memref, condition] :
       llvm::zip_equal(op.getMemrefs(), op.getConditions())) {
    if (!isAlone(memref, condition)) {
      memrefs.push_back(memref);
      conditions.push_back(condition);
    } else if (retained.contains(memref)) {
      returned.insert(memref);
    } else {
      memref::DeallocOp::create(b, op.getLoc(), memref);
    }
  }
  if (memrefs.size() != op.getMemrefs().size())
    replace(memrefs, conditions, returned);
}

namespace {
struct SplitDeallocsPass
    : moss::impl::MossSplitDeallocsBase<SplitDeallocsPass> {
  void runOnOperation() override {
    BufferViewFlowAnalysis flow(getOperation());
    SmallVector<bufferization::DeallocOp> ops;
    getOperation().walk(
        [&](bufferization::DeallocOp op) { ops.push_back(op); });
    for (bufferization::DeallocOp op : ops)
      DeallocSplitter(op, flow).run();
  }
};
} // namespace
