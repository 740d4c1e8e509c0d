// RUN: moss-opt %s --moss-delay-scales --split-input-file --verify-diagnostics
// RUN: not moss-opt %s --split-input-file --moss-delay-scales=amax-history=0 2>&1 | FileCheck %s --check-prefix=HISTORY
// HISTORY: error: option 'amax-history' must be between 1 and 65536, but is '0'
// RUN: not moss-opt %s --split-input-file --moss-delay-scales=amax-history=65537 2>&1 | FileCheck %s --check-prefix=LONG
// LONG: error: option 'amax-history' must be between 1 and 65536, but is '65537'
// RUN: not moss-opt %s --split-input-file --moss-delay-scales=amax-algorithm=min 2>&1 | FileCheck %s --check-prefix=ALGORITHM
// ALGORITHM: error: option 'amax-algorithm' must be 'max' or 'most_recent', but is 'min'
// RUN: not moss-opt %s --split-input-file --moss-delay-scales=margin=-1 2>&1 | FileCheck %s --check-prefix=MARGIN
// MARGIN: error: option 'margin' must be between 0 and 100, but is '-1'

#delayed = #moss.scheme<f8E4M3FN, global = delayed>
func.func @loop(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %y: tensor<8x64xbf16>, %n: index) -> tensor<8x64xbf16> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %a = tensor.empty() : tensor<f32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%z = %y) -> tensor<8x64xbf16> {
    // expected-error @below {{has a delayed scale, but is in 'scf.for', and one call of the function has one amax; move it out, or use a 'jit' scale}}
    %1:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
      payload(%p : tensor<8x64xf8E4M3FN>) global(%a : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
    %2 = moss.dequantize #delayed payload(%1#0 : tensor<8x64xf8E4M3FN>) global(%one : tensor<f32>)
      outs(%z : tensor<8x64xbf16>) -> tensor<8x64xbf16>
    scf.yield %2 : tensor<8x64xbf16>
  }
  return %0 : tensor<8x64xbf16>
}

// -----

#delayed = #moss.scheme<f8E4M3FN, global = delayed>
func.func @blocks(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %y: tensor<8x64xbf16>, %c: i1) -> tensor<8x64xbf16> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %a = tensor.empty() : tensor<f32>
  // expected-error @below {{has a delayed scale, but its function has several blocks; use structured control flow, or a 'jit' scale}}
  %0:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%a : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  cf.cond_br %c, ^one, ^two
^one:
  %1 = moss.dequantize #delayed payload(%0#0 : tensor<8x64xf8E4M3FN>) global(%one : tensor<f32>)
    outs(%y : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  return %1 : tensor<8x64xbf16>
^two:
  return %y : tensor<8x64xbf16>
}

// -----

#delayed = #moss.scheme<f8E4M3FN, global = delayed>
func.func @escapes(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>) -> tensor<8x64xf8E4M3FN> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %a = tensor.empty() : tensor<f32>
  // expected-error @below {{has a delayed scale, but a payload that more than matmuls use; hand the scale over yourself, as an operand that is no constant}}
  %0:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%a : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  // expected-note @below {{used here}}
  return %0#0 : tensor<8x64xf8E4M3FN>
}

// -----

#delayed = #moss.scheme<f8E4M3FN, global = delayed>
// expected-error @below {{has delayed scales and would get further arguments, but is called in the module; inline it, or use 'jit' scales}}
func.func @called(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %y: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %a = tensor.empty() : tensor<f32>
  %0:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%a : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  %1 = moss.dequantize #delayed payload(%0#0 : tensor<8x64xf8E4M3FN>) global(%one : tensor<f32>)
    outs(%y : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  return %1 : tensor<8x64xbf16>
}
func.func @caller(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %y: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  // expected-note @below {{called here}}
  %0 = call @called(%x, %p, %y) : (tensor<8x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x64xbf16>) -> tensor<8x64xbf16>
  return %0 : tensor<8x64xbf16>
}

// -----

#delayed = #moss.scheme<f8E4M3FN, global = delayed>
func.func @f(%x: tensor<8x64xbf16>, %p: tensor<8x64xf8E4M3FN>, %y: tensor<8x64xbf16>) -> tensor<8x64xbf16> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %a = tensor.empty() : tensor<f32>
  %0:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%a : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  %1 = moss.dequantize #delayed payload(%0#0 : tensor<8x64xf8E4M3FN>) global(%one : tensor<f32>)
    outs(%y : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  return %1 : tensor<8x64xbf16>
}
// expected-error @below {{has the name 'f_init_delayed_scales', which moss-delay-scales needs; rename it}}
func.func private @f_init_delayed_scales()
