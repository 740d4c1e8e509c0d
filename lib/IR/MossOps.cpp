//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, folders and effects of the ops on quantized tensors and tiles.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/OpImplementation.h"
#include "moss/IR/Moss.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moss;

#define GET_OP_CLASSES
#include "moss/IR/MossOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Shared by the ops on tensors and memrefs
//===----------------------------------------------------------------------===//

/// Destination-style ops read their inputs and write their inits, when these
/// are memrefs; on tensors they have no effects.
static void getDestinationStyleEffects(
    DestinationStyleOpInterface op, bool readsInits,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool isInit = op.isDpsInit(&operand);
    if (!isInit || readsInits)
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    if (isInit)
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
}

/// Where extents are known, the verifier has compared them, and nothing else
/// can go wrong; so that loop-invariant code motion takes the ops out of loops.
static Speculation::Speculatability getSpeculatability(Operation *op) {
  bool isStatic = llvm::all_of(op->getOperandTypes(), [](Type type) {
    return cast<ShapedType>(type).hasStaticShape();
  });
  return isStatic ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

Speculation::Speculatability QuantizeOp::getSpeculatability() {
  return ::getSpeculatability(*this);
}

Speculation::Speculatability DequantizeOp::getSpeculatability() {
  return ::getSpeculatability(*this);
}

Speculation::Speculatability ScaledMatmulOp::getSpeculatability() {
  return ::getSpeculatability(*this);
}

/// The operands are all tensors, and the results are the inits' types, or all
/// are memrefs and there are no results.
static LogicalResult verifyDestinationStyle(DestinationStyleOpInterface op) {
  bool hasTensor = false, hasMemRef = false;
  for (Type type : op->getOperandTypes()) {
    hasTensor |= isa<RankedTensorType>(type);
    hasMemRef |= isa<MemRefType>(type);
  }
  if (hasTensor && hasMemRef)
    return op->emitOpError("operands must be all tensors or all memrefs");
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (type && !type.isStrided())
      return op->emitOpError("operand #")
             << operand.getOperandNumber() << " of type " << type
             << " has no strides; copy it to a strided memref first";
  }
  if (hasMemRef)
    return op->getNumResults() == 0
               ? success()
               : op->emitOpError("has no results on memrefs");
  if (op->getNumResults() != static_cast<unsigned>(op.getNumDpsInits()))
    return op->emitOpError("expected one result per init, that is ")
           << op.getNumDpsInits() << ", but got " << op->getNumResults();
  for (auto [index, init] : llvm::enumerate(op.getDpsInits()))
    if (init.getType() != op->getResult(index).getType())
      return op->emitOpError("result ")
             << index << " must have its init's type " << init.getType()
             << ", but has " << op->getResult(index).getType();
  return success();
}

/// Whether two extents may be equal at run time.
static bool compatible(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

static std::string shapeString(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      shape, os,
      [&](int64_t extent) {
        if (ShapedType::isDynamic(extent))
          os << "?";
        else
          os << extent;
      },
      "x");
  return text;
}

/// Check payload and micro scales of one operand against its scheme. `name`
/// prefixes the diagnostics.
static LogicalResult verifyQuantized(Operation *op, StringRef name,
                                     SchemeAttr scheme, Value payload,
                                     Value micro) {
  auto payloadType = cast<ShapedType>(payload.getType());
  if (payloadType.getElementType() != scheme.getElementType())
    return op->emitOpError()
           << name << " payload has element type "
           << payloadType.getElementType() << ", but its scheme says "
           << scheme.getElementType();
  if (scheme.hasMicro() != static_cast<bool>(micro))
    return op->emitOpError()
           << name << " scheme "
           << (scheme.hasMicro()
                   ? "has micro scales, but the operand is missing"
                   : "has no micro scales, but there is an "
                     "operand");
  if (!micro)
    return success();
  auto microType = cast<ShapedType>(micro.getType());
  if (microType.getElementType() != scheme.getMicroType())
    return op->emitOpError()
           << name << " micro scales have element type "
           << microType.getElementType() << ", but the scheme says "
           << scheme.getMicroType();
  SmallVector<int64_t> expected = scheme.getMicroShape(payloadType.getShape());
  for (auto [actual, wanted] : llvm::zip_equal(microType.getShape(), expected))
    if (!compatible(actual, wanted))
      return op->emitOpError()
             << name << " micro scales of a payload of "
             << shapeString(payloadType.getShape()) << " must have shape "
             << shapeString(expected) << ", but have "
             << shapeString(microType.getShape());
  return success();
}

