//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "moss/Compiler/Compiler.h"
#include "moss/IR/Moss.h"
#include "moss/Transforms/CInterface.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// Cubins
//===----------------------------------------------------------------------===//

// Records of the section .nv.info: a format, an attribute, the number of bytes
// that follow, and for those that are wanted a symbol and a value.
static constexpr uint8_t kSizedFormat = 4;
static constexpr uint8_t kFrameSize = 0x11;
static constexpr uint8_t kRegisterCount = 0x2f;

using CubinFile = llvm::object::ELFFile<llvm::object::ELF64LE>;

/// The contents of the section, and the names of the symbols that it refers to.
static llvm::Error
visitInfo(const CubinFile &file,
          function_ref<void(uint8_t, StringRef, uint32_t)> visit) {
  auto sections = file.sections();
  if (!sections)
    return sections.takeError();
  for (const auto &section : *sections) {
    auto name = file.getSectionName(section);
    if (!name)
      return name.takeError();
    if (*name != ".nv.info")
      continue;
    auto content = file.getSectionContents(section);
    auto symbols = file.getSection(section.sh_link);
    if (!content)
      return content.takeError();
    if (!symbols)
      return symbols.takeError();
    auto strings = file.getStringTableForSymtab(**symbols);
    if (!strings)
      return strings.takeError();
    ArrayRef<uint8_t> rest = *content;
    while (rest.size() >= 4) {
      size_t size = rest[0] == kSizedFormat
                        ? llvm::support::endian::read16le(&rest[2])
                        : 0;
      if (rest.size() < 4 + size)
        break;
      if (size >= 8) {
        uint32_t index = llvm::support::endian::read32le(&rest[4]);
        auto symbol = file.getSymbol(*symbols, index);
        if (!symbol)
          return symbol.takeError();
        auto symbolName = (*symbol)->getName(*strings);
        if (!symbolName)
          return symbolName.takeError();
        visit(rest[1], *symbolName, llvm::support::endian::read32le(&rest[8]));
      }
      rest = rest.drop_front(4 + size);
    }
  }
  return llvm::Error::success();
}

std::optional<AssembledKernel> moss::readKernelOfCubin(StringRef cubin,
                                                       StringRef kernel) {
  auto file = CubinFile::create(cubin);
  if (!file) {
    llvm::consumeError(file.takeError());
    return std::nullopt;
  }
  std::optional<int64_t> registers, stackBytes;
  llvm::Error error = visitInfo(
      *file, [&](uint8_t attribute, StringRef symbol, uint32_t value) {
        if (symbol != kernel)
          return;
        if (attribute == kRegisterCount)
          registers = value;
        else if (attribute == kFrameSize)
          stackBytes = value;
      });
  if (error) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  if (!registers || !stackBytes)
    return std::nullopt;
  return AssembledKernel{*registers, *stackBytes};
}

