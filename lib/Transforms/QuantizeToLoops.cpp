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
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/ScaleArithmetic.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSQUANTIZETOLOOPS
#include "moss/Transforms/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// Elements in a vector strip.
static constexpr int64_t kStripWidth = 16;

namespace {

/// A box of a matrix [outer, K].
struct Box {
  Value rowBegin, rowEnd, kBegin, kEnd;
};

/// The body of a loop: takes the induction variable and the carried values,
/// returns the next ones.
using LoopBody = function_ref<SmallVector<Value>(Value, ValueRange)>;

/// Emits loops over the groups and elements of one matrix.
class LoopEmitter {
public:
  LoopEmitter(Operation *op, SchemeAttr scheme, Value payload, Value micro)
      : b(op->getLoc(), op), scheme(scheme), payload(payload), micro(micro),
        zero(index(0)), one(index(1)) {}

protected:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value dim(Value memref, int64_t d) {
    return b.createOrFold<memref::DimOp>(memref, d);
  }
  SmallVector<Value> loop(Value begin, Value end, Value step, ValueRange inits,
                          LoopBody body);
  /// The micro groups, or the whole matrix if there are none. `body` gets a
  /// group's box and its index, which is empty for the whole matrix.
  SmallVector<Value> forEachGroup(
      ValueRange inits,
      function_ref<SmallVector<Value>(Box, ValueRange, ValueRange)> body);
  /// The elements of a box, in vectors of `width` as far as there are full
  /// ones, then one at a time. `body` gets the row, position along K, the
  /// number of elements (1 for a scalar) and the carried values.
  SmallVector<Value> forEachStrip(
      Box box, int64_t width, ValueRange inits,
      function_ref<SmallVector<Value>(Value, Value, int64_t, ValueRange)> body);
  /// A strip's width for accesses to the given contiguous-or-not memrefs.
  int64_t getStripWidth(ArrayRef<Value> memrefs);
  Value load(Value memref, ValueRange indices, int64_t width);
  void store(Value value, Value memref, ValueRange indices, int64_t width);

  ImplicitLocOpBuilder b;
  SchemeAttr scheme;
  Value payload, micro;
  Value zero, one;

private:
  /// The part of an extent that belongs to a group.
  std::pair<Value, Value> getRange(Value group, int64_t size, Value extent);
};

} // namespace

