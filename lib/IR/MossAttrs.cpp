//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "moss/IR/Moss.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::moss;

#include "moss/IR/MossEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "moss/IR/MossAttrs.cpp.inc"

void MossDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moss/IR/MossAttrs.cpp.inc"
      >();
}

/// Parse an enum keyword, with an error that lists nothing but the keyword.
template <typename EnumT>
static ParseResult parseEnum(AsmParser &parser, EnumT &value,
                             std::optional<EnumT> (*symbolize)(StringRef),
                             StringRef expected) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<EnumT> parsed = symbolize(keyword);
  if (!parsed)
    return parser.emitError(loc)
           << "expected " << expected << ", but got '" << keyword << "'";
  value = *parsed;
  return success();
}

//===----------------------------------------------------------------------===//
// SchemeAttr
//===----------------------------------------------------------------------===//

/// `full` or a positive integer; `full` is stored as 0.
static ParseResult parseGroupExtent(AsmParser &parser, int64_t &extent) {
  if (succeeded(parser.parseOptionalKeyword("full"))) {
    extent = 0;
    return success();
  }
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(extent))
    return failure();
  if (extent <= 0)
    return parser.emitError(loc)
           << "a group extent must be positive or 'full', but got " << extent;
  return success();
}

static void printGroupExtent(AsmPrinter &printer, int64_t extent) {
  if (extent == 0)
    printer << "full";
  else
    printer << extent;
}

Attribute SchemeAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  Type elementType, microType;
  int64_t groupOuter = 0, groupK = 0;
  GlobalScale global = GlobalScale::JIT;
  ExponentRounding rounding = ExponentRounding::Ceil;
  if (parser.parseLess() || parser.parseType(elementType) ||
      parser.parseComma())
    return {};
  if (succeeded(parser.parseOptionalKeyword("micro"))) {
    if (parser.parseEqual() || parser.parseType(microType) ||
        parser.parseComma() || parser.parseKeyword("group") ||
        parser.parseEqual() || parser.parseLSquare() ||
        parseGroupExtent(parser, groupOuter) || parser.parseComma() ||
        parseGroupExtent(parser, groupK) || parser.parseRSquare() ||
        parser.parseComma())
      return {};
  }
  if (parser.parseKeyword("global") || parser.parseEqual() ||
      parseEnum<GlobalScale>(parser, global, symbolizeGlobalScale,
                             "'jit', 'delayed', 'unit' or 'given'"))
    return {};
  if (microType) {
    if (parser.parseComma() || parser.parseKeyword("rounding") ||
        parser.parseEqual() ||
        parseEnum<ExponentRounding>(parser, rounding, symbolizeExponentRounding,
                                    "'ceil', 'nearest' or 'floor'"))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<SchemeAttr>(loc, parser.getContext(), elementType,
                                       microType, groupOuter, groupK, global,
                                       rounding);
}

void SchemeAttr::print(AsmPrinter &printer) const {
  printer << "<" << getElementType();
  if (hasMicro()) {
    printer << ", micro = " << getMicroType() << ", group = [";
    printGroupExtent(printer, getGroupOuter());
    printer << ", ";
    printGroupExtent(printer, getGroupK());
    printer << "]";
  }
  printer << ", global = " << stringifyGlobalScale(getGlobal());
  if (hasMicro())
    printer << ", rounding = " << stringifyExponentRounding(getRounding());
  printer << ">";
}

LogicalResult SchemeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Type elementType, Type microType,
                                 int64_t groupOuter, int64_t groupK,
                                 GlobalScale global,
                                 ExponentRounding rounding) {
  if (!isa_and_nonnull<Float8E4M3FNType, Float8E5M2Type, BFloat16Type>(
          elementType))
    return emitError() << "element type must be f8E4M3FN, f8E5M2 or bf16, but "
                          "got "
                       << elementType;
  if (elementType.isBF16() && (microType || global != GlobalScale::Unit))
    return emitError() << "a scheme of bf16 has no scales: it must be "
                          "#moss.scheme<bf16, global = unit>";
  if (microType && !isa<Float8E8M0FNUType, Float32Type>(microType))
    return emitError() << "micro type must be f8E8M0FNU or f32, but got "
                       << microType;
  if (groupOuter < 0 || groupK < 0)
    return emitError() << "group extents must not be negative, but got ["
                       << groupOuter << ", " << groupK << "]";
  if (!microType && (groupOuter || groupK))
    return emitError() << "a scheme without micro scales has no groups";
  if (!isa_and_nonnull<Float8E8M0FNUType>(microType) &&
      rounding != ExponentRounding::Ceil)
    return emitError() << "rounding '" << stringifyExponentRounding(rounding)
                       << "' needs f8E8M0FNU micro scales";
  return success();
}

