//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of kernels before they are lowered, as an attribute of the
// module for those who describe a compiled program.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/CInterface.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSDESCRIBEKERNELS
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {
/// The C interfaces of functions, each read once: they may have thousands of
/// parameters and of launches.
using Interfaces = llvm::DenseMap<Operation *, std::optional<CInterface>>;

/// Describes one launch and the kernel that it is of.
class LaunchDescriber {
public:
  LaunchDescriber(gpu::LaunchFuncOp launch, gpu::GPUFuncOp kernel,
                  Interfaces &interfaces)
      : launch(launch), kernel(kernel), interfaces(interfaces),
        b(launch.getContext()) {}

  DictionaryAttr run();

private:
  Attribute describeExtents(ArrayRef<Value> extents);
  StringRef getParameterName(Value value);
  Attribute describeArgument(Value value);
  void describeType(ShapedType type, NamedAttrList &entry);
  StringAttr print(Type type);
  int64_t getStaticSharedBytes();
  void addMatmul(NamedAttrList &entry);

  gpu::LaunchFuncOp launch;
  gpu::GPUFuncOp kernel;
  Interfaces &interfaces;
  Builder b;
};
} // namespace

/// As text: lowerings replace types in attributes too.
StringAttr LaunchDescriber::print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return b.getStringAttr(text);
}

/// Constants, and ShapedType::kDynamic for what is known at run time.
Attribute LaunchDescriber::describeExtents(ArrayRef<Value> extents) {
  SmallVector<int64_t> values;
  for (Value extent : extents)
    values.push_back(
        getConstantIntValue(extent).value_or(ShapedType::kDynamic));
  return b.getDenseI64ArrayAttr(values);
}

void LaunchDescriber::describeType(ShapedType type, NamedAttrList &entry) {
  entry.append("dtype", print(type.getElementType()));
  entry.append("shape", b.getDenseI64ArrayAttr(type.getShape()));
}

/// The name of a function's parameter that a value is, or an empty string.
StringRef LaunchDescriber::getParameterName(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto func = argument
                  ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                  : func::FuncOp();
  if (!func)
    return "";
  auto [entry, isNew] = interfaces.try_emplace(func);
  if (isNew)
    entry->second = CInterface::get(func);
  const std::optional<CInterface> &interface = entry->second;
  if (!interface)
    return "";
  unsigned number = argument.getArgNumber();
  for (const CParameter &parameter : interface->parameters)
    if (parameter.kind != ParameterKind::ScalarResult && number-- == 0)
      return parameter.name;
  return "";
}

Attribute LaunchDescriber::describeArgument(Value value) {
  NamedAttrList entry;
  auto map = dyn_cast<TensorMapType>(value.getType());
  if (map) {
    auto encode = value.getDefiningOp<EncodeTensorMapOp>();
    entry.append("box",
                 b.getDenseI64ArrayAttr({map.getBoxRows(), map.getBoxCols()}));
    entry.append("swizzle", b.getI64IntegerAttr(map.getSwizzle()));
    if (encode)
      value = encode->getOperand(0);
  }
  auto memref = dyn_cast<MemRefType>(value.getType());
  entry.append("kind", b.getStringAttr(map      ? "tensor-map"
                                       : memref ? "memref"
                                                : "scalar"));
  StringRef name = getParameterName(value);
  if (!name.empty())
    entry.append("parameter", b.getStringAttr(name));
  if (memref)
    describeType(memref, entry);
  else
    entry.append("dtype", print(value.getType()));
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    entry.append("value", b.getI64IntegerAttr(constant.getSExtValue()));
  return entry.getDictionary(b.getContext());
}

int64_t LaunchDescriber::getStaticSharedBytes() {
  int64_t bytes = 0;
  for (BlockArgument buffer : kernel.getWorkgroupAttributions()) {
    auto type = cast<MemRefType>(buffer.getType());
    bytes += llvm::divideCeil(
        type.getNumElements() * type.getElementTypeBitWidth(), 8);
  }
  return bytes;
}

void LaunchDescriber::addMatmul(NamedAttrList &entry) {
  kernel.walk([&](scf::ForOp loop) {
    for (StringRef name : {"moss.schedule", "moss.matmul"})
      if (Attribute attribute = loop->getAttr(name))
        entry.set(name.drop_front(strlen("moss.")), attribute);
  });
}

DictionaryAttr LaunchDescriber::run() {
  NamedAttrList entry;
  entry.append("name", b.getStringAttr(kernel.getName()));
  auto func = launch->getParentOfType<func::FuncOp>();
  if (func)
    entry.append("function", b.getStringAttr(func.getName()));
  gpu::KernelDim3 grid = launch.getGridSizeOperandValues();
  gpu::KernelDim3 block = launch.getBlockSizeOperandValues();
  entry.append("grid", describeExtents({grid.x, grid.y, grid.z}));
  if (launch.hasClusterSize()) {
    gpu::KernelDim3 cluster = launch.getClusterSizeOperandValues();
    entry.append("cluster", describeExtents({cluster.x, cluster.y, cluster.z}));
  }
  entry.append("block", describeExtents({block.x, block.y, block.z}));
  int64_t dynamicBytes = 0;
  if (Value size = launch.getDynamicSharedMemorySize())
    dynamicBytes = getConstantIntValue(size).value_or(0);
  entry.append("shared",
               b.getI64IntegerAttr(dynamicBytes + getStaticSharedBytes()));
  SmallVector<Attribute> arguments;
  for (Value operand : launch.getKernelOperands())
    arguments.push_back(describeArgument(operand));
  entry.append("arguments", b.getArrayAttr(arguments));
  addMatmul(entry);
  return entry.getDictionary(b.getContext());
}

/// Call kernels as their modules, so that no two have the same name.
static void nameKernels(ModuleOp module) {
  for (auto gpuModule : module.getOps<gpu::GPUModuleOp>()) {
    auto kernels = llvm::to_vector(gpuModule.getOps<gpu::GPUFuncOp>());
    if (kernels.size() == 1)
      kernels.front().setName(gpuModule.getName());
  }
  module.walk([&](gpu::LaunchFuncOp launch) {
    auto gpuModule =
        module.lookupSymbol<gpu::GPUModuleOp>(launch.getKernelModuleName());
    if (llvm::hasSingleElement(gpuModule.getOps<gpu::GPUFuncOp>()))
      launch.setKernelAttr(SymbolRefAttr::get(
          launch.getKernelModuleName(),
          FlatSymbolRefAttr::get(launch.getKernelModuleName())));
  });
}

namespace {
struct DescribeKernelsPass
    : moss::impl::MossDescribeKernelsBase<DescribeKernelsPass> {
  void runOnOperation() override {
    nameKernels(getOperation());
    SymbolTableCollection symbols;
    SmallVector<Attribute> kernels;
    Interfaces interfaces;
    getOperation().walk([&](gpu::LaunchFuncOp launch) {
      auto kernel = symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(
          launch, launch.getKernelAttr());
      if (kernel)
        kernels.push_back(LaunchDescriber(launch, kernel, interfaces).run());
    });
    getOperation()->setAttr(kKernelsAttrName,
                            ArrayAttr::get(&getContext(), kernels));
  }
};
} // namespace
