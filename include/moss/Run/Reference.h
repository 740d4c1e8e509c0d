//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program means without FP8, and how far its results may be from it.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_REFERENCE_H
#define MOSS_RUN_REFERENCE_H

#include "moss/Run/Executable.h"

namespace mlir::moss {

/// How many elements of a quantized operand that are not zero become zero.
struct FlushCount {
  std::string operand;
  int64_t nonZeros = 0, flushed = 0;
};

/// The outcome of the reference.
struct ReferenceResults {
  /// For each result of the program, its values, their bounds, and estimates of
  /// their errors. All but values of other types are in f32.
  SmallVector<HostArray> values, bounds, estimates;
  SmallVector<FlushCount> flushCounts;
};

/// The reference of a function, compiled for the CPU.
class Reference {
public:
  /// Derive it from a program by moss-error-bound, for what \p lowering makes
  /// of the program. Null after an error.
  static std::unique_ptr<Reference> create(func::FuncOp entry,
                                           const FP8LowerOptions &lowering);

  /// Evaluate it. \p results have the types and shapes of the program's.
  FailureOr<ReferenceResults> evaluate(ArrayRef<HostArray> arguments,
                                       ArrayRef<HostArray> results);

  /// The ops that have no rule, as `name at file:line:column`.
  ArrayRef<std::string> getUnboundedOps() const { return unboundedOps; }

  /// What the relative error of a result, as a norm, should not exceed when
  /// there is no bound: u sqrt(n) for n quantized operands and the unit
  /// roundoff u of the widest of their formats, at most 2^-3 for E5M2.
  /// Roundings that are independent come to u sqrt(n / 3) at most.
  double getTolerance() const { return tolerance; }

private:
  std::unique_ptr<Executable> executable;
  SmallVector<std::string> operandNames, unboundedOps;
  double tolerance = 0;
};

} // namespace mlir::moss

#endif // MOSS_RUN_REFERENCE_H
