// RUN: moss-opt %s --moss-expand-fp8 --split-input-file | FileCheck %s

// CHECK-LABEL: @extend
// CHECK-SAME:    %[[ARG:.*]]: f8E4M3FN
// CHECK:         arith.bitcast %[[ARG]] : f8E4M3FN to i8
// CHECK:         arith.uitofp
// CHECK:         arith.select
// CHECK-NOT:     arith.extf
// CHECK:         %[[BITS:.*]] = arith.ori
// CHECK:         %[[F32:.*]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK:         return %[[F32]]
func.func @extend(%x: f8E4M3FN) -> f32 {
  %f = arith.extf %x : f8E4M3FN to f32
  return %f : f32
}

// -----

// Other wide types go through f32.

// CHECK-LABEL: @extend_to_bf16
// CHECK:         %[[F32:.*]] = arith.bitcast {{.*}} : vector<2x4xi32> to vector<2x4xf32>
// CHECK:         arith.truncf %[[F32]] : vector<2x4xf32> to vector<2x4xbf16>
func.func @extend_to_bf16(%x: vector<2x4xf8E5M2>) -> vector<2x4xbf16> {
  %f = arith.extf %x : vector<2x4xf8E5M2> to vector<2x4xbf16>
  return %f : vector<2x4xbf16>
}

// -----

// CHECK-LABEL: @truncate_bf16
// CHECK:         arith.extf {{.*}} : vector<8xbf16> to vector<8xf32>
// CHECK-NOT:     arith.truncf
// CHECK:         arith.bitcast {{.*}} : vector<8xi8> to vector<8xf8E5M2>
func.func @truncate_bf16(%x: vector<8xbf16>) -> vector<8xf8E5M2> {
  %f = arith.truncf %x : vector<8xbf16> to vector<8xf8E5M2>
  return %f : vector<8xf8E5M2>
}

// -----

// Code 0 of f8E8M0FNU is 2^-127, whose f32 is subnormal.

// CHECK-LABEL: @extend_scale
// CHECK:         arith.bitcast {{.*}} : f8E8M0FNU to i8
// CHECK:         arith.constant 4194304 : i32
// CHECK-NOT:     arith.extf
func.func @extend_scale(%x: f8E8M0FNU) -> f32 {
  %f = arith.extf %x : f8E8M0FNU to f32
  return %f : f32
}

// -----

// Left alone: f64 would round twice, and other rounding modes are not known.

// CHECK-LABEL: @untouched
// CHECK:         arith.truncf {{.*}} : f64 to f8E4M3FN
// CHECK:         arith.truncf {{.*}} toward_zero : f32 to f8E4M3FN
func.func @untouched(%x: f64, %y: f32) -> (f8E4M3FN, f8E4M3FN) {
  %f = arith.truncf %x : f64 to f8E4M3FN
  %g = arith.truncf %y toward_zero : f32 to f8E4M3FN
  return %f, %g : f8E4M3FN, f8E4M3FN
}
