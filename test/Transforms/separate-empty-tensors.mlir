// RUN: moss-opt %s --moss-separate-empty-tensors | FileCheck %s

// CHECK-LABEL: func @fills(
// CHECK-SAME:      %[[N:.*]]: index
// CHECK:         %[[A:.*]] = tensor.empty(%[[N]])
// CHECK-NEXT:    %[[B:.*]] = tensor.empty(%[[N]])
// CHECK-NOT:     tensor.empty
// CHECK-DAG:     linalg.fill {{.*}} outs(%[[A]] :
// CHECK-DAG:     linalg.fill {{.*}} outs(%[[B]] :
func.func @fills(%n: index, %x: f32) -> (tensor<?xf32>, tensor<?xf32>) {
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.fill ins(%x : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.fill ins(%x : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}

// Not into the loop, where memory would be allocated in each iteration; and one without a use stays.
// CHECK-LABEL: func @loop(
// CHECK-COUNT-3: tensor.empty
// CHECK:         scf.for
// CHECK-NOT:     tensor.empty
func.func @loop(%n: index, %x: f32) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %unused = tensor.empty() : tensor<2xf32>
  %e = tensor.empty() : tensor<8xf32>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %e) -> tensor<8xf32> {
    %f = linalg.fill ins(%x : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %s = linalg.add ins(%a, %f : tensor<8xf32>, tensor<8xf32>) outs(%f : tensor<8xf32>) -> tensor<8xf32>
    scf.yield %s : tensor<8xf32>
  }
  return %0, %0 : tensor<8xf32>, tensor<8xf32>
}
