// RUN: moss-opt %s --moss-expand-next-scale --split-input-file --verify-diagnostics

#rule = #moss.scale_rule<#moss.optimizer<adam>, f8E4M3FN, master = f32>
func.func @tensors(%lr: f64, %step: i64, %scales: tensor<1xf32>, %state: tensor<1x3xf64>) -> tensor<1xf32> {
  // expected-error @+1 {{on tensors cannot be expanded; bufferize it first}}
  %0:2 = moss.next_scale [#rule] rows [1] lr(%lr : f64) step(%step) outs(%scales, %state : tensor<1xf32>, tensor<1x3xf64>)
    -> tensor<1xf32>, tensor<1x3xf64>
  return %0#0 : tensor<1xf32>
}

// -----

#rule = #moss.amax_rule<f8E4M3FN, max, margin = 0>
func.func @delayed(%scales: tensor<1xf32>, %history: tensor<1x4xf32>) -> tensor<1xf32> {
  // expected-error @+1 {{on tensors cannot be expanded; bufferize it first}}
  %0:2 = moss.next_delayed_scale [#rule] rows [1] outs(%scales, %history : tensor<1xf32>, tensor<1x4xf32>)
    -> tensor<1xf32>, tensor<1x4xf32>
  return %0#0 : tensor<1xf32>
}

// -----

#rule = #moss.amax_rule<f8E4M3FN, max, margin = 0>
func.func @amax(%scales: memref<1xf32>, %history: memref<1x4xf32>, %a: memref<f32>) {
  // expected-error @+1 {{has amax operands; run moss-place-amax first}}
  moss.next_delayed_scale [#rule] rows [1] amax(%a : memref<f32>) outs(%scales, %history : memref<1xf32>, memref<1x4xf32>)
  return
}
