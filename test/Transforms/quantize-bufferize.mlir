// RUN: moss-opt --moss-quantize --cse --canonicalize \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" %s | FileCheck %s

// CSE must not merge the padded buffers of operands of the same shape: one of
// them would be copied, to a buffer without padding.

// CHECK-LABEL: func @two_weights
// CHECK-SAME:    (%[[X:.*]]: memref<8x100xbf16>, %[[W:.*]]: memref<100x100xbf16>, %[[V:.*]]: memref<100x100xbf16>,
func.func @two_weights(%x: tensor<8x100xbf16>, %w: tensor<100x100xbf16>, %v: tensor<100x100xbf16>,
    %c: tensor<8x100xf32>) -> (tensor<8x100xf32>) {
  // CHECK-NOT: memref.copy
  // CHECK: moss.quantize {{.*}} ins(%[[X]] : {{.*}} payload(%{{.*}} : memref<8x100xf8E4M3FN, strided<[112, 1]>>)
  // CHECK: moss.quantize {{.*}} ins(%[[W]] : {{.*}} payload(%[[WP:.*]] : memref<100x100xf8E4M3FN, strided<[112, 1]>>)
  // CHECK: moss.scaled_matmul {{.*}} rhs({{.*}}, %[[WP]] :
  // CHECK: moss.quantize {{.*}} ins(%[[V]] : {{.*}} payload(%[[VP:.*]] : memref<100x100xf8E4M3FN, strided<[112, 1]>>)
  // CHECK: moss.scaled_matmul {{.*}} rhs({{.*}}, %[[VP]] :
  // CHECK-NOT: memref.copy
  %0 = linalg.matmul ins(%x, %w : tensor<8x100xbf16>, tensor<100x100xbf16>) outs(%c : tensor<8x100xf32>) -> tensor<8x100xf32>
  %1 = linalg.matmul ins(%x, %v : tensor<8x100xbf16>, tensor<100x100xbf16>) outs(%0 : tensor<8x100xf32>) -> tensor<8x100xf32>
  return %1 : tensor<8x100xf32>
}
