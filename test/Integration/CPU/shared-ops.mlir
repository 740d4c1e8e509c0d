// Layers of one shape share their code, and compute what they compute alone: the lines of the other
// layer are deleted for that.
// DEFINE: %{run} = mlir-runner -e main -entry-point-result=void -shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so
// RUN: moss-opt %s --moss-fp8-lower=target=cpu -o %t.shared
// RUN: sed '/SECOND$/d' %s | moss-opt --moss-fp8-lower=target=cpu -o %t.first
// RUN: sed '/FIRST$/d' %s | moss-opt --moss-fp8-lower=target=cpu -o %t.second
// RUN: FileCheck %s --check-prefix=SHARED --input-file=%t.shared
// RUN: not grep moss_ %t.first
// RUN: not grep moss_ %t.second
// RUN: %{run} %t.shared > %t.expected
// RUN: %{run} %t.first > %t.alone
// RUN: %{run} %t.second >> %t.alone
// RUN: diff %t.expected %t.alone
// RUN: FileCheck %s --input-file=%t.alone

// SHARED-DAG: llvm.func internal @moss_matmul_4x6x40({{.*}}moss.shared
// SHARED-DAG: llvm.func internal @moss_quantize_4x40({{.*}}moss.shared
// SHARED-DAG: llvm.func internal @moss_quantize_6x40({{.*}}moss.shared
// SHARED-DAG: llvm.func internal @moss_linalg_abs_4x6({{.*}}moss.shared

func.func @fill(%rows: index, %cols: index, %seed: i32) -> tensor<?x?xbf16> {
  %e = tensor.empty(%rows, %cols) : tensor<?x?xbf16>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%e : tensor<?x?xbf16>) {
  ^bb0(%old: bf16):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %j : index
    %l = arith.addi %k, %j : index
    %m = arith.index_cast %l : index to i32
    %n = arith.muli %m, %seed : i32
    %c37 = arith.constant 37 : i32
    %c18 = arith.constant 18 : i32
    %r = arith.remui %n, %c37 : i32
    %s = arith.subi %r, %c18 : i32
    %f = arith.sitofp %s : i32 to bf16
    linalg.yield %f : bf16
  } -> tensor<?x?xbf16>
  return %0 : tensor<?x?xbf16>
}

func.func @print(%t: tensor<4x6xf32>) {
  %c0 = arith.constant 0 : index
  %padding = arith.constant 0.0 : f32
  %v = vector.transfer_read %t[%c0, %c0], %padding : tensor<4x6xf32>, vector<4x6xf32>
  vector.print %v : vector<4x6xf32>
  return
}

func.func @main() {
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c40 = arith.constant 40 : index
  %seed0 = arith.constant 5 : i32
  %seed1 = arith.constant 7 : i32
  %seed2 = arith.constant 11 : i32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x6xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  %xd = call @fill(%c4, %c40, %seed0) : (index, index, i32) -> tensor<?x?xbf16>
  %yd = call @fill(%c4, %c40, %seed1) : (index, index, i32) -> tensor<?x?xbf16>
  %wd = call @fill(%c40, %c6, %seed2) : (index, index, i32) -> tensor<?x?xbf16>
  %vd = call @fill(%c40, %c6, %seed0) : (index, index, i32) -> tensor<?x?xbf16>
  %x = tensor.cast %xd : tensor<?x?xbf16> to tensor<4x40xbf16>
  %y = tensor.cast %yd : tensor<?x?xbf16> to tensor<4x40xbf16>
  %w = tensor.cast %wd : tensor<?x?xbf16> to tensor<40x6xbf16>
  %v = tensor.cast %vd : tensor<?x?xbf16> to tensor<40x6xbf16>
  // CHECK: ( (
  %0 = linalg.matmul ins(%x, %w : tensor<4x40xbf16>, tensor<40x6xbf16>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32> // FIRST
  %1 = linalg.abs ins(%0 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> // FIRST
  call @print(%1) : (tensor<4x6xf32>) -> () // FIRST
  // CHECK: ( (
  %2 = linalg.matmul ins(%y, %v : tensor<4x40xbf16>, tensor<40x6xbf16>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32> // SECOND
  %3 = linalg.abs ins(%2 : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> // SECOND
  call @print(%3) : (tensor<4x6xf32>) -> () // SECOND
  return
}
