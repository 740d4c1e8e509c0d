//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Syntax and verifiers of the attributes that describe optimizers and weights,
// and of where they may be attached.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "moss/IR/Moss.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// OptimizerAttr
//===----------------------------------------------------------------------===//

namespace {
/// A hyper-parameter by its name, with its value.
struct HyperParameter {
  StringRef name;
  double value;
};
} // namespace

/// The keys of a kind with their defaults, in the order in which they print.
static SmallVector<HyperParameter> getHyperParameters(OptimizerKind kind) {
  HyperParameter momentum{"momentum", 0.9}, decay{"weight_decay", 0.0};
  HyperParameter beta1{"beta1", 0.9}, beta2{"beta2", 0.999}, eps{"eps", 1e-8};
  switch (kind) {
  case OptimizerKind::SGD:
    return {decay};
  case OptimizerKind::Momentum:
    return {momentum, decay};
  case OptimizerKind::Adam:
    return {beta1, beta2, eps};
  case OptimizerKind::AdamW:
    return {beta1, beta2, eps, decay};
  case OptimizerKind::AdamPaper:
    return {};
  }
  llvm_unreachable("unknown optimizer");
}

static std::string getKeyList(ArrayRef<HyperParameter> keys) {
  if (keys.empty())
    return "no keys";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      keys, os, [&](const HyperParameter &key) { os << key.name; }, ", ");
  return text;
}

/// Parse `key =`, where a key must not be given twice.
static ParseResult parseNewKey(AsmParser &parser, StringRef &key,
                               StringSet<> &seen) {
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&key) || parser.parseEqual())
    return failure();
  if (!seen.insert(key).second)
    return parser.emitError(loc) << "'" << key << "' is given twice";
  return success();
}

static ParseResult parseHyperParameter(AsmParser &parser, OptimizerKind kind,
                                       MutableArrayRef<HyperParameter> keys,
                                       StringSet<> &seen) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (parseNewKey(parser, name, seen))
    return failure();
  auto *key = llvm::find_if(
      keys, [&](const HyperParameter &key) { return key.name == name; });
  if (key == keys.end())
    return parser.emitError(loc)
           << "'" << stringifyOptimizerKind(kind) << "' takes "
           << getKeyList(keys) << ", but got '" << name << "'";
  return parser.parseFloat(key->value);
}

Attribute OptimizerAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};
  std::optional<OptimizerKind> kind = symbolizeOptimizerKind(keyword);
  if (!kind) {
    parser.emitError(loc) << "expected 'sgd', 'momentum', 'adam', 'adamw' or "
                             "'adam_paper', but got '"
                          << keyword << "'";
    return {};
  }
  SmallVector<HyperParameter> keys = getHyperParameters(*kind);
  StringSet<> seen;
  while (succeeded(parser.parseOptionalComma()))
    if (parseHyperParameter(parser, *kind, keys, seen))
      return {};
  if (parser.parseGreater())
    return {};
  auto get = [&](StringRef name) {
    for (const HyperParameter &key : keys)
      if (key.name == name)
        return APFloat(key.value);
    return APFloat(0.0);
  };
  return parser.getChecked<OptimizerAttr>(
      loc, parser.getContext(), *kind, get("momentum"), get("beta1"),
      get("beta2"), get("eps"), get("weight_decay"));
}

void OptimizerAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyOptimizerKind(getKind());
  auto get = [&](StringRef name) {
    return llvm::StringSwitch<APFloat>(name)
        .Case("momentum", getMomentumValue())
        .Case("beta1", getBeta1Value())
        .Case("beta2", getBeta2Value())
        .Case("eps", getEpsValue())
        .Default(getWeightDecayValue());
  };
  for (const HyperParameter &key : getHyperParameters(getKind())) {
    printer << ", " << key.name << " = ";
    printer.printFloat(get(key.name));
  }
  printer << ">";
}

LogicalResult
OptimizerAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      OptimizerKind kind, APFloat momentum, APFloat beta1,
                      APFloat beta2, APFloat eps, APFloat weightDecay) {
  // Negated, so that a NaN fails.
  auto check = [&](StringRef name, const APFloat &value, bool isValid,
                   StringRef range) -> LogicalResult {
    if (isValid)
      return success();
    SmallString<16> text;
    value.toString(text);
    return emitError() << name << " must be " << range << ", but is " << text;
  };
  double mu = momentum.convertToDouble(), b1 = beta1.convertToDouble(),
         b2 = beta2.convertToDouble(), e = eps.convertToDouble(),
         decay = weightDecay.convertToDouble();
  bool isAdam = kind == OptimizerKind::Adam || kind == OptimizerKind::AdamW;
  if (failed(check("momentum", momentum, mu >= 0 && mu < 1,
                   "at least 0 and below 1")) ||
      failed(check("weight_decay", weightDecay,
                   decay >= 0 && weightDecay.isFinite(),
                   "finite and not negative")))
    return failure();
  if (!isAdam)
    return success();
  if (failed(
          check("beta1", beta1, b1 >= 0 && b1 < 1, "at least 0 and below 1")) ||
      failed(check("beta2", beta2, b2 > 0 && b2 < 1, "above 0 and below 1")))
    return failure();
  return check("eps", eps, e >= 1e-15 && eps.isFinite(),
               "finite and at least 1e-15 (an underflow of the second moment "
               "would make a step unbounded)");
}

