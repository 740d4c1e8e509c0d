// An argument that is updated in place in C is left alone here: the result is apart, and
// compared with the reference.
// RUN: moss-run %s --target=cpu --entry=update | FileCheck %s
// CHECK:      update on cpu
// CHECK-NEXT: argument w: tensor<8x8xf32>
// CHECK-NEXT: argument g: tensor<8x8xf32>
// CHECK-NEXT: result: tensor<8x8xf32>

// RUN: not moss-run %s --target=cpu --entry=layer 2>&1 | FileCheck %s --check-prefix=WEIGHT
// WEIGHT: error: function 'layer' has further parameters in C, as its marked weights have predicted scales, which are not known here; remove the mark 'moss.weight'

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

func.func @update(%w: tensor<8x8xf32>, %g: tensor<8x8xf32>) -> (tensor<8x8xf32> {moss.updates = 0}) {
  %new = linalg.sub ins(%w, %g : tensor<8x8xf32>, tensor<8x8xf32>) outs(%w : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %new : tensor<8x8xf32>
}

func.func @layer(%x: tensor<8x64xbf16>, %w: tensor<32x64xbf16> {moss.weight = #moss.weight<#moss.optimizer<adam>>}, %y: tensor<8x32xf32>)
    -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%y : tensor<8x32xf32>) -> tensor<8x32xf32>
  %0 = linalg.matmul indexing_maps = [#x, #w, #y]
         ins(%x, %w : tensor<8x64xbf16>, tensor<32x64xbf16>) outs(%init : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
