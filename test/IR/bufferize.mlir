// RUN: moss-opt --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" %s | FileCheck %s

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
#tensor = #moss.scheme<f8E4M3FN, global = given>

// CHECK-LABEL: func @quantize
// CHECK-SAME:    (%[[X:.*]]: memref<8x100xbf16>)
func.func @quantize(%x: tensor<8x100xbf16>) -> (tensor<8x100xf8E4M3FN>, tensor<8x1xf8E8M0FNU>, tensor<f32>) {
  // The slice keeps its padded rows, and nothing is copied.
  // CHECK: %[[BUFFER:.*]] = memref.alloc() {{.*}} : memref<8x112xf8E4M3FN>
  // CHECK: %[[P:.*]] = memref.subview %[[BUFFER]][0, 0] [8, 100] [1, 1] : {{.*}} to memref<8x100xf8E4M3FN, strided<[112, 1]>>
  // CHECK: %[[M:.*]] = memref.alloc() {{.*}} : memref<8x1xf8E8M0FNU>
  // CHECK: %[[G:.*]] = memref.alloc() {{.*}} : memref<f32>
  // CHECK-NEXT: moss.quantize {{.*}} ins(%[[X]] : memref<8x100xbf16>) payload(%[[P]] : {{.*}}) micro(%[[M]] : {{.*}}) global(%[[G]] : memref<f32>){{$}}
  %buffer = bufferization.alloc_tensor() : tensor<8x112xf8E4M3FN>
  %p = tensor.extract_slice %buffer[0, 0] [8, 100] [1, 1] : tensor<8x112xf8E4M3FN> to tensor<8x100xf8E4M3FN>
  %m = tensor.empty() : tensor<8x1xf8E8M0FNU>
  %g = tensor.empty() : tensor<f32>
  %q:3 = moss.quantize #row ins(%x : tensor<8x100xbf16>) payload(%p : tensor<8x100xf8E4M3FN>)
    micro(%m : tensor<8x1xf8E8M0FNU>) global(%g : tensor<f32>)
    -> tensor<8x100xf8E4M3FN>, tensor<8x1xf8E8M0FNU>, tensor<f32>
  return %q#0, %q#1, %q#2 : tensor<8x100xf8E4M3FN>, tensor<8x1xf8E8M0FNU>, tensor<f32>
}