/// The kernel as ptxas has assembled it, if it has.
static std::optional<AssembledKernel> getAssembled(ModuleOp module,
                                                   StringRef kernel) {
  auto binary = module.lookupSymbol<gpu::BinaryOp>(kernel);
  if (!binary)
    return std::nullopt;
  auto object = cast<gpu::ObjectAttr>(binary.getObjects()[0]);
  if (object.getFormat() != gpu::CompilationTarget::Binary)
    return std::nullopt;
  return readKernelOfCubin(object.getObject().getValue(), kernel);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// What is only known at run time is null.
static void printExtents(llvm::json::OStream &json, StringRef key,
                         ArrayRef<int64_t> extents) {
  json.attributeArray(key, [&] {
    for (int64_t extent : extents)
      if (ShapedType::isDynamic(extent))
        json.value(nullptr);
      else
        json.value(extent);
  });
}

static void printSchedule(llvm::json::OStream &json, ScheduleAttr schedule) {
  json.attributeObject("schedule", [&] {
    printExtents(
        json, "tile",
        {schedule.getTileM(), schedule.getTileN(), schedule.getTileK()});
    json.attribute("stages", schedule.getStages());
    json.attribute("consumers", schedule.getConsumers());
    json.attribute("raster", schedule.getRaster());
    json.attribute("blocks", schedule.getBlocks());
  });
}

/// An attribute of a description as JSON of the same structure.
static void print(llvm::json::OStream &json, StringRef key,
                  Attribute attribute) {
  if (auto string = dyn_cast<StringAttr>(attribute))
    json.attribute(key, string.getValue());
  else if (auto number = dyn_cast<IntegerAttr>(attribute))
    json.attribute(key, number.getInt());
  else if (auto extents = dyn_cast<DenseI64ArrayAttr>(attribute))
    printExtents(json, key, extents);
  else if (auto schedule = dyn_cast<ScheduleAttr>(attribute))
    printSchedule(json, schedule);
  else if (auto dictionary = dyn_cast<DictionaryAttr>(attribute))
    json.attributeObject(key, [&] {
      for (NamedAttribute entry : dictionary)
        print(json, entry.getName(), entry.getValue());
    });
  else if (auto array = dyn_cast<ArrayAttr>(attribute))
    json.attributeArray(key, [&] {
      for (Attribute element : array)
        json.object([&] {
          if (auto dictionary = dyn_cast<DictionaryAttr>(element))
            for (NamedAttribute entry : dictionary)
              print(json, entry.getName(), entry.getValue());
        });
    });
}

static void describeKernel(llvm::json::OStream &json, ModuleOp module,
                           DictionaryAttr kernel) {
  json.object([&] {
    for (NamedAttribute entry : kernel)
      print(json, entry.getName(), entry.getValue());
    auto name = kernel.getAs<StringAttr>("name");
    std::optional<AssembledKernel> assembled =
        name ? getAssembled(module, name) : std::nullopt;
    auto printNumber = [&](StringRef key, auto member) {
      if (assembled)
        json.attribute(key, (*assembled).*member);
      else
        json.attribute(key, nullptr);
    };
    printNumber("registers", &AssembledKernel::registers);
    printNumber("stack", &AssembledKernel::stackBytes);
  });
}

void moss::describeKernels(ModuleOp module, llvm::json::OStream &json) {
  auto kernels = module->getAttrOfType<ArrayAttr>(kKernelsAttrName);
  if (!kernels)
    return;
  for (Attribute kernel : kernels)
    if (auto dictionary = dyn_cast<DictionaryAttr>(kernel))
      describeKernel(json, module, dictionary);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

static void printExtents(ArrayRef<int64_t> extents, raw_ostream &os) {
  llvm::interleave(
      extents, os,
      [&](int64_t extent) {
        if (ShapedType::isDynamic(extent))
          os << "?";
        else
          os << extent;
      },
      " x ");
}

void moss::printSchedules(ModuleOp module, raw_ostream &os) {
  auto kernels = module->getAttrOfType<ArrayAttr>(kKernelsAttrName);
  if (!kernels) {
    os << "no schedules: kernels are known from the level 'kernel' on\n";
    return;
  }
  bool hasMatmul = false;
  for (Attribute attribute : kernels) {
    auto kernel = dyn_cast<DictionaryAttr>(attribute);
    auto schedule = kernel.getAs<ScheduleAttr>("schedule");
    auto matmul = kernel.getAs<DictionaryAttr>("matmul");
    if (!schedule || !matmul)
      continue;
    hasMatmul = true;
    os << kernel.getAs<StringAttr>("name").getValue() << ": ";
    printExtents(matmul.getAs<DenseI64ArrayAttr>("shape"), os);
    os << " in tiles of ";
    printExtents(
        {schedule.getTileM(), schedule.getTileN(), schedule.getTileK()}, os);
    os << ", " << schedule.getStages() << " stages, " << schedule.getConsumers()
       << " consumers, raster " << schedule.getRaster() << ", at most "
       << schedule.getBlocks() << " blocks of "
       << kernel.getAs<IntegerAttr>("shared").getInt()
       << " bytes of shared memory; "
       << matmul.getAs<StringAttr>("accumulate").getValue() << "\n";
  }
  if (!hasMatmul)
    os << "no schedules: no kernel is a matmul\n";
}
