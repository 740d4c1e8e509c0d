//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TilingInterface of the ops on quantized tensors. A tile never cuts a micro
// group: an op that only reads scales needs tiles that begin at groups, one
// that computes scales needs tiles of whole groups.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "moss/IR/Moss.h"

using namespace mlir;
using namespace mlir::moss;

using OFRs = ArrayRef<OpFoldResult>;

//===----------------------------------------------------------------------===//
// What is known of offsets and sizes
//===----------------------------------------------------------------------===//

static bool isMultipleOf(OpFoldResult value, int64_t factor);

/// Whether lower bound and step of the loop variable are multiples.
static bool isLoopVariableMultipleOf(BlockArgument argument, int64_t factor) {
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  if (!loop)
    return false;
  std::optional<SmallVector<Value>> variables = loop.getLoopInductionVars();
  std::optional<SmallVector<OpFoldResult>> lower = loop.getLoopLowerBounds();
  std::optional<SmallVector<OpFoldResult>> steps = loop.getLoopSteps();
  if (!variables || !lower || !steps)
    return false;
  for (auto [variable, start, step] : llvm::zip(*variables, *lower, *steps))
    if (variable == argument)
      return isMultipleOf(start, factor) && isMultipleOf(step, factor);
  return false;
}

/// Whether the result is a multiple, given which operands are.
static bool isApplyMultipleOf(affine::AffineApplyOp apply, int64_t factor) {
  AffineMap map = apply.getAffineMap();
  SmallVector<AffineExpr> dims, symbols;
  for (auto [index, operand] : llvm::enumerate(apply.getMapOperands())) {
    bool isDim = index < map.getNumDims();
    AffineExpr expr =
        isDim ? getAffineDimExpr(index, map.getContext())
              : getAffineSymbolExpr(index - map.getNumDims(), map.getContext());
    (isDim ? dims : symbols)
        .push_back(isMultipleOf(operand, factor) ? expr * factor : expr);
  }
  return map.getResult(0)
      .replaceDimsAndSymbols(dims, symbols)
      .isMultipleOf(factor);
}

/// Whether a value is known to be a multiple of `factor`. ValueBounds knows
/// ranges of values, but not their divisors.
static bool isMultipleOf(OpFoldResult value, int64_t factor) {
  if (factor == 1)
    return true;
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant % factor == 0;
  if (auto argument = dyn_cast<BlockArgument>(cast<Value>(value)))
    return isLoopVariableMultipleOf(argument, factor);
  auto apply = cast<Value>(value).getDefiningOp<affine::AffineApplyOp>();
  return apply && isApplyMultipleOf(apply, factor);
}

static bool areEqual(const ValueBoundsConstraintSet::Variable &a,
                     const ValueBoundsConstraintSet::Variable &b) {
  FailureOr<bool> equal = ValueBoundsConstraintSet::areEqual(a, b);
  return succeeded(equal) && *equal;
}

/// Whether a tile spans a whole dimension of `operand`.
static bool isFull(OpFoldResult offset, OpFoldResult size, Value operand,
                   int64_t dim) {
  return isZeroInteger(offset) && areEqual(size, {operand, dim});
}

