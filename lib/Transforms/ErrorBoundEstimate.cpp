//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The errors that matmuls of ordinary data have, for moss-error-bound.
//
//===----------------------------------------------------------------------===//

#include "ErrorBound.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// Sums of squares
//===----------------------------------------------------------------------===//

/// Squares of squares of f32 neither overflow nor vanish in f64.
static Value createSquare(ImplicitLocOpBuilder &b, Value x) {
  Value wide = arith::ExtFOp::create(b, b.getF64Type(), x);
  return arith::MulFOp::create(b, wide, wide);
}

/// Add up, in f64, what \p body makes of elements of a matrix and its errors,
/// [rows, K], and of other \p vectors over K: over the rows if \p overRows, and
/// otherwise over K.
static SmallVector<Value>
createSums(ImplicitLocOpBuilder &b, Bounded x, ValueRange vectors,
           unsigned count, bool overRows,
           function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, Value, Value,
                                           ValueRange)>
               body) {
  Location loc = b.getLoc();
  Type f64 = b.getF64Type();
  OpFoldResult extent = tensor::getMixedSize(b, loc, x.value, overRows ? 1 : 0);
  Value zero = arith::ConstantOp::create(b, b.getF64FloatAttr(0));
  Value empty = tensor::EmptyOp::create(b, ArrayRef<OpFoldResult>{extent}, f64);
  SmallVector<Value> inits(count,
                           linalg::FillOp::create(b, zero, empty).getResult(0));
  SmallVector<Value> inputs{x.value};
  if (x.error)
    inputs.push_back(x.error);
  unsigned numMatrices = inputs.size();
  llvm::append_range(inputs, vectors);
  MLIRContext *context = b.getContext();
  AffineMap alongK = AffineMap::getMultiDimMapWithTargets(2, {1}, context);
  AffineMap alongRows = AffineMap::getMultiDimMapWithTargets(2, {0}, context);
  SmallVector<AffineMap> maps(numMatrices, b.getMultiDimIdentityMap(2));
  maps.append(vectors.size(), alongK);
  maps.append(count, overRows ? alongK : alongRows);
  using utils::IteratorType;
  IteratorType iterators[] = {IteratorType::parallel, IteratorType::parallel};
  iterators[overRows ? 0 : 1] = IteratorType::reduction;
  auto sums = linalg::GenericOp::create(
      b, TypeRange(ValueRange(inits)), inputs, inits, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        ImplicitLocOpBuilder nb(loc, nested);
        Value square = createSquare(nb, args[0]);
        Value errorSquare =
            x.error
                ? createSquare(nb, args[1])
                : Value(arith::ConstantOp::create(nb, nb.getF64FloatAttr(0)));
        SmallVector<Value> terms = body(
            nb, square, errorSquare, args.slice(numMatrices, vectors.size()));
        for (auto [term, sum] : llvm::zip_equal(terms, args.take_back(count)))
          term = arith::AddFOp::create(nb, sum, term);
        linalg::YieldOp::create(nb, terms);
      });
  return llvm::to_vector(ValueRange(sums.getResults()));
}

/// The sums of a matrix's squares, and of its errors' squares, over its rows.
static SmallVector<Value> createColumnSquares(ImplicitLocOpBuilder &b,
                                              Bounded x) {
  return createSums(
      b, x, /*vectors=*/ValueRange(), /*count=*/2,
      /*overRows=*/true,
      [](ImplicitLocOpBuilder &, Value square, Value errorSquare,
         ValueRange) -> SmallVector<Value> { return {square, errorSquare}; });
}

/// The sum of a vector, as a scalar.
static Value createTotal(ImplicitLocOpBuilder &b, Value vector) {
  Value zero = arith::ConstantOp::create(b, b.getF64FloatAttr(0));
  Value empty = tensor::EmptyOp::create(b, ArrayRef<int64_t>{}, b.getF64Type());
  Value init = linalg::FillOp::create(b, zero, empty).getResult(0);
  Value total =
      linalg::GenericOp::create(
          b, init.getType(), vector, init,
          ArrayRef<AffineMap>{b.getMultiDimIdentityMap(1),
                              AffineMap::get(1, 0, b.getContext())},
          ArrayRef<utils::IteratorType>{utils::IteratorType::reduction},
          [](OpBuilder &nested, Location loc, ValueRange args) {
            Value sum = arith::AddFOp::create(nested, loc, args[1], args[0]);
            linalg::YieldOp::create(nested, loc, sum);
          })
          .getResult(0);
  return tensor::ExtractOp::create(b, total, ValueRange());
}

