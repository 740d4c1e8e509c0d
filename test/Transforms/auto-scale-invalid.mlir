// RUN: moss-opt %s --moss-auto-scale --split-input-file --verify-diagnostics

#jit = #moss.scheme<f8E4M3FN, global = jit>
#weight = #moss.weight<#moss.optimizer<sgd>>
// expected-error @+1 {{has a marked weight and would get further arguments, but is called in the module; inline it, or mark the weights of its callers}}
func.func @f(%w: tensor<8x8xbf16> {moss.weight = #weight}, %p: tensor<8x8xf8E4M3FN>) -> tensor<8x8xf8E4M3FN> {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0 : tensor<8x8xf8E4M3FN>
}
func.func @caller(%w: tensor<8x8xbf16>, %p: tensor<8x8xf8E4M3FN>) -> tensor<8x8xf8E4M3FN> {
  // expected-note @+1 {{called here}}
  %q = call @f(%w, %p) : (tensor<8x8xbf16>, tensor<8x8xf8E4M3FN>) -> tensor<8x8xf8E4M3FN>
  return %q : tensor<8x8xf8E4M3FN>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>, name = "w">
#b = #moss.weight<#moss.optimizer<adam>, name = "w">
func.func @two_marks(%w: tensor<8x8xbf16> {moss.weight = #a}, %v: tensor<8x8xbf16> {moss.weight = #b}, %p: tensor<8x8xf8E4M3FN>)
    -> (tensor<8x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  // expected-error @+1 {{weight 'w' is marked}}
  %r:2 = moss.quantize #jit ins(%v : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0, %r#0 : tensor<8x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#wide = #moss.scheme<f8E5M2, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>>
func.func @two_formats(%w: tensor<8x8xbf16> {moss.weight = #a}, %p: tensor<8x8xf8E4M3FN>, %o: tensor<8x8xf8E5M2>)
    -> (tensor<8x8xf8E4M3FN>, tensor<8x8xf8E5M2>) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  // expected-error @+1 {{weight 'two_formats:0' is quantized to 'f8E5M2' here and to 'f8E4M3FN' elsewhere; quantize it to one format}}
  %r:2 = moss.quantize #wide ins(%w : tensor<8x8xbf16>) payload(%o : tensor<8x8xf8E5M2>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E5M2>, tensor<f32>
  return %q#0, %r#0 : tensor<8x8xf8E4M3FN>, tensor<8x8xf8E5M2>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>>
#b = #moss.weight<#moss.optimizer<sgd>, state = globals>
func.func @two_places(%w: tensor<8x8xbf16> {moss.weight = #a}, %v: tensor<8x8xbf16> {moss.weight = #b}, %p: tensor<8x8xf8E4M3FN>)
    -> (tensor<8x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  // expected-error @+1 {{weight 'two_places:1' keeps its scale in globals, but others of the module in arguments; use one of them}}
  %r:2 = moss.quantize #jit ins(%v : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0, %r#0 : tensor<8x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>>
// expected-error @+1 {{has the name 'moss_update_scales', which moss-auto-scale needs; rename it}}
func.func @moss_update_scales(%w: tensor<8x8xbf16> {moss.weight = #a}, %p: tensor<8x8xf8E4M3FN>) -> tensor<8x8xf8E4M3FN> {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0 : tensor<8x8xf8E4M3FN>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>>
// expected-error @+1 {{updates 1 of the module's 2 marked weights; a function that updates weights must be the only one that uses marked weights, and update them all}}
func.func @updates_one(%w: tensor<8x8xf32> {moss.weight = #a}, %v: tensor<8x8xf32> {moss.weight = #a}, %p: tensor<8x8xf8E4M3FN>)
    -> (tensor<8x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>, tensor<8x8xf32> {moss.updates = 0}) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xf32>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  %r:2 = moss.quantize #jit ins(%v : tensor<8x8xf32>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0, %r#0, %w : tensor<8x8xf8E4M3FN>, tensor<8x8xf8E4M3FN>, tensor<8x8xf32>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>>
// expected-error @+1 {{updates weights, but has no argument of f32 or f64 that is marked 'moss.learning_rate'}}
func.func @no_rate(%w: tensor<8x8xf32> {moss.weight = #a}, %p: tensor<8x8xf8E4M3FN>)
    -> (tensor<8x8xf8E4M3FN>, tensor<8x8xf32> {moss.updates = 0}) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xf32>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0, %w : tensor<8x8xf8E4M3FN>, tensor<8x8xf32>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>>
// expected-error @+1 {{'moss.updates' must be the number of an argument, but is 7 : i64}}
func.func @no_argument(%w: tensor<8x8xf32> {moss.weight = #a}, %p: tensor<8x8xf8E4M3FN>)
    -> (tensor<8x8xf8E4M3FN>, tensor<8x8xf32> {moss.updates = 7}) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xf32>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0, %w : tensor<8x8xf8E4M3FN>, tensor<8x8xf32>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>>
// expected-error @+1 {{result 0 has another type than argument 0, which it is marked to update}}
func.func @other_type(%w: tensor<8x8xf32> {moss.weight = #a}, %p: tensor<8x8xf8E4M3FN>)
    -> (tensor<8x8xf8E4M3FN> {moss.updates = 0}) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xf32>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0 : tensor<8x8xf8E4M3FN>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>>
// expected-error @+1 {{result 1 is marked to update argument 1, which is no weight whose scale is predicted}}
func.func @no_weight(%w: tensor<8x8xf32> {moss.weight = #a}, %v: tensor<8x8xf32> {moss.weight = #a}, %p: tensor<8x8xf8E4M3FN>)
    -> (tensor<8x8xf8E4M3FN>, tensor<8x8xf32> {moss.updates = 1}) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xf32>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0, %v : tensor<8x8xf8E4M3FN>, tensor<8x8xf32>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<adam>, state = globals>
// expected-error @+1 {{updates weights, whose scales must then be arguments, but are globals}}
func.func @globals(%w: tensor<8x8xf32> {moss.weight = #a}, %lr: f32 {moss.learning_rate}, %p: tensor<8x8xf8E4M3FN>)
    -> (tensor<8x8xf8E4M3FN>, tensor<8x8xf32> {moss.updates = 0}) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xf32>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0, %w : tensor<8x8xf8E4M3FN>, tensor<8x8xf32>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<sgd>>
// expected-error @+1 {{result 1 is marked to update argument 0, which another result updates}}
func.func @twice(%w: tensor<8x8xf32> {moss.weight = #a}, %lr: f32 {moss.learning_rate}, %p: tensor<8x8xf8E4M3FN>)
    -> (tensor<8x8xf32> {moss.updates = 0}, tensor<8x8xf32> {moss.updates = 0}, tensor<8x8xf8E4M3FN>) {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xf32>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %w, %w, %q#0 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf8E4M3FN>
}

// -----

// A rate may be f32 or f64, but everything else is as it is defined.
#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<adam>, state = globals>
// expected-error @+1 {{is declared with the type '(f32, i32) -> ()', but moss-auto-scale defines it as '(f64, i64) -> ()'}}
func.func private @moss_update_scales(f32, i32)
func.func @declared(%w: tensor<8x8xbf16> {moss.weight = #a}, %p: tensor<8x8xf8E4M3FN>) -> tensor<8x8xf8E4M3FN> {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0 : tensor<8x8xf8E4M3FN>
}

// -----

#jit = #moss.scheme<f8E4M3FN, global = jit>
#a = #moss.weight<#moss.optimizer<adam>>
// expected-error @+1 {{is declared, but the module has no such entry point: moss_update_scales is for functions that do not update their weights, moss_get_scales for scales in globals, and <f>_reset_scales for a function f that quantizes a marked weight}}
func.func private @moss_get_scales() -> tensor<1xf32>
func.func @no_globals(%w: tensor<8x8xbf16> {moss.weight = #a}, %p: tensor<8x8xf8E4M3FN>) -> tensor<8x8xf8E4M3FN> {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0 : tensor<8x8xf8E4M3FN>
}

// -----

// Nothing is quantized, so that there is nothing to update, and no type to compare with.
#a = #moss.weight<#moss.optimizer<adam>>
func.func private @unused(tensor<8x8xbf16> {moss.weight = #a})
// expected-error @+1 {{must return its last arguments, updated, but is declared with the type '(f32, i64) -> tensor<1xf32>'}}
func.func private @moss_update_scales(f32, i64) -> tensor<1xf32>

// -----

#a = #moss.weight<#moss.optimizer<adam>>
func.func private @unused(tensor<8x8xbf16> {moss.weight = #a})
// expected-error @+1 {{must be declared as () -> tensor<n x f32>, with the number n of marked weights, but is '() -> tensor<?xf32>'}}
func.func private @moss_get_scales() -> tensor<?xf32>
