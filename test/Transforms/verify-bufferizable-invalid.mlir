// RUN: moss-opt %s --moss-verify-bufferizable -verify-diagnostics

func.func @unknown(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'tosa.abs' on tensors has no lowering: Moss lowers func, scf and cf, and on tensors linalg, tensor, bufferization, moss, and elementwise ops of arith and math; convert it to these first}}
  %0 = tosa.abs %x : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{'tosa.exp' on tensors has no lowering}}
  %1 = tosa.exp %0 : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
