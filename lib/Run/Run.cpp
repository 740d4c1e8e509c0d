//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run: arguments, compilation, calls, comparison.
//
//===----------------------------------------------------------------------===//

#include "moss/Run/Run.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "moss/Run/Memory.h"
#include "moss/Run/Npy.h"
#include "moss/Transforms/CInterface.h"
#include "moss/Transforms/Target.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace mlir::moss;

namespace {
/// One run, step by step.
class Run {
public:
  Run(ModuleOp program, CompileOptions &compile, const RunOptions &options)
      : program(program), compile(compile), options(options) {}

  FailureOr<Report> run();

private:
  LogicalResult addState();
  LogicalResult prepare();
  LogicalResult resolveFiles(const std::vector<std::string> &requests,
                             StringRef option, SmallVector<std::string> &files);
  LogicalResult createResults();
  LogicalResult execute();
  LogicalResult compareResults();
  LogicalResult compareResult(unsigned number,
                              const ReferenceResults *reference);
  LogicalResult writeOutputs();

  LogicalResult fail(const Twine &message) {
    return emitError(func ? func.getLoc() : program.getLoc()) << message;
  }

  ModuleOp program;
  /// The program, if it had to be changed.
  OwningOpRef<ModuleOp> withState;
  CompileOptions &compile;
  const RunOptions &options;
  func::FuncOp func;
  Arguments arguments;
  SmallVector<HostArray> results;
  /// Files by the number of the result, or empty.
  SmallVector<std::string> outputs, expected;
  Report report;
};
} // namespace

//===----------------------------------------------------------------------===//
// Preparation
//===----------------------------------------------------------------------===//

LogicalResult Run::resolveFiles(const std::vector<std::string> &requests,
                                StringRef option,
                                SmallVector<std::string> &files) {
  files.resize(func.getNumResults());
  for (StringRef request : requests) {
    auto [name, file] = request.split('=');
    std::string *slot = files.end();
    if (file.empty()) {
      file = request;
      slot = llvm::find_if(files, [](StringRef f) { return f.empty(); });
    }
    for (unsigned i = 0; slot == files.end() && i < files.size(); ++i)
      if (file != request && name == getResultName(func, i))
        slot = &files[i];
    if (slot == files.end())
      return fail("--" + option + ": '" + func.getName() +
                  "' has no result for '" + request + "'");
    *slot = file.str();
  }
  return success();
}

