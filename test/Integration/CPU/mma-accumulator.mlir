// The emulated step for accumulators that no earlier step made: more than 13
// fraction bits, subnormal, the largest f32, infinities and NaNs. The first row
// has no product but zeros, the second one product of 1, the third one of -1.
//
// RUN: moss-opt %s --moss-lower-to-cpu=arithmetic=emulate \
// RUN: | mlir-runner -e main -entry-point-result=void \
// RUN:     --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so \
// RUN: | FileCheck %s

func.func private @step(%a: vector<3x32xf8E4M3FN>, %b: vector<8x32xf8E4M3FN>, %c: vector<3x8xf32>) {
  %d = moss.mma %a, %b, %c : vector<3x32xf8E4M3FN>, vector<8x32xf8E4M3FN>, vector<3x8xf32>
  %bits = arith.bitcast %d : vector<3x8xf32> to vector<3x8xi32>
  vector.print %bits : vector<3x8xi32>
  return
}

func.func @main() {
  %zero = arith.constant dense<0.0> : vector<3x32xf8E4M3FN>
  %one = arith.constant 1.0 : f8E4M3FN
  %minus = arith.constant -1.0 : f8E4M3FN
  %a1 = vector.insert %one, %zero[1, 5] : f8E4M3FN into vector<3x32xf8E4M3FN>
  %a = vector.insert %minus, %a1[2, 31] : f8E4M3FN into vector<3x32xf8E4M3FN>
  %b = arith.constant dense<1.0> : vector<8x32xf8E4M3FN>
  // 1 + 2^-13 + 2^-23, -(1 + 2^-14), 2^-139 + 2^-149, -2^-140, 2^13 + 2^-10,
  // the largest, an infinity, a NaN with a payload.
  %acc = arith.constant dense<[0x3f800401, 0xbf800200, 0x00000401, 0x80000200,
                               0x46000001, 0x7f7fffff, 0xff800000, 0x7fc00001]> : vector<8xf32>
  %c = vector.broadcast %acc : vector<8xf32> to vector<3x8xf32>
  // 0x3f800400, 0xbf800000, 0x400, 0, 0x46000000, 0x7f7ffc00, 0xff800000, NaN
  // CHECK:      ( ( 1065354240, -1082130432, 1024, 0, 1174405120, 2139094016, -8388608, 2147483647 ),
  // 0x40000000 (2 + 2^-13 has 14 fraction bits), 0, 1, 1, 2^13 + 1, the rest
  // CHECK-SAME:   ( 1073741824, 0, 1065353216, 1065353216, 1174406144, 2139094016, -8388608, 2147483647 ),
  // 2^-13, -2, -1, -1, 2^13 - 1, the rest
  // CHECK-SAME:   ( 956301312, -1073741824, -1082130432, -1082130432, 1174403072, 2139094016, -8388608, 2147483647 ) )
  call @step(%a, %b, %c) : (vector<3x32xf8E4M3FN>, vector<8x32xf8E4M3FN>, vector<3x8xf32>) -> ()
  return
}
