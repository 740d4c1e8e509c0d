// RUN: moss-opt %s --moss-merge-steps --canonicalize --cse | FileCheck %s
// RUN: moss-opt %s --moss-merge-steps -o /dev/null --remark-format=emitRemark --remarks-filter='moss-merge-steps' -verify-diagnostics

#schedule = #moss.schedule<tile = [64, 128, 64], stages = 4, consumers = 1, raster = 8, blocks = 132>

// Two products of 32 share tiles of 64, and each has its scales. K is whole tiles,
// so reads along it are in bounds.
// CHECK-LABEL: func @rows(
// CHECK-SAME:  %[[A:[a-z0-9_]+]]: memref<?x256xf8E4M3FN>, %[[E:[a-z0-9_]+]]: memref<?x8xf8E8M0FNU, strided<[1, 4096]>>, %[[B:[a-z0-9_]+]]: memref<128x256xf8E4M3FN>
// CHECK-DAG:   %[[C32:[a-z0-9_]+]] = arith.constant 32 : index
// CHECK-DAG:   %[[C64:[a-z0-9_]+]] = arith.constant 64 : index
// CHECK-DAG:   %[[ZERO:[a-z0-9_]+]] = arith.constant dense<0.0{{.*}}> : vector<64x128xf32>
// CHECK:       scf.forall (%[[M:[a-z0-9_]+]], %[[N:[a-z0-9_]+]]) =
// CHECK:         scf.for %[[K:[a-z0-9_]+]] = %{{.*}} to %{{.*}} step %[[C64]] iter_args(%[[ACC:[a-z0-9_]+]] = %[[ZERO]])
// CHECK:           %[[TA:[a-z0-9_]+]] = vector.transfer_read %[[A]][%[[M]], %[[K]]], %{{.*}} {in_bounds = [false, true]} : memref<?x256xf8E4M3FN>, vector<64x64xf8E4M3FN>
// CHECK:           %[[TB:[a-z0-9_]+]] = vector.transfer_read %[[B]][%[[N]], %[[K]]], %{{.*}} {in_bounds = [true, true]} : memref<128x256xf8E4M3FN>, vector<128x64xf8E4M3FN>
// CHECK-DAG:       %[[A0:[a-z0-9_]+]] = vector.extract_strided_slice %[[TA]] {offsets = [0, 0], sizes = [64, 32], strides = [1, 1]}
// CHECK-DAG:       %[[B0:[a-z0-9_]+]] = vector.extract_strided_slice %[[TB]] {offsets = [0, 0], sizes = [128, 32], strides = [1, 1]}
// CHECK:           %[[E0:[a-z0-9_]+]] = moss.load_scales %[[E]][%[[M]], %[[K]]]
// CHECK:           %[[P0:[a-z0-9_]+]] = moss.mma %[[A0]], %[[B0]], %[[ZERO]]
// CHECK:           %[[S0:[a-z0-9_]+]] = moss.add_rescaled %[[ACC]], %[[P0]] rows(%[[E0]]
// CHECK-DAG:       %[[K1:[a-z0-9_]+]] = arith.addi %[[K]], %[[C32]] : index
// CHECK-DAG:       %[[A1:[a-z0-9_]+]] = vector.extract_strided_slice %[[TA]] {offsets = [0, 32], sizes = [64, 32], strides = [1, 1]}
// CHECK-DAG:       %[[B1:[a-z0-9_]+]] = vector.extract_strided_slice %[[TB]] {offsets = [0, 32], sizes = [128, 32], strides = [1, 1]}
// CHECK:           %[[E1:[a-z0-9_]+]] = moss.load_scales %[[E]][%[[M]], %[[K1]]]
// CHECK:           %[[P1:[a-z0-9_]+]] = moss.mma %[[A1]], %[[B1]], %[[ZERO]]
// CHECK:           %[[S1:[a-z0-9_]+]] = moss.add_rescaled %[[S0]], %[[P1]] rows(%[[E1]]
// CHECK:           scf.yield %[[S1]]
// CHECK:         } {moss.accumulate = #moss.accumulate<fast>}
func.func @rows(%a: memref<?x256xf8E4M3FN>, %e: memref<?x8xf8E8M0FNU, strided<[1, 4096]>>, %b: memref<128x256xf8E4M3FN>,
                %M: index, %c: memref<?x128xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<64x128xf32>
  %pad = arith.constant 0.0 : f8E4M3FN
  scf.forall (%m, %n) = (0, 0) to (%M, 256) step (64, 128) {
    %s = scf.for %k = %c0 to %c256 step %c32 iter_args(%acc = %zero) -> (vector<64x128xf32>) {
      %rows = moss.load_scales %e[%m, %k] bound(%M) group [1, 32] : memref<?x8xf8E8M0FNU, strided<[1, 4096]>> -> vector<64x1xf8E8M0FNU>
      %ta = vector.transfer_read %a[%m, %k], %pad {in_bounds = [false, true]} : memref<?x256xf8E4M3FN>, vector<64x32xf8E4M3FN>
      %tb = vector.transfer_read %b[%n, %k], %pad {in_bounds = [true, true]} : memref<128x256xf8E4M3FN>, vector<128x32xf8E4M3FN>
      // expected-remark @+1 {{2 steps of 32 elements along K share a tile}}
      %p = moss.mma %ta, %tb, %zero : vector<64x32xf8E4M3FN>, vector<128x32xf8E4M3FN>, vector<64x128xf32>
      %q = moss.add_rescaled %acc, %p rows(%rows : vector<64x1xf8E8M0FNU>) : vector<64x128xf32>
      scf.yield %q : vector<64x128xf32>
    } {moss.accumulate = #moss.accumulate<fast>}
    vector.transfer_write %s, %c[%m, %n] {in_bounds = [false, true]} : vector<64x128xf32>, memref<?x128xf32>
  } {moss.schedule = #schedule}
  return
}

// K is no whole tiles: reads along it may be out of bounds, and so may positions of
// scales that the copy engine reads. Those that threads load are clamped. A matrix
// by itself is read once.
// CHECK-LABEL: func @ragged(
// CHECK-SAME:  %[[A:[a-z0-9_]+]]: memref<128x?xf8E4M3FN>, %[[E:[a-z0-9_]+]]: memref<128x?xf32, strided<[1, 128]>>, %[[F:[a-z0-9_]+]]: memref<1x?xf32>, %[[K:[a-z0-9_]+]]: index
// CHECK:         scf.for %[[K0:[a-z0-9_]+]] = %{{.*}} to %[[K]] step
// CHECK:           %[[T:[a-z0-9_]+]] = vector.transfer_read %[[A]]{{.*}} {in_bounds = [true, false]} : memref<128x?xf8E4M3FN>, vector<64x64xf8E4M3FN>
// CHECK-NOT:       vector.transfer_read
// CHECK:           moss.load_scales %[[E]][%{{.*}}, %[[K0]]]
// CHECK:           %[[LAST:[a-z0-9_]+]] = arith.subi %[[K]], %{{.*}} : index
// CHECK:           %[[CLAMPED0:[a-z0-9_]+]] = arith.minui %[[K0]], %[[LAST]]
// CHECK:           moss.load_scales %[[F]][%{{.*}}, %[[CLAMPED0]]]
// CHECK:           %[[K1:[a-z0-9_]+]] = arith.addi %[[K0]], %{{.*}} : index
// CHECK:           moss.load_scales %[[E]][%{{.*}}, %[[K1]]]
// CHECK:           %[[CLAMPED1:[a-z0-9_]+]] = arith.minui %[[K1]], %[[LAST]]
// CHECK:           moss.load_scales %[[F]][%{{.*}}, %[[CLAMPED1]]]
func.func @ragged(%a: memref<128x?xf8E4M3FN>, %e: memref<128x?xf32, strided<[1, 128]>>, %f: memref<1x?xf32>,
                  %K: index, %c: memref<128x128xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %pad = arith.constant 0.0 : f8E4M3FN
  scf.forall (%m, %n) = (0, 0) to (128, 256) step (64, 128) {
    %s = scf.for %k = %c0 to %K step %c32 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
      %rows = moss.load_scales %e[%m, %k] bound(%c128) group [1, 32] : memref<128x?xf32, strided<[1, 128]>> -> vector<64x1xf32>
      %cols = moss.load_scales %f[%m, %k] bound(%c128) group [0, 32] : memref<1x?xf32> -> vector<1x64xf32>
      %t = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, false]} : memref<128x?xf8E4M3FN>, vector<64x32xf8E4M3FN>
      // expected-remark @+1 {{2 steps of 32 elements along K share a tile}}
      %p = moss.mma %t, %t, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      %q = moss.add_rescaled %acc, %p rows(%rows : vector<64x1xf32>) cols(%cols : vector<1x64xf32>) : vector<64x64xf32>
      scf.yield %q : vector<64x64xf32>
    }
    vector.transfer_write %s, %c[%m, %m] {in_bounds = [true, true]} : vector<64x64xf32>, memref<128x128xf32>
  } {moss.schedule = #schedule}
  return
}

