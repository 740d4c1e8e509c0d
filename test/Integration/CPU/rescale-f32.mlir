// Row and column scales in f32: exponents far outside of f32's range cancel, and
// zeros, infinities and NaNs are what the product of the scales makes of them.
//
// RUN: moss-opt %s --moss-lower-to-cpu \
// RUN: | mlir-runner -e main -entry-point-result=void \
// RUN:     --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so \
// RUN: | FileCheck %s

func.func private @rescale(%t: vector<4x3xf32>, %rows: vector<4x1xf32>, %cols: vector<1x3xf32>,
                           %s0: f32, %s1: f32) {
  %r = moss.rescale %t rows(%rows : vector<4x1xf32>) cols(%cols : vector<1x3xf32>)
      by(%s0, %s1) : vector<4x3xf32>
  vector.print %r : vector<4x3xf32>
  return
}

func.func @main() {
  %t = arith.constant dense<[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0], [4.0, 4.0, 0.0]]>
      : vector<4x3xf32>
  // 2^100, 3 * 2^-140 (subnormal), 1.5, 0
  %rows = arith.constant dense<[[0x71800000], [0x00000600], [0x3fc00000], [0x0]]> : vector<4x1xf32>
  // 2^-100, 2^120, infinity
  %cols = arith.constant dense<[[0x0d800000, 0x7b800000, 0x7f800000]]> : vector<1x3xf32>
  // 1.5 * 2^127 and -2^-126, so that their product is -3
  %s0 = arith.constant 0x7f400000 : f32
  %s1 = arith.constant 0x80800000 : f32
  // CHECK:      ( -3, -inf, -inf ),
  // CHECK-SAME: ( -0, -1.71661e-05, -inf ),
  // CHECK-SAME: ( -1.06496e-29, -1.79443e+37, -inf ),
  // CHECK-SAME: ( -0, -0, {{-?}}nan )
  call @rescale(%t, %rows, %cols, %s0, %s1)
      : (vector<4x3xf32>, vector<4x1xf32>, vector<1x3xf32>, f32, f32) -> ()
  return
}
