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
  StringRef format;
};
} // namespace

namespace {
/// What the options say for both operands.
struct CommonOptions {
  /// As the option says.
  std::optional<GlobalScale> global;
  /// Without that option, of operands that have one.
  GlobalScale defaultGlobal;
  ExponentRounding rounding;
};

/// The scheme of an operand with micro scales, by name.
struct MicroScheme {
  StringLiteral name;
  bool isFP32;
  /// Whether it has a global scale if the options do not ask for one.
  bool hasGlobal;
  int64_t groupOuter, groupK;
};

/// The schemes of both operands, by one name.
struct System {
  StringLiteral name, lhs, rhs;
  /// Of those operands that have one.
  GlobalScale global;
};
} // namespace

static constexpr MicroScheme kMicroSchemes[] = {
    {"rows", false, true, 1, 0},
    {"mx", false, false, 1, 32},
    {"group", true, false, 1, 128},
    {"block", true, false, 128, 128},
};

static constexpr System kSystems[] = {
    {"two-level", "rows", "tensor", GlobalScale::JIT},
    {"per-tensor", "tensor", "tensor", GlobalScale::JIT},
    {"per-tensor-delayed", "tensor", "tensor", GlobalScale::Delayed},
    {"per-group", "group", "block", GlobalScale::JIT},
    {"per-group-1x128", "group", "group", GlobalScale::JIT},
    {"mx", "mx", "mx", GlobalScale::JIT},
    {"bf16", "bf16", "bf16", GlobalScale::JIT},
};

static const MicroScheme *lookupMicroScheme(StringRef name) {
  const auto *found = llvm::find_if(
      kMicroSchemes, [&](const MicroScheme &s) { return s.name == name; });
  return found == std::end(kMicroSchemes) ? nullptr : found;
}

static FailureOr<System> lookupSystem(StringRef name, Location loc) {
  const auto *found =
      llvm::find_if(kSystems, [&](const System &s) { return s.name == name; });
  if (found != std::end(kSystems))
    return *found;
  InFlightDiagnostic diag = emitError(loc) << "option 'scheme' must be one of ";
  llvm::interleaveComma(kSystems, diag, [&](const System &system) {
    diag << "'" << system.name << "'";
  });
  return diag << ", but is '" << name << "'";
}

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

/// The global scale that the option asks for; absent if it was not given.
static FailureOr<std::optional<GlobalScale>> parseGlobal(StringRef text,
                                                         Location loc) {
  std::optional<GlobalScale> global;
  if (text.empty())
    return global;
  if (!(global = symbolizeGlobalScale(text)))
    return emitError(loc)
           << "option 'global' must be 'jit', 'delayed' or 'unit', but is '"
           << text << "'";
  return global;
}

/// The type of a payload; E4M3 unless the option says otherwise.
static FailureOr<Type> parseFormat(const OperandOptions &operand,
                                   Location loc) {
  MLIRContext *context = loc.getContext();
  if (operand.format.empty() || operand.format == "e4m3")
    return Type(Float8E4M3FNType::get(context));
  if (operand.format == "e5m2")
    return Type(Float8E5M2Type::get(context));
  return emitError(loc) << "option '" << operand.name
                        << "-format' must be 'e4m3' or 'e5m2', but is '"
                        << operand.format << "'";
}

static LogicalResult rejectGroup(const OperandOptions &operand, Location loc) {
  if (operand.group.empty())
    return success();
  return emitError(loc) << "option '" << operand.name
                        << "-group' needs micro scales, which scheme '"
                        << operand.scheme
                        << "' does not have; use 'rows' or 'mx', or leave the "
                           "option out";
}

static FailureOr<SchemeAttr> buildBF16Scheme(const OperandOptions &operand,
                                             std::optional<GlobalScale> global,
                                             Location loc) {
  if (failed(rejectGroup(operand, loc)))
    return failure();
  if (!operand.format.empty())
    return emitError(loc) << "option '" << operand.name
                          << "-format' has no effect on scheme 'bf16', which "
                             "has no payload";
  if (global && *global != GlobalScale::Unit)
    return emitError(loc) << "option 'global' is '"
                          << stringifyGlobalScale(*global)
                          << "', but scheme 'bf16' has no scales";
  MLIRContext *context = loc.getContext();
  return SchemeAttr::get(context, BFloat16Type::get(context), Type(), 0, 0,
                         GlobalScale::Unit, ExponentRounding::Ceil);
}

static FailureOr<SchemeAttr> buildNamedScheme(const OperandOptions &operand,
                                              const CommonOptions &common,
                                              Location loc) {
  if (operand.scheme == "bf16")
    return buildBF16Scheme(operand, common.global, loc);
  MLIRContext *context = loc.getContext();
  FailureOr<Type> elementType = parseFormat(operand, loc);
  if (failed(elementType))
    return failure();
  if (operand.scheme == "tensor") {
    if (failed(rejectGroup(operand, loc)))
      return failure();
    return SchemeAttr::get(context, *elementType, Type(), 0, 0,
                           common.global.value_or(common.defaultGlobal),
                           ExponentRounding::Ceil);
  }
  const MicroScheme *named = lookupMicroScheme(operand.scheme);
  if (!named)
    return emitError(loc) << "option '" << operand.name
                          << "-scheme' must be 'rows', 'mx', 'group', 'block', "
                             "'tensor', 'bf16' or a #moss.scheme attribute, "
                             "but is '"
                          << operand.scheme << "'";
  std::pair<int64_t, int64_t> group{named->groupOuter, named->groupK};
  if (!operand.group.empty()) {
    FailureOr<std::pair<int64_t, int64_t>> parsed = parseGroup(operand, loc);
    if (failed(parsed))
      return failure();
    group = *parsed;
  }
  GlobalScale global = common.global.value_or(
      named->hasGlobal ? common.defaultGlobal : GlobalScale::Unit);
  if (named->isFP32)
    return SchemeAttr::get(context, *elementType, Float32Type::get(context),
                           group.first, group.second, global,
                           ExponentRounding::Ceil);
  return SchemeAttr::get(context, *elementType, Float8E8M0FNUType::get(context),
                         group.first, group.second, global, common.rounding);
}