/// Let delayed scales be arguments and results of the program before it is run,
/// as they are of what is compiled.
LogicalResult Run::addState() {
  WalkResult isDelayed = program.walk([](QuantizeOp op) {
    return op.getScheme().getGlobal() == GlobalScale::Delayed
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (!asksForDelayedScales(compile.lowering) && !isDelayed.wasInterrupted())
    return success();
  FP8LowerOptions quantize;
  quantize.copyOptionValuesFrom(compile.lowering);
  quantize.to = "quantized";
  PassManager quantization(program.getContext());
  auto report = [&](const Twine &message) { return fail(message); };
  withState = program.clone();
  if (failed(buildFP8LowerPipeline(quantization, quantize, report)) ||
      failed(quantization.run(*withState)))
    return failure();
  auto changed = withState->lookupSymbol<func::FuncOp>(func.getName());
  for (unsigned number = func.getNumArguments();
       number < changed.getNumArguments(); ++number)
    if (!changed.getArgAttr(number, kInitialAttrName))
      return failForWeights(program.getLoc(), func.getName());
  program = *withState;
  func = changed;
  return success();
}

LogicalResult Run::prepare() {
  FailureOr<func::FuncOp> entry = findEntry(program, options.entry);
  if (failed(entry))
    return failure();
  func = *entry;
  if (failed(addState()))
    return failure();
  if (failed(resolveFiles(options.outputs, "output", outputs)) ||
      failed(resolveFiles(options.expected, "expected", expected)))
    return failure();
  llvm::Expected<Arguments> created = createArguments(func, options.arguments);
  if (!created)
    return fail(llvm::toString(created.takeError()));
  arguments = std::move(*created);
  report.function = func.getName().str();
  report.target = compile.lowering.target;
  for (auto [name, type, origin] : llvm::zip_equal(
           arguments.names, func.getArgumentTypes(), arguments.origins))
    report.arguments.push_back({name, llvm::formatv("{0}", type), origin});
  return createResults();
}

/// Memory for the results, whose shapes follow from those of the arguments.
LogicalResult Run::createResults() {
  SmallVector<SmallVector<int64_t>> argumentShapes;
  for (const HostArray &argument : arguments.arrays)
    argumentShapes.push_back(argument.shape);
  FailureOr<ProgramShapes> shapes =
      inferShapes(func, argumentShapes, compile.lowering);
  if (failed(shapes))
    return failure();
  report.operations = shapes->operations;
  for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
    std::string name = getResultName(func, i);
    SmallVector<int64_t> shape =
        arguments.resultShapes[i].value_or(shapes->results[i]);
    if (ShapedType::isDynamicShape(shape))
      return fail("the shape of '" + name + "', [" + formatShape(shape) +
                  "], does not follow from those of the arguments; give it, as "
                  "--size " +
                  name + "=128x64");
    results.emplace_back(*getElementKind(getElementTypeOrSelf(type)), shape);
    report.results.push_back({name, llvm::formatv("{0}", type), std::nullopt});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

LogicalResult Run::execute() {
  // An unknown target has failed when shapes were derived.
  FailureOr<TargetInfo> target = lookupTarget(compile.lowering.target);
  bool onDevice =
      target->kind != TargetKind::CPU && !func->hasAttr(kHostAttrName);
  options.progress("compiling for " + target->name);
  std::unique_ptr<Executable> executable = Executable::create(
      OwningOpRef<ModuleOp>(program.clone()), func.getName(), compile);
  if (!executable)
    return failure();
  SmallVector<HostArray> arrays = arguments.arrays;
  llvm::append_range(arrays, results);
  SmallVector<bool> isScalar;
  for (TypeRange types :
       {TypeRange(func.getArgumentTypes()), TypeRange(func.getResultTypes())})
    for (Type type : types)
      isScalar.push_back(!isa<RankedTensorType>(type));
  TargetArrays memory(arrays, isScalar, onDevice);
  options.progress("running");
  if (failed(executable->call(memory.getParameters(), /*stream=*/nullptr)))
    return failure();
  for (unsigned i = 0; i < results.size(); ++i) {
    unsigned number = arguments.arrays.size() + i;
    memory.fetch(number);
    results[i] = arrays[number];
  }
  if (options.benchmarkCalls == 0)
    return success();
  unsigned total = options.benchmarkCalls + options.warmUpCalls;
  FailureOr<Timing> timing = benchmark(
      *executable, memory.getParameters(), onDevice, options.benchmarkCalls,
      options.warmUpCalls, [&](unsigned calls) {
        options.progress("timing: " + Twine(calls) + " of " + Twine(total));
      });
  if (failed(timing))
    return failure();
  report.timing = *timing;
  return success();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

LogicalResult Run::compareResult(unsigned number,
                                 const ReferenceResults *reference) {
  HostArray wanted;
  if (!expected[number].empty()) {
    llvm::Expected<HostArray> read = readNpy(
        expected[number], isFloat(results[number].kind) ? ElementKind::F64
                                                        : results[number].kind);
    if (!read)
      return fail(llvm::toString(read.takeError()));
    if (read->shape != results[number].shape)
      return fail("'" + expected[number] + "' has the shape [" +
                  formatShape(read->shape) + "], but the result has [" +
                  formatShape(results[number].shape) + "]");
    wanted = std::move(*read);
  } else if (reference) {
    wanted = reference->values[number];
  } else {
    return success();
  }
  report.results[number].comparison = compare(
      results[number], wanted, reference ? &reference->bounds[number] : nullptr,
      reference ? &reference->estimates[number] : nullptr, options.boundScale);
  return success();
}

LogicalResult Run::compareResults() {
  std::unique_ptr<Reference> reference;
  FailureOr<ReferenceResults> values = failure();
  // What independent roundings of both operands of a matmul to E4M3 come to.
  report.tolerance = 0x1p-4 * 1.5;
  if (options.hasReference) {
    options.progress("compiling the reference");
    reference = Reference::create(func, compile.lowering);
    if (!reference)
      return failure();
    options.progress("computing the reference");
    values = reference->evaluate(arguments.arrays, results);
    if (failed(values))
      return failure();
    report.tolerance = reference->getTolerance();
    report.flushCounts = values->flushCounts;
    report.unboundedOps.append(reference->getUnboundedOps().begin(),
                               reference->getUnboundedOps().end());
  }
  if (options.tolerance) {
    report.tolerance = *options.tolerance;
    report.isToleranceSet = true;
  }
  options.progress("comparing");
  for (unsigned i = 0; i < results.size(); ++i)
    if (failed(compareResult(i, reference ? &*values : nullptr)))
      return failure();
  return success();
}

LogicalResult Run::writeOutputs() {
  SmallVector<std::unique_ptr<llvm::ToolOutputFile>> files;
  for (auto [file, result] : llvm::zip_equal(outputs, results)) {
    if (file.empty())
      continue;
    std::string error;
    files.push_back(openOutputFile(file, &error));
    if (!files.back())
      return fail(error);
    writeNpy(files.back()->os(), result);
    files.back()->os().flush();
    if (files.back()->os().has_error()) {
      std::string message = files.back()->os().error().message();
      files.back()->os().clear_error();
      return fail("cannot write '" + file + "': " + message);
    }
  }
  for (std::unique_ptr<llvm::ToolOutputFile> &file : files)
    file->keep();
  return success();
}

FailureOr<Report> Run::run() {
  if (failed(prepare()) || failed(execute()) || failed(compareResults()) ||
      failed(writeOutputs()))
    return failure();
  return std::move(report);
}

FailureOr<Report> moss::runProgram(ModuleOp program, CompileOptions &compile,
                                   const RunOptions &options) {
  return Run(program, compile, options).run();
}
