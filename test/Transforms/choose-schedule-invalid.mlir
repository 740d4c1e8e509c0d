// Each run has one wrong option.
// RUN: not moss-opt --moss-choose-schedule="target=sm_80" %s 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: unknown target 'sm_80': expected 'sm_90a' or 'cpu'
// RUN: not moss-opt --moss-choose-schedule="tile=128,128" %s 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: option 'tile' takes three extents M,N,K, but got 2
// RUN: not moss-opt --moss-choose-schedule="tile=128,128,48" %s 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: error: option 'tile' takes positive extents, K 16 or a multiple of 32
// RUN: not moss-opt --moss-choose-schedule="tile=-128,128,64" %s 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: option 'tile' takes positive extents, K 16 or a multiple of 32
// RUN: not moss-opt --moss-choose-schedule="target=cpu tile=4294967296,32,32" %s 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: error: option 'tile' takes extents of at most 4096
// RUN: not moss-opt --moss-choose-schedule="stages=-1" %s 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: error: option 'stages' must be positive, but is -1
// RUN: not moss-opt --moss-choose-schedule="consumers=-1" %s 2>&1 | FileCheck %s --check-prefix=CONSUMERS
// CONSUMERS: error: option 'consumers' must be positive, but is -1
// RUN: not moss-opt --moss-choose-schedule="raster=-1" %s 2>&1 | FileCheck %s --check-prefix=RASTER
// RASTER: error: option 'raster' must be positive, but is -1
// RUN: not moss-opt --moss-choose-schedule="blocks=-1" %s 2>&1 | FileCheck %s --check-prefix=BLOCKS
// BLOCKS: error: option 'blocks' must be positive, but is -1

// Schedules that do not fit the target, by options.
// RUN: not moss-opt --moss-choose-schedule="stages=5" %s 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: error: 'moss.scaled_matmul' op the schedule needs 278608 bytes of shared memory, but sm_90a has 232448; use fewer stages or a smaller tile
// RUN: not moss-opt --moss-choose-schedule="tile=128,136,128" %s 2>&1 | FileCheck %s --check-prefix=N
// N: error: 'moss.scaled_matmul' op tile N = 136 must be a multiple of 64 and at most 256
// RUN: not moss-opt --moss-choose-schedule="tile=128,320,128" %s 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: error: 'moss.scaled_matmul' op tile N = 320 must be a multiple of 64 and at most 256
// RUN: not moss-opt --moss-choose-schedule="tile=96,128,128" %s 2>&1 | FileCheck %s --check-prefix=M
// M: error: 'moss.scaled_matmul' op tile M = 96 must be a multiple of 64 rows for each of the 2 consumers
// RUN: not moss-opt --moss-choose-schedule="tile=640,64,128" %s 2>&1 | FileCheck %s --check-prefix=TALL
// TALL: error: 'moss.scaled_matmul' op tile M = 640 gives each consumer more than 256 rows
// RUN: not moss-opt --moss-choose-schedule="tile=128,128,256" %s 2>&1 | FileCheck %s --check-prefix=K
// K: error: 'moss.scaled_matmul' op tile K = 256 gives rows of 256 bytes of 'f8E4M3FN', but shared-memory swizzles know rows of 32, 64 and 128
// RUN: not moss-opt --moss-choose-schedule="consumers=4 tile=256,64,128" %s 2>&1 | FileCheck %s --check-prefix=ROLES
// ROLES: error: 'moss.scaled_matmul' op 4 consumers do not fit a thread block: at most 3
// Extents whose products would not fit 64 bits.
// RUN: not moss-opt --moss-choose-schedule="consumers=4611686018427387904" %s 2>&1 | FileCheck %s --check-prefix=OVERFLOW
// OVERFLOW: error: option 'consumers' must be below 2^31, but is 4611686018427387904
// RUN: not moss-opt --moss-choose-schedule="stages=1152921504606846976" %s 2>&1 | FileCheck %s --check-prefix=STAGED
// STAGED: error: option 'stages' must be below 2^31, but is 1152921504606846976
// RUN: not moss-opt --moss-choose-schedule="tile=256,256,64 consumers=1" %s 2>&1 | FileCheck %s --check-prefix=REGISTERS
// REGISTERS: error: 'moss.scaled_matmul' op the schedule needs 512 accumulator registers a thread, but 208 are left; use a smaller tile or more consumers
// RUN: not moss-opt --moss-choose-schedule="tile=192,256,128 consumers=3" %s 2>&1 | FileCheck %s --check-prefix=PRODUCT
// PRODUCT: error: 'moss.scaled_matmul' op tile N = 256 needs 128 registers a thread for one product, but 3 consumers begin with 96; use fewer columns or fewer consumers

#tensor = #moss.scheme<f8E4M3FN, global = jit>

func.func @f(%a: memref<512x512xf8E4M3FN>, %b: memref<512x512xf8E4M3FN>, %c: memref<512x512xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<512x512xf8E4M3FN>) rhs(#tensor, %b : memref<512x512xf8E4M3FN>)
    outs(%c : memref<512x512xf32>)
  return
}
