// RUN: moss-opt %s --moss-lower-to-cpu --split-input-file --verify-diagnostics

#tensor = #moss.scheme<f8E4M3FN, global = unit>

func.func @not_tiled(%a: memref<8x32xf8E4M3FN>, %b: memref<8x32xf8E4M3FN>, %c: memref<8x8xf32>) {
  // expected-error @+1 {{'moss.scaled_matmul' was not lowered}}
  moss.scaled_matmul #moss.accumulate<fast>
      lhs(#tensor, %a : memref<8x32xf8E4M3FN>) rhs(#tensor, %b : memref<8x32xf8E4M3FN>)
      outs(%c : memref<8x8xf32>)
  return
}

// -----

func.func @fp8_arithmetic(%x: memref<4xf8E5M2>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%x : memref<4xf8E5M2>) {
    ^bb0(%in: f8E5M2):
      // expected-error @+1 {{'arith.mulf' on FP8 values was not lowered}}
      %e = arith.mulf %in, %in : f8E5M2
      linalg.yield %e : f8E5M2
  }
  return
}
