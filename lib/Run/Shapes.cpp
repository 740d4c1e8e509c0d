//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which function of a program runs, and the shapes of its results.
//
//===----------------------------------------------------------------------===//

#include "mlir/Analysis/CallGraph.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "moss/IR/Moss.h"
#include "moss/Run/Executable.h"
#include "llvm/ADT/SCCIterator.h"

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Whether moss-run can make and compare values of a type.
static bool isRunnable(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return !tensor.getEncoding() &&
           getElementKind(tensor.getElementType()).has_value();
  return getElementKind(type).has_value();
}

static LogicalResult checkRunnable(func::FuncOp func) {
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (!isRunnable(type))
      return func.emitError()
             << "argument " << i << " of '" << func.getName() << "' is " << type
             << ", and only tensors and scalars can be made";
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (!isRunnable(type))
      return func.emitError()
             << "result " << i << " of '" << func.getName() << "' is " << type
             << ", and only tensors and scalars can be compared";
  return success();
}

FailureOr<func::FuncOp> moss::findEntry(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> candidates;
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal() &&
        (name.empty() || func.getName() == name))
      candidates.push_back(func);
  if (candidates.size() == 1) {
    if (failed(checkRunnable(candidates.front())))
      return failure();
    return candidates.front();
  }
  std::string names;
  llvm::raw_string_ostream os(names);
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      os << (names.empty() ? "" : ", ") << func.getName();
  InFlightDiagnostic error = emitError(module.getLoc());
  if (!name.empty())
    error << "there is no public function '" << name << "' with a body";
  else if (candidates.empty())
    error << "there is no public function with a body";
  else
    error << "there are several public functions; choose one with --entry";
  if (!names.empty())
    error << " (there is: " << names << ")";
  return failure();
}

/// Functions that call themselves would be inlined without an end.
static LogicalResult checkRecursion(ModuleOp module) {
  const CallGraph graph(module);
  for (auto it = llvm::scc_begin(&graph); !it.isAtEnd(); ++it) {
    if (!it.hasCycle())
      continue;
    Operation *callable = it->front()->getCallableRegion()->getParentOp();
    return callable->emitError()
           << "'" << SymbolTable::getSymbolName(callable).getValue()
           << "' calls itself, directly or through others; moss-run inlines "
              "calls, and runs no recursive functions";
  }
  return success();
}

FailureOr<OwningOpRef<ModuleOp>> moss::inlineCalls(func::FuncOp entry) {
  OwningOpRef<ModuleOp> copy(
      cast<ModuleOp>(entry->getParentOfType<ModuleOp>()->clone()));
  for (auto func : copy->getOps<func::FuncOp>())
    if (func.getName() != entry.getName())
      func.setPrivate();
  PassManager cleaner(entry.getContext()), inliner(entry.getContext());
  cleaner.addPass(createSymbolDCEPass());
  inliner.addPass(createInlinerPass());
  inliner.addPass(createSymbolDCEPass());
  if (failed(cleaner.run(*copy)) || failed(checkRecursion(*copy)) ||
      failed(inliner.run(*copy)))
    return failure();
  return copy;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// Give the tensor arguments of a function static shapes.
static void specialize(func::FuncOp func,
                       ArrayRef<SmallVector<int64_t>> shapes) {
  // A program without ops on tensors has not loaded it.
  func.getContext()->loadDialect<tensor::TensorDialect>();
  OpBuilder builder(func.getBody());
  for (auto [argument, shape] : llvm::zip_equal(func.getArguments(), shapes)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.hasStaticShape())
      continue;
    argument.setType(RankedTensorType::get(shape, type.getElementType()));
    auto cast =
        tensor::CastOp::create(builder, argument.getLoc(), type, argument);
    argument.replaceAllUsesExcept(cast, cast);
  }
  func.setType(builder.getFunctionType(func.getBody().getArgumentTypes(),
                                       func.getResultTypes()));
}

/// The extent of a tensor, or kDynamic if it does not follow from shapes.
static int64_t inferExtent(Value tensor, int64_t dim) {
  FailureOr<int64_t> extent = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::EQ, {tensor, dim});
  return succeeded(extent) ? *extent : ShapedType::kDynamic;
}

/// The same of a result, which all returns must agree on.
static int64_t inferResultExtent(func::FuncOp func, unsigned result,
                                 int64_t dim) {
  std::optional<int64_t> extent;
  for (auto op : func.getOps<func::ReturnOp>()) {
    int64_t returned = inferExtent(op.getOperand(result), dim);
    if (extent && *extent != returned)
      return ShapedType::kDynamic;
    extent = returned;
  }
  return extent.value_or(ShapedType::kDynamic);
}

static std::optional<double> countOperations(func::FuncOp func) {
  double total = 0;
  bool isKnown = true;
  func.walk([&](ScaledMatmulOp op) {
    double operations = 2;
    for (auto [tensor, dim] : {std::pair<Value, int64_t>{op.getLhs(), 0},
                               {op.getRhs(), 0},
                               {op.getLhs(), 1}}) {
      int64_t extent = inferExtent(tensor, dim);
      isKnown &= !ShapedType::isDynamic(extent);
      operations *= static_cast<double>(extent);
    }
    isKnown &= op->getParentOp() == func;
    total += operations;
  });
  return isKnown ? std::optional(total) : std::nullopt;
}

FailureOr<ProgramShapes>
moss::inferShapes(func::FuncOp entry,
                  ArrayRef<SmallVector<int64_t>> argumentShapes,
                  const FP8LowerOptions &lowering) {
  FailureOr<OwningOpRef<ModuleOp>> copy = inlineCalls(entry);
  if (failed(copy))
    return failure();
  auto func = (*copy)->lookupSymbol<func::FuncOp>(entry.getName());
  specialize(func, argumentShapes);
  FP8LowerOptions quantize;
  quantize.copyOptionValuesFrom(lowering);
  quantize.to = "quantized";
  quantize.cInterface = false;
  quantize.warnUnquantized = false;
  PassManager pm(entry.getContext());
  auto report = [&](const Twine &message) {
    return emitError(entry.getLoc()) << message;
  };
  if (failed(buildFP8LowerPipeline(pm, quantize, report)) ||
      failed(pm.run(**copy)))
    return failure();
  ProgramShapes shapes;
  for (auto [i, resultType] : llvm::enumerate(func.getResultTypes())) {
    shapes.results.emplace_back();
    auto type = dyn_cast<RankedTensorType>(resultType);
    for (int64_t dim = 0; type && dim < type.getRank(); ++dim)
      shapes.results.back().push_back(inferResultExtent(func, i, dim));
  }
  shapes.operations = countOperations(func);
  return shapes;
}
