// Results of a single tile still get a kernel of their own, although their loops
// have one iteration; empty ones need none.
// RUN: moss-opt %s --moss-fp8-lower="to=kernel accumulate=fast" | FileCheck %s

#scheme = #moss.scheme<f8E4M3FN, global = jit>

// CHECK-LABEL: gpu.func @one_tile_kernel(
// CHECK:         moss.put
// CHECK:         moss.mma
// CHECK-LABEL: gpu.func @empty_sum_kernel(
// CHECK-NOT:     moss.
// CHECK:         memref.store
// CHECK-LABEL: func.func @one_tile(
// CHECK:         gpu.launch_func @one_tile_kernel::@one_tile_kernel
func.func @one_tile(%a: memref<1x16xf8E4M3FN>, %b: memref<77x16xf8E4M3FN>, %c: memref<1x77xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#scheme, %a : memref<1x16xf8E4M3FN>) rhs(#scheme, %b : memref<77x16xf8E4M3FN>)
    outs(%c : memref<1x77xf32>)
  return
}

// CHECK-LABEL: func.func @empty_sum(
// CHECK:         gpu.launch_func @empty_sum_kernel::@empty_sum_kernel
func.func @empty_sum(%a: memref<64x0xf8E4M3FN>, %b: memref<64x0xf8E4M3FN>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#scheme, %a : memref<64x0xf8E4M3FN>) rhs(#scheme, %b : memref<64x0xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
  return
}

// CHECK-LABEL: func.func @empty_result(
// CHECK-NEXT:    return
func.func @empty_result(%a: memref<0x16xf8E4M3FN>, %b: memref<64x16xf8E4M3FN>, %c: memref<0x64xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#scheme, %a : memref<0x16xf8E4M3FN>) rhs(#scheme, %b : memref<64x16xf8E4M3FN>)
    outs(%c : memref<0x64xf32>)
  return
}
