// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-hoist-scalars)))" | FileCheck %s

gpu.module @m {
  // A global scale leaves both loops; arithmetic on it is LLVM's to move.
  // CHECK-LABEL: gpu.func @scale(
  // CHECK-SAME:    %[[SCALE:[a-z0-9_]+]]: memref<f32>
  // CHECK:       consumers
  // CHECK-NEXT:    %[[S:[a-z0-9_]+]] = memref.load %[[SCALE]][]
  // CHECK-NEXT:    scf.for
  // CHECK-NEXT:      scf.for
  // CHECK-NEXT:        %[[T:[a-z0-9_]+]] = arith.mulf %[[S]], %[[S]]
  gpu.func @scale(%scale: memref<f32>, %out: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    moss.warp_specialize producer registers(24) {
    } consumers(1) registers(160) (%wg) {
      scf.for %i = %c0 to %n step %c1 {
        scf.for %j = %c0 to %n step %c1 {
          %s = memref.load %scale[] : memref<f32>
          %t = arith.mulf %s, %s : f32
          memref.store %t, %out[%j] : memref<?xf32>
        }
      }
    }
    gpu.return
  }

  // One that is needed only sometimes stays in its branch.
  // CHECK-LABEL: gpu.func @branch(
  // CHECK:         scf.if
  // CHECK-NEXT:      memref.load
  gpu.func @branch(%scale: memref<f32>, %out: memref<?xf32>, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    moss.warp_specialize producer registers(24) {
    } consumers(1) registers(160) (%wg) {
      scf.for %i = %c0 to %n step %c1 {
        scf.if %c {
          %s = memref.load %scale[] : memref<f32>
          memref.store %s, %out[%i] : memref<?xf32>
        }
      }
    }
    gpu.return
  }

  // Scalars that the kernel writes, elements of matrices, memory of the kernel's own,
  // and loops without roles.
  // CHECK-LABEL: gpu.func @left_alone(
  // CHECK:       consumers
  // CHECK-NEXT:    memref.alloca
  // CHECK-NEXT:    scf.for
  // CHECK-COUNT-3:   memref.load
  // CHECK:         scf.for
  // CHECK-NEXT:      memref.load
  gpu.func @left_alone(%written: memref<f32>, %read: memref<f32>, %matrix: memref<?xf32>, %out: memref<?xf32>,
                       %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    moss.warp_specialize producer registers(24) {
    } consumers(1) registers(160) (%wg) {
      %own = memref.alloca() : memref<f32>
      scf.for %i = %c0 to %n step %c1 {
        %s = memref.load %written[] : memref<f32>
        %t = memref.load %matrix[%c0] : memref<?xf32>
        %u = memref.load %own[] : memref<f32>
        %v = arith.addf %s, %t : f32
        %w = arith.addf %v, %u : f32
        memref.store %w, %written[] : memref<f32>
      }
    }
    scf.for %i = %c0 to %n step %c1 {
      %s = memref.load %read[] : memref<f32>
      memref.store %s, %out[%i] : memref<?xf32>
    }
    gpu.return
  }
}
