// What is lowered passes, unchanged.
//
// RUN: moss-opt %s --moss-verify-lowered | FileCheck %s

// CHECK-LABEL: @lowered
// CHECK-NEXT:    arith.addf
// CHECK-NEXT:    return
func.func @lowered(%x: vector<4xf32>, %bytes: memref<4xf8E4M3FN>) -> vector<4xf32> {
  %r = arith.addf %x, %x : vector<4xf32>
  return %r : vector<4xf32>
}
