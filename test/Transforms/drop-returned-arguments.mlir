// RUN: moss-opt %s --moss-drop-returned-arguments | FileCheck %s

// CHECK-LABEL: func @in_place(%{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>) -> memref<8xf32> {
// CHECK:         %[[NEW:.*]] = memref.alloc
// CHECK:         return %[[NEW]] : memref<8xf32>
func.func @in_place(%x: memref<8xf32>, %y: memref<8xf32>) -> (memref<8xf32>, memref<8xf32>) {
  %new = memref.alloc() : memref<8xf32>
  return %y, %new : memref<8xf32>, memref<8xf32>
}

// CHECK-LABEL: func @caller(
// CHECK-SAME:      %[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>)
// CHECK:         %[[NEW:.*]] = call @in_place(%[[X]], %[[Y]])
// CHECK:         memref.copy %[[Y]], %[[NEW]]
func.func @caller(%x: memref<8xf32>, %y: memref<8xf32>) {
  %0:2 = call @in_place(%x, %y) : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>, memref<8xf32>)
  memref.copy %0#0, %0#1 : memref<8xf32> to memref<8xf32>
  return
}

// Returns differ between paths, values that are no memrefs, and declarations stay.
// CHECK-LABEL: func @paths(
// CHECK-SAME:      -> (memref<8xf32>, i32)
func.func @paths(%c: i1, %x: memref<8xf32>, %y: memref<8xf32>, %i: i32) -> (memref<8xf32>, i32) {
  cf.cond_br %c, ^a, ^b
^a:
  return %x, %i : memref<8xf32>, i32
^b:
  return %y, %i : memref<8xf32>, i32
}

// CHECK-LABEL: func private @declared(memref<8xf32>) -> memref<8xf32>
func.func private @declared(%x: memref<8xf32>) -> memref<8xf32>

// What is said of updated arguments goes, too.
// CHECK-LABEL: func @table(%{{.*}}: memref<2xf32>) {
func.func @table(%s: memref<2xf32> {moss.initial = 1.0 : f32, moss.rows = ["x", "w"]}) -> (memref<2xf32> {moss.updates = 0}) {
  return %s : memref<2xf32>
}
