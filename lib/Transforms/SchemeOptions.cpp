//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/SchemeOptions.h"
#include "mlir/AsmParser/AsmParser.h"

using namespace mlir;
using namespace mlir::moss;

namespace {
/// One operand's scheme before it becomes an attribute.
struct OperandOptions {
  /// "lhs" or "rhs", the prefix of the options.
  StringRef name;
  StringRef scheme;
  StringRef group;
};
} // namespace

/// `outer,k`, each a positive integer or `full`, which is stored as 0.
static FailureOr<std::pair<int64_t, int64_t>>
parseGroup(const OperandOptions &operand, Location loc) {
  auto parseExtent = [](StringRef text, int64_t &extent) {
    extent = 0;
    text = text.trim();
    return text == "full" || (!text.getAsInteger(10, extent) && extent > 0);
  };
  std::pair<int64_t, int64_t> group;
  StringRef text = operand.group.trim();
  if (text.consume_front("["))
    text.consume_back("]");
  auto [outer, k] = text.split(',');
  if (!parseExtent(outer, group.first) || !parseExtent(k, group.second))
    return emitError(loc) << "option '" << operand.name
                          << "-group' must be 'outer,k', each a positive "
                             "integer or 'full', but is '"
                          << operand.group << "'";
  return group;
}

/// A global scale that the program does not have to hand over.
static FailureOr<GlobalScale> parseGlobal(StringRef text, Location loc) {
  std::optional<GlobalScale> global = symbolizeGlobalScale(text);
  if (!global)
    return emitError(loc) << "option 'global' must be 'jit' or 'unit', but is '"
                          << text << "'";
  return *global;
}

/// The attribute for `rows`, `mx` or `tensor`, with the other options applied.
static FailureOr<SchemeAttr> buildNamedScheme(const OperandOptions &operand,
                                              GlobalScale global,
                                              ExponentRounding rounding,
                                              Location loc) {
  MLIRContext *context = loc.getContext();
  Type elementType = Float8E4M3FNType::get(context);
  bool isMX = operand.scheme == "mx";
  if (operand.scheme == "tensor") {
    if (!operand.group.empty())
      return emitError(loc)
             << "option '" << operand.name
             << "-group' needs micro scales, which scheme 'tensor' does not "
                "have; use 'rows' or 'mx', or leave the option out";
    return SchemeAttr::get(context, elementType, Type(), 0, 0, global,
                           ExponentRounding::Ceil);
  }
  if (operand.scheme != "rows" && !isMX)
    return emitError(loc) << "option '" << operand.name
                          << "-scheme' must be 'rows', 'mx', 'tensor' or a "
                             "#moss.scheme attribute, but is '"
                          << operand.scheme << "'";
  std::pair<int64_t, int64_t> group{1, isMX ? kMmaStepK : 0};
  if (!operand.group.empty()) {
    FailureOr<std::pair<int64_t, int64_t>> parsed = parseGroup(operand, loc);
    if (failed(parsed))
      return failure();
    group = *parsed;
  }
  return SchemeAttr::get(context, elementType, Float8E8M0FNUType::get(context),
                         group.first, group.second, global, rounding);
}

/// The attribute that is spelled out in the option.
static FailureOr<SchemeAttr> parseSchemeText(const OperandOptions &operand,
                                             Location loc) {
  if (!operand.group.empty())
    return emitError(loc) << "option '" << operand.name
                          << "-group' cannot be combined with a #moss.scheme "
                             "attribute, which has its own group";
  Attribute attribute = parseAttribute(operand.scheme, loc.getContext());
  if (!attribute)
    return emitError(loc) << "option '" << operand.name
                          << "-scheme' is not a valid attribute: '"
                          << operand.scheme << "'";
  auto scheme = dyn_cast<SchemeAttr>(attribute);
  if (!scheme)
    return emitError(loc)
           << "option '" << operand.name
           << "-scheme' must be a #moss.scheme attribute, but is " << attribute;
  return scheme;
}

