// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-narrow-loops)),canonicalize)" | FileCheck %s

gpu.module @m {
  // Bounds, counts and what loops carry stay the same; so do their attributes.
  // CHECK-LABEL: gpu.func @roles(
  // CHECK-SAME:  %[[N:[a-z0-9_]+]]: index, %[[OUT:[a-z0-9_]+]]: memref<?xindex>
  // CHECK:       consumers(1)
  // CHECK:         %[[N32:[a-z0-9_]+]] = arith.index_cast %[[N]] : index to i32
  // CHECK:         %[[SUM:[a-z0-9_]+]] = scf.for %[[I:[a-z0-9_]+]] = %c0_i32 to %[[N32]] step %c4_i32 iter_args(%[[S:[a-z0-9_]+]] = %c0) -> (index) : i32 {
  // CHECK:           %[[K:[a-z0-9_]+]] = arith.index_castui %[[I]] : i32 to index
  // CHECK:           arith.addi %[[S]], %[[K]] : index
  // CHECK:         } {moss.note}
  // CHECK:         memref.store %[[SUM]], %[[OUT]]
  gpu.func @roles(%n: index, %out: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %sum = scf.for %k = %c0 to %n step %c4 iter_args(%s = %c0) -> (index) {
        %t = arith.addi %s, %k : index
        scf.yield %t : index
      } {moss.note}
      memref.store %sum, %out[%c0] : memref<?xindex>
    }
    gpu.return
  }

  // A sum of 0 and the step must not wrap.
  // CHECK-LABEL: gpu.func @long_steps(
  // CHECK:         scf.for %{{.*}} = %c0 to %{{.*}} step %c4294967296 {
  // CHECK:           scf.for %{{.*}} step %c65536_i32 : i32 {
  gpu.func @long_steps(%n: index, %out: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %inner = arith.constant 65536 : index
    %outer = arith.constant 4294967296 : index
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      scf.for %k = %c0 to %n step %outer {
        %end = arith.addi %k, %outer : index
        %last = arith.minui %end, %n : index
        scf.for %i = %k to %last step %inner {
          memref.store %i, %out[%c0] : memref<?xindex>
        }
      }
    }
    gpu.return
  }

  // Other kernels may count further.
  // CHECK-LABEL: gpu.func @other(
  // CHECK:         scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
  gpu.func @other(%n: index, %out: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %k = %c0 to %n step %c1 {
      memref.store %k, %out[%k] : memref<?xindex>
    }
    gpu.return
  }
}
