// RUN: moss-opt %s --moss-hoist-dequant | FileCheck %s
// RUN: moss-opt %s --moss-hoist-dequant=allow-reassociation | FileCheck %s --check-prefix=REASSOC
// RUN: moss-opt %s --moss-hoist-dequant --remark-format=emitRemark --remarks-filter="moss.*" -verify-diagnostics

!a = vector<32x128xf8E4M3FN>
!c = vector<32x32xf32>
!rows = vector<32x1xf8E8M0FNU>

// The sum starts from a value that is not scaled.
// CHECK-LABEL: func @init(
// CHECK:       scf.for
// CHECK:         moss.rescale
// CHECK:       }
// CHECK-NEXT:  return
func.func @init(%a: !a, %e: !rows, %init: !c, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %init) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %r = moss.rescale %p rows(%e : !rows) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// The rescaled partial sums, the running sum and the new sum have other uses.
// CHECK-LABEL: func @other_uses(
// CHECK-COUNT-3: moss.rescale
// CHECK-NOT:     moss.rescale
func.func @other_uses(%a: !a, %e: !rows, %out: memref<32x32xf32>, %K: index) -> (!c, !c, !c) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %0:3 = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero, %d = %zero, %f = %zero) -> (!c, !c, !c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %r = moss.rescale %p rows(%e : !rows) : !c
    vector.transfer_write %r, %out[%c0, %c0] {in_bounds = [true, true]} : !c, memref<32x32xf32>
    %s = arith.addf %c, %r : !c
    %r1 = moss.rescale %p rows(%e : !rows) : !c
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : !c, memref<32x32xf32>
    %s1 = arith.addf %d, %r1 : !c
    %r2 = moss.rescale %p rows(%e : !rows) : !c
    %s2 = arith.addf %f, %r2 : !c
    vector.transfer_write %s2, %out[%c0, %c0] {in_bounds = [true, true]} : !c, memref<32x32xf32>
    scf.yield %s, %s1, %s2 : !c, !c, !c
  }
  return %0#0, %0#1, %0#2 : !c, !c, !c
}

// CHECK-LABEL: func @every_step(
// CHECK:       scf.for
// CHECK:         moss.load_scales
// CHECK-NEXT:    moss.rescale
func.func @every_step(%a: !a, %m: memref<?x?xf8E8M0FNU>, %M: index, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%M) group [1, 128] : memref<?x?xf8E8M0FNU> -> !rows
    // expected-remark @+1 {{left in the loop: its scales change at every step of it}}
    %r = moss.rescale %p rows(%e : !rows) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// f32 scales that change at every step stay if reassociation is allowed too, which
// is no advice then.
// CHECK-LABEL: func @f32_every_step(
// CHECK:       scf.for
// CHECK:         moss.load_scales
// CHECK-NEXT:    moss.rescale
// REASSOC-LABEL: func @f32_every_step(
// REASSOC:       scf.for
// REASSOC:         moss.load_scales
// REASSOC-NEXT:    moss.rescale
func.func @f32_every_step(%a: !a, %m: memref<?x?xf32>, %M: index, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%M) group [1, 128] : memref<?x?xf32> -> vector<32x1xf32>
    // expected-remark @+1 {{left in the loop: its scales change at every step of it}}
    %r = moss.rescale %p rows(%e : vector<32x1xf32>) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// So do f32 scales of groups, if the loop cannot be split.
// CHECK-LABEL: func @f32_carries_more(
// CHECK-COUNT-1: scf.for
// CHECK-NOT:     scf.for
// REASSOC-LABEL: func @f32_carries_more(
// REASSOC-COUNT-1: scf.for
// REASSOC-NOT:   scf.for
// REASSOC:       return
func.func @f32_carries_more(%a: !a, %m: memref<?x?xf32>, %K: index) -> (!c, index) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc:2 = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero, %i = %c0) -> (!c, index) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%K) group [1, 512] : memref<?x?xf32> -> vector<32x1xf32>
    // expected-remark @+1 {{left in the loop: it carries other values, so it cannot be split at group boundaries}}
    %r = moss.rescale %p rows(%e : vector<32x1xf32>) : !c
    %s = arith.addf %c, %r : !c
    %j = arith.addi %i, %k : index
    scf.yield %s, %j : !c, index
  }
  return %acc#0, %acc#1 : !c, index
}