static FailureOr<SchemeAttr> parseSchemeText(const OperandOptions &operand,
                                             Location loc) {
  for (auto [option, text] :
       {std::pair{"group", operand.group}, {"format", operand.format}})
    if (!text.empty())
      return emitError(loc)
             << "option '" << operand.name << "-" << option
             << "' cannot be combined with a #moss.scheme attribute, which has "
                "its own "
             << option;
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
  if (scheme.getGlobal() == GlobalScale::Given)
    return emitError(loc)
           << operand.name << " scheme " << scheme
           << ": global scale 'given' needs an SSA value, which a plain matmul "
              "does not have; write moss.quantize with a scale operand "
              "instead, or use 'jit', 'delayed' or 'unit'";
  if (scheme.getGroupK() % kMinTileK != 0)
    return emitError(loc) << operand.name << " scheme " << scheme
                          << ": a group's extent along K must be 'full' or a "
                             "multiple of "
                          << kMinTileK << ", but is " << scheme.getGroupK();
  return success();
}

static FailureOr<SchemeAttr> parseScheme(const OperandOptions &operand,
                                         const CommonOptions &common,
                                         Location loc) {
  FailureOr<SchemeAttr> scheme = operand.scheme.starts_with("#")
                                     ? parseSchemeText(operand, loc)
                                     : buildNamedScheme(operand, common, loc);
  if (failed(scheme) || failed(checkScheme(operand, *scheme, loc)))
    return failure();
  return scheme;
}

/// Without a choice, a sum is promoted unless the matrix unit's accumulator is
/// as wide as FP32, which it is for bf16.
static FailureOr<AccumulateAttr>
parseAccumulate(const SchemeOptions &options, bool isQuantized, Location loc) {
  auto mode = std::optional(isQuantized ? AccumulateMode::Promoted
                                        : AccumulateMode::Fast);
  if (!options.accumulate.empty())
    mode = symbolizeAccumulateMode(options.accumulate);
  if (!mode)
    return emitError(loc)
           << "option 'accumulate' must be 'promoted' or 'fast', but is '"
           << options.accumulate
           << "'; 'promote-interval' is how often sums are promoted";
  int64_t interval =
      *mode == AccumulateMode::Fast ? 0 : options.promoteInterval;
  auto accumulate = AccumulateAttr::getChecked(
      [&] { return emitError(loc); }, loc.getContext(), *mode, interval);
  if (!accumulate)
    return failure();
  return accumulate;
}

/// What the schemes of two operands must be like to be multiplied, and the
/// options to have an effect.
static LogicalResult checkPair(const SchemeOptions &options, SchemeAttr lhs,
                               SchemeAttr rhs, Location loc) {
  if (lhs.isQuantized() != rhs.isQuantized())
    return emitError(loc) << "lhs scheme " << lhs << " and rhs scheme " << rhs
                          << ": either both operands are quantized or both "
                             "stay bf16";
  auto hasExponents = [](SchemeAttr scheme) {
    return scheme.hasMicro() && scheme.isMicroPowerOfTwo();
  };
  if (options.rounding != stringifyExponentRounding(ExponentRounding::Ceil) &&
      !hasExponents(lhs) && !hasExponents(rhs))
    return emitError(loc) << "option 'rounding' is '" << options.rounding
                          << "', but neither operand has micro scales whose "
                             "exponents could be rounded";
  return success();
}

FailureOr<MatmulScheme>
mlir::moss::parseSchemeOptions(const SchemeOptions &options, Location loc) {
  FailureOr<System> system = lookupSystem(options.scheme, loc);
  if (failed(system))
    return failure();
  FailureOr<std::optional<GlobalScale>> global =
      parseGlobal(options.global, loc);
  if (failed(global))
    return failure();
  std::optional<ExponentRounding> rounding =
      symbolizeExponentRounding(options.rounding);
  if (!rounding)
    return emitError(loc)
           << "option 'rounding' must be 'ceil', 'nearest' or 'floor', but is '"
           << options.rounding << "'";

  CommonOptions common{*global, system->global, *rounding};
  OperandOptions lhs{"lhs", options.lhsScheme, options.lhsGroup,
                     options.lhsFormat};
  OperandOptions rhs{"rhs", options.rhsScheme, options.rhsGroup,
                     options.rhsFormat};
  if (lhs.scheme.empty())
    lhs.scheme = system->lhs;
  // A group asks for micro scales where no scheme says otherwise.
  if (rhs.scheme.empty())
    rhs.scheme = system->name == "two-level" && !rhs.group.empty()
                     ? StringRef("rows")
                     : StringRef(system->rhs);
  // What is wrong with both operands is said once.
  FailureOr<SchemeAttr> lhsScheme = parseScheme(lhs, common, loc);
  if (failed(lhsScheme))
    return failure();
  FailureOr<SchemeAttr> rhsScheme = parseScheme(rhs, common, loc);
  if (failed(rhsScheme) ||
      failed(checkPair(options, *lhsScheme, *rhsScheme, loc)))
    return failure();
  FailureOr<AccumulateAttr> accumulate =
      parseAccumulate(options, lhsScheme->isQuantized(), loc);
  if (failed(accumulate))
    return failure();
  return MatmulScheme{*lhsScheme, *rhsScheme, *accumulate};
}
