//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/QuantizeEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "moss/Transforms/ScaleArithmetic.h"

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LoopEmitter::LoopEmitter(Operation *op, SchemeAttr scheme, Value payload,
                         Value micro)
    : b(op->getLoc(), op), scheme(scheme), payload(payload), micro(micro) {}

Value LoopEmitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value LoopEmitter::dim(Value memref, int64_t d) {
  return b.createOrFold<memref::DimOp>(memref, d);
}

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

/// The part of an extent that belongs to a group.
std::pair<Value, Value> LoopEmitter::getRange(Value group, int64_t size,
                                              Value extent) {
  if (size == 0)
    return {index(0), extent};
  Value step = index(size);
  Value begin = arith::MulIOp::create(b, group, step);
  Value end = arith::AddIOp::create(b, begin, step);
  return {begin, arith::MinUIOp::create(b, end, extent)};
}

Box LoopEmitter::getGroupBox(Value i, Value k) {
  Box box;
  std::tie(box.rowBegin, box.rowEnd) =
      getRange(i, scheme.getGroupOuter(), dim(payload, 0));
  std::tie(box.kBegin, box.kEnd) =
      getRange(k, scheme.getGroupK(), dim(payload, 1));
  return box;
}

SmallVector<Value> LoopEmitter::forEachStrip(Box box, ValueRange inits,
                                             StripBody body) {
  auto lanesFrom = [&](Value begin, int64_t width) -> Value {
    if (!strips.lane)
      return begin;
    Value offset = arith::MulIOp::create(b, strips.lane, index(width));
    return arith::AddIOp::create(b, begin, offset);
  };
  auto emitRow = [&](Value row, ValueRange carried) {
    SmallVector<Value> current(carried);
    Value scalarBegin = box.kBegin;
    if (int64_t width = strips.width; width > 1) {
      Value length = arith::SubIOp::create(b, box.kEnd, box.kBegin);
      Value rest = arith::RemUIOp::create(b, length, index(width));
      Value end = arith::SubIOp::create(b, box.kEnd, rest);
      if (strips.isVectorizable)
        end =
            arith::SelectOp::create(b, strips.isVectorizable, end, box.kBegin);
      current =
          loop(lanesFrom(box.kBegin, width), end, index(width * strips.lanes),
               current,
               [&](Value k, ValueRange c) { return body(row, k, width, c); });
      scalarBegin = end;
    }
    return loop(lanesFrom(scalarBegin, 1), box.kEnd, index(strips.lanes),
                current,
                [&](Value k, ValueRange c) { return body(row, k, 1, c); });
  };
  return loop(box.rowBegin, box.rowEnd, index(1), inits, emitRow);
}

llvm::MaybeAlign LoopEmitter::getAlignment(Value memref, int64_t width) {
  if (!strips.isAligned)
    return std::nullopt;
  Type elementType = cast<MemRefType>(memref.getType()).getElementType();
  return llvm::Align(width * elementType.getIntOrFloatBitWidth() / 8);
}

Value LoopEmitter::load(Value memref, ValueRange indices, int64_t width) {
  if (width == 1)
    return memref::LoadOp::create(b, memref, indices);
  Type elementType = cast<MemRefType>(memref.getType()).getElementType();
  return vector::LoadOp::create(b, VectorType::get(width, elementType), memref,
                                indices, /*nontemporal=*/false,
                                getAlignment(memref, width));
}

void LoopEmitter::store(Value value, Value memref, ValueRange indices,
                        int64_t width) {
  if (width == 1)
    memref::StoreOp::create(b, value, memref, indices);
  else
    vector::StoreOp::create(b, value, memref, indices, /*nontemporal=*/false,
                            getAlignment(memref, width));
}

//===----------------------------------------------------------------------===//
// Quantize
//===----------------------------------------------------------------------===//

QuantizeEmitter::QuantizeEmitter(QuantizeOp op)
    : LoopEmitter(op, op.getScheme(), op.getPayload(), op.getMicro()), op(op),
      source(op.getSource()), isTransposed(op.getTranspose()) {}

Value QuantizeEmitter::loadSource(Value row, Value k, int64_t width) {
  if (isTransposed)
    std::swap(row, k);
  return load(source, {row, k}, width);
}

SmallVector<Value> QuantizeEmitter::createAmaxInits() {
  Type i32 = b.getI32Type();
  SmallVector<Value> inits = {createConstant(b, i32, int64_t(0))};
  if (int64_t width = strips.width; width > 1)
    inits.push_back(createConstant(b, VectorType::get(width, i32), int64_t(0)));
  return inits;
}

SmallVector<Value> QuantizeEmitter::raiseAmax(ValueRange carried, Value bits,
                                              int64_t width) {
  SmallVector<Value> next(carried);
  Value &max = next[width == 1 ? 0 : 1];
  max = arith::MaxUIOp::create(b, max, bits);
  return next;
}

Value QuantizeEmitter::reduceAmax(ValueRange carried) {
  if (strips.width == 1)
    return carried.front();
  return vector::ReductionOp::create(b, vector::CombiningKind::MAXUI,
                                     carried.back(), carried.front());
}

Value QuantizeEmitter::emitAmax(Box box) {
  return reduceAmax(
      forEachStrip(box, createAmaxInits(),
                   [&](Value row, Value k, int64_t width, ValueRange carried) {
                     Value bits = createMagnitude(b, loadSource(row, k, width));
                     return raiseAmax(carried, bits, width);
                   }));
}

Value QuantizeEmitter::emitConversion(Box box, Value inverseGlobal,
                                      Value inverseMicro) {
  SmallVector<Value> inits;
  if (isMeasuring())
    inits = createAmaxInits();
  SmallVector<Value> amax = forEachStrip(
      box, inits, [&](Value row, Value k, int64_t width, ValueRange carried) {
        Value x = loadSource(row, k, width);
        Value q = createPayload(b, scheme, x, inverseGlobal, inverseMicro);
        store(q, payload, {row, k}, width);
        return isMeasuring() ? raiseAmax(carried, createMeasured(x), width)
                             : SmallVector<Value>();
      });
  return isMeasuring() ? reduceAmax(amax) : Value();
}

Value QuantizeEmitter::createMeasured(Value x) {
  return createNumberOrZero(b, createMagnitude(b, x));
}

Value QuantizeEmitter::emitReciprocal(Value x) {
  return arith::DivFOp::create(b, createConstant(b, x.getType(), 1.0), x);
}

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

DequantizeEmitter::DequantizeEmitter(DequantizeOp op)
    : LoopEmitter(op, op.getScheme(), op.getPayload(), op.getMicro()), op(op) {}

Value DequantizeEmitter::loadGlobal() {
  if (!op.getGlobal())
    return {};
  return memref::LoadOp::create(b, op.getGlobal(), ValueRange());
}

void DequantizeEmitter::emitConversion(Box box, Value scale, Value global) {
  Value init = op.getInit();
  Type type = getElementTypeOrSelf(init.getType());
  auto factors = createDequantFactors(b, scale, global);
  forEachStrip(box, {}, [&](Value row, Value k, int64_t width, ValueRange) {
    Value element = load(payload, {row, k}, width);
    Value value = createDequantizedElement(b, element, factors.first,
                                           factors.second, type);
    store(value, init, {row, k}, width);
    return SmallVector<Value>();
  });
}
