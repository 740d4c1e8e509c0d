//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of a run.
//
//===----------------------------------------------------------------------===//

#include "moss/Run/Arguments.h"
#include "mlir/IR/TypeUtilities.h"
#include "moss/Run/Npy.h"
#include "moss/Run/RandomInputs.h"
#include "moss/Transforms/CInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::moss;

SmallVector<std::string> moss::getArgumentNames(func::FuncOp func) {
  SmallVector<std::string> names;
  auto known = func->getAttrOfType<ArrayAttr>(kArgumentNamesAttrName);
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    names.push_back(known && i < known.size() ? cast<StringAttr>(known[i]).str()
                                              : ("arg" + Twine(i)).str());
  return names;
}

std::string moss::getResultName(func::FuncOp func, unsigned number) {
  return func.getNumResults() == 1 ? "result"
                                   : ("result" + Twine(number)).str();
}

static llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(message);
}

namespace {
/// Requests, by the number of what they are for.
class Resolver {
public:
  Resolver(func::FuncOp func, const ArgumentRequests &requests)
      : func(func), requests(requests), names(getArgumentNames(func)),
        inputs(names.size()), sizes(names.size()), distributions(names.size()),
        resultShapes(func.getNumResults()) {}

  llvm::Expected<Arguments> run();

private:
  std::optional<unsigned> find(StringRef name) const;
  llvm::Error makeUnknownNameError(StringRef name, StringRef option);
  llvm::Error resolveInputs();
  llvm::Error resolveSizes();
  llvm::Error resolveDistributions();
  llvm::Expected<HostArray> create(unsigned number, std::string &origin);
  llvm::Expected<HostArray> read(unsigned number, ElementKind kind,
                                 ArrayRef<int64_t> shape, std::string &origin);

  func::FuncOp func;
  const ArgumentRequests &requests;
  SmallVector<std::string> names;
  SmallVector<std::string> inputs;
  SmallVector<std::optional<SmallVector<int64_t>>> sizes;
  SmallVector<std::optional<Distribution>> distributions;
  SmallVector<std::optional<SmallVector<int64_t>>> resultShapes;
  Distribution everywhere = Distribution::Normal;
};
} // namespace

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

std::optional<unsigned> Resolver::find(StringRef name) const {
  const std::string *found = llvm::find(names, name.str());
  if (found == names.end())
    return std::nullopt;
  return found - names.begin();
}

llvm::Error Resolver::makeUnknownNameError(StringRef name, StringRef option) {
  return makeError("--" + option + ": '" + func.getName() +
                   "' has no argument '" + name + "', but " +
                   (names.empty() ? "none" : llvm::join(names, ", ")));
}

llvm::Error Resolver::resolveInputs() {
  SmallVector<StringRef> unnamed;
  for (StringRef input : requests.inputs) {
    auto [name, value] = input.split('=');
    if (value.empty()) {
      unnamed.push_back(input);
      continue;
    }
    std::optional<unsigned> number = find(name);
    if (!number)
      return makeUnknownNameError(name, "input");
    if (!inputs[*number].empty())
      return makeError("--input: argument '" + name + "' is given twice");
    inputs[*number] = value.str();
  }
  for (StringRef input : unnamed) {
    std::string *free =
        llvm::find_if(inputs, [](StringRef given) { return given.empty(); });
    if (free == inputs.end())
      return makeError("there are more inputs than '" + func.getName() +
                       "' has arguments: no place for '" + input + "'");
    *free = input.str();
  }
  return llvm::Error::success();
}

/// More than the reference of any program fits in memory with.
static constexpr int64_t kMaxElements = int64_t(1) << 34;

static llvm::Expected<SmallVector<int64_t>> parseShape(StringRef text) {
  int64_t count = 1;
  SmallVector<int64_t> shape;
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t extent;
    if (part.getAsInteger(10, extent) || extent < 0)
      return makeError("--size: '" + text + "' is not a shape such as 128x64");
    if (extent > kMaxElements / count)
      return makeError("--size: an array of " + text +
                       " has more than 2^34 elements");
    count *= std::max<int64_t>(extent, 1);
    shape.push_back(extent);
  }
  return shape;
}

llvm::Error Resolver::resolveSizes() {
  for (StringRef request : requests.sizes) {
    auto [name, text] = request.split('=');
    llvm::Expected<SmallVector<int64_t>> shape = parseShape(text);
    if (!shape)
      return shape.takeError();
    if (std::optional<unsigned> number = find(name)) {
      sizes[*number] = *shape;
      continue;
    }
    bool isResult = false;
    for (unsigned i = 0; i < resultShapes.size(); ++i) {
      if (name != getResultName(func, i))
        continue;
      resultShapes[i] = *shape;
      isResult = true;
    }
    if (!isResult)
      return makeUnknownNameError(name, "size");
  }
  return llvm::Error::success();
}

