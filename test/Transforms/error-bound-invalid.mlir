// RUN: moss-opt %s --pass-pipeline="builtin.module(func.func(moss-error-bound))" -split-input-file -verify-diagnostics

func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32>

func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has no reference, since it computes with quantized values or calls a function; inline the function}}
  %0 = call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{has no reference, since it has branches; use ops of the scf dialect}}
func.func @branches(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<4xf32>
}

// -----

func.func @memrefs(%x: memref<4xf32>, %zero: f32) {
  // expected-error @+1 {{is on memrefs; moss-error-bound works on tensors}}
  linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
  return
}

// -----

#s = #moss.scheme<f8E4M3FN, global = unit>

func.func @quantized_in_region(%a: tensor<4x32xf8E4M3FN>, %y: tensor<4x4xf32>, %condition: i1) -> tensor<4x4xf32> {
  // expected-error @+1 {{has no reference, since it computes with quantized values}}
  %0 = scf.if %condition -> tensor<4x4xf32> {
    %1 = moss.scaled_matmul #moss.accumulate<fast> lhs(#s, %a : tensor<4x32xf8E4M3FN>)
      rhs(#s, %a : tensor<4x32xf8E4M3FN>) outs(%y : tensor<4x4xf32>) -> tensor<4x4xf32>
    scf.yield %1 : tensor<4x4xf32>
  } else {
    scf.yield %y : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

func.func @bounds_of_loop(%x: f32, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %twice = arith.addf %x, %x : f32
  %integer = arith.fptosi %twice : f32 to i64
  %end = arith.index_cast %integer : i64 to index
  // expected-error @+1 {{has no reference, since its bounds depend on values that are not exact}}
  %0 = scf.for %i = %c0 to %end step %c1 iter_args(%a = %y) -> tensor<4xf32> {
    scf.yield %a : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
