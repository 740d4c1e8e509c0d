// RUN: moss-opt %s --moss-quantize-to-loops --verify-diagnostics

func.func @tensors(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %g: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'moss.quantize' op on tensors cannot become loops; bufferize it first}}
  %q:2 = moss.quantize <f8E4M3FN, global = jit> ins(%x : tensor<8x64xbf16>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  return %q#1 : tensor<f32>
}
