// RUN: moss-opt %s --moss-forall-to-for | FileCheck %s

// CHECK-LABEL: func @nested(
// CHECK-SAME:    %{{.*}}: memref<?x?xf32>, %[[M:.*]]: index, %[[N:.*]]: index)
// CHECK:         scf.for %[[I:.*]] = %{{.*}} to %[[M]] step %{{.*}} {
// CHECK-NEXT:      scf.for %[[J:.*]] = %{{.*}} to %[[N]] step %{{.*}} {
// CHECK-NOT:         scf.forall
// CHECK:             scf.for %[[K:.*]] =
// CHECK:               memref.store %{{.*}}[%[[I]], %[[K]]]
func.func @nested(%c: memref<?x?xf32>, %M: index, %N: index) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i, %j) = (0, 0) to (%M, %N) step (32, 16) {
    scf.forall (%k) in (%j) {
      memref.store %zero, %c[%i, %k] : memref<?x?xf32>
    }
  } {mapping = [#gpu.block<y>, #gpu.block<x>]}
  return
}
