// RUN: moss-opt %s --moss-fuse-accumulator | FileCheck %s
// RUN: moss-opt %s --moss-fuse-accumulator --remark-format=emitRemark --remarks-filter="moss.*" -verify-diagnostics

!a = vector<32x128xf8E4M3FN>
!c = vector<32x32xf32>

// CHECK-LABEL: func @fast(
// CHECK:       scf.for %{{.*}} iter_args(%[[C:[a-z0-9_]+]] =
// CHECK-NEXT:    %[[P:[a-z0-9_]+]] = moss.mma %{{.*}}, %{{.*}}, %[[C]]
// CHECK-NEXT:    scf.yield %[[P]]
func.func @fast(%a: !a, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    // expected-remark @+1 {{the whole sum stays in the matrix unit: each of K / 32 steps may lose up to 33 * 2^-13 of the largest partial sum or product, toward zero; #moss.accumulate<promoted(128)> bounds this by 4 steps}}
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %s = arith.addf %c, %p : !c
    scf.yield %s : !c
  } {moss.accumulate = #moss.accumulate<fast>}
  return %acc : !c
}

// The operands of the addition may come in any order; K is known.
// CHECK-LABEL: func @static_k(
// CHECK:       scf.for %{{.*}} iter_args(%[[C:[a-z0-9_]+]] =
// CHECK-NEXT:    moss.mma %{{.*}}, %{{.*}}, %[[C]]
// CHECK-NEXT:    scf.yield
func.func @static_k(%a: !a) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %c1000 step %c128 iter_args(%c = %zero) -> (!c) {
    // expected-remark @+1 {{each of 32 steps may lose}}
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %s = arith.addf %p, %c : !c
    scf.yield %s : !c
  } {moss.accumulate = #moss.accumulate<fast>}
  return %acc : !c
}

// Promotion, and loops that ask for nothing, keep the addition.
// CHECK-LABEL: func @promoted(
// CHECK-COUNT-2: arith.addf
func.func @promoted(%a: !a, %K: index) -> (!c, !c) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %0 = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %s = arith.addf %c, %p : !c
    scf.yield %s : !c
  } {moss.accumulate = #moss.accumulate<promoted(128)>}
  %1 = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %s = arith.addf %c, %p : !c
    scf.yield %s : !c
  }
  return %0, %1 : !c, !c
}

// Rescaled partial sums are rounded once, whichever accumulation is asked for.
// CHECK-LABEL: func @rescaled(
// CHECK-SAME:    %{{.*}}: vector<32x128xf8E4M3FN>, %[[E:[a-z0-9_]+]]: vector<32x1xf32>
// CHECK:       scf.for %{{.*}} iter_args(%[[C:[a-z0-9_]+]] =
// CHECK:         %[[P:[a-z0-9_]+]] = moss.mma
// CHECK-NEXT:    %[[S:[a-z0-9_]+]] = moss.add_rescaled %[[C]], %[[P]] rows(%[[E]] : vector<32x1xf32>)
// CHECK-NEXT:    scf.yield %[[S]]
func.func @rescaled(%a: !a, %e: vector<32x1xf32>, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %r = moss.rescale %p rows(%e : vector<32x1xf32>) : !c
    // expected-remark @+1 {{partial sums are rescaled inside the loop, so they cannot stay in the matrix unit}}
    %s = arith.addf %c, %r : !c
    scf.yield %s : !c
  } {moss.accumulate = #moss.accumulate<fast>}
  return %acc : !c
}

// CHECK-LABEL: func @rescaled_promoted(
// CHECK:         moss.add_rescaled
// CHECK-NOT:     moss.rescale
func.func @rescaled_promoted(%a: !a, %e: vector<32x1xf32>, %K: index) -> !c {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (!c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %r = moss.rescale %p rows(%e : vector<32x1xf32>) : !c
    %s = arith.addf %r, %c : !c
    scf.yield %s : !c
  } {moss.accumulate = #moss.accumulate<promoted(128)>}
  return %acc : !c
}

// Products with other uses, from outside the loop, or that do not start from
// zero, and sums with other uses.
// CHECK-LABEL: func @leave_alone(
// CHECK-COUNT-4: arith.addf
func.func @leave_alone(%a: !a, %t: !c, %K: index) -> (!c, !c, !c, !c, !c) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : !c
  %outside = moss.mma %a, %a, %zero : !a, !a, !c
  %0:5 = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero, %d = %zero, %e = %zero, %f = %zero, %g = %zero) -> (!c, !c, !c, !c, !c) {
    %p = moss.mma %a, %a, %zero : !a, !a, !c
    %s = arith.addf %c, %p : !c
    %s1 = arith.addf %d, %outside : !c
    %p2 = moss.mma %a, %a, %t : !a, !a, !c
    %s2 = arith.addf %e, %p2 : !c
    %p3 = moss.mma %a, %a, %zero : !a, !a, !c
    %s3 = arith.addf %f, %p3 : !c
    %x = arith.mulf %f, %p : !c
    scf.yield %s, %s1, %s2, %s3, %x : !c, !c, !c, !c, !c
  } {moss.accumulate = #moss.accumulate<fast>}
  return %0#0, %0#1, %0#2, %0#3, %0#4 : !c, !c, !c, !c, !c
}

// The accumulator of bf16 products is a whole f32.
// CHECK-LABEL: func @bf16(
// CHECK:       scf.for %{{.*}} iter_args(%[[C:[a-z0-9_]+]] =
// CHECK-NEXT:    moss.mma %{{.*}}, %{{.*}}, %[[C]]
func.func @bf16(%a: vector<32x64xbf16>) -> !c {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant dense<0.0> : !c
  %acc = scf.for %k = %c0 to %c1000 step %c64 iter_args(%c = %zero) -> (!c) {
    // expected-remark @+1 {{each of 63 steps may lose up to 21 * 2^-25 of the largest partial sum or product, toward zero; #moss.accumulate<promoted(128)> bounds this by 8 steps}}
    %p = moss.mma %a, %a, %zero : vector<32x64xbf16>, vector<32x64xbf16>, !c
    %s = arith.addf %c, %p : !c
    scf.yield %s : !c
  } {moss.accumulate = #moss.accumulate<fast>}
  return %acc : !c
}
