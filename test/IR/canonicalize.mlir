// RUN: moss-opt --canonicalize --split-input-file %s | FileCheck %s

#tensor = #moss.scheme<f8E4M3FN, global = given>

// CHECK-LABEL: func @accumulate_into_zeros
// CHECK-SAME:    %[[C:[a-z0-9]+]]: tensor<8x8xf32>)
func.func @accumulate_into_zeros(%p: tensor<8x64xf8E4M3FN>, %c: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<8x8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: moss.scaled_matmul <fast> lhs({{.*}} outs(%[[C]] :
  %1 = moss.scaled_matmul #moss.accumulate<fast> accumulates lhs(#tensor, %p : tensor<8x64xf8E4M3FN>)
    rhs(#tensor, %p : tensor<8x64xf8E4M3FN>) outs(%0 : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: %[[EMPTY:.*]] = tensor.empty
  // CHECK: moss.scaled_matmul <fast> lhs({{.*}} outs(%[[EMPTY]] :
  %2 = moss.scaled_matmul #moss.accumulate<fast> accumulates lhs(#tensor, %p : tensor<8x64xf8E4M3FN>)
    rhs(#tensor, %p : tensor<8x64xf8E4M3FN>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: %[[ONES:.*]] = linalg.fill
  // CHECK: moss.scaled_matmul <fast> accumulates {{.*}} outs(%[[ONES]] :
  %3 = linalg.fill ins(%one : f32) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = moss.scaled_matmul #moss.accumulate<fast> accumulates lhs(#tensor, %p : tensor<8x64xf8E4M3FN>)
    rhs(#tensor, %p : tensor<8x64xf8E4M3FN>) outs(%3 : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %2, %4 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = given, rounding = ceil>

// CHECK-LABEL: func @overwritten_fills
// CHECK-SAME:    (%[[X:.*]]: tensor<8x64xbf16>, %[[S:.*]]: tensor<f32>, %[[P:.*]]: tensor<8x64xf8E4M3FN>, %[[M:.*]]: tensor<8x1xf8E8M0FNU>, %[[Y:.*]]: tensor<8x64xbf16>, %[[C:.*]]: tensor<8x8xf32>)
func.func @overwritten_fills(%x: tensor<8x64xbf16>, %s: tensor<f32>, %p: tensor<8x64xf8E4M3FN>, %m: tensor<8x1xf8E8M0FNU>,
    %y: tensor<8x64xbf16>, %c: tensor<8x8xf32>) -> (tensor<8x64xbf16>, tensor<8x8xf32>) {
  // CHECK-NOT: linalg.fill
  %one = arith.constant 1.0 : f32
  %one8 = arith.constant 1.0 : f8E4M3FN
  %onebf = arith.constant 1.0 : bf16
  // CHECK: %[[Q:.*]]:2 = moss.quantize {{.*}} payload(%[[P]] : {{.*}}) micro(%[[M]] :
  %0 = linalg.fill ins(%one8 : f8E4M3FN) outs(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  %q:2 = moss.quantize #row ins(%x : tensor<8x64xbf16>) scale(%s : tensor<f32>) payload(%0 : tensor<8x64xf8E4M3FN>)
    micro(%m : tensor<8x1xf8E8M0FNU>) -> tensor<8x64xf8E4M3FN>, tensor<8x1xf8E8M0FNU>
  // Not the same as %x.
  // CHECK: %[[D:.*]] = moss.dequantize {{.*}} payload(%[[Q]]#0 {{.*}} outs(%[[Y]] :
  %1 = linalg.fill ins(%onebf : bf16) outs(%y : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  %d = moss.dequantize #row payload(%q#0 : tensor<8x64xf8E4M3FN>) micro(%q#1 : tensor<8x1xf8E8M0FNU>)
    global(%s : tensor<f32>) outs(%1 : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  // CHECK: %[[R:.*]] = moss.scaled_matmul <fast> lhs({{.*}} outs(%[[C]] :
  %2 = linalg.fill ins(%one : f32) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = moss.scaled_matmul #moss.accumulate<fast>
    lhs(#row, %q#0 : tensor<8x64xf8E4M3FN>) micro(%q#1 : tensor<8x1xf8E8M0FNU>) global(%s : tensor<f32>)
    rhs(#row, %q#0 : tensor<8x64xf8E4M3FN>) micro(%q#1 : tensor<8x1xf8E8M0FNU>) global(%s : tensor<f32>)
    outs(%2 : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: return %[[D]], %[[R]]
  return %d, %r : tensor<8x64xbf16>, tensor<8x8xf32>
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

// CHECK-LABEL: func @transposed_source
// CHECK-SAME:    (%[[X:.*]]: tensor<64x8xbf16>, %[[Y:.*]]: memref<8x64xbf16>,
func.func @transposed_source(%x: tensor<64x8xbf16>, %y: memref<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) -> (tensor<8x64xf8E4M3FN>, tensor<8x64xf8E4M3FN>) {
  %e = tensor.empty() : tensor<8x64xbf16>
  %0 = linalg.transpose ins(%x : tensor<64x8xbf16>) outs(%e : tensor<8x64xbf16>) permutation = [1, 0]
  // CHECK: moss.quantize <f8E4M3FN, global = unit> transpose ins(%[[X]] :
  %1 = moss.quantize #tensor ins(%0 : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  %f = tensor.empty() : tensor<64x8xbf16>
  %z = bufferization.to_tensor %y restrict : memref<8x64xbf16> to tensor<8x64xbf16>
  %2 = linalg.transpose ins(%z : tensor<8x64xbf16>) outs(%f : tensor<64x8xbf16>) permutation = [1, 0]
  // CHECK: %[[Z:.*]] = bufferization.to_tensor %[[Y]]
  // CHECK-NOT: linalg.transpose
  // CHECK: moss.quantize <f8E4M3FN, global = unit> ins(%[[Z]] :
  %3 = moss.quantize #tensor transpose ins(%2 : tensor<64x8xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
  return %1, %3 : tensor<8x64xf8E4M3FN>, tensor<8x64xf8E4M3FN>
}

// CHECK-LABEL: func @tensor_casts
// CHECK-SAME:    (%[[X:.*]]: tensor<8x64xbf16>, %[[P:.*]]: tensor<8x64xf8E4M3FN>)
func.func @tensor_casts(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN> {
  // CHECK-NEXT: %[[Q:.*]] = moss.quantize {{.*}} ins(%[[X]] : tensor<8x64xbf16>) payload(%[[P]] : tensor<8x64xf8E4M3FN>)
  // CHECK-NEXT: return %[[Q]]
  %0 = tensor.cast %x : tensor<8x64xbf16> to tensor<?x?xbf16>
  %1 = tensor.cast %p : tensor<8x64xf8E4M3FN> to tensor<?x64xf8E4M3FN>
  %2 = moss.quantize #tensor ins(%0 : tensor<?x?xbf16>) payload(%1 : tensor<?x64xf8E4M3FN>) -> tensor<?x64xf8E4M3FN>
  %3 = tensor.cast %2 : tensor<?x64xf8E4M3FN> to tensor<8x64xf8E4M3FN>
  return %3 : tensor<8x64xf8E4M3FN>
}

// CHECK-LABEL: func @memref_casts
// CHECK-SAME:    (%[[X:.*]]: memref<8x64xbf16>, %[[P:.*]]: memref<8x64xf8E4M3FN>, %[[C:.*]]: memref<8x8xf32>)
func.func @memref_casts(%x: memref<8x64xbf16>, %p: memref<8x64xf8E4M3FN>, %c: memref<8x8xf32>) {
  %0 = memref.cast %x : memref<8x64xbf16> to memref<?x64xbf16, strided<[?, 1]>>
  %1 = memref.cast %p : memref<8x64xf8E4M3FN> to memref<?x?xf8E4M3FN>
  %2 = memref.cast %c : memref<8x8xf32> to memref<?x?xf32>
  // CHECK-NEXT: moss.quantize {{.*}} ins(%[[X]] : {{.*}}) payload(%[[P]] :
  moss.quantize #tensor ins(%0 : memref<?x64xbf16, strided<[?, 1]>>) payload(%1 : memref<?x?xf8E4M3FN>)
  // CHECK-NEXT: moss.dequantize {{.*}} payload(%[[P]] : {{.*}}) outs(%[[X]] :
  moss.dequantize #tensor payload(%1 : memref<?x?xf8E4M3FN>) outs(%0 : memref<?x64xbf16, strided<[?, 1]>>)
  // CHECK-NEXT: moss.scaled_matmul {{.*}} lhs({{.*}}, %[[P]] : {{.*}}) rhs({{.*}}, %[[P]] : {{.*}}) outs(%[[C]] :
  moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %1 : memref<?x?xf8E4M3FN>) rhs(#tensor, %1 : memref<?x?xf8E4M3FN>) outs(%2 : memref<?x?xf32>)
  return
}
