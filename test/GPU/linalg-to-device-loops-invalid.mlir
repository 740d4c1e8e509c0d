// RUN: moss-opt %s --pass-pipeline='builtin.module(func.func(moss-linalg-to-device-loops))' -split-input-file -verify-diagnostics
// RUN: not moss-opt %s --pass-pipeline='builtin.module(func.func(moss-linalg-to-device-loops{block-size=2048}))' -split-input-file 2>&1 \
// RUN:   | FileCheck %s
// CHECK: block-size must be 1 to 1024, but is 2048

func.func @tensors(%x: f32, %m: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{is not on memrefs; bufferize first}}
  %r = linalg.fill ins(%x : f32) outs(%m : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

func.func @reduces(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{reduces to a scalar, which the host cannot receive; write the result to a memref with a linalg op}}
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%x) -> f32 {
    scf.reduce(%x : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}
