// RUN: moss-opt --cse --loop-invariant-code-motion %s | FileCheck %s

#tensor = #moss.scheme<f8E4M3FN, global = unit>

// On tensors the ops have no effects: equal ones are merged and invariant ones
// leave loops.

// CHECK-LABEL: func @tensors
func.func @tensors(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %c: tensor<8x8xf32>, %n: index) -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[Q:.*]] = moss.quantize
  // CHECK-NOT: moss.quantize
  // CHECK: scf.for
  // CHECK-NEXT: moss.scaled_matmul {{.*}} lhs({{.*}}, %[[Q]] : {{.*}}) rhs({{.*}}, %[[Q]] :
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %c) -> tensor<8x8xf32> {
    %a = moss.quantize #tensor ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
    %b = moss.quantize #tensor ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
    %s = moss.scaled_matmul #moss.accumulate<fast> accumulates lhs(#tensor, %a : tensor<8x64xf8E4M3FN>)
      rhs(#tensor, %b : tensor<8x64xf8E4M3FN>) outs(%acc : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %s : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// On memrefs they write, and where extents are unknown, running an op whose
// shapes disagree is undefined; so neither moves.

// CHECK-LABEL: func @memrefs_and_dynamic
func.func @memrefs_and_dynamic(%x: memref<8x64xbf16>, %p: memref<8x64xf8E4M3FN>, %y: tensor<?x64xbf16>, %q: tensor<8x64xf8E4M3FN>, %n: index) -> tensor<8x64xf8E4M3FN> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for
  // CHECK-NEXT: moss.quantize
  // CHECK-NEXT: moss.quantize
  // CHECK-NEXT: moss.quantize
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %q) -> tensor<8x64xf8E4M3FN> {
    moss.quantize #tensor ins(%x : memref<8x64xbf16>) payload(%p : memref<8x64xf8E4M3FN>)
    moss.quantize #tensor ins(%x : memref<8x64xbf16>) payload(%p : memref<8x64xf8E4M3FN>)
    %a = moss.quantize #tensor ins(%y : tensor<?x64xbf16>) payload(%q : tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN>
    scf.yield %a : tensor<8x64xf8E4M3FN>
  }
  return %r : tensor<8x64xf8E4M3FN>
}
