//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How moss-error-bound carries a bound on the error beside each value. The
// derivation of the rules is in docs/Numerics.md.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_TRANSFORMS_ERRORBOUND_H
#define MOSS_LIB_TRANSFORMS_ERRORBOUND_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// A value of the reference, and a bound on how far the program's value is from
/// it. Floating-point values are held in f32, as is their bound; the bound of
/// other types is an i1 that says whether the value may differ at all. The
/// bound has the shape of the value. A null bound is zero everywhere.
struct Bounded {
  Value value, error;
  bool isExact() const { return !error; }
};

/// Scalar arithmetic on values with bounds. In bounds, a null value is zero.
class BoundArithmetic {
public:
  explicit BoundArithmetic(ImplicitLocOpBuilder &b) : b(b) {}

  Value constant(double value);
  Value unknown() { return constant(std::numeric_limits<double>::infinity()); }
  Value magnitude(Value x);
  /// Of bounds, which are not negative.
  Value add(Value x, Value y);
  Value max(Value x, Value y);
  Value mul(Value x, Value y);
  Value scale(Value x, double factor);
  /// |x| + error.
  Value reach(Bounded x) { return add(magnitude(x.value), x.error); }
  /// \p error and, besides, what rounding to a format with a unit roundoff of
  /// \p unit adds to a result near \p value, in the program and (to f32) in the
  /// reference.
  Value addRounding(Value value, Value error, double unit);
  /// What the conversion of a value near \p x to \p type adds to its error.
  Value addConversion(Bounded x, FloatType type);

  /// Clone a scalar op on values with bounds. One without a rule yields
  /// unknown bounds, and an op that does not return floats, values that may
  /// differ, unless everything that it reads is exact.
  SmallVector<Bounded> apply(Operation *op, ArrayRef<Bounded> operands);

  /// Whether the last op had no rule, such that nothing is known of its
  /// results.
  bool isUnknown() const { return lastIsUnknown; }

  /// Whether apply() can have a bound other than zero for exact operands.
  static bool isRounded(Operation *op);

private:
  std::optional<Bounded> applyArith(Operation *op, ArrayRef<Bounded> x);
  std::optional<Bounded> applyMath(Operation *op, ArrayRef<Bounded> x);
  Bounded applySelect(ArrayRef<Bounded> x);
  Bounded applyCompare(arith::CmpFOp op, ArrayRef<Bounded> x);
  Bounded multiply(Bounded x, Bounded y, double unit);
  Bounded divide(Bounded x, Bounded y, double unit);

  ImplicitLocOpBuilder &b;
  bool lastIsUnknown = false;
};

/// f32 for any float, and shaped types of it likewise; others as they are.
Type getReferenceType(Type type);

/// The type of the bound for a value of the reference: f32 or i1, or a tensor.
Type getErrorType(Type type);

/// Create \p op anew on the values of the reference.
Operation *cloneOnReference(OpBuilder &b, Operation *op, ValueRange operands);

/// Apply \p body to the elements of tensors of the same shape; the results have
/// the given element types.
SmallVector<Value> createElementwise(
    ImplicitLocOpBuilder &b, ValueRange tensors, TypeRange elementTypes,
    function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange)> body);

/// A tensor shaped as \p shaped and filled with the scalar \p element.
Value createFilled(ImplicitLocOpBuilder &b, Value shaped, Value element);

/// \p x converted to \p type, a float or a tensor of floats.
Value createConverted(ImplicitLocOpBuilder &b, Value x, Type type);

/// The value that \p x stands for after quantization under the scheme of
/// \p op, in the layout [outer, K].
Bounded createQuantizedBound(ImplicitLocOpBuilder &b, QuantizeOp op, Bounded x,
                             Value scale);

/// What is asked of the errors of a program.
enum class ErrorKind {
  /// No element is ever farther from the reference.
  Bound,
  /// As a norm over a tensor, errors of ordinary data are not larger.
  Estimate
};

/// The sums over K of a b, (|a| + da) (|b| + db) and |a| |b|, each [M, N] in
/// f32, for \p lhs [M, K] and \p rhs [N, K]. They are one linalg.generic, which
/// is marked by `library_call`.
SmallVector<Value> createMatmulSums(ImplicitLocOpBuilder &b, Bounded lhs,
                                    Bounded rhs);

/// The product of the matrices that `lhs` [M, K] and `rhs` [N, K] stand for,
/// added to \p init if the op accumulates. Of \p sums, an estimate takes only
/// those that do not depend on the errors of the operands.
Bounded createMatmulBound(ImplicitLocOpBuilder &b, ScaledMatmulOp op,
                          Bounded lhs, Bounded rhs, Bounded init,
                          ValueRange sums, bool hasMatrixUnit, ErrorKind kind);

/// What a sum over K loses, in f32. Null values are zero.
struct SumLoss {
  /// In relation to the partial sums: FP32's roundings in the program, in the
  /// reference and in the sums of the bound.
  Value rounding;
  /// Likewise the cuts of the matrix unit, all in one direction.
  Value cut;
};

/// The errors of a matmul of ordinary data, estimated from the squares of its
/// operands and of their errors. docs/Numerics.md derives the formulas.
class MatmulEstimate {
public:
  /// Create the sums of squares for \p lhs [M, K] and \p rhs [N, K].
  MatmulEstimate(ImplicitLocOpBuilder &b, Bounded lhs, Bounded rhs);

  /// The error of one element, in the body of a linalg op over [M, N]:
  /// \p product is the sum over K, and \p magnitudes that of magnitudes.
  Value getError(ImplicitLocOpBuilder &b, Value product, Value magnitudes,
                 SumLoss loss);

private:
  /// Vectors of one operand's rows, in f64.
  struct Rows {
    /// The sums over all columns of the result of the squares that its terms,
    /// and the errors of its terms, have.
    Value terms, errors;
    /// The error of the row in relation to it.
    Value relative;
    /// The sums of `terms` and `errors`.
    Value allTerms, allErrors;
  };
  static Rows createRows(ImplicitLocOpBuilder &b, Bounded x,
                         ValueRange otherSquares);

  Rows lhsRows, rhsRows;
};

} // namespace mlir::moss

#endif // MOSS_LIB_TRANSFORMS_ERRORBOUND_H
