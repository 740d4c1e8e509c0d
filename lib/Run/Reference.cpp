//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program means without FP8, evaluated on the CPU.
//
//===----------------------------------------------------------------------===//

#include "moss/Run/Reference.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "moss/Run/ReferenceMatmul.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/Target.h"
#include <cmath>

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// Calls of the matrix multiplication
//===----------------------------------------------------------------------===//

/// A matrix of floats with any strides.
static MemRefType getMatrixType(MLIRContext *context) {
  int64_t dynamic = ShapedType::kDynamic;
  auto layout = StridedLayoutAttr::get(context, dynamic, {dynamic, dynamic});
  return MemRefType::get({dynamic, dynamic}, Float32Type::get(context), layout);
}

static func::FuncOp declareMatmul(ModuleOp module) {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<Type> types(7, getMatrixType(module.getContext()));
  auto callee = func::FuncOp::create(b, module.getLoc(), kReferenceMatmulName,
                                     b.getFunctionType(types, TypeRange()));
  callee.setPrivate();
  callee->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                  b.getUnitAttr());
  return callee;
}

/// Replace the sums of a matmul, which moss-error-bound marks, by a call. That
/// happens on tensors, so that no pass on linalg ops takes them for a loop.
static void callMatmul(linalg::GenericOp op, func::FuncOp callee) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  MemRefType matrix = getMatrixType(op.getContext());
  SmallVector<Value> operands, results;
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    Value buffer = bufferization::ToBufferOp::create(
        b, matrix.clone(type.getShape()), input, /*read_only=*/true);
    operands.push_back(memref::CastOp::create(b, matrix, buffer));
  }
  for (auto [init, result] :
       llvm::zip_equal(op.getOutputs(), op.getResults())) {
    auto type = cast<RankedTensorType>(init.getType());
    SmallVector<Value> extents;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (type.isDynamicDim(i))
        extents.push_back(tensor::DimOp::create(b, init, i));
    Value buffer = memref::AllocOp::create(
        b, MemRefType::get(type.getShape(), type.getElementType()), extents);
    operands.push_back(memref::CastOp::create(b, matrix, buffer));
    results.push_back(buffer);
  }
  func::CallOp::create(b, callee, operands);
  for (auto [buffer, result] : llvm::zip_equal(results, op.getResults()))
    result.replaceAllUsesWith(bufferization::ToTensorOp::create(
        b, result.getType(), buffer, /*restrict=*/true, /*writable=*/true));
  op.erase();
}

static void callMatmuls(ModuleOp module) {
  SmallVector<linalg::GenericOp> sums;
  module.walk([&](linalg::GenericOp op) {
    if (op.getLibraryCall() == kReferenceMatmulName)
      sums.push_back(op);
  });
  if (sums.empty())
    return;
  module.getContext()
      ->loadDialect<bufferization::BufferizationDialect, memref::MemRefDialect,
                    tensor::TensorDialect>();
  func::FuncOp callee = declareMatmul(module);
  for (linalg::GenericOp op : sums)
    callMatmul(op, callee);
}

//===----------------------------------------------------------------------===//
// Derivation
//===----------------------------------------------------------------------===//

/// Whether quantized matmuls are summed as Hopper's matrix unit does.
static bool usesMatrixUnit(const FP8LowerOptions &lowering) {
  FailureOr<TargetInfo> target = lookupTarget(lowering.target);
  return (succeeded(target) && target->kind == TargetKind::SM90a) ||
         lowering.arithmetic == MmaArithmetic::Emulate;
}

/// The tolerance when there is no bound.
static double getDefaultTolerance(ModuleOp quantized) {
  double unit = 0, count = 0;
  quantized.walk([&](ScaledMatmulOp op) {
    for (SchemeAttr scheme : {op.getLhsScheme(), op.getRhsScheme()}) {
      if (!scheme.isQuantized())
        continue;
      ++count;
      unit = std::max(
          unit, isa<Float8E5M2Type>(scheme.getElementType()) ? 0x1p-3 : 0x1p-4);
    }
  });
  // Programs without FP8 round to BF16.
  return count == 0 ? 0x1p-7 : unit * std::sqrt(count);
}

static SmallVector<std::string> getStrings(Operation *op, StringRef name) {
  SmallVector<std::string> strings;
  if (auto array = op->getAttrOfType<ArrayAttr>(name))
    for (auto string : array.getAsRange<StringAttr>())
      strings.push_back(string.str());
  return strings;
}

std::unique_ptr<Reference> Reference::create(func::FuncOp entry,
                                             const FP8LowerOptions &lowering) {
  FailureOr<OwningOpRef<ModuleOp>> copy = inlineCalls(entry);
  if (failed(copy))
    return nullptr;
  MLIRContext *context = entry.getContext();
  auto report = [&](const Twine &message) {
    return emitError(entry.getLoc()) << message;
  };
  FP8LowerOptions quantize;
  quantize.copyOptionValuesFrom(lowering);
  quantize.to = "quantized";
  quantize.cInterface = false;
  quantize.warnUnquantized = false;
  PassManager quantization(context);
  if (failed(buildFP8LowerPipeline(quantization, quantize, report)) ||
      failed(quantization.run(**copy)))
    return nullptr;
  std::unique_ptr<Reference> reference(new Reference());
  reference->tolerance = getDefaultTolerance(**copy);
  PassManager derivation(context);
  MossErrorBoundOptions options;
  options.matrixUnit = usesMatrixUnit(lowering);
  options.estimate = true;
  derivation.addNestedPass<func::FuncOp>(createMossElementwiseToLinalg());
  derivation.addNestedPass<func::FuncOp>(createMossErrorBound(options));
  derivation.addPass(createCanonicalizerPass());
  derivation.addPass(createCSEPass());
  if (failed(derivation.run(**copy)))
    return nullptr;
  auto func = (*copy)->lookupSymbol<func::FuncOp>(entry.getName());
  reference->operandNames = getStrings(func, "moss.quantized_operands");
  reference->unboundedOps = getStrings(func, "moss.unbounded_ops");
  callMatmuls(**copy);
  CompileOptions compile;
  compile.lowering.target = "cpu";
  compile.cpu = "native";
  reference->executable =
      Executable::create(std::move(*copy), entry.getName(), compile);
  return reference->executable ? std::move(reference) : nullptr;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

FailureOr<ReferenceResults>
Reference::evaluate(ArrayRef<HostArray> arguments,
                    ArrayRef<HostArray> programResults) {
  ReferenceResults results;
  for (const HostArray &result : programResults) {
    ElementKind kind = isFloat(result.kind) ? ElementKind::F32 : result.kind;
    results.values.emplace_back(kind, result.shape);
    results.bounds.emplace_back(ElementKind::F32, result.shape);
    results.estimates.emplace_back(ElementKind::F32, result.shape);
  }
  SmallVector<HostArray> counts(operandNames.size(),
                                HostArray(ElementKind::I64, {2}));
  SmallVector<ArrayPointer> parameters;
  for (const HostArray &argument : arguments)
    parameters.push_back(
        {const_cast<char *>(argument.bytes.data()), argument.shape});
  for (SmallVector<HostArray> *group :
       {&results.values, &results.bounds, &results.estimates, &counts})
    for (HostArray &array : *group)
      parameters.push_back({array.bytes.data(), array.shape});
  if (failed(executable->call(parameters, /*stream=*/nullptr)))
    return failure();
  for (auto [name, count] : llvm::zip_equal(operandNames, counts))
    results.flushCounts.push_back({name, static_cast<int64_t>(count.get(0)),
                                   static_cast<int64_t>(count.get(1))});
  return results;
}
