//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline moss-fp8-lower: from linalg with BF16 matmuls to FP8 kernels and
// the host code that launches them, or to any level on the way.
//
//===----------------------------------------------------------------------===//

#include "moss/Pipelines/FP8Lower.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "mlir/Transforms/Passes.h"
#include "moss/GPU/HostPipeline.h"
#include "moss/GPU/Passes.h"
#include "moss/Pipelines/Pipelines.h"
#include "moss/Transforms/Passes.h"
#include "moss/Transforms/Target.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::moss;

namespace {

/// The level at which the pipeline stops, in the order of lowering.
enum class Level { Quantized, Loops, Hoisted, Kernel, NVVM, LLVM, PTX, Cubin };

} // namespace

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static void addQuantizePasses(OpPassManager &pm,
                              const FP8LowerOptions &options) {
  MossQuantizeOptions quantize;
  quantize.scheme = options.scheme;
  quantize.lhsScheme = options.lhsScheme;
  quantize.rhsScheme = options.rhsScheme;
  quantize.lhsGroup = options.lhsGroup;
  quantize.rhsGroup = options.rhsGroup;
  quantize.lhsFormat = options.lhsFormat;
  quantize.rhsFormat = options.rhsFormat;
  quantize.global = options.global;
  quantize.rounding = options.rounding;
  quantize.accumulate = options.accumulate;
  quantize.promoteInterval = options.promoteInterval;
  quantize.warnUnquantized = options.warnUnquantized;
  pm.addPass(createMossQuantize(quantize));
  if (options.migrateScales)
    pm.addPass(createMossMigrateScales());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createMossAutoScale());
  MossDelayScalesOptions delay;
  delay.amaxHistory = options.amaxHistory;
  delay.amaxAlgorithm = options.amaxAlgorithm;
  delay.margin = options.margin;
  pm.addPass(createMossDelayScales(delay));
  // Not earlier: predicted and delayed scales are arguments and results, too.
  if (options.cInterface) {
    MossResultsToArgumentsOptions results;
    results.prefix = options.prefix;
    pm.addPass(createMossResultsToArguments(results));
  }
  MossFuseQuantizeOptions fuse;
  fuse.transposed = options.target == "cpu";
  pm.addPass(createMossFuseQuantize(fuse));
}