/// What no plain matmul can be given, or no tile can be cut along.
static LogicalResult checkScheme(const OperandOptions &operand,
                                 SchemeAttr scheme, Location loc) {
  if (scheme.needsGlobalOperand())
    return emitError(loc)
           << operand.name << " scheme " << scheme << ": global scale '"
           << stringifyGlobalScale(scheme.getGlobal())
           << "' needs an SSA value, which a plain matmul does not have; write "
              "moss.quantize with a scale operand instead, or use 'jit' or "
              "'unit'";
  if (scheme.getGroupK() % kMmaStepK != 0)
    return emitError(loc) << operand.name << " scheme " << scheme
                          << ": a group's extent along K must be 'full' or a "
                             "multiple of "
                          << kMmaStepK << ", but is " << scheme.getGroupK();
  return success();
}

static FailureOr<SchemeAttr> parseScheme(const OperandOptions &operand,
                                         GlobalScale global,
                                         ExponentRounding rounding,
                                         Location loc) {
  FailureOr<SchemeAttr> scheme =
      operand.scheme.starts_with("#")
          ? parseSchemeText(operand, loc)
          : buildNamedScheme(operand, global, rounding, loc);
  if (failed(scheme) || failed(checkScheme(operand, *scheme, loc)))
    return failure();
  return scheme;
}

static FailureOr<AccumulateAttr> parseAccumulate(const SchemeOptions &options,
                                                 Location loc) {
  std::optional<AccumulateMode> mode =
      symbolizeAccumulateMode(options.accumulate);
  if (!mode)
    return emitError(loc)
           << "option 'accumulate' must be 'promoted' or 'fast', but is '"
           << options.accumulate << "'";
  int64_t interval =
      *mode == AccumulateMode::Fast ? 0 : options.promoteInterval;
  auto accumulate = AccumulateAttr::getChecked(
      [&] { return emitError(loc); }, loc.getContext(), *mode, interval);
  if (!accumulate)
    return failure();
  return accumulate;
}

FailureOr<MatmulScheme>
mlir::moss::parseSchemeOptions(const SchemeOptions &options, Location loc) {
  if (options.scheme != "two-level" && options.scheme != "per-tensor")
    return emitError(loc)
           << "option 'scheme' must be 'two-level' or 'per-tensor', but is '"
           << options.scheme << "'";
  FailureOr<GlobalScale> global = parseGlobal(options.global, loc);
  if (failed(global))
    return failure();
  std::optional<ExponentRounding> rounding =
      symbolizeExponentRounding(options.rounding);
  if (!rounding)
    return emitError(loc)
           << "option 'rounding' must be 'ceil', 'nearest' or 'floor', but is '"
           << options.rounding << "'";

  OperandOptions lhs{"lhs", options.lhsScheme, options.lhsGroup};
  OperandOptions rhs{"rhs", options.rhsScheme, options.rhsGroup};
  if (lhs.scheme.empty())
    lhs.scheme = options.scheme == "two-level" ? "rows" : "tensor";
  // A group asks for micro scales where no scheme says otherwise.
  if (rhs.scheme.empty())
    rhs.scheme =
        options.scheme == "two-level" && !rhs.group.empty() ? "rows" : "tensor";
  FailureOr<SchemeAttr> lhsScheme = parseScheme(lhs, *global, *rounding, loc);
  FailureOr<SchemeAttr> rhsScheme = parseScheme(rhs, *global, *rounding, loc);
  FailureOr<AccumulateAttr> accumulate = parseAccumulate(options, loc);
  if (failed(lhsScheme) || failed(rhsScheme) || failed(accumulate))
    return failure();
  if (*rounding != ExponentRounding::Ceil && !lhsScheme->hasMicro() &&
      !rhsScheme->hasMicro())
    return emitError(loc) << "option 'rounding' is '" << options.rounding
                          << "', but neither operand has micro scales whose "
                             "exponents could be rounded";
  return MatmulScheme{*lhsScheme, *rhsScheme, *accumulate};
}