SmallVector<Value> LoopEmitter::loop(Value begin, Value end, Value step,
                                     ValueRange inits, LoopBody body) {
  auto loop = scf::ForOp::create(b, begin, end, step, inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  // A loop that carries nothing is created with its terminator.
  if (!inits.empty())
    scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

std::pair<Value, Value> LoopEmitter::getRange(Value group, int64_t size,
                                              Value extent) {
  if (size == 0)
    return {zero, extent};
  Value step = index(size);
  Value begin = arith::MulIOp::create(b, group, step);
  Value end = arith::AddIOp::create(b, begin, step);
  return {begin, arith::MinUIOp::create(b, end, extent)};
}

SmallVector<Value> LoopEmitter::forEachGroup(
    ValueRange inits,
    function_ref<SmallVector<Value>(Box, ValueRange, ValueRange)> body) {
  Value rows = dim(payload, 0), depth = dim(payload, 1);
  if (!micro)
    return body({zero, rows, zero, depth}, {}, inits);
  return loop(
      zero, dim(micro, 0), one, inits, [&](Value i, ValueRange outerCarried) {
        auto [rowBegin, rowEnd] = getRange(i, scheme.getGroupOuter(), rows);
        Box box{rowBegin, rowEnd, zero, depth};
        return loop(zero, dim(micro, 1), one, outerCarried,
                    [&](Value k, ValueRange carried) {
                      std::tie(box.kBegin, box.kEnd) =
                          getRange(k, scheme.getGroupK(), depth);
                      return body(box, {i, k}, carried);
                    });
      });
}

SmallVector<Value> LoopEmitter::forEachStrip(
    Box box, int64_t width, ValueRange inits,
    function_ref<SmallVector<Value>(Value, Value, int64_t, ValueRange)> body) {
  return loop(
      box.rowBegin, box.rowEnd, one, inits, [&](Value row, ValueRange carried) {
        SmallVector<Value> current(carried);
        Value begin = box.kBegin;
        if (width > 1) {
          Value step = index(width);
          Value length = arith::SubIOp::create(b, box.kEnd, begin);
          Value rest = arith::RemUIOp::create(b, length, step);
          Value end = arith::SubIOp::create(b, box.kEnd, rest);
          current = loop(begin, end, step, current, [&](Value k, ValueRange c) {
            return body(row, k, width, c);
          });
          begin = end;
        }
        return loop(begin, box.kEnd, one, current,
                    [&](Value k, ValueRange c) { return body(row, k, 1, c); });
      });
}

int64_t LoopEmitter::getStripWidth(ArrayRef<Value> memrefs) {
  bool isContiguous = llvm::all_of(memrefs, [](Value memref) {
    return cast<MemRefType>(memref.getType()).isLastDimUnitStride();
  });
  int64_t groupK = scheme.getGroupK();
  bool isShort = groupK != 0 && groupK < kStripWidth;
  return isContiguous && !isShort ? kStripWidth : 1;
}

Value LoopEmitter::load(Value memref, ValueRange indices, int64_t width) {
  if (width == 1)
    return memref::LoadOp::create(b, memref, indices);
  Type elementType = cast<MemRefType>(memref.getType()).getElementType();
  return vector::LoadOp::create(b, VectorType::get(width, elementType), memref,
                                indices);
}

void LoopEmitter::store(Value value, Value memref, ValueRange indices,
                        int64_t width) {
  if (width == 1)
    memref::StoreOp::create(b, value, memref, indices);
  else
    vector::StoreOp::create(b, value, memref, indices);
}

//===----------------------------------------------------------------------===//
// Quantize
//===----------------------------------------------------------------------===//

namespace {
class QuantizeEmitter : public LoopEmitter {
public:
  explicit QuantizeEmitter(QuantizeOp op)
      : LoopEmitter(op, op.getScheme(), op.getPayload(), op.getMicro()), op(op),
        width(op.getTranspose()
                  ? 1
                  : getStripWidth({op.getSource(), op.getPayload()})) {}

  void emit();

private:
  enum class AmaxKind { All, FiniteElements };

  Value loadSource(Value row, Value k, int64_t stripWidth);
  Value emitAmax(Box box, AmaxKind kind);
  Value emitTensorAmax();
  void emitConversion(Box box, Value inverseGlobal, Value inverseMicro);

  QuantizeOp op;
  int64_t width;
};
} // namespace

Value QuantizeEmitter::loadSource(Value row, Value k, int64_t stripWidth) {
  if (op.getTranspose())
    std::swap(row, k);
  return load(op.getSource(), {row, k}, stripWidth);
}

/// The bits of a box's largest magnitude, i32.
Value QuantizeEmitter::emitAmax(Box box, AmaxKind kind) {
  Type i32 = b.getI32Type();
  SmallVector<Value> inits = {createConstant(b, i32, int64_t(0))};
  if (width > 1)
    inits.push_back(createConstant(b, VectorType::get(width, i32), int64_t(0)));
  SmallVector<Value> amax = forEachStrip(
      box, width, inits,
      [&](Value row, Value k, int64_t stripWidth, ValueRange carried) {
        Value bits = createMagnitude(b, loadSource(row, k, stripWidth));
        if (kind == AmaxKind::FiniteElements)
          bits = createFiniteOrZero(b, bits);
        SmallVector<Value> next(carried);
        Value &max = next[stripWidth == 1 ? 0 : 1];
        max = arith::MaxUIOp::create(b, max, bits);
        return next;
      });
  if (width == 1)
    return amax.front();
  return vector::ReductionOp::create(b, vector::CombiningKind::MAXUI,
                                     amax.back(), amax.front());
}

/// What the tensor's jit scale is made of, or what a delayed one hands on.
Value QuantizeEmitter::emitTensorAmax() {
  Value zeroBits = createConstant(b, b.getI32Type(), int64_t(0));
  bool isDelayed = scheme.getGlobal() == GlobalScale::Delayed;
  SmallVector<Value> amax =
      forEachGroup(zeroBits, [&](Box box, ValueRange, ValueRange carried) {
        Value group =
            emitAmax(box, isDelayed ? AmaxKind::FiniteElements : AmaxKind::All);
        // A group that is not finite has its own NaN; a tensor without groups
        // has it in its global scale.
        if (micro)
          group = createFiniteOrZero(b, group);
        Value max = arith::MaxUIOp::create(b, carried.front(), group);
        return SmallVector<Value>{max};
      });
  return amax.front();
}

void QuantizeEmitter::emitConversion(Box box, Value inverseGlobal,
                                     Value inverseMicro) {
  forEachStrip(
      box, width, {}, [&](Value row, Value k, int64_t stripWidth, ValueRange) {
        Value y = createScaledElement(b, scheme, loadSource(row, k, stripWidth),
                                      inverseGlobal, inverseMicro);
        Type type = scheme.getElementType();
        if (stripWidth > 1)
          type = VectorType::get(stripWidth, type);
        store(arith::TruncFOp::create(b, type, y), payload, {row, k},
              stripWidth);
        return SmallVector<Value>();
      });
}

void QuantizeEmitter::emit() {
  // The scale is read before the amax is written, which may share its buffer.
  Value global;
  if (scheme.getGlobal() != GlobalScale::JIT)
    global = createKnownGlobalScale(b, op);
  if (scheme.yieldsGlobal()) {
    Value amax = emitTensorAmax();
    Value yielded =
        global ? arith::BitcastOp::create(b, b.getF32Type(), amax).getResult()
               : createGlobalScale(b, scheme, amax);
    memref::StoreOp::create(b, yielded, op.getGlobal(), ValueRange());
    if (!global)
      global = yielded;
  }
  Value inverseGlobal =
      arith::DivFOp::create(b, createConstant(b, b.getF32Type(), 1.0), global);
  forEachGroup({}, [&](Box box, ValueRange group, ValueRange) {
    Value inverseMicro;
    if (micro) {
      Value amax = emitAmax(box, AmaxKind::All);
      Value scale = createMicroScale(b, scheme, amax, global);
      memref::StoreOp::create(b, scale, micro, group);
      inverseMicro = createMicroInverse(b, scale);
    }
    emitConversion(box, inverseGlobal, inverseMicro);
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

namespace {
class DequantizeEmitter : public LoopEmitter {
public:
  explicit DequantizeEmitter(DequantizeOp op)
      : LoopEmitter(op, op.getScheme(), op.getPayload(), op.getMicro()),
        op(op) {}

  void emit();

private:
  DequantizeOp op;
};
} // namespace

void DequantizeEmitter::emit() {
  Value init = op.getInit();
  Value global;
  if (op.getGlobal())
    global = memref::LoadOp::create(b, op.getGlobal(), ValueRange());
  int64_t width = getStripWidth({payload, init});
  forEachGroup({}, [&](Box box, ValueRange group, ValueRange) {
    Value scale;
    if (micro)
      scale = memref::LoadOp::create(b, micro, group);
    auto [first, second] = createDequantFactors(b, scale, global);
    forEachStrip(box, width, {},
                 [&, first = first, second = second](
                     Value row, Value k, int64_t stripWidth, ValueRange) {
                   Value element = load(payload, {row, k}, stripWidth);
                   Value value = createDequantizedElement(
                       b, element, first, second,
                       getElementTypeOrSelf(init.getType()));
                   store(value, init, {row, k}, stripWidth);
                   return SmallVector<Value>();
                 });
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct QuantizeToLoopsPass
    : moss::impl::MossQuantizeToLoopsBase<QuantizeToLoopsPass> {
  void runOnOperation() override;
};
} // namespace

void QuantizeToLoopsPass::runOnOperation() {
  WalkResult result = getOperation()->walk([](Operation *op) {
    if (!isa<QuantizeOp, DequantizeOp>(op))
      return WalkResult::advance();
    if (!isa<MemRefType>(op->getOperand(0).getType())) {
      op->emitOpError("on tensors cannot become loops; bufferize it first");
      return WalkResult::interrupt();
    }
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      QuantizeEmitter(quantize).emit();
    else
      DequantizeEmitter(cast<DequantizeOp>(op)).emit();
    op->erase();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