/// Upstream's buildBufferDeallocationPipeline, which has no place for a pass
/// before its simplification.
static void addDeallocationPasses(OpPassManager &pm) {
  pm.addPass(memref::createExpandReallocPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createMossSplitDeallocs());
  pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  pm.addPass(bufferization::createLowerDeallocationsPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
}

static void addBufferizePasses(OpPassManager &pm) {
  // Elementwise ops on tensors have no bufferization of their own.
  pm.addNestedPass<func::FuncOp>(createMossElementwiseToLinalg());
  pm.addPass(createMossVerifyBufferizable());
  pm.addNestedPass<func::FuncOp>(createMossSeparateEmptyTensors());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  pm.addPass(bufferization::createEmptyTensorToAllocTensorPass());
  // The pass before merges blocks that are alike, as two returns are, and
  // bufferization fails on a branch whose successors are the same block. This
  // makes such a branch a choice.
  pm.addPass(createCanonicalizerPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  // A layer in a loop yields a new tensor each time.
  bufferize.allowReturnAllocsFromLoops = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  // An argument that is updated in a branch is the branch's result until then.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createMossDropReturnedArguments());
  pm.addNestedPass<func::FuncOp>(createMossPlaceAmax());
  addDeallocationPasses(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static void addTilePasses(OpPassManager &pm, const FP8LowerOptions &options) {
  MossChooseScheduleOptions schedule;
  schedule.target = options.target;
  schedule.tile.assign(options.tile.begin(), options.tile.end());
  schedule.stages = options.stages;
  schedule.consumers = options.consumers;
  schedule.raster = options.raster;
  schedule.blocks = options.blocks;
  pm.addPass(createMossAssertShapes());
  // After the assertions, whose messages name the op.
  pm.addPass(createMossShareOps());
  pm.addPass(createMossChooseSchedule(schedule));
  pm.addPass(createMossTileToLoops());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static void addHoistPasses(OpPassManager &pm, const FP8LowerOptions &options) {
  MossHoistDequantOptions hoist;
  hoist.allowReassociation = options.allowReassociation;
  pm.addPass(createMossHoistDequant(hoist));
  pm.addPass(createMossFuseAccumulator());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static void addCPUPasses(OpPassManager &pm, const FP8LowerOptions &options) {
  CPUPipelineOptions cpu;
  cpu.arithmetic = options.arithmetic.getValue();
  cpu.cInterface = options.cInterface;
  buildCPUPipeline(pm, cpu);
}

static void addGPUPasses(OpPassManager &pm, const FP8LowerOptions &options,
                         Level to) {
  // Not earlier: canonicalization takes a loop over one weight away, and the
  // host cannot do the work.
  pm.addPass(createMossExpandNextScale());
  pm.addPass(createMossQuantizeToGpu());
  addKernelPasses(pm);
  if (options.cInterface)
    pm.addPass(createMossDescribeKernels());
  if (to == Level::Kernel)
    return;
  addKernelToThreadsPasses(pm);
  HostPipelineOptions host;
  host.chip = options.target;
  host.features = options.features;
  host.optLevel = options.optLevel;
  host.cInterface = options.cInterface;
  host.format = to == Level::Cubin ? "bin" : "isa";
  addGPUToNVVMPasses(pm, host);
  pm.addPass(createMossVerifyLowered());
  if (to != Level::NVVM)
    addSerializePasses(pm, host);
}

//===----------------------------------------------------------------------===//
// Pipeline
//===----------------------------------------------------------------------===//

/// The level of the given name, if the target has it.
static std::optional<Level> lookupLevel(StringRef name, TargetKind target) {
  auto shared = llvm::StringSwitch<std::optional<Level>>(name)
                    .Case("quantized", Level::Quantized)
                    .Case("loops", Level::Loops)
                    .Case("hoisted", Level::Hoisted)
                    .Default(std::nullopt);
  if (shared)
    return shared;
  if (target == TargetKind::CPU)
    return name.empty() || name == "llvm" ? std::optional(Level::LLVM)
                                          : std::nullopt;
  return llvm::StringSwitch<std::optional<Level>>(name)
      .Case("kernel", Level::Kernel)
      .Case("nvvm", Level::NVVM)
      .Cases({"", "ptx"}, Level::PTX)
      .Case("cubin", Level::Cubin)
      .Default(std::nullopt);
}

/// Whether \p features name a PTX version that knows sm_90a, +ptx80 or newer.
static bool isUsablePTXVersion(StringRef features) {
  unsigned version;
  return features.consume_front("+ptx") &&
         !features.getAsInteger(/*Radix=*/10, version) && version >= 80;
}

std::optional<std::string> moss::findPtxas() {
  SmallVector<std::string> folders;
  for (const char *variable : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> root = llvm::sys::Process::GetEnv(variable))
      folders.push_back(*root + "/bin");
  folders.push_back(NVVM::getCUDAToolkitPath().str() + "/bin");
  SmallVector<StringRef> paths(folders.begin(), folders.end());
  for (ArrayRef<StringRef> where : {ArrayRef<StringRef>(paths), {}})
    if (auto found = llvm::sys::findProgramByName("ptxas", where))
      return *found;
  return std::nullopt;
}

bool moss::asksForDelayedScales(const FP8LowerOptions &options) {
  StringRef global = options.global;
  if (global == "delayed")
    return true;
  // Attributes say it themselves; of names the option decides, if it is given.
  StringRef schemes[] = {options.scheme, options.lhsScheme, options.rhsScheme};
  return llvm::any_of(schemes, [&](StringRef text) {
    return text.contains("delayed") &&
           (global.empty() || text.starts_with("#"));
  });
}

/// The option that was given but has no effect beside the others, and why; an
/// empty string if there is none.
static std::string findIneffectiveOption(const FP8LowerOptions &options,
                                         TargetKind target) {
  auto describe = [](StringRef name, StringRef why) {
    return ("option '" + name + "' has no effect " + why).str();
  };
  if (target == TargetKind::CPU) {
    for (auto [name, value] :
         {std::pair<StringRef, int64_t>{"stages", options.stages},
          {"consumers", options.consumers},
          {"raster", options.raster},
          {"blocks", options.blocks}})
      if (value != 0)
        return describe(name, "on target cpu, which has only tiles");
  } else if (options.arithmetic != MmaArithmetic::Fp32) {
    return describe("arithmetic", "on target sm_90a, which sums as its matrix "
                                  "unit does; it is for target=cpu");
  }
  if (!options.prefix.empty() && !options.cInterface)
    return describe("prefix", "without c-interface");
  for (auto [name, isGiven] :
       {std::pair<StringRef, bool>{"amax-history",
                                   options.amaxHistory.hasValue()},
        {"amax-algorithm", options.amaxAlgorithm.hasValue()},
        {"margin", options.margin.hasValue()}})
    if (isGiven && !asksForDelayedScales(options))
      return describe(name, "without a delayed scale, as in "
                            "scheme=per-tensor-delayed or global=delayed");
  bool isFast = options.accumulate == "fast" ||
                (options.accumulate.empty() && options.scheme == "bf16");
  if (isFast && options.promoteInterval.hasValue())
    return describe("promote-interval", "with accumulate=fast");
  return "";
}

LogicalResult moss::buildFP8LowerPipeline(
    OpPassManager &pm, const FP8LowerOptions &options,
    function_ref<LogicalResult(const Twine &)> errorHandler) {
  FailureOr<TargetInfo> target = lookupTarget(options.target);
  if (failed(target))
    return errorHandler("moss-fp8-lower: unknown target '" +
                        StringRef(options.target) + "', expected " +
                        getTargetNames());
  std::optional<Level> to = lookupLevel(options.to, target->kind);
  if (!to)
    return errorHandler(
        "moss-fp8-lower: target " + target->name + " has no level '" +
        StringRef(options.to) + "': it stops at " +
        (target->kind == TargetKind::CPU
             ? "quantized, loops, hoisted or llvm"
             : "quantized, loops, hoisted, kernel, nvvm, ptx or cubin"));
  if (std::string ineffective = findIneffectiveOption(options, target->kind);
      !ineffective.empty())
    return errorHandler("moss-fp8-lower: " + ineffective);
  if (!isUsablePTXVersion(options.features))
    return errorHandler("moss-fp8-lower: option 'features' must be a PTX "
                        "version from +ptx80 on, but is '" +
                        StringRef(options.features) + "'");
  if (options.optLevel > 3)
    return errorHandler("moss-fp8-lower: option 'opt-level' must be 0 to 3, "
                        "but is " +
                        Twine(options.optLevel));
  if (*to == Level::Cubin && !findPtxas())
    return errorHandler(
        "moss-fp8-lower: to=cubin needs CUDA's ptxas, which is neither in PATH "
        "nor in the bin folder of $CUDA_ROOT, $CUDA_HOME or $CUDA_PATH; to=ptx "
        "needs no CUDA, and the driver assembles its output");

  addQuantizePasses(pm, options);
  if (*to == Level::Quantized)
    return success();
  addBufferizePasses(pm);
  if (target->kind == TargetKind::SM90a) {
    pm.addPass(createMossPadOperands());
    pm.addPass(createMossArrangeScales());
  }
  addTilePasses(pm, options);
  if (*to == Level::Loops)
    return success();
  addHoistPasses(pm, options);
  if (*to == Level::Hoisted)
    return success();
  if (target->kind == TargetKind::CPU)
    addCPUPasses(pm, options);
  else
    addGPUPasses(pm, options, *to);
  return success();
}

void moss::registerFP8LowerPipeline() {
  // Not PassPipelineRegistration: its builder cannot report a wrong option.
  registerPassPipeline(
      "moss-fp8-lower",
      "Lower BF16 matmuls in linalg to FP8 kernels with two-level scaling",
      [](OpPassManager &pm, StringRef text,
         function_ref<LogicalResult(const Twine &)> errorHandler) {
        FP8LowerOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        return buildFP8LowerPipeline(pm, options, errorHandler);
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> handler) {
        handler(FP8LowerOptions());
      });
}
