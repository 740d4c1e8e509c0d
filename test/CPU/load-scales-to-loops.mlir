// RUN: moss-opt %s --moss-load-scales-to-loops --split-input-file | FileCheck %s

// One scale a row; nothing is read at or past the bound.

// CHECK-LABEL: @rows
// CHECK-SAME:    %[[SRC:.*]]: memref<?x1xf8E8M0FNU>, %[[M:.*]]: index, %[[K:.*]]: index, %[[BOUND:.*]]: index
// CHECK-DAG:     %[[SCRATCH:.*]] = memref.alloca()
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1.000000e+00 : f8E8M0FNU
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           %[[POS:.*]] = arith.addi %[[M]], %[[I]]
// CHECK:           %[[IN:.*]] = arith.cmpi ult, %[[POS]], %[[BOUND]]
// CHECK:           %[[V:.*]] = scf.if %[[IN]]
// CHECK:             memref.load %[[SRC]]
// CHECK:           } else {
// CHECK:             scf.yield %[[ONE]]
// CHECK:           memref.store %[[V]], %[[SCRATCH]][%[[I]], %{{.*}}] : memref<32x1xf8E8M0FNU>
// CHECK:         vector.transfer_read %[[SCRATCH]]
func.func @rows(%s: memref<?x1xf8E8M0FNU>, %m: index, %k: index, %bound: index) -> vector<32x1xf8E8M0FNU> {
  %e = moss.load_scales %s[%m, %k] bound(%bound) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<32x1xf8E8M0FNU>
  return %e : vector<32x1xf8E8M0FNU>
}

// -----

// Groups divide the positions.

// CHECK-LABEL: @blocks
// CHECK:         %[[C128:.*]] = arith.constant 128
// CHECK:         arith.divui %{{.*}}, %[[C128]]
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK:             %[[C16:.*]] = arith.constant 16
// CHECK:             arith.divui %{{.*}}, %[[C16]]
// CHECK:           memref.store %{{.*}} : memref<1x64xf32>
func.func @blocks(%s: memref<?x?xf32>, %n: index, %k: index, %bound: index) -> vector<1x64xf32> {
  %e = moss.load_scales %s[%n, %k] bound(%bound) group [16, 128] : memref<?x?xf32> -> vector<1x64xf32>
  return %e : vector<1x64xf32>
}