//===----------------------------------------------------------------------===//
// QuantizeOp
//===----------------------------------------------------------------------===//

MutableOperandRange QuantizeOp::getDpsInitsMutable() {
  // Payload, micro and global are the last operands, in this order.
  unsigned first = getPayloadMutable().getOperandNumber();
  return MutableOperandRange(*this, first,
                             getOperation()->getNumOperands() - first);
}

Value QuantizeOp::getPayloadResult() {
  return getResults().empty() ? Value() : getResults().front();
}

Value QuantizeOp::getMicroResult() {
  return getResults().empty() || !getMicro() ? Value() : getResults()[1];
}

Value QuantizeOp::getGlobalResult() {
  return getResults().empty() || !getGlobal() ? Value() : getResults().back();
}

Value QuantizeOp::getResultScale() {
  return getScheme().needsGlobalOperand() ? getScale() : getGlobalResult();
}

void QuantizeOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, /*readsInits=*/false, effects);
}

LogicalResult QuantizeOp::verify() {
  SchemeAttr scheme = getScheme();
  if (scheme.needsGlobalOperand() != static_cast<bool>(getScale()))
    return emitOpError("global scale '")
           << stringifyGlobalScale(scheme.getGlobal()) << "' "
           << (getScale() ? "takes no scale operand" : "needs a scale operand");
  if (scheme.yieldsGlobal() != static_cast<bool>(getGlobal()))
    return emitOpError("global scale '")
           << stringifyGlobalScale(scheme.getGlobal()) << "' "
           << (getGlobal() ? "has no global init" : "needs a global init");
  SmallVector<int64_t> shape(
      cast<ShapedType>(getSource().getType()).getShape());
  if (getTranspose())
    std::swap(shape[0], shape[1]);
  auto payloadShape = cast<ShapedType>(getPayload().getType()).getShape();
  if (!compatible(shape[0], payloadShape[0]) ||
      !compatible(shape[1], payloadShape[1]))
    return emitOpError("payload of ")
           << (getTranspose() ? "the transposed" : "a") << " source must be "
           << shapeString(shape) << ", but is " << shapeString(payloadShape);
  if (failed(verifyQuantized(*this, "the", scheme, getPayload(), getMicro())))
    return failure();
  return verifyDestinationStyle(*this);
}

//===----------------------------------------------------------------------===//
// DequantizeOp
//===----------------------------------------------------------------------===//

void DequantizeOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, /*readsInits=*/false, effects);
}

LogicalResult DequantizeOp::verify() {
  auto shape = cast<ShapedType>(getPayload().getType()).getShape();
  auto initShape = cast<ShapedType>(getInit().getType()).getShape();
  if (!compatible(shape[0], initShape[0]) ||
      !compatible(shape[1], initShape[1]))
    return emitOpError("init must be ")
           << shapeString(shape) << ", but is " << shapeString(initShape);
  if (failed(
          verifyQuantized(*this, "the", getScheme(), getPayload(), getMicro())))
    return failure();
  return verifyDestinationStyle(*this);
}

//===----------------------------------------------------------------------===//
// ScaledMatmulOp
//===----------------------------------------------------------------------===//

void ScaledMatmulOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, /*readsInits=*/getAccumulates(), effects);
}

