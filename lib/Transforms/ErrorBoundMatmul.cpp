//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What quantization and the sum over K add to a bound, for moss-error-bound.
//
//===----------------------------------------------------------------------===//

#include "ErrorBound.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::moss;

/// Slack for the few roundings in FP32 of scales and of their products.
static constexpr double kScaleSlack = 0x1p-20;

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

namespace {
/// What is known of the scale of a group, by the rounding of its exponent. The
/// scale is at most `scale` * amax / fmax; what exceeds `limit` * amax may
/// saturate, and nothing does where `limit` is 0.
struct ScaleRange {
  double scale, limit;
};
} // namespace

static ScaleRange getScaleRange(SchemeAttr scheme) {
  if (!scheme.isMicroPowerOfTwo() || !scheme.hasMicro())
    return {1 + kScaleSlack, 0};
  switch (scheme.getRounding()) {
  case ExponentRounding::Ceil:
    return {2 * (1 + kScaleSlack), 0};
  case ExponentRounding::Nearest:
    return {std::sqrt(2.0) * (1 + kScaleSlack),
            std::sqrt(0.5) * (1 - kScaleSlack)};
  case ExponentRounding::Floor:
    // fmax is 1.75 times a power of two, and amax 1 to 2 times one.
    return {1.75 * (1 + kScaleSlack), 0.875 * (1 - kScaleSlack)};
  }
  llvm_unreachable("unknown rounding");
}

static AffineMap getScalarMap(unsigned dims, MLIRContext *context) {
  return AffineMap::get(dims, 0, context);
}

/// The extents of a micro group; `full` and no groups are the operand's.
static SmallVector<OpFoldResult>
getGroupSizes(OpBuilder &b, SchemeAttr scheme,
              ArrayRef<OpFoldResult> operandSizes) {
  int64_t groups[] = {scheme.getGroupOuter(), scheme.getGroupK()};
  SmallVector<OpFoldResult> sizes;
  for (auto [group, extent] : llvm::zip_equal(groups, operandSizes))
    sizes.push_back(scheme.hasMicro() && group != 0
                        ? OpFoldResult(b.getIndexAttr(group))
                        : extent);
  return sizes;
}

static Value createCount(ImplicitLocOpBuilder &b, OpFoldResult extent,
                         OpFoldResult group) {
  // A group of an empty operand is empty too.
  Value one = arith::ConstantIndexOp::create(b, 1);
  Value size = arith::MaxUIOp::create(
      b, getValueOrCreateConstantIndexOp(b, b.getLoc(), group), one);
  return arith::CeilDivUIOp::create(
      b, getValueOrCreateConstantIndexOp(b, b.getLoc(), extent), size);
}

/// The largest |x| + error of each micro group.
static Value createGroupReach(ImplicitLocOpBuilder &b, Bounded x,
                              ArrayRef<OpFoldResult> sizes,
                              ArrayRef<OpFoldResult> groups) {
  Value counts[] = {createCount(b, sizes[0], groups[0]),
                    createCount(b, sizes[1], groups[1])};
  Type f32 = b.getF32Type();
  Value empty = tensor::EmptyOp::create(
      b, ArrayRef<OpFoldResult>{counts[0], counts[1]}, f32);
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value init = linalg::FillOp::create(b, zero, empty).getResult(0);
  // Only the extents of a group are taken from this.
  Value window = tensor::EmptyOp::create(b, groups, f32);
  MLIRContext *context = b.getContext();
  AffineMap grid = AffineMap::getMultiDimMapWithTargets(4, {0, 1}, context);
  AffineMap inner = AffineMap::getMultiDimMapWithTargets(4, {2, 3}, context);
  using utils::IteratorType;
  Value extents[2], groupExtents[2];
  for (unsigned i : {0, 1}) {
    extents[i] = getValueOrCreateConstantIndexOp(b, b.getLoc(), sizes[i]);
    groupExtents[i] = getValueOrCreateConstantIndexOp(b, b.getLoc(), groups[i]);
  }
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    ImplicitLocOpBuilder nb(loc, nested);
    BoundArithmetic bounds(nb);
    SmallVector<Value> indices;
    Value one = arith::ConstantIndexOp::create(nb, 1);
    for (unsigned i : {0, 1}) {
      Value begin = arith::MulIOp::create(nb, linalg::IndexOp::create(nb, i),
                                          groupExtents[i]);
      Value index =
          arith::AddIOp::create(nb, begin, linalg::IndexOp::create(nb, i + 2));
      // The last group may be cut short; its last element counts twice.
      indices.push_back(arith::MinUIOp::create(
          nb, index, arith::SubIOp::create(nb, extents[i], one)));
    }
    Bounded element{tensor::ExtractOp::create(nb, x.value, indices), Value()};
    if (x.error)
      element.error = tensor::ExtractOp::create(nb, x.error, indices);
    linalg::YieldOp::create(nb, bounds.max(args[1], bounds.reach(element)));
  };
  return linalg::GenericOp::create(
             b, init.getType(), window, init, ArrayRef<AffineMap>{inner, grid},
             ArrayRef<IteratorType>{
                 IteratorType::parallel, IteratorType::parallel,
                 IteratorType::reduction, IteratorType::reduction},
             body)
      .getResult(0);
}

