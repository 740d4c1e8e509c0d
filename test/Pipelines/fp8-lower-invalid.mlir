// DEFINE: %{options} =
// DEFINE: %{prefix} =
// DEFINE: %{fails} = not moss-opt %s --moss-fp8-lower=%{options} 2>&1 | FileCheck %s --check-prefix=%{prefix}

// Options that would have no effect.
// RUN: not moss-opt %s --moss-fp8-lower="arithmetic=emulate" 2>&1 | FileCheck %s --check-prefix=ARITHMETIC
// ARITHMETIC: option 'arithmetic' has no effect on target sm_90a
// RUN: not moss-opt %s --moss-fp8-lower="target=cpu stages=3" 2>&1 | FileCheck %s --check-prefix=CPU-STAGES
// CPU-STAGES: option 'stages' has no effect on target cpu
// RUN: not moss-opt %s --moss-fp8-lower="accumulate=fast promote-interval=64" 2>&1 | FileCheck %s --check-prefix=FAST-INTERVAL
// RUN: not moss-opt %s --moss-fp8-lower="scheme=bf16 promote-interval=64" 2>&1 | FileCheck %s --check-prefix=FAST-INTERVAL
// FAST-INTERVAL: option 'promote-interval' has no effect with accumulate=fast

// Targets and levels.
// REDEFINE: %{options} = target=sm_80
// REDEFINE: %{prefix} = TARGET
// RUN: %{fails}
// TARGET: moss-fp8-lower: unknown target 'sm_80', expected 'sm_90a' or 'cpu'
// REDEFINE: %{options} = 'target=cpu to=kernel'
// REDEFINE: %{prefix} = CPU-LEVEL
// RUN: %{fails}
// CPU-LEVEL: moss-fp8-lower: target cpu has no level 'kernel': it stops at quantized, loops, hoisted or llvm
// REDEFINE: %{options} = to=llvm
// REDEFINE: %{prefix} = GPU-LEVEL
// RUN: %{fails}
// GPU-LEVEL: target sm_90a has no level 'llvm': it stops at quantized, loops, hoisted, kernel, nvvm, ptx or cubin
// REDEFINE: %{options} = features=+ptx78
// REDEFINE: %{prefix} = FEATURES
// RUN: %{fails}
// FEATURES: option 'features' must be a PTX version from +ptx80 on, but is '+ptx78'

// Schemes.
// REDEFINE: %{options} = scheme=three-level
// REDEFINE: %{prefix} = SCHEME
// RUN: %{fails}
// SCHEME: option 'scheme' must be one of 'two-level', 'per-tensor', {{.*}}, but is 'three-level'
// REDEFINE: %{options} = 'lhs-scheme="#moss.scheme<f8E4M3FN, micro>"'
// REDEFINE: %{prefix} = MALFORMED
// RUN: %{fails}
// MALFORMED: option 'lhs-scheme' is not a valid attribute: '#moss.scheme<f8E4M3FN, micro>'
// REDEFINE: %{options} = lhs-scheme=columns
// REDEFINE: %{prefix} = NAME
// RUN: %{fails}
// NAME: option 'lhs-scheme' must be 'rows', 'mx', 'group', 'block', 'tensor', 'bf16' or a #moss.scheme attribute, but is 'columns'
// REDEFINE: %{options} = lhs-group=1,100
// REDEFINE: %{prefix} = GROUP
// RUN: %{fails}
// GROUP: a group's extent along K must be 'full' or a multiple of 16, but is 100
// REDEFINE: %{options} = lhs-group=1,16
// REDEFINE: %{prefix} = HALF-STEP
// RUN: %{fails}
// HALF-STEP: error: 'moss.scaled_matmul' op has micro groups of 16 elements along K, but the matrix unit of sm_90a takes steps of 32; quantize with multiples of it, or for target 'cpu'
// REDEFINE: %{options} = lhs-group=1,1024
// REDEFINE: %{prefix} = FIT
// RUN: %{fails}
// FIT: fp8-lower-invalid.mlir:{{[0-9]+}}:8: error: 'linalg.matmul' op the micro group of lhs scheme {{.*}} has an extent of 1024 along K, which is only 512

// Sums.
// REDEFINE: %{options} = accumulate=slow
// REDEFINE: %{prefix} = ACCUMULATE
// RUN: %{fails}
// ACCUMULATE: option 'accumulate' must be 'promoted' or 'fast', but is 'slow'
// REDEFINE: %{options} = promote-interval=100
// REDEFINE: %{prefix} = INTERVAL
// RUN: %{fails}
// INTERVAL: the promotion interval must be a positive multiple of 32, but got 100

// Schedules, at the op.
// REDEFINE: %{options} = 'tile=128,256,128 stages=9 accumulate=fast'
// REDEFINE: %{prefix} = SHARED
// RUN: %{fails}
// SHARED: fp8-lower-invalid.mlir:{{[0-9]+}}:8: error: 'moss.scaled_matmul' op the schedule needs {{[0-9]+}} bytes of shared memory, but sm_90a has 232448; use fewer stages or a smaller tile
// REDEFINE: %{options} = tile=256,256,64
// REDEFINE: %{prefix} = REGISTERS
// RUN: %{fails}
// REGISTERS: fp8-lower-invalid.mlir:{{[0-9]+}}:8: error: 'moss.scaled_matmul' op {{.*}} registers
// REDEFINE: %{options} = stages=-1
// REDEFINE: %{prefix} = STAGES
// RUN: %{fails}
// STAGES: option 'stages' must be positive, but is -1
// REDEFINE: %{options} = raster=3000000000
// REDEFINE: %{prefix} = RASTER
// RUN: %{fails}
// RASTER: option 'raster' must be below 2^31, but is 3000000000

// A CUDA without an assembler.
// RUN: mkdir -p %t.cuda/nvvm/libdevice
// RUN: echo "" | llvm-as -o %t.cuda/nvvm/libdevice/libdevice.10.bc
// RUN: not env PATH=%t.cuda CUDA_ROOT=%t.cuda %moss_build_dir/bin/moss-opt %s \
// RUN:   --moss-fp8-lower=to=cubin -mlir-print-op-on-diagnostic=false 2>&1 | FileCheck %s --check-prefix=PTXAS
// PTXAS: moss-fp8-lower: to=cubin needs CUDA's ptxas, which is neither in PATH nor in the bin folder of $CUDA_ROOT

func.func @matmul(%x: tensor<512x512xbf16>, %w: tensor<512x512xbf16>, %c: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<512x512xbf16>, tensor<512x512xbf16>) outs(%c : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %y : tensor<512x512xf32>
}
