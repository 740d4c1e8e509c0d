// Marks by option, for programs that are not to be changed.
// RUN: moss-opt %s --moss-auto-scale='weights=f:0,f:1 mark="#moss.weight<#moss.optimizer<adam>, interval = 7>"' | FileCheck %s
// CHECK-LABEL: func.func @f(
// CHECK:         arith.remsi %{{.*}}, %c7_i64
// CHECK-LABEL: func.func @moss_update_scales(
// CHECK-SAME:    moss.weights = ["f:0", "f:1"]

// RUN: not moss-opt %s --moss-auto-scale=weights=f:0 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not moss-opt %s --pass-pipeline='builtin.module(moss-auto-scale{weights=nowhere:0 mark="#moss.weight<#moss.optimizer<sgd>>"})' 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not moss-opt %s --pass-pipeline='builtin.module(moss-auto-scale{weights=@nowhere mark="#moss.weight<#moss.optimizer<sgd>>"})' 2>&1 | FileCheck %s --check-prefix=NOGLOBAL
// RUN: not moss-opt %s --pass-pipeline='builtin.module(moss-auto-scale{weights=f mark="#moss.weight<#moss.optimizer<sgd>>"})' 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not moss-opt %s --pass-pipeline='builtin.module(moss-auto-scale{weights=f:0 mark="7"})' 2>&1 | FileCheck %s --check-prefix=MARK
// ALONE: options 'weights' and 'mark' must be given together
// NOWHERE: option 'weights' has 'nowhere:0', but the module has no such function or argument
// NOGLOBAL: option 'weights' has '@nowhere', but the module has no such global
// SYNTAX: option 'weights' has 'f', but expected '<function>:<argument number>' or '@<global>'
// MARK: option 'mark' must be a #moss.weight, but is '7'

#jit = #moss.scheme<f8E4M3FN, global = jit>
func.func @f(%w: tensor<8x8xbf16>, %v: tensor<8x8xbf16>, %p: tensor<8x8xf8E4M3FN>) -> (tensor<8x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  %r:2 = moss.quantize #jit ins(%v : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0, %r#0 : tensor<8x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>
}