LogicalResult ScaledMatmulOp::verify() {
  auto lhsShape = cast<ShapedType>(getLhs().getType()).getShape();
  auto rhsShape = cast<ShapedType>(getRhs().getType()).getShape();
  auto initShape = cast<ShapedType>(getInit().getType()).getShape();
  if (!compatible(lhsShape[1], rhsShape[1]))
    return emitOpError("lhs [M, K] is ")
           << shapeString(lhsShape) << " and rhs [N, K] is "
           << shapeString(rhsShape) << ", but K must agree";
  if (!compatible(lhsShape[0], initShape[0]) ||
      !compatible(rhsShape[0], initShape[1]))
    return emitOpError("init [M, N] must be ")
           << shapeString({lhsShape[0], rhsShape[0]}) << ", but is "
           << shapeString(initShape);
  if (failed(verifyQuantized(*this, "lhs", getLhsScheme(), getLhs(),
                             getLhsMicro())) ||
      failed(verifyQuantized(*this, "rhs", getRhsScheme(), getRhs(),
                             getRhsMicro())))
    return failure();
  if (getLhsScheme().isQuantized() != getRhsScheme().isQuantized())
    return emitOpError("cannot multiply ")
           << getLhsScheme().getElementType() << " and "
           << getRhsScheme().getElementType()
           << ": both operands must be FP8, or both bf16";
  return verifyDestinationStyle(*this);
}

//===----------------------------------------------------------------------===//
// NextScaleOp
//===----------------------------------------------------------------------===//

MutableOperandRange NextScaleOp::getDpsInitsMutable() {
  return MutableOperandRange(*this, getScalesMutable().getOperandNumber(), 2);
}

void NextScaleOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, /*readsInits=*/true, effects);
}

/// Every rule of a table has a number of rows.
static LogicalResult verifyRows(Operation *op, ArrayAttr rules,
                                ArrayRef<int64_t> rows) {
  if (rules.size() != rows.size())
    return op->emitOpError("has ") << rules.size() << " rules, but "
                                   << rows.size() << " numbers of rows";
  if (llvm::any_of(rows, [](int64_t count) { return count < 1; }))
    return op->emitOpError("numbers of rows must be positive");
  return success();
}

LogicalResult NextScaleOp::verify() {
  if (failed(verifyRows(*this, getRules(), getRows())))
    return failure();
  int64_t total = llvm::sum_of(getRows());
  SmallVector<Value> tables{getScales(), getState()};
  if (getAmax())
    tables.push_back(getAmax());
  for (Value table : tables)
    if (cast<ShapedType>(table.getType()).getDimSize(0) != total)
      return emitOpError("has rules for ")
             << total << " weights, but a table of " << table.getType();
  if (cast<ShapedType>(getState().getType()).getDimSize(1) != kNumFields)
    return emitOpError("state must be ")
           << total << "x" << kNumFields << ", but is " << getState().getType();
  bool needsAmax = llvm::any_of(getRuleAttrs(), [](ScaleRuleAttr rule) {
    return rule.getOptimizer().isBoundedByGradient();
  });
  if (needsAmax != static_cast<bool>(getAmax()))
    return emitOpError() << (needsAmax
                                 ? "needs the amax of gradients for 'sgd' and "
                                   "'momentum'"
                                 : "takes an amax only for 'sgd' and "
                                   "'momentum'");
  return verifyDestinationStyle(*this);
}

//===----------------------------------------------------------------------===//
// NextDelayedScaleOp
//===----------------------------------------------------------------------===//

MutableOperandRange NextDelayedScaleOp::getDpsInitsMutable() {
  return MutableOperandRange(*this, getScalesMutable().getOperandNumber(), 2);
}

void NextDelayedScaleOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationStyleEffects(*this, /*readsInits=*/true, effects);
}

LogicalResult NextDelayedScaleOp::verify() {
  if (failed(verifyRows(*this, getRules(), getRows())))
    return failure();
  int64_t total = llvm::sum_of(getRows());
  for (Value table : {getScales(), getHistory()})
    if (cast<ShapedType>(table.getType()).getDimSize(0) != total)
      return emitOpError("has rules for ")
             << total << " tensors, but a table of " << table.getType();
  if (!getAmax().empty() && static_cast<int64_t>(getAmax().size()) != total)
    return emitOpError("has rules for ")
           << total << " tensors, but " << getAmax().size() << " amax values";
  if (getHistoryLength() < 1)
    return emitOpError(
               "history must have a static length of at least 1, but is ")
           << getHistory().getType();
  return verifyDestinationStyle(*this);
}