// Left alone: loops that do more than to add products, from elsewhere, or read
// operands elsewhere.
// CHECK-LABEL: func @others(
// CHECK-COUNT-3: vector.transfer_read {{.*}} vector<64x32xf8E4M3FN>
// CHECK-NOT:     vector.extract_strided_slice
func.func @others(%a: memref<64x256xf8E4M3FN>, %e: vector<64x1xf32>, %k0: index, %c: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %pad = arith.constant 0.0 : f8E4M3FN
  scf.forall (%m, %n) = (0, 0) to (128, 256) step (64, 128) {
    %s = scf.for %k = %c0 to %c256 step %c32 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
      %t = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<64x256xf8E4M3FN>, vector<64x32xf8E4M3FN>
      // expected-remark @+1 {{steps are not merged into tiles of the schedule: the loop does not only add rescaled products to a sum}}
      %p = moss.mma %t, %t, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      %q = arith.addf %acc, %p : vector<64x64xf32>
      scf.yield %q : vector<64x64xf32>
    }
    %u = scf.for %k = %k0 to %c256 step %c32 iter_args(%acc = %s) -> (vector<64x64xf32>) {
      %t = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<64x256xf8E4M3FN>, vector<64x32xf8E4M3FN>
      // expected-remark @+1 {{the product is not in a loop that begins at 0 and steps by its K extent}}
      %p = moss.mma %t, %t, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      %q = moss.add_rescaled %acc, %p rows(%e : vector<64x1xf32>) : vector<64x64xf32>
      scf.yield %q : vector<64x64xf32>
    }
    %v = scf.for %k = %c0 to %c256 step %c32 iter_args(%acc = %u) -> (vector<64x64xf32>) {
      %t = vector.transfer_read %a[%m, %k0], %pad {in_bounds = [true, true]} : memref<64x256xf8E4M3FN>, vector<64x32xf8E4M3FN>
      // expected-remark @+1 {{an operand is not read by vector.transfer_read at the loop's position along K}}
      %p = moss.mma %t, %t, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      %q = moss.add_rescaled %acc, %p rows(%e : vector<64x1xf32>) : vector<64x64xf32>
      scf.yield %q : vector<64x64xf32>
    }
    vector.transfer_write %v, %c[%m, %m] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
  } {moss.schedule = #schedule}
  return
}