// A step that is not known might cross a group's boundary.
// CHECK-LABEL: func @dynamic_step(
// CHECK-COUNT-1: scf.for
// CHECK-NOT:     scf.for
func.func @dynamic_step(%a: !a, %m: memref<?x?xf8E8M0FNU>, %step: index, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %step iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%K) group [1, 512] : memref<?x?xf8E8M0FNU> -> !rows
    // expected-remark @+1 {{left in the loop: its scales change at every step of it}}
    %r = moss.rescale %p rows(%e : !rows) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// Groups of 96 and 128 in steps of 32 have no common boundary but every step.
// CHECK-LABEL: func @no_common_boundary(
// CHECK-COUNT-1: scf.for
// CHECK-NOT:     scf.for
func.func @no_common_boundary(%a: vector<32x32xf8E4M3FN>, %m: memref<?x?xf8E8M0FNU>, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c32 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : vector<32x32xf8E4M3FN>, vector<32x32xf8E4M3FN>, !c
    %e = moss.load_scales %m[%c0, %k] bound(%K) group [1, 96] : memref<?x?xf8E8M0FNU> -> !rows
    %f = moss.load_scales %m[%c0, %k] bound(%K) group [1, 128] : memref<?x?xf8E8M0FNU> -> vector<1x32xf8E8M0FNU>
    // expected-remark @+1 {{left in the loop: the micro groups of the two operands have no common boundary longer than a step}}
    %r = moss.rescale %p rows(%e : !rows) cols(%f : vector<1x32xf8E8M0FNU>) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// A loop that carries more cannot be split.
// CHECK-LABEL: func @carries_more(
// CHECK-COUNT-1: scf.for
// CHECK-NOT:     scf.for
func.func @carries_more(%a: !a, %m: memref<?x?xf8E8M0FNU>, %K: index) -> (!c, index) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc:2 = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero, %i = %c0) -> (!c, index) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%K) group [1, 512] : memref<?x?xf8E8M0FNU> -> !rows
    // expected-remark @+1 {{left in the loop: it carries other values, so it cannot be split at group boundaries}}
    %r = moss.rescale %p rows(%e : !rows) : !c
    %s = arith.addf %c, %r : !c
    %j = arith.addi %i, %k : index
    scf.yield %s, %j : !c, index
  }
  return %acc#0, %acc#1 : !c, index
}

// The scales may change in memory between their loads.
// CHECK-LABEL: func @written_scales(
// CHECK-COUNT-1: scf.for
// CHECK-NOT:     scf.for
func.func @written_scales(%a: !a, %m: memref<?x?xf8E8M0FNU>, %x: f8E8M0FNU, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %e = moss.load_scales %m[%c0, %k] bound(%K) group [1, 512] : memref<?x?xf8E8M0FNU> -> !rows
    memref.store %x, %m[%c0, %c0] : memref<?x?xf8E8M0FNU>
    // expected-remark @+1 {{left in the loop: its scales change at every step of it}}
    %r = moss.rescale %p rows(%e : !rows) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}

// Values of any size might overflow when they are added unscaled.
// CHECK-LABEL: func @not_products(
// CHECK-COUNT-2: scf.for
// CHECK:           moss.rescale
// CHECK-COUNT-1: scf.for
// CHECK:           moss.rescale
func.func @not_products(%a: !a, %t: !c, %e: !rows, %K: index) -> (!c, !c) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = scf.for %j = %c0 to %K step %c128 iter_args(%d = %zero) -> (!c) {
      %x = moss.mma %a, %a, %t : !a, !a, !c
      scf.yield %x : !c
    }
    // expected-remark @+1 {{left in the loop: what it rescales is not known to be a sum of products of FP8 values, so it might overflow unscaled}}
    %r = moss.rescale %p rows(%e : !rows) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  %acc1 = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    // expected-remark @+1 {{left in the loop: what it rescales is not known to be a sum of products}}
    %r = moss.rescale %t rows(%e : !rows) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc, %acc1 : !c, !c
}

// Products of bf16 may overflow f32 by themselves.
// CHECK-LABEL: func @bf16(
// CHECK:       scf.for
// CHECK:         moss.rescale
// CHECK:       }
// CHECK-NEXT:  return
func.func @bf16(%a: vector<32x64xbf16>, %e: !rows, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c64 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : vector<32x64xbf16>, vector<32x64xbf16>, !c
    // expected-remark @+1 {{left in the loop: what it rescales is not known to be a sum of products of FP8 values}}
    %r = moss.rescale %p rows(%e : !rows) : !c
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  }
  return %acc : !c
}
