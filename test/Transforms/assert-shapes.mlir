// RUN: moss-opt %s --moss-assert-shapes | FileCheck %s

#s = #moss.scheme<f8E4M3FN, global = unit>

// CHECK-LABEL: func @dynamic(
// CHECK:         cf.assert %{{.*}}, "{{.*}}.mlir:{{.*}}: moss.scaled_matmul: K of the left operand and K of the right operand differ"
// CHECK:         cf.assert %{{.*}}, "{{.*}}.mlir:{{.*}}: moss.scaled_matmul: M of the result and M of the left operand differ"
// CHECK:         cf.assert %{{.*}}, "{{.*}}.mlir:{{.*}}: moss.scaled_matmul: N of the result and N of the right operand differ"
// CHECK:         moss.scaled_matmul
func.func @dynamic(%a: memref<?x?xf8E4M3FN>, %b: memref<?x?xf8E4M3FN>, %c: memref<?x16xf32>) {
  moss.scaled_matmul #moss.accumulate<fast> lhs(#s, %a : memref<?x?xf8E4M3FN>)
    rhs(#s, %b : memref<?x?xf8E4M3FN>) outs(%c : memref<?x16xf32>)
  return
}

// What is static the verifier has compared.
// CHECK-LABEL: func @static(
// CHECK-NOT:     cf.assert
func.func @static(%a: memref<8x64xf8E4M3FN>, %b: memref<16x64xf8E4M3FN>, %c: memref<8x16xf32>) {
  moss.scaled_matmul #moss.accumulate<fast> lhs(#s, %a : memref<8x64xf8E4M3FN>)
    rhs(#s, %b : memref<16x64xf8E4M3FN>) outs(%c : memref<8x16xf32>)
  return
}
