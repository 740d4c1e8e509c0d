//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers moss.quantize and moss.dequantize to loops: over micro groups, rows of
// a group, and vector strips of a row.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/QuantizeEmitter.h"
#include "moss/Transforms/ScaleArithmetic.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSQUANTIZETOLOOPS
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Elements in a vector strip.
static constexpr int64_t kStripWidth = 16;

/// The width of strips for accesses to the given memrefs.
static int64_t getStripWidth(SchemeAttr scheme, ArrayRef<Value> memrefs) {
  bool isContiguous = llvm::all_of(memrefs, [](Value memref) {
    return cast<MemRefType>(memref.getType()).isLastDimUnitStride();
  });
  int64_t groupK = scheme.getGroupK();
  bool isShort = groupK != 0 && groupK < kStripWidth;
  return isContiguous && !isShort ? kStripWidth : 1;
}

namespace {
/// Visits the groups of a matrix in sequence, on top of an emitter.
template <typename Base> class SequentialEmitter : public Base {
protected:
  using Base::Base;
  using Base::index, Base::dim, Base::loop, Base::getGroupBox;
  using Base::micro, Base::payload;

  /// The micro groups, or the whole matrix if there are none. `body` gets a
  /// group's box and its index, which is empty for the whole matrix.
  SmallVector<Value> forEachGroup(
      ValueRange inits,
      function_ref<SmallVector<Value>(Box, ValueRange, ValueRange)> body) {
    Value zero = index(0), one = index(1);
    if (!micro)
      return body({zero, dim(payload, 0), zero, dim(payload, 1)}, {}, inits);
    return loop(zero, dim(micro, 0), one, inits, [&](Value i, ValueRange c) {
      return loop(zero, dim(micro, 1), one, c, [&](Value k, ValueRange c) {
        return body(getGroupBox(i, k), {i, k}, c);
      });
    });
  }
};

class QuantizeToLoops : public SequentialEmitter<QuantizeEmitter> {
public:
  explicit QuantizeToLoops(QuantizeOp op) : SequentialEmitter(op) {
    if (!isTransposed)
      strips.width = getStripWidth(scheme, {source, payload});
  }

  void emit();

private:
  Value emitTensorAmax();
  Value emitGlobalScale();
  Value emitGroup(Box box, ValueRange group, Value global, Value inverseGlobal);
};

class DequantizeToLoops : public SequentialEmitter<DequantizeEmitter> {
public:
  explicit DequantizeToLoops(DequantizeOp op) : SequentialEmitter(op) {
    strips.width = getStripWidth(scheme, {payload, op.getInit()});
  }

  void emit();
};

struct QuantizeToLoopsPass
    : moss::impl::MossQuantizeToLoopsBase<QuantizeToLoopsPass> {
  void runOnOperation() override;
};
} // namespace

/// What the tensor's jit scale is made of.
Value QuantizeToLoops::emitTensorAmax() {
  Value zeroBits = createConstant(b, b.getI32Type(), int64_t(0));
  auto addGroup = [&](Box box, ValueRange, ValueRange carried) {
    Value group = emitAmax(box);
    // A group that is not finite has its own NaN; a tensor without groups has
    // it in its global scale.
    if (micro)
      group = createFiniteOrZero(b, group);
    Value max = arith::MaxUIOp::create(b, carried.front(), group);
    return SmallVector<Value>{max};
  };
  return forEachGroup(zeroBits, addGroup).front();
}

Value QuantizeToLoops::emitGlobalScale() {
  if (scheme.getGlobal() != GlobalScale::JIT)
    return createKnownGlobalScale(b, op);
  Value global = createGlobalScale(b, scheme, emitTensorAmax());
  memref::StoreOp::create(b, global, op.getGlobal(), ValueRange());
  return global;
}

/// Convert a group under its micro scale, which is stored, if it has one.
/// Returns the group's amax if the op measures it.
Value QuantizeToLoops::emitGroup(Box box, ValueRange group, Value global,
                                 Value inverseGlobal) {
  Value inverseMicro;
  if (micro) {
    Value scale = createMicroScale(b, scheme, emitAmax(box), global);
    memref::StoreOp::create(b, scale, micro, group);
    inverseMicro = createMicroInverse(b, scale);
  }
  return emitConversion(box, inverseGlobal, inverseMicro);
}

void QuantizeToLoops::emit() {
  Value global = emitGlobalScale();
  Value inverseGlobal = emitReciprocal(global);
  SmallVector<Value> inits;
  if (isMeasuring())
    inits.push_back(createConstant(b, b.getI32Type(), int64_t(0)));
  SmallVector<Value> amax =
      forEachGroup(inits, [&](Box box, ValueRange group, ValueRange carried) {
        SmallVector<Value> next;
        Value measured = emitGroup(box, group, global, inverseGlobal);
        if (measured)
          next.push_back(arith::MaxUIOp::create(b, carried.front(), measured));
        return next;
      });
  // Only now, since the scale operand may share the buffer.
  if (isMeasuring())
    memref::StoreOp::create(
        b, arith::BitcastOp::create(b, b.getF32Type(), amax.front()),
        op.getGlobal(), ValueRange());
}

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

void DequantizeToLoops::emit() {
  Value global = loadGlobal();
  forEachGroup({}, [&](Box box, ValueRange group, ValueRange) {
    Value scale;
    if (micro)
      scale = memref::LoadOp::create(b, micro, group);
    emitConversion(box, scale, global);
    return SmallVector<Value>();
  });
}

void QuantizeToLoopsPass::runOnOperation() {
  WalkResult result = getOperation()->walk([](Operation *op) {
    if (!isa<QuantizeOp, DequantizeOp>(op))
      return WalkResult::advance();
    if (!isa<MemRefType>(op->getOperand(0).getType())) {
      op->emitOpError("on tensors cannot become loops; bufferize it first");
      return WalkResult::interrupt();
    }
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      QuantizeToLoops(quantize).emit();
    else
      DequantizeToLoops(cast<DequantizeOp>(op)).emit();
    op->erase();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
