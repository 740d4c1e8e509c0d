#jit = #moss.scheme<f8E4M3FN, global = jit>
#weight = #moss.weight<#moss.optimizer<adam>, state = globals, interval = 4>

ml_program.global private mutable @w(dense<1.0> : tensor<4x32xbf16>) : tensor<4x32xbf16> {moss.weight = #weight}

// The weight, as the payload and the scale after `step` steps have it.
func.func @look(%step: i64 {moss.step}, %y: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %w = ml_program.global_load @w : tensor<4x32xbf16>
  %p = tensor.empty() : tensor<4x32xf8E4M3FN>
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<4x32xbf16>) payload(%p : tensor<4x32xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<4x32xf8E4M3FN>, tensor<f32>
  %d = moss.dequantize #jit payload(%q#0 : tensor<4x32xf8E4M3FN>) global(%q#1 : tensor<f32>) outs(%y : tensor<4x32xf32>) -> tensor<4x32xf32>
  return %d : tensor<4x32xf32>
}

func.func @load() {
  %value = arith.constant 8.0 : bf16
  %empty = tensor.empty() : tensor<4x32xbf16>
  %eight = linalg.fill ins(%value : bf16) outs(%empty : tensor<4x32xbf16>) -> tensor<4x32xbf16>
  ml_program.global_store @w = %eight : tensor<4x32xbf16>
  return
}

// Scales in globals and a step of its own leave the signature alone, so that the
// function may be called.
func.func @look_twice(%step: i64, %y: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %0 = call @look(%step, %y) : (i64, tensor<4x32xf32>) -> tensor<4x32xf32>
  %1 = call @look(%step, %0) : (i64, tensor<4x32xf32>) -> tensor<4x32xf32>
  return %1 : tensor<4x32xf32>
}
