// RUN: moss-opt --moss-quantize=scheme=bf16 %s | FileCheck %s
// RUN: moss-opt --moss-quantize=scheme=bf16 --remark-format=emitRemark --remarks-filter="moss.*" -verify-diagnostics -o /dev/null %s
// RUN: moss-opt --moss-quantize="scheme=bf16 accumulate=promoted" %s | FileCheck %s --check-prefix=PROMOTED

// Operands with K innermost are multiplied where they are.
// CHECK-LABEL: func @in_place
// CHECK-SAME:    (%[[X:.*]]: tensor<8x64xbf16>, %[[W:.*]]: tensor<16x64xbf16>, %[[C:.*]]: tensor<8x16xbf16>)
// CHECK-NEXT:    %[[R:.*]] = moss.scaled_matmul <fast> accumulates lhs(<bf16, global = unit>, %[[X]] : tensor<8x64xbf16>) rhs(<bf16, global = unit>, %[[W]] : tensor<16x64xbf16>) outs(%[[C]] : tensor<8x16xbf16>)
// CHECK-NEXT:    return %[[R]]
// PROMOTED-LABEL: func @in_place
// PROMOTED:       moss.scaled_matmul <promoted(128)>
func.func @in_place(%x: tensor<8x64xbf16>, %w: tensor<16x64xbf16>, %c: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  // expected-remark @below {{kept in BF16}}
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<8x64xbf16>, tensor<16x64xbf16>) outs(%c : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}

// Others are transposed, into rows of multiples of 8 elements.
// CHECK-LABEL: func @transposed
// CHECK-SAME:    (%[[X:.*]]: tensor<8x60xbf16>, %[[W:.*]]: tensor<60x16xbf16>,
// CHECK:         %[[BUFFER:.*]] = bufferization.alloc_tensor() : tensor<16x64xbf16>
// CHECK:         %[[ROWS:.*]] = tensor.extract_slice %[[BUFFER]][0, 0] [16, 60] [1, 1]
// CHECK:         %[[T:.*]] = linalg.transpose ins(%[[W]] : tensor<60x16xbf16>) outs(%[[ROWS]] : tensor<16x60xbf16>) permutation = [1, 0]
// CHECK:         moss.scaled_matmul <fast> accumulates lhs({{.*}}, %[[X]] : {{.*}}) rhs({{.*}}, %[[T]] : tensor<16x60xbf16>)
func.func @transposed(%x: tensor<8x60xbf16>, %w: tensor<60x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-remark @below {{kept in BF16}}
  // expected-remark @below {{the right operand is transposed first, in a pass of its own: it is not stored with K innermost}}
  %0 = linalg.matmul ins(%x, %w : tensor<8x60xbf16>, tensor<60x16xbf16>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// Both operands are stored the other way.
// CHECK-LABEL: func @both
// CHECK-SAME:    (%[[X:.*]]: tensor<64x?xbf16>, %[[W:.*]]: tensor<64x16xbf16>,
// CHECK:         tensor.empty(%{{.*}}) : tensor<?x64xbf16>
// CHECK:         linalg.transpose ins(%[[X]] :
// CHECK:         linalg.transpose ins(%[[W]] :
// CHECK:         moss.scaled_matmul
func.func @both(%x: tensor<64x?xbf16>, %w: tensor<64x16xbf16>, %c: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // expected-remark @below {{kept in BF16}}
  // expected-remark @below {{the left operand is transposed first}}
  // expected-remark @below {{the right operand is transposed first}}
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<64x?xbf16>, tensor<64x16xbf16>) outs(%c : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}
