// Tiles that meet ops which are not lowered to rows: a million iterations, none
// of which may leave memory on the stack.
//
// RUN: moss-opt %s --moss-lower-to-cpu \
// RUN: | mlir-runner -e main -entry-point-result=void \
// RUN:     --shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so \
// RUN: | FileCheck %s

// CHECK: ( ( 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125 ),
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 1000000 : index
  %zero = arith.constant dense<1.0> : vector<4x8xf32>
  %z = arith.constant dense<0.0> : vector<4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (vector<4x8xf32>) {
    %red = vector.multi_reduction <add>, %a, %z [1] : vector<4x8xf32> to vector<4xf32>
    %q = vector.shape_cast %red : vector<4xf32> to vector<4x1xf32>
    %b = vector.broadcast %q : vector<4x1xf32> to vector<4x8xf32>
    %d = arith.divf %a, %b : vector<4x8xf32>
    scf.yield %d : vector<4x8xf32>
  }
  vector.print %r : vector<4x8xf32>
  return
}
