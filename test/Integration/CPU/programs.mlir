// DEFINE: %{run} = mlir-runner -e main -entry-point-result=void -shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so
// RUN: cat %S/../Inputs/programs.mlir %s > %t.mlir
// RUN: moss-opt %t.mlir --moss-fp8-lower='target=cpu global=unit' | %{run} | FileCheck %s
// RUN: moss-opt %t.mlir --moss-fp8-lower='target=cpu global=unit arithmetic=emulate' | %{run} | FileCheck %s
// RUN: moss-opt %t.mlir --moss-fp8-lower='target=cpu global=unit accumulate=fast lhs-group=2,full rhs-scheme=rows' | %{run} | FileCheck %s
// RUN: moss-opt %t.mlir --moss-fp8-lower='target=cpu scheme=bf16' | %{run} | FileCheck %s
// RUN: moss-opt %t.mlir --moss-fp8-lower='target=cpu global=unit tile=7,9,32' | %{run} | FileCheck %s

// Programs around matmuls, on numbers for which FP8 under a scale of 1 is exact.

func.func @print_f32(%t: tensor<2x2xf32>) {
  %c0 = arith.constant 0 : index
  %padding = arith.constant 0.0 : f32
  %v = vector.transfer_read %t[%c0, %c0], %padding : tensor<2x2xf32>, vector<2x2xf32>
  vector.print %v : vector<2x2xf32>
  return
}

func.func @print_bf16(%t: tensor<2x2xbf16>) {
  %e = tensor.empty() : tensor<2x2xf32>
  %wide = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                          iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<2x2xbf16>) outs(%e : tensor<2x2xf32>) {
  ^bb0(%a: bf16, %old: f32):
    %extended = arith.extf %a : bf16 to f32
    linalg.yield %extended : f32
  } -> tensor<2x2xf32>
  call @print_f32(%wide) : (tensor<2x2xf32>) -> ()
  return
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %false = arith.constant false
  %true = arith.constant true

  // [[1, 2], [3, 4]] [[1, -2], [0.5, 1]] = [[2, 0], [5, -2]].
  %x = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>
  %w = arith.constant dense<[[1.0, -2.0], [0.5, 1.0]]> : tensor<2x2xbf16>
  %bias = arith.constant dense<[-3.0, 0.25]> : tensor<2xf32>
  %residual = arith.constant dense<[[10.0, 20.0], [30.0, 40.0]]> : tensor<2x2xf32>
  %xd = tensor.cast %x : tensor<2x2xbf16> to tensor<?x?xbf16>
  %wd = tensor.cast %w : tensor<2x2xbf16> to tensor<?x?xbf16>
  %bd = tensor.cast %bias : tensor<2xf32> to tensor<?xf32>
  %rd = tensor.cast %residual : tensor<2x2xf32> to tensor<?x?xf32>
  %yd = call @layer(%xd, %wd, %bd, %rd) : (tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = tensor.cast %yd : tensor<?x?xf32> to tensor<2x2xf32>
  // CHECK: ( ( 10, 20.25 ), ( 32, 40 ) )
  call @print_f32(%y) : (tensor<2x2xf32>) -> ()

  // Powers of [[0, 2], [1, 0]]: the third is 2 [[0, 2], [1, 0]].
  %swap = arith.constant dense<[[0.0, 2.0], [1.0, 0.0]]> : tensor<2x2xbf16>
  %p3 = call @power(%x, %swap, %c3) : (tensor<2x2xbf16>, tensor<2x2xbf16>, index) -> tensor<2x2xbf16>
  // CHECK: ( ( 4, 4 ), ( 8, 12 ) )
  call @print_bf16(%p3) : (tensor<2x2xbf16>) -> ()
  %p0 = call @power(%x, %swap, %c0) : (tensor<2x2xbf16>, tensor<2x2xbf16>, index) -> tensor<2x2xbf16>
  // CHECK: ( ( 1, 2 ), ( 3, 4 ) )
  call @print_bf16(%p0) : (tensor<2x2xbf16>) -> ()

  %yes = call @choose(%x, %w, %residual, %true) : (tensor<2x2xbf16>, tensor<2x2xbf16>, tensor<2x2xf32>, i1) -> tensor<2x2xf32>
  // CHECK: ( ( 12, 20 ), ( 35, 38 ) )
  call @print_f32(%yes) : (tensor<2x2xf32>) -> ()
  %no = call @choose(%x, %w, %residual, %false) : (tensor<2x2xbf16>, tensor<2x2xbf16>, tensor<2x2xf32>, i1) -> tensor<2x2xf32>
  // CHECK: ( ( 10, 20 ), ( 30, 40 ) )
  call @print_f32(%no) : (tensor<2x2xf32>) -> ()

  %init = arith.constant dense<[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]> : tensor<2x3xf32>
  %weighted = call @constant(%x, %init) : (tensor<2x2xbf16>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %padding = arith.constant 0.0 : f32
  %v = vector.transfer_read %weighted[%c0, %c0], %padding : tensor<2x3xf32>, vector<2x3xf32>
  // CHECK: ( ( 9, 12, 15 ), ( 20, 27, 34 ) )
  vector.print %v : vector<2x3xf32>

  %xf = arith.constant dense<[[3.0, 0.3333]]> : tensor<1x2xf32>
  %wf = arith.constant dense<[[2.0], [10.0]]> : tensor<2x1xf32>
  %xi = arith.constant dense<[[3, -5]]> : tensor<1x2xi8>
  %wi = arith.constant dense<[[100], [10]]> : tensor<2x1xi8>
  %xb = arith.constant dense<[[[1.0078125, 2.0]]]> : tensor<1x1x2xbf16>
  %wb = arith.constant dense<[[[1.0], [3.0]]]> : tensor<1x2x1xbf16>
  %f, %i, %b = call @others(%xf, %wf, %xi, %wi, %xb, %wb)
      : (tensor<1x2xf32>, tensor<2x1xf32>, tensor<1x2xi8>, tensor<2x1xi8>, tensor<1x1x2xbf16>, tensor<1x2x1xbf16>)
      -> (tensor<1x1xf32>, tensor<1x1xi32>, tensor<1x1x1xf32>)
  %f0 = tensor.extract %f[%c0, %c0] : tensor<1x1xf32>
  %i0 = tensor.extract %i[%c0, %c0] : tensor<1x1xi32>
  %b0 = tensor.extract %b[%c0, %c0, %c0] : tensor<1x1x1xf32>
  // CHECK: 9.333
  vector.print %f0 : f32
  // CHECK: 250
  vector.print %i0 : i32
  // CHECK: 7.0078
  vector.print %b0 : f32
  return
}
