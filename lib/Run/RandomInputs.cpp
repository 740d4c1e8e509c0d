//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random arguments. No function of the C library is involved, whose last bits
// differ between versions.
//
//===----------------------------------------------------------------------===//

#include "moss/Run/RandomInputs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::moss;

/// In the order of the enumeration.
static constexpr StringLiteral kNames[] = {"normal",   "uniform", "positive",
                                           "outliers", "rows",    "cancelling",
                                           "tiny",     "zeros",   "ones"};

StringRef moss::stringifyDistribution(Distribution distribution) {
  return kNames[static_cast<unsigned>(distribution)];
}

std::optional<Distribution> moss::parseDistribution(StringRef name) {
  const StringLiteral *found = llvm::find(kNames, name);
  if (found == std::end(kNames))
    return std::nullopt;
  return static_cast<Distribution>(found - std::begin(kNames));
}

std::string moss::getDistributionNames() {
  return llvm::join(ArrayRef(kNames), ", ");
}

/// The mixing function of SplitMix64 (Steele, Lea and Flood, 2014).
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

namespace {
/// A random 64-bit number for each position and use.
struct Random {
  uint64_t key;

  Random(uint64_t seed, uint64_t number)
      : key(mix(seed * 0x9e3779b97f4a7c15 + mix(number + 1))) {}

  uint64_t bits(uint64_t position, unsigned use = 0) const {
    return mix(key + (position * 4 + use + 1) * 0x9e3779b97f4a7c15);
  }
  /// In [-1, 1), in steps that a double holds.
  double uniform(uint64_t position) const {
    return std::ldexp(static_cast<double>(bits(position) >> 11), -52) - 1;
  }
  /// Twelve numbers of 16 bits each have the sum of a variance of 1.
  double normal(uint64_t position) const {
    double sum = 0;
    for (unsigned use = 0; use < 3; ++use)
      for (uint64_t word = bits(position, use), i = 0; i < 4; ++i)
        sum += static_cast<double>((word >> (16 * i)) & 0xffff) + 0.5;
    return std::ldexp(sum, -16) - 6;
  }
};
} // namespace

static double getElement(const Random &random, Distribution distribution,
                         uint64_t position, uint64_t row, uint64_t column) {
  switch (distribution) {
  case Distribution::Normal:
    return random.normal(position);
  case Distribution::Uniform:
    return random.uniform(position);
  case Distribution::Positive:
    return std::abs(random.normal(position));
  case Distribution::Outliers:
    return random.normal(position) * (column % 64 == 63 ? 256 : 1);
  case Distribution::Rows:
    return std::ldexp(random.normal(position),
                      static_cast<int>(random.bits(row, 3) % 16) - 8);
  case Distribution::Cancelling: {
    double value = 1 + std::ldexp(random.uniform(position / 2), -2);
    return position % 2 == 0 ? value : -value;
  }
  case Distribution::Tiny: {
    uint64_t bits = random.bits(position);
    double power = std::ldexp(1.0, -static_cast<int>((bits >> 1) % 41));
    return bits & 1 ? power : -power;
  }
  case Distribution::Zeros:
    return 0;
  case Distribution::Ones:
    return 1;
  }
  llvm_unreachable("unknown distribution");
}

HostArray moss::createRandomArray(ElementKind kind, ArrayRef<int64_t> shape,
                                  Distribution distribution, uint64_t seed,
                                  unsigned number) {
  HostArray array(kind, shape);
  Random random(seed, number);
  uint64_t columns = shape.empty() ? 1 : shape.back();
  for (uint64_t i = 0, e = array.size(); i < e; ++i) {
    double value =
        getElement(random, distribution, i, i / columns, i % columns);
    // A scale has no sign and no zero.
    if (kind == ElementKind::E8M0)
      value = std::ldexp(1.0, static_cast<int>(std::floor(value)));
    array.set(i, value);
  }
  return array;
}
