// RUN: moss-opt %s --pass-pipeline='builtin.module(gpu.module(moss-convert-fp8-to-nvvm))' | FileCheck %s

gpu.module @kernels {
  // The clamp is what the instruction does anyway.
  // CHECK-LABEL: func @clamped
  // CHECK-SAME: %[[X:.*]]: vector<2xf32>
  func.func @clamped(%x: vector<2xf32>) -> vector<2xf8E4M3FN> {
    %high = arith.constant dense<448.0> : vector<2xf32>
    %low = arith.constant dense<-448.0> : vector<2xf32>
    %y = arith.minimumf %x, %high : vector<2xf32>
    %z = arith.maximumf %y, %low : vector<2xf32>
    // CHECK: %[[X0:.*]] = vector.extract %[[X]][0]
    // CHECK: %[[X1:.*]] = vector.extract %[[X]][1]
    // CHECK: nvvm.convert.f32x2.to.f8x2 %[[X1]], %[[X0]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
    // CHECK: vector.bitcast {{.*}} : vector<1xi16> to vector<2xi8>
    // CHECK-NOT: arith.cmpi
    // CHECK: arith.bitcast {{.*}} : vector<2xi8> to vector<2xf8E4M3FN>
    %q = arith.truncf %z : vector<2xf32> to vector<2xf8E4M3FN>
    return %q : vector<2xf8E4M3FN>
  }

  // A clamp to another range is not: the bounds of f8E5M2 are wider.
  // CHECK-LABEL: func @other_clamp
  func.func @other_clamp(%x: f32) -> f8E5M2 {
    %high = arith.constant 448.0 : f32
    %low = arith.constant -448.0 : f32
    // CHECK: arith.minimumf
    %y = arith.minimumf %x, %high : f32
    // CHECK: %[[Z:.*]] = arith.maximumf
    %z = arith.maximumf %y, %low : f32
    // CHECK: nvvm.convert.f32x2.to.f8x2 %[[Z]], %[[Z]] {{.*}}(f8E5M2)
    %q = arith.truncf %z : f32 to f8E5M2
    return %q : f8E5M2
  }

  // Beyond 464, f8E4M3FN has NaN; from 61440 on, f8E5M2 has infinity.
  // CHECK-LABEL: func @overflow
  func.func @overflow(%x: f32) -> (f8E4M3FN, f8E5M2) {
    // CHECK: arith.constant 1139277824 : i32
    // CHECK: arith.cmpi ugt
    // CHECK: arith.constant 127 : i8
    // CHECK: arith.select
    %q = arith.truncf %x : f32 to f8E4M3FN
    // CHECK: arith.constant 1198522368 : i32
    // CHECK: arith.cmpi uge
    // CHECK: arith.constant 124 : i8
    // CHECK: arith.select
    %r = arith.truncf %x : f32 to f8E5M2
    return %q, %r : f8E4M3FN, f8E5M2
  }

  // An odd number of elements is filled up.
  // CHECK-LABEL: func @extend
  func.func @extend(%p: vector<3xf8E5M2>, %e: f8E8M0FNU) -> (vector<3xf32>, f32) {
    // CHECK-COUNT-2: nvvm.convert.f8x2.to.f16x2 {{.*}} : vector<2xi8>(f8E5M2) -> vector<2xf16>
    // CHECK: arith.extf {{.*}} : vector<3xf16> to vector<3xf32>
    %x = arith.extf %p : vector<3xf8E5M2> to vector<3xf32>
    // CHECK: arith.shli
    // CHECK: arith.constant 4194304 : i32
    // CHECK: arith.constant 2143289344 : i32
    // CHECK: arith.bitcast {{.*}} : i32 to f32
    %s = arith.extf %e : f8E8M0FNU to f32
    return %x, %s : vector<3xf32>, f32
  }
}
