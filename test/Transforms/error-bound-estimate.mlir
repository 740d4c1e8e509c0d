// RUN: moss-opt %s --pass-pipeline="builtin.module(func.func(moss-quantize,moss-error-bound{estimate matrix-unit},canonicalize,cse))" | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

// The reference, its bound, its estimate, and the counts of both operands. The sums
// over K are there once; the estimate takes sums of squares in f64 besides, of
// length K for each operand and then of the rows of each.
// CHECK-LABEL: func @matmul(
// CHECK-SAME:    -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<2xi64>, tensor<2xi64>)
// CHECK:         %[[SUMS:.*]]:3 = linalg.generic {{.*}}library_call = "moss_reference_matmul"
// CHECK-NOT:     moss_reference_matmul
// CHECK:         %[[BOUND:.*]]:2 = linalg.generic {{.*}} ins(%[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2,
// CHECK:         %[[COLS:.*]]:2 = linalg.generic {{.*}}"reduction", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<4x64xf32>, tensor<4x64xf32>) outs(%{{.*}} : tensor<64xf64>, tensor<64xf64>)
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %[[COLS]]#0, %[[COLS]]#1 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf64>, tensor<64xf64>) outs({{.*}} : tensor<8xf64>, tensor<8xf64>, tensor<8xf64>, tensor<8xf64>)
// CHECK:         linalg.generic {{.*}} outs({{.*}} : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
// CHECK:         %[[ESTIMATE:.*]]:2 = linalg.generic {{.*}} ins(%[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2,
// CHECK:         return %[[BOUND]]#0, %[[BOUND]]#1, %[[ESTIMATE]]#1, %{{.*}}, %{{.*}} :
func.func @matmul(%x: tensor<8x64xbf16>, %w: tensor<4x64xbf16>, %init: tensor<8x4xbf16>) -> tensor<8x4xbf16> {
  %0 = linalg.matmul indexing_maps = [#x, #w, #y]
         ins(%x, %w : tensor<8x64xbf16>, tensor<4x64xbf16>) outs(%init : tensor<8x4xbf16>) -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}