/// The largest element of a matrix, as a scalar.
static Value createLargest(ImplicitLocOpBuilder &b, Value matrix) {
  Type f32 = b.getF32Type();
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>{}, f32);
  Value init = linalg::FillOp::create(b, zero, empty).getResult(0);
  using utils::IteratorType;
  Value largest = linalg::GenericOp::create(
                      b, init.getType(), matrix, init,
                      ArrayRef<AffineMap>{b.getMultiDimIdentityMap(2),
                                          getScalarMap(2, b.getContext())},
                      ArrayRef<IteratorType>{IteratorType::reduction,
                                             IteratorType::reduction},
                      [](OpBuilder &nested, Location loc, ValueRange args) {
                        Value max = arith::MaximumFOp::create(nested, loc,
                                                              args[0], args[1]);
                        linalg::YieldOp::create(nested, loc, max);
                      })
                      .getResult(0);
  return tensor::ExtractOp::create(b, largest, ValueRange());
}

/// The largest that the global scale can be.
static Value createGlobalBound(ImplicitLocOpBuilder &b, SchemeAttr scheme,
                               Value groupReach, Value scale) {
  BoundArithmetic bounds(b);
  Value global;
  double fromAmax = (1 + kScaleSlack) / scheme.getMaxFinite();
  switch (scheme.getGlobal()) {
  case GlobalScale::Unit:
    return bounds.constant(1);
  case GlobalScale::JIT:
    global = bounds.scale(createLargest(b, groupReach), fromAmax);
    break;
  case GlobalScale::Delayed:
  case GlobalScale::Given:
    global = tensor::ExtractOp::create(b, scale, ValueRange());
    break;
  }
  Value smallest = bounds.constant(0x1p-126);
  Value usable =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, global, smallest);
  // Nothing is known under a given scale without a reciprocal.
  Value otherwise = scheme.needsGlobalOperand() ? bounds.unknown() : smallest;
  return arith::SelectOp::create(b, usable, global, otherwise);
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