bool SchemeAttr::isMicroPowerOfTwo() const {
  return !hasMicro() || isa<Float8E8M0FNUType>(getMicroType());
}

int SchemeAttr::getMaxShift() const {
  return isa<Float8E4M3FNType>(getElementType()) ? 6 : 13;
}

double SchemeAttr::getMaxFinite() const {
  return 7.0 * static_cast<double>(1 << getMaxShift());
}

int64_t SchemeAttr::getNumGroups(int64_t extent, int64_t group) {
  if (group == 0)
    return 1;
  return ShapedType::isDynamic(extent) ? extent
                                       : llvm::divideCeil(extent, group);
}

SmallVector<int64_t> SchemeAttr::getMicroShape(ArrayRef<int64_t> shape) const {
  return {getNumGroups(shape[0], getGroupOuter()),
          getNumGroups(shape[1], getGroupK())};
}

//===----------------------------------------------------------------------===//
// AmaxRuleAttr
//===----------------------------------------------------------------------===//

Attribute AmaxRuleAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  Type payloadType;
  AmaxAlgorithm algorithm = AmaxAlgorithm::Max;
  int64_t margin = 0;
  if (parser.parseLess() || parser.parseType(payloadType) ||
      parser.parseComma() ||
      parseEnum<AmaxAlgorithm>(parser, algorithm, symbolizeAmaxAlgorithm,
                               "'max' or 'most_recent'") ||
      parser.parseComma() || parser.parseKeyword("margin") ||
      parser.parseEqual() || parser.parseInteger(margin) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<AmaxRuleAttr>(loc, parser.getContext(), payloadType,
                                         algorithm, margin);
}

void AmaxRuleAttr::print(AsmPrinter &printer) const {
  printer << "<" << getPayloadType() << ", "
          << stringifyAmaxAlgorithm(getAlgorithm())
          << ", margin = " << getMargin() << ">";
}

LogicalResult AmaxRuleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   Type payloadType, AmaxAlgorithm,
                                   int64_t margin) {
  if (!isa_and_nonnull<Float8E4M3FNType, Float8E5M2Type>(payloadType))
    return emitError() << "payload type must be f8E4M3FN or f8E5M2, but is "
                       << payloadType;
  // Any more, and the target would be subnormal.
  if (margin < 0 || margin > 100)
    return emitError() << "margin must be between 0 and 100, but is " << margin;
  return success();
}

double AmaxRuleAttr::getTarget() const {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(getPayloadType()).getFloatSemantics();
  return std::ldexp(APFloat::getLargest(semantics).convertToDouble(),
                    -static_cast<int>(getMargin()));
}

//===----------------------------------------------------------------------===//
// AccumulateAttr
//===----------------------------------------------------------------------===//

Attribute AccumulateAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  AccumulateMode mode;
  int64_t interval = 0;
  if (parser.parseLess() ||
      parseEnum<AccumulateMode>(parser, mode, symbolizeAccumulateMode,
                                "'fast' or 'promoted'"))
    return {};
  if (mode == AccumulateMode::Promoted &&
      (parser.parseLParen() || parser.parseInteger(interval) ||
       parser.parseRParen()))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<AccumulateAttr>(loc, parser.getContext(), mode,
                                           interval);
}

void AccumulateAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyAccumulateMode(getMode());
  if (!isFast())
    printer << "(" << getInterval() << ")";
  printer << ">";
}

LogicalResult
AccumulateAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                       AccumulateMode mode, int64_t interval) {
  if (mode == AccumulateMode::Fast)
    return interval == 0 ? success()
                         : emitError() << "'fast' takes no interval";
  if (interval <= 0 || interval % kMmaStepK != 0)
    return emitError() << "the promotion interval must be a positive multiple "
                          "of "
                       << kMmaStepK << ", but got " << interval;
  return success();
}

//===----------------------------------------------------------------------===//
// ScheduleAttr
//===----------------------------------------------------------------------===//

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t tileM, int64_t tileN, int64_t tileK,
                                   int64_t stages, int64_t consumers,
                                   int64_t raster, int64_t blocks) {
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"tile M", tileM},
                             {"tile N", tileN},
                             {"tile K", tileK},
                             {"stages", stages},
                             {"consumers", consumers},
                             {"raster", raster},
                             {"blocks", blocks}})
    if (value <= 0)
      return emitError() << name << " must be positive, but got " << value;
  if (std::max({tileM, tileN, tileK}) > kMaxTileExtent)
    return emitError() << "tile extents must be at most " << kMaxTileExtent
                       << ", but are [" << tileM << ", " << tileN << ", "
                       << tileK << "]";
  if (!isTileK(tileK))
    return emitError() << "tile K must be " << kMinTileK << " or a multiple of "
                       << kMmaStepK << ", but got " << tileK;
  return success();
}
