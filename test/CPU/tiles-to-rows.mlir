// RUN: moss-opt %s --moss-tiles-to-rows --split-input-file | FileCheck %s

// The sum is computed in place, in the buffer of the loop's argument, and no
// tile is left; a column is broadcast row by row.

// CHECK-LABEL: @loop
// CHECK-DAG:     %[[ACC:.*]] = memref.alloca() {{.*}} : memref<4x8xf32>
// CHECK-DAG:     %[[COL:.*]] = memref.alloca() {{.*}} : memref<4x1xf32>
// CHECK-NOT:     vector<4x8xf32>
// CHECK:         vector.store %{{.*}}, %[[COL]]
// CHECK:         vector.store %{{.*}}, %[[ACC]]
// CHECK:         scf.for
// CHECK:           scf.for %[[I:.*]] =
// CHECK-NEXT:        %[[OLD:.*]] = vector.load %[[ACC]][%[[I]], %{{.*}}] : memref<4x8xf32>, vector<8xf32>
// CHECK-NEXT:        %[[E:.*]] = vector.load %[[COL]][%[[I]], %{{.*}}] : memref<4x1xf32>, vector<1xf32>
// CHECK-NEXT:        %[[B:.*]] = vector.broadcast %[[E]] : vector<1xf32> to vector<8xf32>
// CHECK-NEXT:        %[[NEW:.*]] = arith.addf %[[OLD]], %[[B]] : vector<8xf32>
// CHECK-NEXT:        vector.store %[[NEW]], %[[ACC]][%[[I]], %{{.*}}]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK:         vector.load %[[ACC]]
// CHECK-NEXT:    vector.transfer_write
func.func @loop(%column: memref<4x1xf32>, %out: memref<4x8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x8xf32>
  %c = vector.transfer_read %column[%c0, %c0], %pad {in_bounds = [true, true]} : memref<4x1xf32>, vector<4x1xf32>
  %b = vector.broadcast %c : vector<4x1xf32> to vector<4x8xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (vector<4x8xf32>) {
    %s = arith.addf %acc, %b : vector<4x8xf32>
    scf.yield %s : vector<4x8xf32>
  }
  vector.transfer_write %r, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
  return
}

// -----

// Rows past the end are padding, and are not written.

// CHECK-LABEL: @ragged
// CHECK:         %[[IN:.*]] = arith.cmpi ult
// CHECK:         scf.if %[[IN]] -> (vector<32xf8E4M3FN>)
// CHECK:           vector.transfer_read {{.*}} : memref<?x?xf8E4M3FN>, vector<32xf8E4M3FN>
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %{{.*}} : vector<32xf8E4M3FN>
// CHECK:         %[[IN:.*]] = arith.cmpi ult
// CHECK:         scf.if %[[IN]] {
// CHECK:           vector.transfer_write
func.func @ragged(%in: memref<?x?xf8E4M3FN>, %out: memref<?x?xf8E4M3FN>, %i: index) {
  %pad = arith.constant 0.0 : f8E4M3FN
  %t = vector.transfer_read %in[%i, %i], %pad : memref<?x?xf8E4M3FN>, vector<16x32xf8E4M3FN>
  vector.transfer_write %t, %out[%i, %i] : vector<16x32xf8E4M3FN>, memref<?x?xf8E4M3FN>
  return
}

// -----

// Tiles that are exchanged go through temporaries; arguments are stored at the
// entry.

// CHECK-LABEL: @swap
// CHECK-SAME:    %[[A:.*]]: vector<2x4xf32>, %[[B:.*]]: vector<2x4xf32>
// CHECK-DAG:     vector.transfer_write %[[A]]
// CHECK-DAG:     vector.transfer_write %[[B]]
// CHECK-COUNT-2: memref.copy
func.func @swap(%a: vector<2x4xf32>, %b: vector<2x4xf32>, %n: index) -> (vector<2x4xf32>, vector<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (vector<2x4xf32>, vector<2x4xf32>) {
    scf.yield %y, %x : vector<2x4xf32>, vector<2x4xf32>
  }
  return %r#0, %r#1 : vector<2x4xf32>, vector<2x4xf32>
}

// -----

// Other ops keep their tiles.

// CHECK-LABEL: @other
// CHECK:         %[[T:.*]] = vector.transpose
// CHECK:         vector.transfer_write %[[T]], %[[BUFFER:alloca[_0-9]*]]
// CHECK:         vector.load %[[BUFFER]]
func.func @other(%t: vector<4x2xf32>, %out: memref<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %x = vector.transpose %t, [1, 0] : vector<4x2xf32> to vector<2x4xf32>
  vector.transfer_write %x, %out[%c0, %c0] {in_bounds = [true, true]} : vector<2x4xf32>, memref<2x4xf32>
  return
}

// -----

// A large tile is on the heap, and is freed after the last read.

// CHECK-LABEL: @large
// CHECK:         %[[BUFFER:.*]] = memref.alloc() {{.*}} : memref<128x256xf32>
// CHECK:         %[[R:.*]] = vector.transfer_read %[[BUFFER]]
// CHECK-NEXT:    memref.dealloc %[[BUFFER]]
// CHECK-NEXT:    return %[[R]]
func.func @large(%in: memref<128x256xf32>) -> vector<128x256xf32> {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %t = vector.transfer_read %in[%c0, %c0], %pad {in_bounds = [true, true]} : memref<128x256xf32>, vector<128x256xf32>
  %r = arith.negf %t : vector<128x256xf32>
  return %r : vector<128x256xf32>
}
