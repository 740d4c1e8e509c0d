// RUN: moss-opt %s --moss-tile-to-loops -split-input-file -verify-diagnostics

#tensor = #moss.scheme<f8E4M3FN, global = jit>

func.func @no_schedule(%a: memref<64x256xf8E4M3FN>, %b: memref<64x256xf8E4M3FN>, %c: memref<64x64xf32>) {
  // expected-error @+1 {{has no schedule; run moss-choose-schedule or attach one}}
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<64x256xf8E4M3FN>) rhs(#tensor, %b : memref<64x256xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>

func.func @tensors(%a: tensor<64x256xf8E4M3FN>, %b: tensor<64x256xf8E4M3FN>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-error @+1 {{must be on memrefs to be tiled; bufferize first}}
  %0 = moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : tensor<64x256xf8E4M3FN>) rhs(#tensor, %b : tensor<64x256xf8E4M3FN>)
    outs(%c : tensor<64x64xf32>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>
#k96 = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 96], global = unit, rounding = ceil>

func.func @group(%a: memref<64x256xf8E4M3FN>, %am: memref<64x3xf8E8M0FNU>, %b: memref<64x256xf8E4M3FN>, %c: memref<64x64xf32>) {
  // expected-error @+1 {{tile K = 128 holds parts of micro groups of 96 elements; use a tile K that divides it or is a multiple of it, and that is 16 or a multiple of 32}}
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#k96, %a : memref<64x256xf8E4M3FN>) micro(%am : memref<64x3xf8E8M0FNU>)
    rhs(#tensor, %b : memref<64x256xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>
#k32 = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>

func.func @one_group(%a: memref<64x32xf8E4M3FN>, %am: memref<64x1xf8E8M0FNU>, %b: memref<64x32xf8E4M3FN>, %c: memref<64x64xf32>) {
  // expected-error @+1 {{tile K = 128 holds several micro groups of 32 elements, but K has only one; use a tile K of 32}}
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#k32, %a : memref<64x32xf8E4M3FN>) micro(%am : memref<64x1xf8E8M0FNU>)
    rhs(#tensor, %b : memref<64x32xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [64, 64, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>

func.func @interval(%a: memref<64x256xf8E4M3FN>, %b: memref<64x256xf8E4M3FN>, %c: memref<64x64xf32>) {
  // expected-error @+1 {{the promotion interval 64 must be a multiple of tile K = 128}}
  moss.scaled_matmul #moss.accumulate<promoted(64)>
    lhs(#tensor, %a : memref<64x256xf8E4M3FN>) rhs(#tensor, %b : memref<64x256xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>
#g40 = #moss.scheme<f8E4M3FN, micro = f32, group = [1, 40], global = unit, rounding = ceil>

func.func @group_of_40(%a: memref<64x80xf8E4M3FN>, %m: memref<64x2xf32>, %c: memref<64x64xf32>) {
  // expected-error @+1 {{micro groups of 40 elements along K cannot be tiled; quantize with 'full' groups or multiples of 16}}
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#g40, %a : memref<64x80xf8E4M3FN>) micro(%m : memref<64x2xf32>) rhs(#tensor, %a : memref<64x80xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [32, 32, 32], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}
