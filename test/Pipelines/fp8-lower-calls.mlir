// Calls whose results the caller owns, chained and added: the deallocation passes keep lists of
// buffers on the host, which must not be taken for device memory.
// RUN: moss-opt %s --moss-fp8-lower | FileCheck %s
// RUN: moss-opt %s --moss-fp8-lower=target=cpu -o /dev/null
// The output is the same at every run.
// RUN: moss-opt %s --moss-fp8-lower -o %t.first
// RUN: moss-opt %s --moss-fp8-lower | diff %t.first -

// CHECK: gpu.binary @two_kernel
// CHECK: llvm.func @two(
// CHECK: llvm.call @lin(
func.func @lin(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<64x64xbf16>
  %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%init : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %y : tensor<64x64xbf16>
}
func.func @two(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>) -> tensor<64x64xbf16> {
  %a = call @lin(%x, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %b = call @lin(%a, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %c = call @lin(%b, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %d = arith.addf %a, %c : tensor<64x64xbf16>
  %e = math.exp %d : tensor<64x64xbf16>
  return %e : tensor<64x64xbf16>
}
