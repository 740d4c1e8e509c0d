// RUN: moss-opt %s | moss-opt | FileCheck %s
// RUN: moss-opt %s --mlir-print-op-generic | moss-opt | FileCheck %s

// CHECK-DAG: #moss.optimizer<sgd, weight_decay = 1.250000e-01>
// CHECK-DAG: #moss.optimizer<momentum, momentum = 9.000000e-01, weight_decay = 0.000000e+00>
// CHECK-DAG: #moss.optimizer<adam, beta1 = 9.000000e-01, beta2 = 0.99899999999999999, eps = 1.000000e-08>
// CHECK-DAG: #moss.optimizer<adamw, beta1 = 9.000000e-01, beta2 = 5.000000e-01, eps = 9.9999999999999995E-7, weight_decay = 2.500000e-01>
// CHECK-DAG: #moss.optimizer<adam_paper>
func.func private @optimizers() attributes {
  a = #moss.optimizer<sgd, weight_decay = 0.125>, b = #moss.optimizer<momentum>, c = #moss.optimizer<adam>,
  d = #moss.optimizer<adamw, weight_decay = 0.25, beta2 = 0.5, eps = 1.0e-6>, e = #moss.optimizer<adam_paper>}

// CHECK:      func.func private @marks(
// CHECK-SAME:   moss.weight = #moss.weight<#moss.optimizer<sgd, weight_decay = 0.000000e+00>, interval = 500, state = arguments, master = f32>
// CHECK-SAME:   moss.weight = #moss.weight<#moss.optimizer<sgd, weight_decay = 0.000000e+00>, interval = 7, state = globals, master = bf16, name = "w">
// CHECK-SAME:   i64 {moss.step}
func.func private @marks(tensor<8x8xbf16> {moss.weight = #moss.weight<#moss.optimizer<sgd>>},
                         memref<?x?xf32> {moss.weight = #moss.weight<#moss.optimizer<sgd>, name = "w", master = bf16, interval = 7, state = globals>},
                         i64 {moss.step})

#adam = #moss.scale_rule<#moss.optimizer<adam>, f8E4M3FN, master = f32>
#sgd = #moss.scale_rule<#moss.optimizer<sgd>, f8E5M2, master = bf16>

// CHECK-LABEL: func.func @tensors(
// CHECK:         moss.next_scale [#moss.scale_rule<<adam, {{.*}}>, f8E4M3FN, master = f32>, #moss.scale_rule<<sgd, {{.*}}>, f8E5M2, master = bf16>]
// CHECK-SAME:      rows [2, 1] lr(%{{.*}} : f32) step(%{{.*}}) amax(%{{.*}} : tensor<3xf32>)
// CHECK-SAME:      outs(%{{.*}}, %{{.*}} : tensor<3xf32>, tensor<3x3xf64>) -> tensor<3xf32>, tensor<3x3xf64>
func.func @tensors(%lr: f32, %step: i64, %amax: tensor<3xf32>, %scales: tensor<3xf32>, %state: tensor<3x3xf64>)
    -> (tensor<3xf32>, tensor<3x3xf64>) {
  %0:2 = moss.next_scale [#adam, #sgd] rows [2, 1] lr(%lr : f32) step(%step) amax(%amax : tensor<3xf32>)
    outs(%scales, %state : tensor<3xf32>, tensor<3x3xf64>) -> tensor<3xf32>, tensor<3x3xf64>
  return %0#0, %0#1 : tensor<3xf32>, tensor<3x3xf64>
}

#e4m3 = #moss.amax_rule<f8E4M3FN, max, margin = 0>
#e5m2 = #moss.amax_rule<f8E5M2, most_recent, margin = 100>

// CHECK-LABEL: func.func @delayed(
// CHECK:         moss.next_delayed_scale [#moss.amax_rule<f8E4M3FN, max, margin = 0>, #moss.amax_rule<f8E5M2, most_recent, margin = 100>]
// CHECK-SAME:      rows [2, 1] outs(%{{.*}}, %{{.*}} : tensor<3xf32>, tensor<3x4xf32>) -> tensor<3xf32>, tensor<3x4xf32>
// CHECK:         moss.next_delayed_scale {{.*}} rows [1] amax(%{{.*}} : memref<f32, strided<[], offset: ?>>) outs(
func.func @delayed(%scales: tensor<3xf32>, %history: tensor<3x4xf32>,
    %s: memref<1xf32>, %h: memref<1x4xf32>, %a: memref<f32, strided<[], offset: ?>>) -> (tensor<3xf32>, tensor<3x4xf32>) {
  %0:2 = moss.next_delayed_scale [#e4m3, #e5m2] rows [2, 1]
    outs(%scales, %history : tensor<3xf32>, tensor<3x4xf32>) -> tensor<3xf32>, tensor<3x4xf32>
  moss.next_delayed_scale [#e4m3] rows [1] amax(%a : memref<f32, strided<[], offset: ?>>)
    outs(%s, %h : memref<1xf32>, memref<1x4xf32>)
  return %0#0, %0#1 : tensor<3xf32>, tensor<3x4xf32>
}
