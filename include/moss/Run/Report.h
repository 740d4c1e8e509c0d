//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What moss-run says about a run, as text or as JSON.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_RUN_REPORT_H
#define MOSS_RUN_REPORT_H

#include "moss/Run/Benchmark.h"
#include "moss/Run/Comparison.h"
#include "moss/Run/Reference.h"

namespace mlir::moss {

/// An argument, and where its values come from.
struct ReportedArgument {
  std::string name, type, origin;
};

/// A result; without a reference there is no comparison.
struct ReportedResult {
  std::string name, type;
  std::optional<Comparison> comparison;
};

/// Everything about a run.
struct Report {
  std::string function, target;
  SmallVector<ReportedArgument> arguments;
  SmallVector<ReportedResult> results;
  SmallVector<FlushCount> flushCounts;
  /// Ops that moss-error-bound has no rule for.
  SmallVector<std::string> unboundedOps;
  /// What the relative error of a result must not exceed if nothing better is
  /// known, or if the user set it.
  double tolerance = 0;
  bool isToleranceSet = false;
  std::optional<Timing> timing;
  /// Multiplications and additions of quantized matmuls in one call.
  std::optional<double> operations;

  /// Whether the tolerance decides: when the user set it, or when an element
  /// has no bound.
  bool usesTolerance(const Comparison &comparison) const {
    return isToleranceSet || comparison.unbounded != 0;
  }
  /// Whether a result is as exact as it must be.
  bool holds(const Comparison &comparison) const {
    bool isClose = usesTolerance(comparison)
                       ? comparison.relativeError <= tolerance
                       : comparison.estimateRatio.value_or(0) <= 1;
    return comparison.violations == 0 && isClose;
  }
  /// Whether all results are.
  bool holds() const;
};

void printText(llvm::raw_ostream &os, const Report &report);

/// JSON with the members that docs/Running.md describes. Numbers that are not
/// finite are strings: "nan", "inf" or "-inf".
void printJSON(llvm::raw_ostream &os, const Report &report);

} // namespace mlir::moss

#endif // MOSS_RUN_REPORT_H
