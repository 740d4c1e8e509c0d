// RUN: moss-opt %s --moss-convert-tensor-maps-to-llvm -split-input-file -verify-diagnostics

func.func @returned(%a: memref<64x128xf8E4M3FN>) -> !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128> {
  // expected-error @+1 {{is used by something else than a kernel; run moss-lower-kernel-tensor-maps first}}
  %map = moss.encode_tensor_map %a : memref<64x128xf8E4M3FN> -> !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>
  // expected-note @+1 {{used here}}
  return %map : !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>
}
