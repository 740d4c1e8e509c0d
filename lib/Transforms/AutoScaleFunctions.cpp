//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How moss-auto-scale measures and keeps scales.
//
//===----------------------------------------------------------------------===//

#include "AutoScale.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MLProgram/IR/MLProgram.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "moss/Transforms/CInterface.h"

using namespace mlir;
using namespace mlir::moss;

RankedTensorType WeightTable::getScalesType(MLIRContext *context) const {
  return RankedTensorType::get({static_cast<int64_t>(weights.size())},
                               Float32Type::get(context));
}

RankedTensorType WeightTable::getStateType(MLIRContext *context) const {
  return RankedTensorType::get(
      {static_cast<int64_t>(weights.size()), NextScaleOp::kNumFields},
      Float64Type::get(context));
}

bool WeightTable::needsAmax() const {
  return llvm::any_of(rules, [](ScaleRuleAttr rule) {
    return rule.getOptimizer().isBoundedByGradient();
  });
}

unsigned FunctionWeights::getKept(WeightUse use) const {
  auto *found = llvm::find_if(kept, [&](WeightUse other) {
    return other.weight == use.weight &&
           QuantizeOp(other.quantize).getTranspose() ==
               use.quantize.getTranspose();
  });
  assert(found != kept.end() && "every use has a payload");
  return found - kept.begin();
}

//===----------------------------------------------------------------------===//
// Computing a weight's source again
//===----------------------------------------------------------------------===//

SetVector<Value> moss::getInputs(Operation *op) {
  SetVector<Value> inputs(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), inputs);
  return inputs;
}

/// Whether the op reads a memref of the function ahead of all that may write.
static bool readsAtEntry(Operation *op) {
  Block *block = op->getBlock();
  return isa<bufferization::ToTensorOp>(op) && block->isEntryBlock() &&
         isa<func::FuncOp>(block->getParentOp()) &&
         llvm::all_of(llvm::make_range(block->begin(), op->getIterator()),
                      [](Operation &other) {
                        return isMemoryEffectFree(&other) ||
                               readsAtEntry(&other);
                      });
}

bool moss::isAvailableAtEntry(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
           argument.getOwner()->isEntryBlock();
  Operation *op = value.getDefiningOp();
  bool isPure =
      isMemoryEffectFree(op) || readsAtEntry(op) ||
      isa<ml_program::GlobalLoadOp, ml_program::GlobalLoadConstOp>(op);
  return isPure && llvm::all_of(getInputs(op), isAvailableAtEntry);
}

Value moss::cloneFromEntry(OpBuilder &b, Value value, IRMapping &mapping) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value input : getInputs(op))
    cloneFromEntry(b, input, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

QuantizeOp moss::createGiven(OpBuilder &b, QuantizeOp op, Value source,
                             Value scale, Value payload) {
  return QuantizeOp::create(b, op.getLoc(), TypeRange(payload.getType()),
                            getGivenScheme(op), op.getTranspose(), source,
                            scale, payload,
                            /*micro=*/Value(), /*global=*/Value());
}

/// `scales` with the measured scale of one weight.
static Value measureOne(ImplicitLocOpBuilder &b, SchemeAttr scheme,
                        Value source, Value scales, int64_t row) {
  // The payload is not used, but nothing else takes a maximum on every target;
  // at one step in hundreds it costs little.
  Value payload = tensor::EmptyOp::create(
      b, tensor::getMixedSizes(b, b.getLoc(), source), scheme.getElementType());
  Value slot = extractScalar(b, scales, row);
  auto measured = QuantizeOp::create(
      b, TypeRange{payload.getType(), slot.getType()}, scheme,
      /*transpose=*/false, source, /*scale=*/Value(), payload,
      /*micro=*/Value(), slot);
  return insertScalar(b, measured.getGlobalResult(), scales, row);
}

void moss::emitMeasurement(ImplicitLocOpBuilder &b, const WeightTable &table,
                           const FunctionWeights &function,
                           ArrayRef<WeightUse> uses, IRMapping &mapping,
                           MutableArrayRef<Value> carried) {
  llvm::SmallDenseSet<unsigned> measured, quantized;
  for (WeightUse use : uses) {
    QuantizeOp op = use.quantize;
    int64_t row = table.weights[use.weight].row;
    Value source = cloneFromEntry(b, op.getSource(), mapping);
    if (measured.insert(use.weight).second)
      carried[0] = measureOne(b, op.getScheme(), source, carried[0], row);
    if (function.kept.empty())
      continue;
    unsigned number = function.getKept(use);
    if (!quantized.insert(number).second)
      continue;
    Value &payload = carried[1 + number];
    payload =
        createGiven(b, op, source, extractScalar(b, carried[0], row), payload)
            .getPayloadResult();
  }
}

//===----------------------------------------------------------------------===//
// Keeping
//===----------------------------------------------------------------------===//

SmallVector<Value> moss::appendKeptPayloads(func::FuncOp func,
                                            const FunctionWeights &function) {
  SmallVector<Value> payloads;
  for (auto [index, use] : llvm::enumerate(function.kept)) {
    QuantizeOp op = use.quantize;
    payloads.push_back(appendArgument(func, op.getPayload().getType(),
                                      "payload" + std::to_string(index)));
  }
  return payloads;
}

static Value getGlobal(ImplicitLocOpBuilder &b, StringRef name,
                       RankedTensorType type) {
  return memref::GetGlobalOp::create(
      b, MemRefType::get(type.getShape(), type.getElementType()), name);
}

Value moss::loadGlobal(ImplicitLocOpBuilder &b, StringRef name,
                       RankedTensorType type) {
  return bufferization::ToTensorOp::create(b, type, getGlobal(b, name, type),
                                           /*restrict=*/true,
                                           /*writable=*/true);
}

void moss::storeGlobal(ImplicitLocOpBuilder &b, StringRef name, Value value) {
  bufferization::MaterializeInDestinationOp::create(
      b, /*result=*/Type(), value,
      getGlobal(b, name, cast<RankedTensorType>(value.getType())),
      /*restrict=*/true, /*writable=*/true);
}

Value moss::getScales(ImplicitLocOpBuilder &b, func::FuncOp func,
                      const WeightTable &table) {
  RankedTensorType type = table.getScalesType(b.getContext());
  if (table.state == ScaleState::Globals)
    return loadGlobal(b, kScalesName, type);
  return appendArgument(func, type, "scales");
}

void moss::putScales(func::FuncOp func, const WeightTable &table, Value old,
                     Value scales) {
  if (table.state == ScaleState::Globals) {
    ImplicitLocOpBuilder b(func.getLoc(), func.getContext());
    b.setInsertionPointAfterValue(scales);
    storeGlobal(b, kScalesName, scales);
    return;
  }
  appendUpdate(func, old, scales);
}
