// A call with shapes that do not fit stops with a message, on standard error.
// RUN: moss-opt %s --moss-fp8-lower=target=cpu \
// RUN:   | not --crash mlir-runner -e main -entry-point-result=void 2>&1 >/dev/null | FileCheck %s

// CHECK: wrong-shapes.mlir:[[#]]:[[#]]: moss.scaled_matmul: K of the left operand and K of the right operand differ

func.func private @linear(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>) -> tensor<?x?xf32> attributes {no_inline} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %n = tensor.dim %w, %c1 : tensor<?x?xbf16>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%m, %n) : tensor<?x?xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

func.func @main() {
  %one = arith.constant 1.0 : bf16
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %ex = tensor.empty(%c8, %c8) : tensor<?x?xbf16>
  %ew = tensor.empty(%c16, %c8) : tensor<?x?xbf16>
  %x = linalg.fill ins(%one : bf16) outs(%ex : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  %w = linalg.fill ins(%one : bf16) outs(%ew : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  %y = call @linear(%x, %w) : (tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x?xf32>
  return
}
