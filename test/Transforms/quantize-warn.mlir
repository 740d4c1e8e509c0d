// RUN: moss-opt --moss-quantize=warn-unquantized -split-input-file -verify-diagnostics %s
// RUN: moss-opt --moss-fp8-lower="to=quantized warn-unquantized" -split-input-file -verify-diagnostics %s
// RUN: moss-opt --moss-quantize="warn-unquantized scheme=bf16" -split-input-file %s 2>&1 | FileCheck %s --implicit-check-not="warning: no matmul"
// RUN: moss-opt --moss-quantize -split-input-file %s 2>&1 | FileCheck %s --implicit-check-not="warning: no matmul"

// CHECK-LABEL: func @all_left_alone(
func.func @all_left_alone(%a: tensor<8x64xf32>, %b: tensor<64x16xf32>, %c: tensor<8x16xf32>,
    %x: tensor<2x8x64xbf16>, %y: tensor<2x64x16xbf16>, %z: tensor<2x8x16xf32>) -> (tensor<8x16xf32>, tensor<2x8x16xf32>) {
  // expected-warning @below {{no matmul becomes FP8: this one is left alone, since operand #0 has element type f32, and only bf16 is quantized}}
  %0 = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-note @below {{so is this one; remarks of moss-quantize give the reason of each}}
  %1 = linalg.batch_matmul ins(%x, %y : tensor<2x8x64xbf16>, tensor<2x64x16xbf16>) outs(%z : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<2x8x16xf32>
}

// -----

// One that becomes FP8 is enough.
// CHECK-LABEL: func @one_is_quantized(
func.func @one_is_quantized(%a: tensor<8x64xf32>, %b: tensor<64x16xf32>, %c: tensor<8x16xf32>,
    %x: tensor<8x64xbf16>, %y: tensor<64x16xbf16>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = linalg.matmul ins(%x, %y : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// A program that has FP8 matmuls of its own is one that knows.
#s = #moss.scheme<f8E4M3FN, global = unit>
// CHECK-LABEL: func @already_quantized(
func.func @already_quantized(%a: tensor<8x64xf32>, %b: tensor<64x16xf32>, %c: tensor<8x16xf32>,
    %x: tensor<8x64xf8E4M3FN>, %y: tensor<16x64xf8E4M3FN>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x16xf32>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = moss.scaled_matmul #moss.accumulate<fast> lhs(#s, %x : tensor<8x64xf8E4M3FN>)
         rhs(#s, %y : tensor<16x64xf8E4M3FN>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// Nothing is expected of a program without matmuls.
// CHECK-LABEL: func @no_matmul(
func.func @no_matmul(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  return %x : tensor<8xbf16>
}
