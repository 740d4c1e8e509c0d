// RUN: moss-opt %s --moss-verify-bufferizable -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @known(
// CHECK:         linalg.abs
func.func @known(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.abs ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %1 = scf.if %c -> tensor<8xf32> {
    scf.yield %0 : tensor<8xf32>
  } else {
    scf.yield %x : tensor<8xf32>
  }
  %2 = arith.select %c, %1, %x : tensor<8xf32>
  cf.br ^bb1(%2 : tensor<8xf32>)
^bb1(%3: tensor<8xf32>):
  return %3 : tensor<8xf32>
}
