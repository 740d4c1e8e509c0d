//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pipeline moss-fp8-lower and its options, for programs that build their
// own pass pipelines.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_PIPELINES_FP8LOWER_H
#define MOSS_PIPELINES_FP8LOWER_H

#include "mlir/Pass/PassOptions.h"
#include "moss/CPU/Pipeline.h"

namespace mlir::moss {

struct FP8LowerOptions : PassPipelineOptions<FP8LowerOptions> {
  PassOptions::Option<std::string> target{
      *this, "target",
      llvm::cl::desc("Machine to compile for: sm_90a (Hopper) or cpu"),
      llvm::cl::init("sm_90a")};
  PassOptions::Option<std::string> to{
      *this, "to",
      llvm::cl::desc(
          "Level to stop at: quantized (moss.quantize and moss.scaled_matmul "
          "on "
          "tensors), loops (tiled loops with dequantization inside the K "
          "loop), "
          "hoisted (with dequantization moved out), kernel (sm_90a: kernels "
          "with channels and warp roles), nvvm (sm_90a: kernels in the NVVM "
          "dialect, host code in LLVM's), ptx (sm_90a: gpu.binary with PTX, "
          "and "
          "host code that launches it; the default), cubin (the same, "
          "assembled "
          "by CUDA's ptxas), llvm (cpu: the LLVM dialect; the default)")};
  PassOptions::Option<std::string> scheme{
      *this, "scheme",
      llvm::cl::desc(
          "Scaling scheme: 'two-level' (left operand: a power-of-two "
          "micro scale per row under a just-in-time global scale; "
          "right operand: one FP32 scale), 'per-tensor', 'per-tensor-delayed' "
          "(from amax values of earlier calls), 'per-group' (FP32 "
          "scales for 1 x 128 of the left and 128 x 128 of the right operand), "
          "'per-group-1x128', 'mx' (powers of two for 1 x 32), or 'bf16' (no "
          "quantization)"),
      llvm::cl::init("two-level")};
  PassOptions::Option<std::string> lhsScheme{
      *this, "lhs-scheme",
      llvm::cl::desc("Scheme of the left operand instead: 'rows', 'mx', "
                     "'group', 'block', 'tensor', 'bf16', or a #moss.scheme "
                     "attribute in quotes")};
  PassOptions::Option<std::string> rhsScheme{
      *this, "rhs-scheme",
      llvm::cl::desc("Scheme of the right operand instead, likewise")};
  PassOptions::Option<std::string> lhsGroup{
      *this, "lhs-group",
      llvm::cl::desc(
          "Micro group of the left operand [M, K] as 'outer,k', each "
          "a positive integer or 'full'")};
  PassOptions::Option<std::string> rhsGroup{
      *this, "rhs-group",
      llvm::cl::desc("Micro group of the right operand [N, K], likewise")};
  PassOptions::Option<std::string> lhsFormat{
      *this, "lhs-format",
      llvm::cl::desc(
          "Payload of the left operand: 'e4m3' (default) or 'e5m2'")};
  PassOptions::Option<std::string> rhsFormat{
      *this, "rhs-format",
      llvm::cl::desc("Payload of the right operand, likewise")};
  PassOptions::Option<std::string> global{
      *this, "global",
      llvm::cl::desc(
          "Global scale: 'jit' (from the tensor's largest magnitude; the "
          "default for 'rows' and 'tensor'), 'delayed' (from those of earlier "
          "calls) or 'unit' (1; the default for 'mx', 'group' and 'block')")};
  PassOptions::Option<int64_t> amaxHistory{
      *this, "amax-history",
      llvm::cl::desc("Delayed scales: calls of which the amax is kept"),
      llvm::cl::init(16)};
  PassOptions::Option<std::string> amaxAlgorithm{
      *this, "amax-algorithm",
      llvm::cl::desc("Delayed scales: the amax that counts, 'max' (the largest "
                     "that is kept) or 'most_recent'"),
      llvm::cl::init("max")};
  PassOptions::Option<int64_t> margin{
      *this, "margin",
      llvm::cl::desc("Delayed scales: powers of two between that amax and the "
                     "largest value of the format"),
      llvm::cl::init(0)};
  PassOptions::Option<std::string> rounding{
      *this, "rounding",
      llvm::cl::desc("Rounding of micro exponents: 'ceil' (never saturates), "
                     "'nearest' or 'floor'"),
      llvm::cl::init("ceil")};
  PassOptions::Option<std::string> accumulate{
      *this, "accumulate",
      llvm::cl::desc(
          "'promoted' (default for FP8): add partial sums into FP32 registers; "
          "'fast' (default for bf16): keep the whole sum in the matrix unit, "
          "which holds 13 fraction bits for FP8")};
  PassOptions::Option<int64_t> promoteInterval{
      *this, "promote-interval",
      llvm::cl::desc("Elements of K in a partial sum, a multiple of 32"),
      llvm::cl::init(128)};
  PassOptions::Option<bool> warnUnquantized{
      *this, "warn-unquantized",
      llvm::cl::desc("Warn if there are matmuls, and none becomes FP8 (default "
                     "of moss-compile and moss-run: true)"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> migrateScales{
      *this, "migrate-scales",
      llvm::cl::desc("Multiply with bytes that were quantized along the other "
                     "dimension, and their micro scales in the other operand, "
                     "which changes what is rounded"),
      llvm::cl::init(false)};
  PassOptions::Option<bool> allowReassociation{
      *this, "allow-reassociation",
      llvm::cl::desc("Also hoist scales that are not powers of two, which "
                     "changes rounding"),
      llvm::cl::init(false)};
  PassOptions::Option<MmaArithmetic> arithmetic{
      *this, "arithmetic", llvm::cl::desc("cpu: how products are summed"),
      llvm::cl::init(MmaArithmetic::Fp32),
      llvm::cl::values(clEnumValN(MmaArithmetic::Fp32, "fp32", "In FP32"),
                       clEnumValN(MmaArithmetic::Emulate, "emulate",
                                  "To the bit as Hopper's matrix unit does"))};
  PassOptions::ListOption<int64_t> tile{
      *this, "tile", llvm::cl::desc("Schedule: tile extents M,N,K")};
  PassOptions::Option<int64_t> stages{
      *this, "stages",
      llvm::cl::desc("Schedule: slots of the shared-memory ring (0: as many as "
                     "fit)"),
      llvm::cl::init(0)};
  PassOptions::Option<int64_t> consumers{
      *this, "consumers",
      llvm::cl::desc("Schedule: consumer warpgroups (0: chosen)"),
      llvm::cl::init(0)};
  PassOptions::Option<int64_t> raster{
      *this, "raster",
      llvm::cl::desc("Schedule: tiles along M visited before the next column "
                     "(0: chosen)"),
      llvm::cl::init(0)};
  PassOptions::Option<int64_t> blocks{
      *this, "blocks",
      llvm::cl::desc("Schedule: most thread blocks of the grid (0: one a "
                     "multiprocessor)"),
      llvm::cl::init(0)};
  PassOptions::Option<std::string> features{
      *this, "features",
      llvm::cl::desc("sm_90a: the PTX version to emit, as an LLVM feature, "
                     "+ptx80 or newer"),
      llvm::cl::init("+ptx80")};
  PassOptions::Option<unsigned> optLevel{
      *this, "opt-level",
      llvm::cl::desc("sm_90a: level of optimization of kernels by LLVM and the "
                     "PTX assembler, 0 to 3"),
      llvm::cl::init(3)};
  PassOptions::Option<bool> cInterface{
      *this, "c-interface",
      llvm::cl::desc("Give public functions a C interface: results go to "
                     "memory of the caller, and errors are return codes"),
      llvm::cl::init(false)};
  PassOptions::Option<std::string> prefix{
      *this, "prefix",
      llvm::cl::desc("c-interface: what to put before the names of C "
                     "functions")};
};

/// The path of CUDA's ptxas, which gpu-module-to-binary looks for in the
/// toolkit that $CUDA_ROOT, $CUDA_HOME or $CUDA_PATH names, and in PATH.
std::optional<std::string> findPtxas();

/// Whether a scheme among the options has a delayed global scale.
bool asksForDelayedScales(const FP8LowerOptions &options);

/// Add the passes that lower linalg with BF16 matmuls to the level and for the
/// target that \p options name. Options that are wrong, or have no effect, are
/// reported to \p errorHandler, whose result is returned.
LogicalResult
buildFP8LowerPipeline(OpPassManager &pm, const FP8LowerOptions &options,
                      function_ref<LogicalResult(const Twine &)> errorHandler);

} // namespace mlir::moss

#endif // MOSS_PIPELINES_FP8LOWER_H
