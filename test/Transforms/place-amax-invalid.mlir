// RUN: moss-opt %s --moss-place-amax --verify-diagnostics

#rule = #moss.amax_rule<f8E4M3FN, max, margin = 0>
func.func @tensors(%scales: tensor<1xf32>, %history: tensor<1x4xf32>, %a: tensor<f32>) -> tensor<1xf32> {
  // expected-error @+1 {{is on tensors; bufferize it first}}
  %0:2 = moss.next_delayed_scale [#rule] rows [1] amax(%a : tensor<f32>) outs(%scales, %history : tensor<1xf32>, tensor<1x4xf32>)
    -> tensor<1xf32>, tensor<1x4xf32>
  return %0#0 : tensor<1xf32>
}