// CHECK-LABEL: func @in_place
// CHECK-SAME:    (%[[P:.*]]: memref<8x64xf8E4M3FN>, %[[G:.*]]: memref<f32>, %[[Y:.*]]: memref<8x64xbf16>, %[[C:.*]]: memref<8x8xf32>)
func.func @in_place(%p: tensor<8x64xf8E4M3FN>, %g: tensor<f32>, %y: tensor<8x64xbf16> {bufferization.writable = true},
    %c: tensor<8x8xf32> {bufferization.writable = true}) -> (tensor<8x64xbf16>, tensor<8x8xf32>) {
  // CHECK-NEXT: moss.dequantize {{.*}} payload(%[[P]] : memref<8x64xf8E4M3FN>) global(%[[G]] : memref<f32>) outs(%[[Y]] : memref<8x64xbf16>){{$}}
  %d = moss.dequantize #tensor payload(%p : tensor<8x64xf8E4M3FN>) global(%g : tensor<f32>) outs(%y : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  // CHECK-NEXT: moss.scaled_matmul <fast> accumulates lhs({{.*}}, %[[P]] : memref<8x64xf8E4M3FN>) {{.*}} outs(%[[C]] : memref<8x8xf32>){{$}}
  %r = moss.scaled_matmul #moss.accumulate<fast> accumulates lhs(#tensor, %p : tensor<8x64xf8E4M3FN>) global(%g : tensor<f32>)
    rhs(#tensor, %p : tensor<8x64xf8E4M3FN>) global(%g : tensor<f32>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: return %[[Y]], %[[C]]
  return %d, %r : tensor<8x64xbf16>, tensor<8x8xf32>
}

// An init that must not be written to is copied only when the op reads it.

// CHECK-LABEL: func @reads
// CHECK-SAME:    %[[C:[a-z0-9]+]]: memref<8x8xf32>)
func.func @reads(%p: tensor<8x64xf8E4M3FN>, %c: tensor<8x8xf32> {bufferization.writable = false}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %[[NEW0:.*]] = memref.alloc()
  // CHECK-NEXT: moss.scaled_matmul <fast> lhs({{.*}} outs(%[[NEW0]] :
  %0 = moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %p : tensor<8x64xf8E4M3FN>)
    rhs(#tensor, %p : tensor<8x64xf8E4M3FN>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: %[[NEW1:.*]] = memref.alloc()
  // CHECK-NEXT: memref.copy %[[C]], %[[NEW1]]
  // CHECK-NEXT: moss.scaled_matmul <fast> accumulates {{.*}} outs(%[[NEW1]] :
  %1 = moss.scaled_matmul #moss.accumulate<fast> accumulates lhs(#tensor, %p : tensor<8x64xf8E4M3FN>)
    rhs(#tensor, %p : tensor<8x64xf8E4M3FN>) outs(%c : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// A scale whose memory the amax would get must not be overwritten too early.

#delayed = #moss.scheme<f8E4M3FN, global = delayed>

// CHECK-LABEL: func @delayed
// CHECK-SAME:    (%[[X:.*]]: memref<8x64xbf16>, %[[P:.*]]: memref<8x64xf8E4M3FN>, %[[AMAX:.*]]: memref<f32>)
func.func @delayed(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN> {bufferization.writable = true},
    %amax: tensor<f32> {bufferization.writable = true}) -> (tensor<8x64xf8E4M3FN>, tensor<f32>) {
  // CHECK: %[[NEW:.*]] = memref.alloc() {{.*}} : memref<f32>
  // CHECK-NEXT: moss.quantize {{.*}} scale(%[[AMAX]] : memref<f32>) payload(%[[P]] : {{.*}}) global(%[[NEW]] : memref<f32>)
  %q:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%amax : tensor<f32>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%amax : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  return %q#0, %q#1 : tensor<8x64xf8E4M3FN>, tensor<f32>
}

// Tables are updated where they are, after the scales in them were read.

// CHECK-LABEL: func @tables
// CHECK-SAME:    %[[SCALES:[a-z0-9]*]]: memref<2xf32>, %[[HISTORY:[a-z0-9]*]]: memref<2x4xf32>, %[[AMAX:[a-z0-9]*]]: memref<f32>)
// CHECK-NOT:     memref.alloc
// CHECK:         moss.quantize {{.*}} global(%[[AMAX]] : memref<f32>)
// CHECK:         moss.next_delayed_scale {{.*}} amax(%[[AMAX]], %[[AMAX]] : {{.*}}) outs(%[[SCALES]], %[[HISTORY]] : memref<2xf32>, memref<2x4xf32>)
func.func @tables(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN> {bufferization.writable = true},
    %scales: tensor<2xf32> {bufferization.writable = true}, %history: tensor<2x4xf32> {bufferization.writable = true},
    %a: tensor<f32> {bufferization.writable = true}) -> (tensor<8x64xf8E4M3FN>, tensor<2xf32>, tensor<2x4xf32>) {
  %s = tensor.extract_slice %scales[1] [1] [1] : tensor<2xf32> to tensor<f32>
  %q:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%s : tensor<f32>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%a : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  %next:2 = moss.next_delayed_scale [#moss.amax_rule<f8E4M3FN, max, margin = 0>] rows [2] amax(%q#1, %q#1 : tensor<f32>, tensor<f32>)
    outs(%scales, %history : tensor<2xf32>, tensor<2x4xf32>) -> tensor<2xf32>, tensor<2x4xf32>
  return %q#0, %next#0, %next#1 : tensor<8x64xf8E4M3FN>, tensor<2xf32>, tensor<2x4xf32>
}