//===----------------------------------------------------------------------===//
// MmaOp
//===----------------------------------------------------------------------===//

LogicalResult MmaOp::verify() {
  VectorType lhs = getLhs().getType(), rhs = getRhs().getType();
  VectorType acc = getAcc().getType();
  if (lhs.getElementType().isBF16() != rhs.getElementType().isBF16())
    return emitOpError("cannot multiply ")
           << lhs.getElementType() << " and " << rhs.getElementType()
           << ": both tiles must be FP8, or both bf16";
  if (lhs.getDimSize(1) != rhs.getDimSize(1))
    return emitOpError("lhs M x K is ")
           << shapeString(lhs.getShape()) << " and rhs N x K is "
           << shapeString(rhs.getShape()) << ", but K must agree";
  if (!isTileK(lhs.getDimSize(1)))
    return emitOpError("K must be ")
           << kMinTileK << " or a multiple of " << kMmaStepK << ", but is "
           << lhs.getDimSize(1);
  if (acc.getDimSize(0) != lhs.getDimSize(0) ||
      acc.getDimSize(1) != rhs.getDimSize(0))
    return emitOpError("the accumulator must be ")
           << shapeString({lhs.getDimSize(0), rhs.getDimSize(0)}) << ", but is "
           << shapeString(acc.getShape());
  return success();
}

//===----------------------------------------------------------------------===//
// RescaleOp
//===----------------------------------------------------------------------===//

bool RescaleOp::hasOnlyPowerOfTwoTiles() {
  auto isPowerOfTwo = [](Value scales) {
    return !scales || isa<Float8E8M0FNUType>(
                          cast<VectorType>(scales.getType()).getElementType());
  };
  return isPowerOfTwo(getRows()) && isPowerOfTwo(getCols());
}

/// Check that the scales of a tile of `shape`, each of which may be null, are
/// those of its rows and columns.
static LogicalResult verifyTileScales(Operation *op, ArrayRef<int64_t> shape,
                                      Value rows, Value cols) {
  for (auto [name, scales, expected] :
       {std::tuple<StringRef, Value, SmallVector<int64_t>>{
            "row", rows, {shape[0], 1}},
        {"column", cols, {1, shape[1]}}}) {
    if (!scales)
      continue;
    ArrayRef<int64_t> actual = cast<VectorType>(scales.getType()).getShape();
    if (actual != ArrayRef<int64_t>(expected))
      return op->emitOpError()
             << name << " scales must be " << shapeString(expected)
             << ", but are " << shapeString(actual);
  }
  return success();
}

LogicalResult RescaleOp::verify() {
  if (failed(verifyTileScales(*this, getTile().getType().getShape(), getRows(),
                              getCols())))
    return failure();
  if (getScalars().size() > 2)
    return emitOpError("takes at most two scalars, but got ")
           << getScalars().size();
  return success();
}

OpFoldResult RescaleOp::fold(FoldAdaptor) {
  // Nothing to apply.
  if (!getRows() && !getCols() && getScalars().empty())
    return getTile();
  return {};
}

//===----------------------------------------------------------------------===//
// AddRescaledOp
//===----------------------------------------------------------------------===//

LogicalResult AddRescaledOp::verify() {
  if (!getRows() && !getCols())
    return emitOpError("has no scales; use arith.addf");
  return verifyTileScales(*this, getTile().getType().getShape(), getRows(),
                          getCols());
}

//===----------------------------------------------------------------------===//
// LoadScalesOp
//===----------------------------------------------------------------------===//

LogicalResult LoadScalesOp::verify() {
  auto resultType = cast<VectorType>(getResult().getType());
  Type elementType = cast<MemRefType>(getSource().getType()).getElementType();
  if (resultType.getElementType() != elementType)
    return emitOpError("result must have the source's element type ")
           << elementType << ", but has " << resultType.getElementType();
  if (resultType.getDimSize(0) != 1 && resultType.getDimSize(1) != 1)
    return emitOpError("result must be Rx1 or 1xR, but is ")
           << shapeString(resultType.getShape());
  return success();
}
