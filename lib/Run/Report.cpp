//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What moss-run says about a run.
//
//===----------------------------------------------------------------------===//

#include "moss/Run/Report.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace mlir::moss;

bool Report::holds() const {
  return llvm::all_of(results, [&](const ReportedResult &result) {
    return !result.comparison || holds(*result.comparison);
  });
}

static double getTeraflops(const Report &report) {
  return *report.operations / report.timing->median * 1e-9;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printPosition(llvm::raw_ostream &os, ArrayRef<int64_t> position) {
  os << '[';
  llvm::interleaveComma(position, os);
  os << ']';
}

static void printComparison(llvm::raw_ostream &os, const Report &report,
                            const Comparison &comparison) {
  os << "  relative error (Frobenius): "
     << llvm::format("%.3e", comparison.relativeError);
  if (report.usesTolerance(comparison))
    os << (comparison.relativeError <= report.tolerance ? ", within"
                                                        : ", beyond")
       << " the tolerance of " << llvm::format("%.3e", report.tolerance);
  else if (comparison.estimateRatio)
    os << ", " << llvm::format("%.3g", *comparison.estimateRatio)
       << " of its estimate";
  os << '\n';
  if (comparison.worst) {
    const ElementError &worst = *comparison.worst;
    os << "  worst element: " << llvm::format("%.3g", worst.ratio)
       << " of its bound, at ";
    printPosition(os, worst.position);
    os << ": " << llvm::format("%.6g", worst.value) << " for "
       << llvm::format("%.6g", worst.expected) << ", bound "
       << llvm::format("%.3g", worst.bound) << '\n';
  }
  os << "  elements: " << comparison.elements
     << ", beyond their bound: " << comparison.violations
     << ", without one: " << comparison.unbounded << '\n';
  os << "  not finite: " << comparison.nonFinite
     << ", in the reference: " << comparison.nonFiniteExpected << '\n';
}

static void printTiming(llvm::raw_ostream &os, const Report &report) {
  const Timing &timing = *report.timing;
  os << "time: " << llvm::format("%.4g", timing.median) << " ms (median of "
     << timing.calls << "; quartiles "
     << llvm::format("%.4g", timing.lowerQuartile) << " and "
     << llvm::format("%.4g", timing.upperQuartile) << ", from "
     << llvm::format("%.4g", timing.fastest) << " to "
     << llvm::format("%.4g", timing.slowest) << ')';
  if (report.operations)
    os << ", " << llvm::format("%.4g", getTeraflops(report)) << " TFLOP/s";
  os << '\n';
}

void moss::printText(llvm::raw_ostream &os, const Report &report) {
  os << report.function << " on " << report.target << '\n';
  for (const ReportedArgument &argument : report.arguments)
    os << "argument " << argument.name << ": " << argument.type << ", "
       << argument.origin << '\n';
  for (const ReportedResult &result : report.results) {
    os << result.name << ": " << result.type;
    if (!result.comparison) {
      os << ", not compared\n";
      continue;
    }
    os << (report.holds(*result.comparison) ? ", as exact as it must be\n"
                                            : ", NOT as exact as it must be\n");
    printComparison(os, report, *result.comparison);
  }
  for (const FlushCount &count : report.flushCounts)
    os << count.operand << ": " << count.flushed << " of " << count.nonZeros
       << " elements that are not zero become zero ("
       << llvm::format("%.3g", count.nonZeros == 0
                                   ? 0.0
                                   : 100.0 * count.flushed / count.nonZeros)
       << " %)\n";
  for (const std::string &op : report.unboundedOps)
    os << "no bound behind " << op << '\n';
  if (report.timing)
    printTiming(os, report);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static llvm::json::Value toJSON(double value) {
  if (std::isfinite(value))
    return value;
  if (std::isnan(value))
    return "nan";
  return value > 0 ? "inf" : "-inf";
}

static llvm::json::Object toJSON(const Report &report,
                                 const Comparison &comparison) {
  llvm::json::Object object{
      {"holds", report.holds(comparison)},
      {"elements", comparison.elements},
      {"relative_error", toJSON(comparison.relativeError)},
      {"violations", comparison.violations},
      {"unbounded", comparison.unbounded},
      {"non_finite", comparison.nonFinite},
      {"non_finite_expected", comparison.nonFiniteExpected}};
  object["tolerance"] = report.usesTolerance(comparison)
                            ? toJSON(report.tolerance)
                            : llvm::json::Value(nullptr);
  object["estimate_ratio"] = comparison.estimateRatio
                                 ? toJSON(*comparison.estimateRatio)
                                 : llvm::json::Value(nullptr);
  if (!comparison.worst)
    return object;
  const ElementError &worst = *comparison.worst;
  object["worst"] =
      llvm::json::Object{{"position", llvm::json::Array(worst.position)},
                         {"value", toJSON(worst.value)},
                         {"expected", toJSON(worst.expected)},
                         {"bound", toJSON(worst.bound)},
                         {"ratio", toJSON(worst.ratio)}};
  return object;
}

static llvm::json::Object toJSON(const Timing &timing) {
  return llvm::json::Object{{"calls", timing.calls},
                            {"median_ms", timing.median},
                            {"lower_quartile_ms", timing.lowerQuartile},
                            {"upper_quartile_ms", timing.upperQuartile},
                            {"fastest_ms", timing.fastest},
                            {"slowest_ms", timing.slowest}};
}

void moss::printJSON(llvm::raw_ostream &os, const Report &report) {
  llvm::json::Array arguments, results, flushed;
  for (const ReportedArgument &argument : report.arguments)
    arguments.push_back(llvm::json::Object{{"name", argument.name},
                                           {"type", argument.type},
                                           {"origin", argument.origin}});
  for (const ReportedResult &result : report.results) {
    llvm::json::Object object{{"name", result.name}, {"type", result.type}};
    if (result.comparison)
      object["comparison"] = toJSON(report, *result.comparison);
    results.push_back(std::move(object));
  }
  for (const FlushCount &count : report.flushCounts)
    flushed.push_back(llvm::json::Object{{"operand", count.operand},
                                         {"non_zeros", count.nonZeros},
                                         {"flushed", count.flushed}});
  llvm::json::Object object{
      {"function", report.function},
      {"target", report.target},
      {"holds", report.holds()},
      {"arguments", std::move(arguments)},
      {"results", std::move(results)},
      {"quantized_operands", std::move(flushed)},
      {"unbounded_ops", llvm::json::Array(report.unboundedOps)}};
  if (report.timing) {
    llvm::json::Object timing = toJSON(*report.timing);
    if (report.operations)
      timing["tflops"] = getTeraflops(report);
    object["timing"] = std::move(timing);
  }
  os << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object)));
}
