// Results are computed where the caller wants them, without a copy.
// RUN: moss-opt %s --moss-fp8-lower='target=cpu c-interface to=loops' --split-input-file | FileCheck %s
// RUN: moss-opt %s --moss-fp8-lower='c-interface to=loops' --split-input-file | FileCheck %s
// RUN: not moss-opt %s --moss-fp8-lower=prefix=my_ --split-input-file 2>&1 | FileCheck %s --check-prefix=PREFIX
// RUN: not moss-opt %s --moss-fp8-lower=opt-level=4 --split-input-file 2>&1 | FileCheck %s --check-prefix=LEVEL

// PREFIX: option 'prefix' has no effect without c-interface
// LEVEL: option 'opt-level' must be 0 to 3, but is 4

// CHECK-LABEL: func @dynamic(
// CHECK-SAME:      %[[X:[^:]*]]: memref<?x8xf32>, %[[RESULT:[^:]*]]: memref<?x8xf32>)
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     memref.copy
// CHECK:         linalg.add {{.*}}ins(%[[X]], %[[X]] : {{.*}}) outs(%[[RESULT]] :
func.func @dynamic(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%rows) : tensor<?x8xf32>
  %sum = linalg.add ins(%x, %x : tensor<?x8xf32>, tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %sum : tensor<?x8xf32>
}

// -----

// A place to compute into that is an argument is not written to; a value that
// is returned is.
// CHECK-LABEL: func @init_and_argument(
// CHECK-SAME:      %[[X:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<8xf32>, %[[R0:[^:]*]]: memref<8xf32>, %[[R1:[^:]*]]: memref<8xf32>)
// CHECK-NOT:     memref.alloc
// CHECK:         linalg.add {{.*}} outs(%[[R0]] :
// CHECK:         memref.copy %[[X]], %[[R1]]
func.func @init_and_argument(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %sum = linalg.add ins(%x, %x : tensor<8xf32>, tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  return %sum, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

// An argument that is accumulated into is read, and so copied.
// CHECK-LABEL: func @accumulates(
// CHECK-SAME:      %[[X:[^:]*]]: memref<8xf32>, %[[Y:[^:]*]]: memref<8xf32>, %[[R:[^:]*]]: memref<8xf32>)
// CHECK-NOT:     outs(%[[Y]]
func.func @accumulates(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) {
  ^bb0(%a: f32, %old: f32):
    %s = arith.addf %a, %old : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %sum : tensor<8xf32>
}

// -----

// The same for the product that becomes one on FP8, on both targets.
// CHECK-LABEL: func @product(
// CHECK-SAME:      %[[X:[^:]*]]: memref<?x64xbf16>, %[[W:[^:]*]]: memref<32x64xbf16>, %[[R:[^:]*]]: memref<?x32xf32>)
// CHECK-NOT:     memref.alloc{{.*}} : memref<?x32xf32>
// CHECK-NOT:     memref.copy
// CHECK:         vector.transfer_write %{{.*}}, %[[R]]
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
func.func @product(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %empty = tensor.empty(%rows) : tensor<?x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %0 = linalg.matmul indexing_maps = [#x, #w, #y]
         ins(%x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
