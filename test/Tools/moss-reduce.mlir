// A module that Moss refuses is reduced to the function and the op because of which
// it does.
// DEFINE: %{test} = test=%S/Inputs/refused-by-moss.sh
// RUN: moss-reduce %s --reduction-tree='traversal-mode=0 %{test}' | FileCheck %s
// Moss's passes are reduction passes too. This one makes the module smaller, so
// what it did is kept;
// RUN: moss-reduce %s --opt-reduction-pass='opt-pass=moss-drop-returned-arguments %{test}' \
// RUN:   | FileCheck %s --check-prefix=DROPPED
// this one makes it larger, with ops of a dialect that was not in the module.
// RUN: moss-reduce %s --opt-reduction-pass='opt-pass=moss-quantize %{test}' | FileCheck %s --check-prefix=SAME
// A module without the problem is left alone, which is said.
// RUN: not moss-reduce %s --reduction-tree='traversal-mode=0 test=/bin/true' 2>&1 | FileCheck %s --check-prefix=FINE
// RUN: not moss-reduce %t.none --reduction-tree='traversal-mode=0 %{test}' 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK-NOT: @fine
// CHECK-LABEL: func.func @refused
// CHECK-NEXT: arith.addf
// CHECK-NEXT: memref.store
// CHECK-NEXT: return
// DROPPED: func.func @refused(
// DROPPED-NOT: -> memref
// SAME: func.func @fine
// SAME-NEXT: linalg.matmul
// SAME: func.func @refused
// FINE: warning: uninterested module will not be reduced
// NONE: No such file or directory

func.func @fine(%x: tensor<16x64xbf16>, %w: tensor<64x32xbf16>, %y: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %0 = linalg.matmul ins(%x, %w : tensor<16x64xbf16>, tensor<64x32xbf16>) outs(%y : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %0 : tensor<16x32xf32>
}

func.func @refused(%x: memref<16x16xf32>, %a: f8E4M3FN, %b: f8E4M3FN, %sum: memref<f8E4M3FN>) -> memref<f8E4M3FN> {
  linalg.add ins(%x, %x : memref<16x16xf32>, memref<16x16xf32>) outs(%x : memref<16x16xf32>)
  linalg.mul ins(%x, %x : memref<16x16xf32>, memref<16x16xf32>) outs(%x : memref<16x16xf32>)
  %0 = arith.addf %a, %b : f8E4M3FN
  memref.store %0, %sum[] : memref<f8E4M3FN>
  return %sum : memref<f8E4M3FN>
}