static Value createTransposed(ImplicitLocOpBuilder &b, Value matrix) {
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), matrix);
  std::swap(sizes[0], sizes[1]);
  Value init =
      tensor::EmptyOp::create(b, sizes, getElementTypeOrSelf(matrix.getType()));
  return linalg::TransposeOp::create(b, matrix, init, ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

/// The bound for one element, whose group reaches \p groupReach.
static Value createElementBound(ImplicitLocOpBuilder &b, SchemeAttr scheme,
                                Bounded x, Value groupReach, Value global) {
  BoundArithmetic bounds(b);
  auto format = cast<FloatType>(scheme.getElementType());
  bool isE4M3 = isa<Float8E4M3FNType>(format);
  // Rounding to nearest is off by u / (1 + u) at most, in relation to what is
  // rounded; and by half of the smallest subnormal.
  double relative = (isE4M3 ? 1.0 / 17 : 1.0 / 9) + kScaleSlack;
  double halfSubnormal = isE4M3 ? 0x1p-10 : 0x1p-17;
  Value reach = bounds.reach(x);
  Value scale, limit;
  bool hasKnownScale =
      !scheme.hasMicro() && scheme.getGlobal() != GlobalScale::JIT;
  if (hasKnownScale) {
    scale = global;
    limit = bounds.scale(global, scheme.getMaxFinite() * (1 - 2 * kScaleSlack));
  } else {
    ScaleRange range = getScaleRange(scheme);
    scale = bounds.scale(groupReach, range.scale / scheme.getMaxFinite());
    // Exponents end at -127, and quotients by the scale in FP32's subnormals.
    scale = bounds.max(scale, bounds.scale(global, 0x1p-126));
    if (range.limit != 0)
      limit = bounds.scale(groupReach, range.limit);
  }
  Value rounding = bounds.max(bounds.scale(reach, relative),
                              bounds.scale(scale, halfSubnormal));
  if (limit)
    rounding = bounds.max(rounding, arith::SubFOp::create(b, reach, limit));
  return bounds.add(x.error, rounding);
}

Bounded moss::createQuantizedBound(ImplicitLocOpBuilder &b, QuantizeOp op,
                                   Bounded x, Value scale) {
  SchemeAttr scheme = op.getScheme();
  if (op.getTranspose()) {
    x.value = createTransposed(b, x.value);
    if (x.error)
      x.error = createTransposed(b, x.error);
  }
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(b, b.getLoc(), x.value);
  SmallVector<OpFoldResult> groups = getGroupSizes(b, scheme, sizes);
  Value groupReach = createGroupReach(b, x, sizes, groups);
  Value global = createGlobalBound(b, scheme, groupReach, scale);
  SmallVector<Value> groupExtents;
  for (OpFoldResult group : groups)
    groupExtents.push_back(
        getValueOrCreateConstantIndexOp(b, b.getLoc(), group));
  SmallVector<Value> inputs{x.value};
  if (x.error)
    inputs.push_back(x.error);
  Value error =
      createElementwise(
          b, inputs, b.getF32Type(),
          [&](ImplicitLocOpBuilder &nb, ValueRange args) -> SmallVector<Value> {
            SmallVector<Value> indices;
            for (auto [i, extent] : llvm::enumerate(groupExtents))
              indices.push_back(arith::DivUIOp::create(
                  nb, linalg::IndexOp::create(nb, i), extent));
            Value reach = tensor::ExtractOp::create(nb, groupReach, indices);
            Bounded element{args[0], x.error ? args[1] : Value()};
            return {createElementBound(nb, scheme, element, reach, global)};
          })
          .front();
  return {x.value, error};
}

//===----------------------------------------------------------------------===//
// The sum over K
//===----------------------------------------------------------------------===//

SmallVector<Value> moss::createMatmulSums(ImplicitLocOpBuilder &b, Bounded lhs,
                                          Bounded rhs) {
  Location loc = b.getLoc();
  SmallVector<OpFoldResult> sizes{tensor::getMixedSize(b, loc, lhs.value, 0),
                                  tensor::getMixedSize(b, loc, rhs.value, 0)};
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value empty = tensor::EmptyOp::create(b, sizes, b.getF32Type());
  Value init = linalg::FillOp::create(b, zero, empty).getResult(0);
  MLIRContext *context = b.getContext();
  AffineMap lhsMap = AffineMap::getMultiDimMapWithTargets(3, {0, 2}, context);
  AffineMap rhsMap = AffineMap::getMultiDimMapWithTargets(3, {1, 2}, context);
  AffineMap map = AffineMap::getMultiDimMapWithTargets(3, {0, 1}, context);
  using utils::IteratorType;
  auto body = [](OpBuilder &nested, Location loc, ValueRange args) {
    ImplicitLocOpBuilder nb(loc, nested);
    BoundArithmetic bounds(nb);
    Value product = bounds.mul(args[0], args[2]);
    Value least =
        bounds.mul(bounds.magnitude(args[0]), bounds.magnitude(args[2]));
    Value largest = bounds.mul(bounds.reach({args[0], args[1]}),
                               bounds.reach({args[2], args[3]}));
    linalg::YieldOp::create(nb, {bounds.add(args[4], product),
                                 bounds.add(args[5], largest),
                                 bounds.add(args[6], least)});
  };
  auto sums = linalg::GenericOp::create(
      b, TypeRange(ValueRange{init, init, init}),
      ValueRange{lhs.value, lhs.error, rhs.value, rhs.error},
      ValueRange{init, init, init},
      ArrayRef<AffineMap>{lhsMap, lhsMap, rhsMap, rhsMap, map, map, map},
      ArrayRef<IteratorType>{IteratorType::parallel, IteratorType::parallel,
                             IteratorType::reduction},
      body);
  sums.setLibraryCall("moss_reference_matmul");
  return llvm::to_vector(ValueRange(sums.getResults()));
}

static SumLoss createSumLoss(ImplicitLocOpBuilder &b, Value k,
                             AccumulateAttr accumulate, bool hasMatrixUnit) {
  BoundArithmetic bounds(b);
  auto toFloat = [&](Value index) -> Value {
    Value integer = arith::IndexCastOp::create(b, b.getI64Type(), index);
    return arith::SIToFPOp::create(b, b.getF32Type(), integer);
  };
  Value loss = bounds.add(bounds.scale(toFloat(k), 5 * 0x1p-24),
                          bounds.constant(kScaleSlack));
  if (!hasMatrixUnit)
    return {loss, Value()};
  Value length = k;
  if (!accumulate.isFast())
    length = arith::MinUIOp::create(
        b, k, arith::ConstantIndexOp::create(b, accumulate.getInterval()));
  Value steps = toFloat(arith::CeilDivUIOp::create(
      b, length, arith::ConstantIndexOp::create(b, 32)));
  Value cut = bounds.scale(steps, 34 * 0x1p-13);
  // A product cannot lose more than itself, which leaves the two cuts of the
  // accumulator.
  Value alternative =
      bounds.add(bounds.scale(steps, 2 * 0x1p-13), bounds.constant(1));
  return {loss, arith::MinimumFOp::create(b, cut, alternative)};
}

Bounded moss::createMatmulBound(ImplicitLocOpBuilder &b, ScaledMatmulOp op,
                                Bounded lhs, Bounded rhs, Bounded init,
                                ValueRange sums, bool hasMatrixUnit,
                                ErrorKind kind) {
  SmallVector<Value> inputs = llvm::to_vector(sums);
  Value k = tensor::DimOp::create(b, lhs.value, 1);
  SumLoss loss = createSumLoss(b, k, op.getAccumulate(), hasMatrixUnit);
  std::optional<MatmulEstimate> estimate;
  Value largestLoss;
  if (kind == ErrorKind::Estimate)
    estimate.emplace(b, lhs, rhs);
  else
    largestLoss = BoundArithmetic(b).add(loss.rounding, loss.cut);
  auto resultType = cast<FloatType>(getElementTypeOrSelf(op.getInit()));
  if (op.getAccumulates()) {
    inputs.push_back(init.value);
    if (init.error)
      inputs.push_back(init.error);
  }
  auto createSumError = [&](ImplicitLocOpBuilder &nb, ValueRange args) {
    if (estimate)
      return estimate->getError(nb, args[0], args[2], loss);
    BoundArithmetic bounds(nb);
    Value operands = arith::SubFOp::create(nb, args[1], args[2]);
    return bounds.add(bounds.max(operands, bounds.constant(0)),
                      bounds.mul(args[1], largestLoss));
  };
  SmallVector<Value> results = createElementwise(
      b, inputs, {b.getF32Type(), b.getF32Type()},
      [&](ImplicitLocOpBuilder &nb, ValueRange args) -> SmallVector<Value> {
        BoundArithmetic bounds(nb);
        Value error = createSumError(nb, args);
        Value value = args[0];
        if (op.getAccumulates()) {
          value = bounds.add(value, args[3]);
          error = bounds.addRounding(
              value, bounds.add(error, init.error ? args[4] : Value()),
              0x1p-24);
        }
        error = bounds.addRounding(value, error, 0x1p-24);
        return {value, bounds.addConversion({value, error}, resultType)};
      });
  return {results[0], results[1]};
}
