// RUN: moss-opt %s --moss-quantize-to-loops --split-input-file | FileCheck %s

// One pass per row for a known scale: amax, micro scale, conversion.

// CHECK-LABEL: func @rows
// CHECK-SAME: %[[X:.*]]: memref<8x?xbf16>, %[[P:.*]]: memref<8x?xf8E4M3FN>, %[[M:.*]]: memref<8x1xf8E8M0FNU>
func.func @rows(%x: memref<8x?xbf16>, %p: memref<8x?xf8E4M3FN>, %m: memref<8x1xf8E8M0FNU>) {
  // CHECK: scf.for
  // CHECK: scf.for {{.*}} -> (i32, vector<16xi32>)
  // CHECK: %[[V:.*]] = vector.load %[[X]]{{.*}} : memref<8x?xbf16>, vector<16xbf16>
  // CHECK: arith.bitcast %[[V]] : vector<16xbf16> to vector<16xi16>
  // CHECK: arith.maxui
  // CHECK: memref.load %[[X]]
  // CHECK: vector.reduction <maxui>
  // CHECK: %[[CODE:.*]] = arith.trunci {{.*}} : i32 to i8
  // CHECK: %[[SCALE:.*]] = arith.bitcast %[[CODE]] : i8 to f8E8M0FNU
  // CHECK: memref.store %[[SCALE]], %[[M]]
  // CHECK: scf.for
  // CHECK: arith.minimumf
  // CHECK: arith.maximumf
  // CHECK: %[[Q:.*]] = arith.truncf {{.*}} : vector<16xf32> to vector<16xf8E4M3FN>
  // CHECK: vector.store %[[Q]], %[[P]]
  // CHECK: %[[S:.*]] = arith.truncf {{.*}} : f32 to f8E4M3FN
  // CHECK: memref.store %[[S]], %[[P]]
  // CHECK-NOT: moss.quantize
  moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>
    ins(%x : memref<8x?xbf16>) payload(%p : memref<8x?xf8E4M3FN>) micro(%m : memref<8x1xf8E8M0FNU>)
  return
}

// -----

// A jit scale is stored before the conversion; a transposed source is read one
// element at a time.

// CHECK-LABEL: func @transposed
// CHECK-SAME: %[[X:.*]]: memref<64x8xf32>, %[[P:.*]]: memref<8x64xf8E5M2>, %[[G:.*]]: memref<f32>
func.func @transposed(%x: memref<64x8xf32>, %p: memref<8x64xf8E5M2>, %g: memref<f32>) {
  // CHECK-NOT: vector
  // CHECK: scf.for %[[ROW:[a-z0-9]+]] = {{.*}} -> (i32)
  // CHECK: scf.for %[[K:[a-z0-9]+]] = {{.*}} -> (i32)
  // CHECK: memref.load %[[X]][%[[K]], %[[ROW]]]
  // CHECK: memref.store %[[SCALE:.*]], %[[G]][]
  // CHECK: arith.divf %{{.*}}, %[[SCALE]]
  // CHECK: memref.store {{.*}}, %[[P]]
  moss.quantize <f8E5M2, global = jit> transpose ins(%x : memref<64x8xf32>)
    payload(%p : memref<8x64xf8E5M2>) global(%g : memref<f32>)
  return
}

// -----

// The amax is measured on the way, and written last: one buffer may serve for it
// and the scale.

// CHECK-LABEL: func @delayed
// CHECK-SAME: %[[X:.*]]: memref<4x4xf32, strided<[8, 2]>>, %[[G:.*]]: memref<f32>
func.func @delayed(%x: memref<4x4xf32, strided<[8, 2]>>, %g: memref<f32>, %p: memref<4x4xf8E4M3FN>) {
  // CHECK: %[[S:.*]] = memref.load %[[G]][]
  // CHECK: arith.divf %{{.*}}, %[[S]]
  // CHECK: %[[AMAX:.*]] = scf.for {{.*}} -> (i32)
  // CHECK:   memref.load %[[X]]
  // CHECK:   memref.store {{.*}} : memref<4x4xf8E4M3FN>
  // CHECK:   arith.cmpi ule, %{{.*}}, %c2139095040_i32
  // CHECK:   arith.maxui
  // CHECK-NOT: memref.load %[[X]]
  // CHECK: memref.store {{.*}}, %[[G]][]
  moss.quantize <f8E4M3FN, global = delayed> ins(%x : memref<4x4xf32, strided<[8, 2]>>)
    scale(%g : memref<f32>) payload(%p : memref<4x4xf8E4M3FN>) global(%g : memref<f32>)
  return
}

// -----

// Groups of 3 x 32: the last of a dimension may be cut off.

// CHECK-LABEL: func @dequantize
// CHECK-SAME: %[[P:.*]]: memref<7x64xf8E4M3FN>, %[[M:.*]]: memref<3x2xf8E8M0FNU>, %[[Y:.*]]: memref<7x64xbf16>
func.func @dequantize(%p: memref<7x64xf8E4M3FN>, %m: memref<3x2xf8E8M0FNU>, %y: memref<7x64xbf16>) {
  // CHECK: arith.minui {{.*}} : index
  // CHECK: arith.minui {{.*}} : index
  // CHECK: memref.load %[[M]]
  // CHECK: vector.load %[[P]]
  // CHECK: arith.extf {{.*}} : vector<16xf8E4M3FN> to vector<16xf32>
  // CHECK: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
  // CHECK: vector.store {{.*}}, %[[Y]]
  moss.dequantize <f8E4M3FN, micro = f8E8M0FNU, group = [3, 32], global = unit, rounding = ceil>
    payload(%p : memref<7x64xf8E4M3FN>) micro(%m : memref<3x2xf8E8M0FNU>) outs(%y : memref<7x64xbf16>)
  return
}