/// Whether a tile that begins at a group consists of whole groups, the last one
/// of the dimension being whole by definition. The sizes of ragged tiles are
/// `affine.min(size of a tile, what is left)`.
static bool hasWholeGroups(OpFoldResult offset, OpFoldResult size,
                           int64_t group, Value operand, int64_t dim) {
  if (isMultipleOf(size, group) || isFull(offset, size, operand, dim))
    return true;
  auto value = dyn_cast<Value>(size);
  auto min = value ? value.getDefiningOp<affine::AffineMinOp>()
                   : affine::AffineMinOp();
  if (!min)
    return false;
  AffineMap map = min.getAffineMap();
  return llvm::all_of(llvm::seq(map.getNumResults()), [&](unsigned index) {
    if (map.getResult(index).isMultipleOf(group))
      return true;
    // What is left: its sum with the offset is the extent.
    OpBuilder builder(min);
    AffineExpr end =
        map.getResult(index) + builder.getAffineSymbolExpr(map.getNumSymbols());
    SmallVector<ValueBoundsConstraintSet::Variable> operands(
        min.getOperands().begin(), min.getOperands().end());
    operands.emplace_back(offset);
    return areEqual(
        {AffineMap::get(map.getNumDims(), map.getNumSymbols() + 1, end),
         operands},
        {operand, dim});
  });
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

static SmallVector<OpFoldResult> getSizes(OpBuilder &builder, Location loc,
                                          Value value) {
  if (isa<RankedTensorType>(value.getType()))
    return tensor::getMixedSizes(builder, loc, value);
  return memref::getMixedSizes(builder, loc, value);
}

static Range getRange(OpBuilder &builder, OpFoldResult size) {
  return {builder.getIndexAttr(0), size, builder.getIndexAttr(1)};
}

namespace {
/// Cuts tiles out of the operands of one op and puts the tiled op together.
class Tiler {
public:
  Tiler(OpBuilder &builder, Operation *op) : builder(builder), op(op) {}

  /// A tile of a matrix.
  Value slice(Value matrix, OFRs offsets, OFRs sizes);

  /// The micro scales of a tile that begins at groups.
  Value sliceMicro(SchemeAttr scheme, Value micro, OFRs offsets, OFRs sizes);

  /// The same op on tiles. `inits` are its last operands.
  TilingResult build(ArrayRef<Value> operands, unsigned numInits);

private:
  OpBuilder &builder;
  Operation *op;
  SmallVector<Operation *> slices;
};
} // namespace

Value Tiler::slice(Value matrix, OFRs offsets, OFRs sizes) {
  Location loc = op->getLoc();
  SmallVector<OpFoldResult> strides(2, builder.getIndexAttr(1));
  Value result;
  if (isa<RankedTensorType>(matrix.getType()))
    result = tensor::ExtractSliceOp::create(builder, loc, matrix, offsets,
                                            sizes, strides);
  else
    result = memref::SubViewOp::create(builder, loc, matrix, offsets, sizes,
                                       strides);
  slices.push_back(result.getDefiningOp());
  return result;
}

/// Position and size of the micro scales of a tile that begins at groups.
static void getMicroTile(OpBuilder &builder, Location loc, SchemeAttr scheme,
                         OFRs offsets, OFRs sizes,
                         SmallVectorImpl<OpFoldResult> &microOffsets,
                         SmallVectorImpl<OpFoldResult> &microSizes) {
  AffineExpr extent = builder.getAffineSymbolExpr(0);
  auto divide = [&](AffineExpr expr, OpFoldResult value) {
    return affine::makeComposedFoldedAffineApply(builder, loc, expr, {value});
  };
  int64_t groups[] = {scheme.getGroupOuter(), scheme.getGroupK()};
  for (auto [group, offset, size] : llvm::zip_equal(groups, offsets, sizes)) {
    bool isFull = group == 0;
    microOffsets.push_back(isFull ? builder.getIndexAttr(0)
                                  : divide(extent.floorDiv(group), offset));
    microSizes.push_back(isFull ? builder.getIndexAttr(1)
                                : divide(extent.ceilDiv(group), size));
  }
}

Value Tiler::sliceMicro(SchemeAttr scheme, Value micro, OFRs offsets,
                        OFRs sizes) {
  if (!micro)
    return {};
  SmallVector<OpFoldResult> microOffsets, microSizes;
  getMicroTile(builder, op->getLoc(), scheme, offsets, sizes, microOffsets,
               microSizes);
  return slice(micro, microOffsets, microSizes);
}

TilingResult Tiler::build(ArrayRef<Value> operands, unsigned numInits) {
  SmallVector<Value> present;
  for (Value operand : operands)
    if (operand)
      present.push_back(operand);
  SmallVector<Type> resultTypes;
  if (op->getNumResults())
    llvm::append_range(resultTypes,
                       ValueRange(present).take_back(numInits).getTypes());
  Operation *tiled = mlir::clone(builder, op, resultTypes, present);
  return {{tiled}, SmallVector<Value>(tiled->getResults()), slices};
}

/// A tile must begin at a micro group.
static LogicalResult checkStart(Operation *op, StringRef dim, int64_t group,
                                OpFoldResult offset) {
  if (group == 0 || isMultipleOf(offset, group))
    return success();
  return op->emitOpError("tiles along ")
         << dim << " must begin at micro groups of " << group
         << "; use a tile size that is a multiple of " << group;
}

static LogicalResult checkStarts(Operation *op, SchemeAttr scheme,
                                 StringRef outer, OFRs offsets) {
  if (!scheme.hasMicro())
    return success();
  return success(
      succeeded(checkStart(op, outer, scheme.getGroupOuter(), offsets[0])) &&
      succeeded(checkStart(op, "K", scheme.getGroupK(), offsets[1])));
}

//===----------------------------------------------------------------------===//
// QuantizeOp
//===----------------------------------------------------------------------===//

SmallVector<utils::IteratorType> QuantizeOp::getLoopIteratorTypes() {
  return {2, utils::IteratorType::parallel};
}

SmallVector<Range> QuantizeOp::getIterationDomain(OpBuilder &builder) {
  return llvm::map_to_vector(
      getSizes(builder, getLoc(), getPayload()),
      [&](OpFoldResult size) { return getRange(builder, size); });
}

/// A tile must contain all that its scales depend on.
static LogicalResult checkQuantizeTile(QuantizeOp op, OFRs offsets,
                                       OFRs sizes) {
  SchemeAttr scheme = op.getScheme();
  if (scheme.yieldsGlobal())
    return op.emitOpError("cannot be tiled, since its global scale '")
           << stringifyGlobalScale(scheme.getGlobal())
           << "' depends on the whole tensor; 'unit' or 'given' can";
  if (!scheme.hasMicro())
    return success();
  StringRef names[] = {"the outer dimension", "K"};
  int64_t groups[] = {scheme.getGroupOuter(), scheme.getGroupK()};
  for (int64_t dim : {0, 1}) {
    if (groups[dim] == 0 &&
        !isFull(offsets[dim], sizes[dim], op.getPayload(), dim))
      return op.emitOpError("cannot be tiled along ")
             << names[dim] << ", all of which is one micro group";
    if (failed(checkStart(op, names[dim], groups[dim], offsets[dim])))
      return failure();
    if (groups[dim] != 0 && !hasWholeGroups(offsets[dim], sizes[dim],
                                            groups[dim], op.getPayload(), dim))
      return op.emitOpError("tiles along ")
             << names[dim] << " must consist of whole micro groups of "
             << groups[dim];
  }
  return success();
}

FailureOr<TilingResult> QuantizeOp::getTiledImplementation(OpBuilder &builder,
                                                           OFRs offsets,
                                                           OFRs sizes) {
  if (failed(checkQuantizeTile(*this, offsets, sizes)))
    return failure();
  SmallVector<OpFoldResult> sourceOffsets(offsets), sourceSizes(sizes);
  if (getTranspose()) {
    std::swap(sourceOffsets[0], sourceOffsets[1]);
    std::swap(sourceSizes[0], sourceSizes[1]);
  }
  Tiler tiler(builder, *this);
  Value source = tiler.slice(getSource(), sourceOffsets, sourceSizes);
  Value payload = tiler.slice(getPayload(), offsets, sizes);
  Value micro = tiler.sliceMicro(getScheme(), getMicro(), offsets, sizes);
  return tiler.build({source, getScale(), payload, micro}, getNumDpsInits());
}

LogicalResult
QuantizeOp::getResultTilePosition(OpBuilder &builder, unsigned resultNumber,
                                  OFRs offsets, OFRs sizes,
                                  SmallVector<OpFoldResult> &resultOffsets,
                                  SmallVector<OpFoldResult> &resultSizes) {
  if (resultNumber == 0) {
    resultOffsets.assign(offsets.begin(), offsets.end());
    resultSizes.assign(sizes.begin(), sizes.end());
    return success();
  }
  getMicroTile(builder, getLoc(), getScheme(), offsets, sizes, resultOffsets,
               resultSizes);
  return success();
}

LogicalResult QuantizeOp::getIterationDomainTileFromResultTile(
    OpBuilder &builder, unsigned resultNumber, OFRs offsets, OFRs sizes,
    SmallVectorImpl<OpFoldResult> &domainOffsets,
    SmallVectorImpl<OpFoldResult> &domainSizes) {
  if (resultNumber == 0) {
    domainOffsets.assign(offsets.begin(), offsets.end());
    domainSizes.assign(sizes.begin(), sizes.end());
    return success();
  }
  SmallVector<Range> domain = getIterationDomain(builder);
  int64_t groups[] = {getScheme().getGroupOuter(), getScheme().getGroupK()};
  for (auto [group, range, offset, size] :
       llvm::zip_equal(groups, domain, offsets, sizes)) {
    // Where groups have several elements, a tile of their scales does not say
    // where the last of them ends.
    if (group > 1)
      return failure();
    domainOffsets.push_back(group == 1 ? offset : range.offset);
    domainSizes.push_back(group == 1 ? size : range.size);
  }
  return success();
}

FailureOr<TilingResult>
QuantizeOp::generateResultTileValue(OpBuilder &builder, unsigned resultNumber,
                                    OFRs offsets, OFRs sizes) {
  SmallVector<OpFoldResult> domainOffsets, domainSizes;
  if (getScheme().yieldsGlobal() ||
      failed(getIterationDomainTileFromResultTile(
          builder, resultNumber, offsets, sizes, domainOffsets, domainSizes)))
    return failure();
  FailureOr<TilingResult> tiled =
      getTiledImplementation(builder, domainOffsets, domainSizes);
  if (succeeded(tiled))
    tiled->tiledValues = {tiled->tiledValues[resultNumber]};
  return tiled;
}

//===----------------------------------------------------------------------===//
// DequantizeOp
//===----------------------------------------------------------------------===//

SmallVector<utils::IteratorType> DequantizeOp::getLoopIteratorTypes() {
  return {2, utils::IteratorType::parallel};
}

SmallVector<Range> DequantizeOp::getIterationDomain(OpBuilder &builder) {
  return llvm::map_to_vector(
      getSizes(builder, getLoc(), getPayload()),
      [&](OpFoldResult size) { return getRange(builder, size); });
}

FailureOr<TilingResult> DequantizeOp::getTiledImplementation(OpBuilder &builder,
                                                             OFRs offsets,
                                                             OFRs sizes) {
  if (failed(checkStarts(*this, getScheme(), "the outer dimension", offsets)))
    return failure();
  Tiler tiler(builder, *this);
  Value payload = tiler.slice(getPayload(), offsets, sizes);
  Value micro = tiler.sliceMicro(getScheme(), getMicro(), offsets, sizes);
  Value init = tiler.slice(getInit(), offsets, sizes);
  return tiler.build({payload, micro, getGlobal(), init}, getNumDpsInits());
}

LogicalResult
DequantizeOp::getResultTilePosition(OpBuilder &builder, unsigned resultNumber,
                                    OFRs offsets, OFRs sizes,
                                    SmallVector<OpFoldResult> &resultOffsets,
                                    SmallVector<OpFoldResult> &resultSizes) {
  resultOffsets.assign(offsets.begin(), offsets.end());
  resultSizes.assign(sizes.begin(), sizes.end());
  return success();
}

LogicalResult DequantizeOp::getIterationDomainTileFromResultTile(
    OpBuilder &builder, unsigned resultNumber, OFRs offsets, OFRs sizes,
    SmallVectorImpl<OpFoldResult> &domainOffsets,
    SmallVectorImpl<OpFoldResult> &domainSizes) {
  domainOffsets.assign(offsets.begin(), offsets.end());
  domainSizes.assign(sizes.begin(), sizes.end());
  return success();
}

FailureOr<TilingResult>
DequantizeOp::generateResultTileValue(OpBuilder &builder, unsigned resultNumber,
                                      OFRs offsets, OFRs sizes) {
  return getTiledImplementation(builder, offsets, sizes);
}

//===----------------------------------------------------------------------===//
// ScaledMatmulOp
//===----------------------------------------------------------------------===//

SmallVector<utils::IteratorType> ScaledMatmulOp::getLoopIteratorTypes() {
  return {utils::IteratorType::parallel, utils::IteratorType::parallel,
          utils::IteratorType::reduction};
}

SmallVector<Range> ScaledMatmulOp::getIterationDomain(OpBuilder &builder) {
  SmallVector<OpFoldResult> lhs = getSizes(builder, getLoc(), getLhs());
  SmallVector<OpFoldResult> rhs = getSizes(builder, getLoc(), getRhs());
  return {getRange(builder, lhs[0]), getRange(builder, rhs[0]),
          getRange(builder, lhs[1])};
}

/// A sum over K in parts needs a place for the partial sums.
static LogicalResult checkReductionTile(ScaledMatmulOp op, OpFoldResult offset,
                                        OpFoldResult size) {
  if (isFull(offset, size, op.getLhs(), 1))
    return success();
  if (!op.getAccumulates())
    return op.emitOpError("can be tiled along K only when it accumulates; fill "
                          "init with zeros and set 'accumulates'");
  Type elementType = getElementTypeOrSelf(op.getInit().getType());
  if (!elementType.isF32())
    return op.emitOpError("can be tiled along K only with an f32 init, since ")
           << elementType << " would be rounded after every tile";
  return success();
}

FailureOr<TilingResult>
ScaledMatmulOp::getTiledImplementation(OpBuilder &builder, OFRs offsets,
                                       OFRs sizes) {
  OpFoldResult lhsOffsets[] = {offsets[0], offsets[2]};
  OpFoldResult rhsOffsets[] = {offsets[1], offsets[2]};
  OpFoldResult lhsSizes[] = {sizes[0], sizes[2]};
  OpFoldResult rhsSizes[] = {sizes[1], sizes[2]};
  if (failed(checkReductionTile(*this, offsets[2], sizes[2])) ||
      failed(checkStarts(*this, getLhsScheme(), "M", lhsOffsets)) ||
      failed(checkStarts(*this, getRhsScheme(), "N", rhsOffsets)))
    return failure();
  Tiler tiler(builder, *this);
  Value lhs = tiler.slice(getLhs(), lhsOffsets, lhsSizes);
  Value lhsMicro =
      tiler.sliceMicro(getLhsScheme(), getLhsMicro(), lhsOffsets, lhsSizes);
  Value rhs = tiler.slice(getRhs(), rhsOffsets, rhsSizes);
  Value rhsMicro =
      tiler.sliceMicro(getRhsScheme(), getRhsMicro(), rhsOffsets, rhsSizes);
  Value init =
      tiler.slice(getInit(), offsets.take_front(2), sizes.take_front(2));
  return tiler.build(
      {lhs, lhsMicro, getLhsGlobal(), rhs, rhsMicro, getRhsGlobal(), init},
      getNumDpsInits());
}

LogicalResult
ScaledMatmulOp::getResultTilePosition(OpBuilder &builder, unsigned resultNumber,
                                      OFRs offsets, OFRs sizes,
                                      SmallVector<OpFoldResult> &resultOffsets,
                                      SmallVector<OpFoldResult> &resultSizes) {
  resultOffsets.assign({offsets[0], offsets[1]});
  resultSizes.assign({sizes[0], sizes[1]});
  return success();
}

LogicalResult ScaledMatmulOp::getIterationDomainTileFromResultTile(
    OpBuilder &builder, unsigned resultNumber, OFRs offsets, OFRs sizes,
    SmallVectorImpl<OpFoldResult> &domainOffsets,
    SmallVectorImpl<OpFoldResult> &domainSizes) {
  Range k = getIterationDomain(builder).back();
  domainOffsets.assign({offsets[0], offsets[1], k.offset});
  domainSizes.assign({sizes[0], sizes[1], k.size});
  return success();
}

FailureOr<TilingResult> ScaledMatmulOp::generateResultTileValue(
    OpBuilder &builder, unsigned resultNumber, OFRs offsets, OFRs sizes) {
  SmallVector<OpFoldResult> domainOffsets, domainSizes;
  if (failed(getIterationDomainTileFromResultTile(
          builder, resultNumber, offsets, sizes, domainOffsets, domainSizes)))
    return failure();
  return getTiledImplementation(builder, domainOffsets, domainSizes);
}