//===----------------------------------------------------------------------===//
// WeightAttr and ScaleRuleAttr
//===----------------------------------------------------------------------===//

static ParseResult parseWeightKey(AsmParser &parser, int64_t &interval,
                                  ScaleState &state, Type &master,
                                  StringAttr &name, StringSet<> &seen) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef key;
  if (parseNewKey(parser, key, seen))
    return failure();
  if (key == "interval")
    return parser.parseInteger(interval);
  if (key == "master")
    return parser.parseType(master);
  if (key == "name")
    return parser.parseAttribute(name);
  if (key != "state")
    return parser.emitError(loc)
           << "expected 'interval', 'state', 'master' or 'name', but got '"
           << key << "'";
  loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<ScaleState> parsed = symbolizeScaleState(keyword);
  if (!parsed)
    return parser.emitError(loc)
           << "expected 'arguments' or 'globals', but got '" << keyword << "'";
  state = *parsed;
  return success();
}

Attribute WeightAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  OptimizerAttr optimizer;
  int64_t interval = kDefaultInterval;
  ScaleState state = ScaleState::Arguments;
  Type master = parser.getBuilder().getF32Type();
  StringAttr name;
  if (parser.parseLess() || parser.parseAttribute(optimizer))
    return {};
  StringSet<> seen;
  while (succeeded(parser.parseOptionalComma()))
    if (parseWeightKey(parser, interval, state, master, name, seen))
      return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<WeightAttr>(loc, parser.getContext(), optimizer,
                                       interval, state, master, name);
}

void WeightAttr::print(AsmPrinter &printer) const {
  printer << "<" << getOptimizer() << ", interval = " << getInterval()
          << ", state = " << stringifyScaleState(getState())
          << ", master = " << getMaster();
  if (getName())
    printer << ", name = " << getName();
  printer << ">";
}

static LogicalResult verifyMaster(function_ref<InFlightDiagnostic()> emitError,
                                  Type master) {
  if (master.isF32() || master.isBF16())
    return success();
  return emitError() << "master must be f32 or bf16, but is " << master;
}

LogicalResult WeightAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 OptimizerAttr, int64_t interval, ScaleState,
                                 Type master, StringAttr) {
  if (interval < 1)
    return emitError() << "interval must be positive, but is " << interval;
  return verifyMaster(emitError, master);
}

LogicalResult
ScaleRuleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      OptimizerAttr, Type payloadType, Type master) {
  if (!isa<Float8E4M3FNType, Float8E5M2Type>(payloadType))
    return emitError() << "payload type must be f8E4M3FN or f8E5M2, but is "
                       << payloadType;
  return verifyMaster(emitError, master);
}

//===----------------------------------------------------------------------===//
// Where they may be attached
//===----------------------------------------------------------------------===//

/// An error unless the mark is a WeightAttr on a matrix that can be quantized.
static LogicalResult verifyWeightMark(Operation *op, Attribute value,
                                      Type type) {
  if (!isa<WeightAttr>(value))
    return op->emitError("'") << WeightAttr::kMarkName
                              << "' must be a #moss.weight, but is " << value;
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank() || shaped.getRank() != 2 ||
      !(shaped.getElementType().isBF16() || shaped.getElementType().isF32()))
    return op->emitError("'")
           << WeightAttr::kMarkName
           << "' must be on a 2-D tensor or memref of bf16 or f32, but is on "
           << type;
  return success();
}

LogicalResult MossDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned number,
                                                    NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  Type type = function.getArgumentTypes()[number];
  if (attribute.getName() == WeightAttr::kMarkName)
    return verifyWeightMark(op, attribute.getValue(), type);
  if (attribute.getName() == WeightAttr::kStepName && !type.isInteger(64))
    return op->emitError("'")
           << WeightAttr::kStepName
           << "' must be on an i64 argument, but is on " << type;
  return success();
}

LogicalResult MossDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != WeightAttr::kMarkName)
    return success();
  auto type = op->getAttrOfType<TypeAttr>("type");
  if (!isa<SymbolOpInterface>(op) || !type)
    return op->emitError("'")
           << WeightAttr::kMarkName
           << "' must be on an argument of a function or on a global";
  return verifyWeightMark(op, attribute.getValue(), type.getValue());
}
