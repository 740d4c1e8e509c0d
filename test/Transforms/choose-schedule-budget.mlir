// RUN: moss-opt %s --moss-choose-schedule -split-input-file -verify-diagnostics
// RUN: moss-opt %s --moss-choose-schedule="target=cpu" -split-input-file | FileCheck %s
// CHECK-COUNT-6: moss.scaled_matmul

#tensor = #moss.scheme<f8E4M3FN, global = jit>

// Given schedules are checked too, but a CPU has no such limits.
func.func @promoted_wide(%a: memref<512x512xf8E4M3FN>, %b: memref<512x512xf8E4M3FN>, %c: memref<512x512xf32>) {
  // expected-error @+1 {{the schedule needs 256 accumulator registers a thread (partial sums included), but 200 are left; use a smaller tile or more consumers}}
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#tensor, %a : memref<512x512xf8E4M3FN>) rhs(#tensor, %b : memref<512x512xf8E4M3FN>)
    outs(%c : memref<512x512xf32>)
    schedule(<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>

// Products that are chained over the interval hold a second sum of both waves.
func.func @promoted_chain(%a: memref<512x512xf8E4M3FN>, %b: memref<512x512xf8E4M3FN>, %c: memref<512x512xf32>) {
  // expected-error @+1 {{the schedule needs 256 accumulator registers a thread (partial sums included), but 200 are left}}
  moss.scaled_matmul #moss.accumulate<promoted(256)>
    lhs(#tensor, %a : memref<512x512xf8E4M3FN>) rhs(#tensor, %b : memref<512x512xf8E4M3FN>)
    outs(%c : memref<512x512xf32>)
    schedule(<tile = [256, 128, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>

// Products of extents that do not fit 64 bits.
func.func @many_consumers(%a: memref<512x512xf8E4M3FN>, %b: memref<512x512xf8E4M3FN>, %c: memref<512x512xf32>) {
  // expected-error @+1 {{4611686018427387904 consumers do not fit a thread block: at most 3}}
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<512x512xf8E4M3FN>) rhs(#tensor, %b : memref<512x512xf8E4M3FN>)
    outs(%c : memref<512x512xf32>)
    schedule(<tile = [128, 128, 128], stages = 4, consumers = 4611686018427387904, raster = 8, blocks = 132>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>

func.func @many_stages(%a: memref<512x512xf8E4M3FN>, %b: memref<512x512xf8E4M3FN>, %c: memref<512x512xf32>) {
  // expected-error @+1 {{bytes of shared memory, but sm_90a has 232448; use fewer stages or a smaller tile}}
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<512x512xf8E4M3FN>) rhs(#tensor, %b : memref<512x512xf8E4M3FN>)
    outs(%c : memref<512x512xf32>)
    schedule(<tile = [128, 128, 128], stages = 1152921504606846976, consumers = 2, raster = 8, blocks = 132>)
  return
}

// -----

#bf16 = #moss.scheme<bf16, global = unit>

func.func @bf16_rows(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %c: memref<512x512xf32>) {
  // expected-error @+1 {{tile K = 128 gives rows of 256 bytes of 'bf16', but shared-memory swizzles know rows of 32, 64 and 128}}
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#bf16, %a : memref<512x512xbf16>) rhs(#bf16, %b : memref<512x512xbf16>)
    outs(%c : memref<512x512xf32>)
    schedule(<tile = [128, 128, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>)
  return
}

// -----

#bf16 = #moss.scheme<bf16, global = unit>

func.func @bf16_stages(%a: memref<512x512xbf16>, %b: memref<512x512xbf16>, %c: memref<512x512xf32>) {
  // expected-error @+1 {{the schedule needs 278608 bytes of shared memory, but sm_90a has 232448}}
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#bf16, %a : memref<512x512xbf16>) rhs(#bf16, %b : memref<512x512xbf16>)
    outs(%c : memref<512x512xf32>)
    schedule(<tile = [128, 256, 64], stages = 5, consumers = 2, raster = 8, blocks = 132>)
  return
}
