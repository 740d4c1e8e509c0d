// RUN: moss-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected 'sgd', 'momentum', 'adam', 'adamw' or 'adam_paper', but got 'lion'}}
func.func private @f() attributes {a = #moss.optimizer<lion>}

// -----

// expected-error @+1 {{'sgd' takes weight_decay, but got 'beta1'}}
func.func private @f() attributes {a = #moss.optimizer<sgd, beta1 = 0.5>}

// -----

// expected-error @+1 {{'beta1' is given twice}}
func.func private @f() attributes {a = #moss.optimizer<adam, beta1 = 0.5, beta1 = 0.6>}

// -----

// expected-error @+1 {{'interval' is given twice}}
func.func private @f() attributes {a = #moss.weight<#moss.optimizer<sgd>, interval = 5, interval = 6>}

// -----

// expected-error @+1 {{'adam_paper' takes no keys, but got 'beta1'}}
func.func private @f() attributes {a = #moss.optimizer<adam_paper, beta1 = 0.5>}

// -----

// expected-error @+1 {{beta1 must be at least 0 and below 1, but is 1}}
func.func private @f() attributes {a = #moss.optimizer<adam, beta1 = 1.0>}

// -----

// expected-error @+1 {{beta1 must be at least 0 and below 1, but is -0.5}}
func.func private @f() attributes {a = #moss.optimizer<adam, beta1 = -0.5>}

// -----

// expected-error @+1 {{beta2 must be above 0 and below 1, but is 0}}
func.func private @f() attributes {a = #moss.optimizer<adamw, beta2 = 0.0>}

// -----

// expected-error @+1 {{eps must be finite and at least 1e-15 (an underflow of the second moment would make a step unbounded), but is 0}}
func.func private @f() attributes {a = #moss.optimizer<adam, eps = 0.0>}

// -----

// expected-error @+1 {{momentum must be at least 0 and below 1, but is 1.5}}
func.func private @f() attributes {a = #moss.optimizer<momentum, momentum = 1.5>}

// -----

// expected-error @+1 {{weight_decay must be finite and not negative, but is -1}}
func.func private @f() attributes {a = #moss.optimizer<sgd, weight_decay = -1.0>}

// -----

// expected-error @+1 {{interval must be positive, but is 0}}
func.func private @f(tensor<8x8xf32> {moss.weight = #moss.weight<#moss.optimizer<sgd>, interval = 0>})

// -----

// expected-error @+1 {{master must be f32 or bf16, but is 'f16'}}
func.func private @f(tensor<8x8xf32> {moss.weight = #moss.weight<#moss.optimizer<sgd>, master = f16>})

// -----

// expected-error @+1 {{expected 'arguments' or 'globals', but got 'nowhere'}}
func.func private @f(tensor<8x8xf32> {moss.weight = #moss.weight<#moss.optimizer<sgd>, state = nowhere>})

// -----

// expected-error @+1 {{expected 'interval', 'state', 'master' or 'name', but got 'steps'}}
func.func private @f(tensor<8x8xf32> {moss.weight = #moss.weight<#moss.optimizer<sgd>, steps = 4>})

// -----

// expected-error @+1 {{'moss.weight' must be a #moss.weight, but is 5 : i64}}
func.func private @f(tensor<8x8xf32> {moss.weight = 5})

// -----

// expected-error @+1 {{'moss.weight' must be on a 2-D tensor or memref of bf16 or f32, but is on 'tensor<8xf32>'}}
func.func private @f(tensor<8xf32> {moss.weight = #moss.weight<#moss.optimizer<sgd>>})

// -----

// expected-error @+1 {{'moss.step' must be on an i64 argument, but is on 'i32'}}
func.func private @f(i32 {moss.step})

// -----

// expected-error @+1 {{'moss.weight' must be on an argument of a function or on a global}}
func.func private @f() attributes {moss.weight = #moss.weight<#moss.optimizer<sgd>>}

// -----

#adam = #moss.scale_rule<#moss.optimizer<adam>, f8E4M3FN, master = f32>
func.func @f(%lr: f64, %t: i64, %s: memref<2xf32>, %st: memref<2x3xf64>) {
  // expected-error @+1 {{has 1 rules, but 2 numbers of rows}}
  moss.next_scale [#adam] rows [1, 1] lr(%lr : f64) step(%t) outs(%s, %st : memref<2xf32>, memref<2x3xf64>)
  return
}

// -----

#adam = #moss.scale_rule<#moss.optimizer<adam>, f8E4M3FN, master = f32>
func.func @f(%lr: f64, %t: i64, %s: memref<2xf32>, %st: memref<2x3xf64>) {
  // expected-error @+1 {{numbers of rows must be positive}}
  moss.next_scale [#adam, #adam] rows [2, 0] lr(%lr : f64) step(%t) outs(%s, %st : memref<2xf32>, memref<2x3xf64>)
  return
}

// -----

#adam = #moss.scale_rule<#moss.optimizer<adam>, f8E4M3FN, master = f32>
func.func @f(%lr: f64, %t: i64, %s: memref<2xf32>, %st: memref<2x3xf64>) {
  // expected-error @+1 {{has rules for 3 weights, but a table of 'memref<2xf32>'}}
  moss.next_scale [#adam] rows [3] lr(%lr : f64) step(%t) outs(%s, %st : memref<2xf32>, memref<2x3xf64>)
  return
}

// -----

#adam = #moss.scale_rule<#moss.optimizer<adam>, f8E4M3FN, master = f32>
func.func @f(%lr: f64, %t: i64, %s: memref<2xf32>, %st: memref<2x4xf64>) {
  // expected-error @+1 {{state must be 2x3, but is 'memref<2x4xf64>'}}
  moss.next_scale [#adam] rows [2] lr(%lr : f64) step(%t) outs(%s, %st : memref<2xf32>, memref<2x4xf64>)
  return
}

// -----

#sgd = #moss.scale_rule<#moss.optimizer<sgd>, f8E4M3FN, master = f32>
func.func @f(%lr: f64, %t: i64, %s: memref<2xf32>, %st: memref<2x3xf64>) {
  // expected-error @+1 {{needs the amax of gradients for 'sgd' and 'momentum'}}
  moss.next_scale [#sgd] rows [2] lr(%lr : f64) step(%t) outs(%s, %st : memref<2xf32>, memref<2x3xf64>)
  return
}

// -----

#adam = #moss.scale_rule<#moss.optimizer<adam>, f8E4M3FN, master = f32>
func.func @f(%lr: f64, %t: i64, %a: memref<2xf32>, %s: memref<2xf32>, %st: memref<2x3xf64>) {
  // expected-error @+1 {{takes an amax only for 'sgd' and 'momentum'}}
  moss.next_scale [#adam] rows [2] lr(%lr : f64) step(%t) amax(%a : memref<2xf32>) outs(%s, %st : memref<2xf32>, memref<2x3xf64>)
  return
}

// -----

// expected-error @+1 {{payload type must be f8E4M3FN or f8E5M2, but is 'bf16'}}
func.func private @f() attributes {a = #moss.amax_rule<bf16, max, margin = 0>}

// -----

// expected-error @+1 {{expected 'max' or 'most_recent', but got 'min'}}
func.func private @f() attributes {a = #moss.amax_rule<f8E4M3FN, min, margin = 0>}

// -----

// expected-error @+1 {{margin must be between 0 and 100, but is 101}}
func.func private @f() attributes {a = #moss.amax_rule<f8E4M3FN, max, margin = 101>}

// -----

#rule = #moss.amax_rule<f8E4M3FN, max, margin = 0>
func.func @f(%s: memref<2xf32>, %h: memref<2x4xf32>) {
  // expected-error @+1 {{has 1 rules, but 2 numbers of rows}}
  moss.next_delayed_scale [#rule] rows [1, 1] outs(%s, %h : memref<2xf32>, memref<2x4xf32>)
  return
}

// -----

#rule = #moss.amax_rule<f8E4M3FN, max, margin = 0>
func.func @f(%s: memref<2xf32>, %h: memref<3x4xf32>) {
  // expected-error @+1 {{has rules for 2 tensors, but a table of 'memref<3x4xf32>'}}
  moss.next_delayed_scale [#rule] rows [2] outs(%s, %h : memref<2xf32>, memref<3x4xf32>)
  return
}

// -----

#rule = #moss.amax_rule<f8E4M3FN, max, margin = 0>
func.func @f(%s: memref<2xf32>, %h: memref<2x?xf32>) {
  // expected-error @+1 {{history must have a static length of at least 1, but is 'memref<2x?xf32>'}}
  moss.next_delayed_scale [#rule] rows [2] outs(%s, %h : memref<2xf32>, memref<2x?xf32>)
  return
}

// -----

#rule = #moss.amax_rule<f8E4M3FN, max, margin = 0>
func.func @f(%s: memref<2xf32>, %h: memref<2x4xf32>, %a: memref<f32>) {
  // expected-error @+1 {{has rules for 2 tensors, but 1 amax values}}
  moss.next_delayed_scale [#rule] rows [2] amax(%a : memref<f32>) outs(%s, %h : memref<2xf32>, memref<2x4xf32>)
  return
}