/// x / y, or 0 if y is 0.
static Value createQuotient(ImplicitLocOpBuilder &b, Value x, Value y) {
  Value zero = arith::ConstantOp::create(b, b.getF64FloatAttr(0));
  Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, y, zero);
  return arith::SelectOp::create(b, isZero, zero,
                                 arith::DivFOp::create(b, x, y));
}

//===----------------------------------------------------------------------===//
// Estimates
//===----------------------------------------------------------------------===//

MatmulEstimate::Rows MatmulEstimate::createRows(ImplicitLocOpBuilder &b,
                                                Bounded x,
                                                ValueRange otherSquares) {
  SmallVector<Value> sums =
      createSums(b, x, otherSquares, /*count=*/4, /*overRows=*/false,
                 [](ImplicitLocOpBuilder &nb, Value square, Value errorSquare,
                    ValueRange others) -> SmallVector<Value> {
                   Value reach = arith::AddFOp::create(nb, square, errorSquare);
                   Value otherReach =
                       arith::AddFOp::create(nb, others[0], others[1]);
                   Value terms = arith::MulFOp::create(nb, reach, otherReach);
                   // terms - square * others[0], without the cancellation.
                   Value errors = arith::AddFOp::create(
                       nb, arith::MulFOp::create(nb, errorSquare, otherReach),
                       arith::MulFOp::create(nb, square, others[1]));
                   return {terms, errors, square, errorSquare};
                 });
  Value relative =
      createElementwise(
          b, {sums[3], sums[2]}, b.getF64Type(),
          [](ImplicitLocOpBuilder &nb, ValueRange args) -> SmallVector<Value> {
            return {
                math::SqrtOp::create(nb, createQuotient(nb, args[0], args[1]))};
          })
          .front();
  return {sums[0], sums[1], relative, createTotal(b, sums[0]),
          createTotal(b, sums[1])};
}

MatmulEstimate::MatmulEstimate(ImplicitLocOpBuilder &b, Bounded lhs,
                               Bounded rhs) {
  lhsRows = createRows(b, lhs, createColumnSquares(b, rhs));
  rhsRows = createRows(b, rhs, createColumnSquares(b, lhs));
}

Value MatmulEstimate::getError(ImplicitLocOpBuilder &b, Value product,
                               Value magnitudes, SumLoss loss) {
  Type f64 = b.getF64Type();
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(b, b.getF64FloatAttr(value));
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  auto sqrt = [&](Value x) -> Value { return math::SqrtOp::create(b, x); };
  auto widen = [&](Value x) -> Value {
    return arith::ExtFOp::create(b, f64, x);
  };
  Value row = linalg::IndexOp::create(b, 0),
        col = linalg::IndexOp::create(b, 1);
  auto ofRow = [&](Value vector) -> Value {
    return tensor::ExtractOp::create(b, vector, row);
  };
  auto ofCol = [&](Value vector) -> Value {
    return tensor::ExtractOp::create(b, vector, col);
  };
  // Squares of which only the sums of rows and of columns are known.
  auto spread = [&](Value rows, Value cols, Value total) -> Value {
    return createQuotient(b, mul(ofRow(rows), ofCol(cols)), total);
  };

  Value size = math::AbsFOp::create(b, widen(product));
  Value lhsRelative = ofRow(lhsRows.relative),
        rhsRelative = ofCol(rhsRows.relative);
  Value relative =
      add(add(lhsRelative, rhsRelative), mul(lhsRelative, rhsRelative));
  Value alike = mul(size, relative);
  Value independent = spread(lhsRows.errors, rhsRows.errors, lhsRows.allErrors);
  Value error = sqrt(add(mul(alike, alike), independent));

  Value terms = sqrt(spread(lhsRows.terms, rhsRows.terms, lhsRows.allTerms));
  Value largest = add(size, mul(constant(2), terms));
  error = add(error, mul(widen(loss.rounding), largest));
  if (loss.cut) {
    Value cut = widen(loss.cut);
    Value share = arith::MinimumFOp::create(
        b, createQuotient(b, largest, widen(magnitudes)), constant(1));
    error = add(error, mul(cut, mul(size, share)));
    error =
        add(error, mul(sqrt(mul(cut, constant(34 * 0x1p-13 / 32))), largest));
  }
  return arith::TruncFOp::create(b, b.getF32Type(), error);
}
