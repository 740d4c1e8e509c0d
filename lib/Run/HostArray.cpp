//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors in host memory.
//
//===----------------------------------------------------------------------===//

#include "moss/Run/HostArray.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::moss;

std::optional<ElementKind> moss::getElementKind(Type type) {
  if (type.isBF16())
    return ElementKind::BF16;
  if (type.isF16())
    return ElementKind::F16;
  if (type.isF32())
    return ElementKind::F32;
  if (type.isF64())
    return ElementKind::F64;
  if (isa<Float8E4M3FNType>(type))
    return ElementKind::E4M3;
  if (isa<Float8E5M2Type>(type))
    return ElementKind::E5M2;
  if (isa<Float8E8M0FNUType>(type))
    return ElementKind::E8M0;
  if (type.isIndex())
    return ElementKind::Index;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  switch (integer.getWidth()) {
  case 1:
    return ElementKind::I1;
  case 8:
    return ElementKind::I8;
  case 16:
    return ElementKind::I16;
  case 32:
    return ElementKind::I32;
  case 64:
    return ElementKind::I64;
  default:
    return std::nullopt;
  }
}

namespace {
struct KindInfo {
  StringRef name;
  unsigned bytes;
  bool isFloat;
};
} // namespace

static const KindInfo &getInfo(ElementKind kind) {
  static const KindInfo infos[] = {
      {"bf16", 2, true},      {"f16", 2, true},      {"f32", 4, true},
      {"f64", 8, true},       {"f8E4M3FN", 1, true}, {"f8E5M2", 1, true},
      {"f8E8M0FNU", 1, true}, {"i1", 1, false},      {"i8", 1, false},
      {"i16", 2, false},      {"i32", 4, false},     {"i64", 8, false},
      {"index", 8, false}};
  return infos[static_cast<unsigned>(kind)];
}

unsigned moss::getElementBytes(ElementKind kind) { return getInfo(kind).bytes; }
StringRef moss::getElementName(ElementKind kind) { return getInfo(kind).name; }
bool moss::isFloat(ElementKind kind) { return getInfo(kind).isFloat; }

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The formats that C++ has no type for.
static const llvm::fltSemantics &getSemantics(ElementKind kind) {
  switch (kind) {
  case ElementKind::F16:
    return APFloat::IEEEhalf();
  case ElementKind::E4M3:
    return APFloat::Float8E4M3FN();
  case ElementKind::E5M2:
    return APFloat::Float8E5M2();
  case ElementKind::E8M0:
    return APFloat::Float8E8M0FNU();
  default:
    return APFloat::BFloat();
  }
}

static double decodeSlowly(ElementKind kind, unsigned bits) {
  APFloat value(getSemantics(kind), APInt(getElementBytes(kind) * 8, bits));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

/// FP8 has so few values that all can be kept.
static double decodeByte(ElementKind kind, unsigned char bits) {
  auto makeTable = [](ElementKind kind) {
    std::array<double, 256> table;
    for (unsigned i = 0; i < 256; ++i)
      table[i] = decodeSlowly(kind, i);
    return table;
  };
  static const std::array<double, 256> tables[] = {
      makeTable(ElementKind::E4M3), makeTable(ElementKind::E5M2),
      makeTable(ElementKind::E8M0)};
  unsigned number =
      static_cast<unsigned>(kind) - static_cast<unsigned>(ElementKind::E4M3);
  return tables[number][bits];
}

template <typename T> static T load(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T> static void store(void *to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

double moss::decodeElement(ElementKind kind, const void *from) {
  switch (kind) {
  case ElementKind::BF16:
    return llvm::bit_cast<float>(uint32_t(load<uint16_t>(from)) << 16);
  case ElementKind::F16:
    return decodeSlowly(kind, load<uint16_t>(from));
  case ElementKind::F32:
    return load<float>(from);
  case ElementKind::F64:
    return load<double>(from);
  case ElementKind::E4M3:
  case ElementKind::E5M2:
  case ElementKind::E8M0:
    return decodeByte(kind, load<unsigned char>(from));
  case ElementKind::I1:
    return load<unsigned char>(from) != 0;
  case ElementKind::I8:
    return load<int8_t>(from);
  case ElementKind::I16:
    return load<int16_t>(from);
  case ElementKind::I32:
    return load<int32_t>(from);
  case ElementKind::I64:
  case ElementKind::Index:
    return static_cast<double>(load<int64_t>(from));
  }
  llvm_unreachable("unknown kind of element");
}

/// Formats narrower than a double are rounded once, from the double itself.
static unsigned encodeSlowly(ElementKind kind, double value) {
  APFloat rounded(value);
  bool losesInfo;
  rounded.convert(getSemantics(kind), APFloat::rmNearestTiesToEven, &losesInfo);
  return rounded.bitcastToAPInt().getZExtValue();
}

/// Round a finite float to BF16 by its bits; NaNs stay NaNs.
static uint16_t encodeBF16(double value) {
  float narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value)
    return encodeSlowly(ElementKind::BF16, value);
  uint32_t bits = llvm::bit_cast<uint32_t>(narrow);
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

void moss::encodeElement(ElementKind kind, double value, void *to) {
  switch (kind) {
  case ElementKind::BF16:
    return store<uint16_t>(to, encodeBF16(value));
  case ElementKind::F16:
    return store<uint16_t>(to, encodeSlowly(kind, value));
  case ElementKind::F32:
    return store<float>(to, static_cast<float>(value));
  case ElementKind::F64:
    return store<double>(to, value);
  case ElementKind::E4M3:
  case ElementKind::E5M2:
  case ElementKind::E8M0:
    return store<uint8_t>(to, encodeSlowly(kind, value));
  case ElementKind::I1:
    return store<uint8_t>(to, value != 0);
  case ElementKind::I8:
    return store<int8_t>(to, static_cast<int8_t>(value));
  case ElementKind::I16:
    return store<int16_t>(to, static_cast<int16_t>(value));
  case ElementKind::I32:
    return store<int32_t>(to, static_cast<int32_t>(value));
  case ElementKind::I64:
  case ElementKind::Index:
    return store<int64_t>(to, static_cast<int64_t>(value));
  }
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

HostArray::HostArray(ElementKind kind, ArrayRef<int64_t> shape)
    : kind(kind), shape(shape) {
  bytes.resize(size() * getElementBytes(kind));
}

int64_t HostArray::size() const {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

std::string moss::formatShape(ArrayRef<int64_t> shape) {
  return llvm::join(llvm::map_range(shape,
                                    [](int64_t extent) {
                                      return ShapedType::isDynamic(extent)
                                                 ? std::string("?")
                                                 : std::to_string(extent);
                                    }),
                    "x");
}
