//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The description of a compiled program as JSON.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "mlir/IR/TypeUtilities.h"
#include "moss/Compiler/Compiler.h"
#include "moss/Transforms/CInterface.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moss;

/// A static extent is a number. A dynamic one is null, or the extent of an
/// argument that it equals.
static void describeShape(llvm::json::OStream &json,
                          const CParameter &parameter) {
  ArrayRef<std::optional<ArgumentExtent>> extents = parameter.extents;
  for (int64_t extent : parameter.getShape()) {
    std::optional<ArgumentExtent> source;
    if (ShapedType::isDynamic(extent) && !extents.empty()) {
      source = extents.front();
      extents = extents.drop_front();
    }
    if (source)
      json.object([&] {
        json.attribute("argument", source->argument);
        json.attribute("dimension", source->dimension);
      });
    else if (ShapedType::isDynamic(extent))
      json.value(nullptr);
    else
      json.value(extent);
  }
}

static void describeParameter(llvm::json::OStream &json,
                              const CParameter &parameter) {
  json.object([&] {
    json.attribute("name", parameter.name);
    json.attribute("kind", stringifyParameterKind(parameter.kind));
    std::string type;
    llvm::raw_string_ostream(type) << getElementTypeOrSelf(parameter.type);
    json.attribute("dtype", type);
    json.attributeArray("shape", [&] { describeShape(json, parameter); });
    if (parameter.initial)
      json.attribute("initial", parameter.initial.getValueAsDouble());
    if (parameter.rows)
      json.attributeArray("rows", [&] {
        for (auto row : parameter.rows.getAsRange<StringAttr>())
          json.value(row.getValue());
      });
  });
}

static void describeFunction(llvm::json::OStream &json, Operation *func,
                             const CInterface &interface, bool isGPU) {
  json.object([&] {
    StringRef source = interface.source;
    json.attribute("name", source);
    json.attribute("symbol", interface.name);
    bool isOnDevice = isGPU && !func->hasAttr(kHostAttrName);
    json.attribute("memory", isOnDevice ? "device" : "host");
    json.attributeArray("arguments", [&] {
      for (const CParameter &parameter : interface.parameters)
        describeParameter(json, parameter);
    });
  });
}

std::string moss::describeProgram(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os, /*IndentSize=*/1);
  auto target = module->getAttrOfType<StringAttr>(kTargetAttrName);
  bool isGPU = target && target.getValue() != "cpu";
  json.object([&] {
    json.attribute("version", 1);
    json.attribute("target", target ? target.getValue() : "");
    json.attributeArray("functions", [&] {
      for (Operation &op : module.getOps())
        if (std::optional<CInterface> interface = CInterface::get(&op))
          describeFunction(json, &op, *interface, isGPU);
    });
    json.attributeArray("kernels", [&] { describeKernels(module, json); });
  });
  os << "\n";
  return text;
}