llvm::Error Resolver::resolveDistributions() {
  for (StringRef request : requests.distributions) {
    auto [name, value] = request.split('=');
    bool isForAll = value.empty();
    std::optional<Distribution> distribution =
        parseDistribution(isForAll ? name : value);
    if (!distribution)
      return makeError("--distribution: '" + (isForAll ? name : value) +
                       "' is unknown; there are " + getDistributionNames());
    if (isForAll) {
      everywhere = *distribution;
      continue;
    }
    std::optional<unsigned> number = find(name);
    if (!number)
      return makeUnknownNameError(name, "distribution");
    distributions[*number] = *distribution;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether a shape is possible for a type with the given extents.
static bool fits(ArrayRef<int64_t> shape, ArrayRef<int64_t> declared) {
  return shape.size() == declared.size() &&
         llvm::all_of(llvm::zip_equal(shape, declared), [](auto pair) {
           auto [extent, wanted] = pair;
           return ShapedType::isDynamic(wanted) || extent == wanted;
         });
}

/// Below this, each integer is a double.
static constexpr int64_t kMaxInteger = int64_t(1) << 53;

llvm::Expected<HostArray> Resolver::read(unsigned number, ElementKind kind,
                                         ArrayRef<int64_t> shape,
                                         std::string &origin) {
  StringRef input = inputs[number];
  origin = input.str();
  bool isScalar = !isa<RankedTensorType>(func.getArgumentTypes()[number]);
  double value;
  if (isScalar && !input.getAsDouble(value)) {
    HostArray array(kind, {});
    array.set(0, value);
    // Integers are not rounded, and do not wrap around.
    int64_t integer;
    if (!isFloat(kind) &&
        (input.getAsInteger(10, integer) || array.get(0) != double(integer)))
      return makeError("--input: '" + input + "' is no " +
                       getElementName(kind) + ", as argument '" +
                       names[number] + "' is");
    if (!isFloat(kind) && std::abs(array.get(0)) >= kMaxInteger)
      return makeError("--input: '" + input +
                       "' has a magnitude of 2^53 or more, which is not exact "
                       "as a number here; give it in a file");
    return array;
  }
  llvm::Expected<HostArray> array = readNpy(input, kind);
  if (!array)
    return array.takeError();
  if (!fits(array->shape, shape))
    return makeError("'" + input + "' has the shape [" +
                     formatShape(array->shape) + "], but argument '" +
                     names[number] + "' has [" + formatShape(shape) + "]");
  if (sizes[number] && *sizes[number] != array->shape)
    return makeError("--size: '" + names[number] + "' has the shape [" +
                     formatShape(array->shape) + "] in '" + input + "'");
  return array;
}

llvm::Expected<HostArray> Resolver::create(unsigned number,
                                           std::string &origin) {
  Type type = func.getArgumentTypes()[number];
  ElementKind kind = *getElementKind(getElementTypeOrSelf(type));
  SmallVector<int64_t> shape;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    shape = llvm::to_vector(tensor.getShape());
  if (!inputs[number].empty())
    return read(number, kind, shape, origin);
  if (sizes[number] && !fits(*sizes[number], shape))
    return makeError("--size: [" + formatShape(*sizes[number]) +
                     "] does not fit argument '" + names[number] +
                     "', which has the shape [" + formatShape(shape) + "]");
  if (sizes[number])
    shape = *sizes[number];
  if (ShapedType::isDynamicShape(shape))
    return makeError("argument '" + names[number] + "' has the shape [" +
                     formatShape(shape) + "]; give its extents, as --size " +
                     names[number] + "=128x64, or a file by --input");
  auto initial = func.getArgAttrOfType<FloatAttr>(number, kInitialAttrName);
  if (initial && !distributions[number]) {
    double value = initial.getValueAsDouble();
    llvm::raw_string_ostream(origin)
        << llvm::format("%g, as before the first call", value);
    HostArray array(kind, shape);
    for (uint64_t i = 0, e = array.size(); i < e; ++i)
      array.set(i, value);
    return array;
  }
  Distribution distribution = distributions[number].value_or(everywhere);
  // An integer is an index, a count or a code, whose range only the user knows.
  if (!isFloat(kind) && !distributions[number])
    return makeError("argument '" + names[number] + "' is " +
                     getElementName(kind) + "; give its value by --input " +
                     names[number] + "=...");
  origin =
      (stringifyDistribution(distribution) + ", seed " + Twine(requests.seed))
          .str();
  return createRandomArray(kind, shape, distribution, requests.seed, number);
}

llvm::Expected<Arguments> Resolver::run() {
  if (llvm::Error error = resolveInputs())
    return error;
  if (llvm::Error error = resolveSizes())
    return error;
  if (llvm::Error error = resolveDistributions())
    return error;
  Arguments arguments;
  arguments.names = names;
  arguments.resultShapes = resultShapes;
  for (unsigned i = 0; i < names.size(); ++i) {
    llvm::Expected<HostArray> array =
        create(i, arguments.origins.emplace_back());
    if (!array)
      return array.takeError();
    arguments.arrays.push_back(std::move(*array));
  }
  return arguments;
}

llvm::Expected<Arguments>
moss::createArguments(func::FuncOp func, const ArgumentRequests &requests) {
  return Resolver(func, requests).run();
}
