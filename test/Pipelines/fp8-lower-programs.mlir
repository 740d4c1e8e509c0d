// Whole programs keep everything else that is in them, and all of it is lowered.
// RUN: moss-opt %s --moss-fp8-lower --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU --implicit-check-not=unrealized_conversion_cast --implicit-check-not="linalg." --implicit-check-not=scf.
// RUN: moss-opt %s --moss-fp8-lower=target=cpu --split-input-file | FileCheck %s --implicit-check-not=unrealized_conversion_cast --implicit-check-not="linalg." --implicit-check-not=scf.
// RUN: moss-opt %s --moss-fp8-lower=to=quantized --split-input-file | FileCheck %s --check-prefix=QUANTIZED

// An operand that two layers share is quantized once.
// QUANTIZED-LABEL: func @shared
// QUANTIZED-COUNT-3: moss.quantize
// QUANTIZED-NOT:     moss.quantize
// QUANTIZED-COUNT-2: moss.scaled_matmul

// GPU:   gpu.binary @shared_kernel
// CHECK: llvm.func @integers
// CHECK: llvm.func @shared
func.func @integers(%a: i32, %b: i32) -> i32 {
  %sum = arith.addi %a, %b : i32
  return %sum : i32
}
func.func @shared(%x: tensor<?x?xbf16>, %w1: tensor<?x?xbf16>, %w2: tensor<?x?xbf16>,
                  %c1: tensor<?x?xf32>, %c2: tensor<?x?xbf16>) -> (tensor<?x?xf32>, tensor<?x?xbf16>) {
  %y1 = linalg.matmul ins(%x, %w1 : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%c1 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y2 = linalg.matmul ins(%x, %w2 : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%c2 : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %y1, %y2 : tensor<?x?xf32>, tensor<?x?xbf16>
}

// -----

// Functions of bf16 that a CPU has in f32 only.
// GPU:   gpu.binary @activation_kernel
// CHECK: llvm.func @activation
func.func @activation(%x: tensor<64x72xbf16>, %w: tensor<72x40xbf16>, %c: tensor<64x40xbf16>) -> tensor<64x40xbf16> {
  %y = linalg.matmul ins(%x, %w : tensor<64x72xbf16>, tensor<72x40xbf16>) outs(%c : tensor<64x40xbf16>) -> tensor<64x40xbf16>
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%y : tensor<64x40xbf16>) {
  ^bb0(%a: bf16):
    %exp = math.exp %a : bf16
    %tanh = math.tanh %exp : bf16
    %erf = math.erf %tanh : bf16
    linalg.yield %erf : bf16
  } -> tensor<64x40xbf16>
  return %z : tensor<64x40xbf16>
}

// -----

// A layer in a loop that yields new tensors, and one in a branch.
// CHECK: llvm.func @iterate
// CHECK: llvm.func @choose
func.func @iterate(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %n: index) -> tensor<64x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : bf16
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<64x64xbf16>) {
    %e = tensor.empty() : tensor<64x64xbf16>
    %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<64x64xbf16>) -> tensor<64x64xbf16>
    %y = linalg.matmul ins(%a, %w : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%f : tensor<64x64xbf16>) -> tensor<64x64xbf16>
    scf.yield %y : tensor<64x64xbf16>
  }
  return %r : tensor<64x64xbf16>
}
func.func @choose(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %p: i1) -> tensor<64x64xbf16> {
  %c3 = arith.constant 3 : index
  %r = scf.if %p -> (tensor<64x64xbf16>) {
    %y = func.call @iterate(%x, %w, %c3) : (tensor<64x64xbf16>, tensor<64x64xbf16>, index) -> tensor<64x64xbf16>
    scf.yield %y : tensor<64x64xbf16>
  } else {
    scf.yield %x : tensor<64x64xbf16>
  }
  return %r : tensor<64x64xbf16>
}

// -----

// Constant weights.
// CHECK: llvm.mlir.global private constant
// CHECK: llvm.func @constant
// GPU:   llvm.call @mgpuMemcpy
func.func @constant(%x: tensor<?x2xbf16>, %c: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<?x2xbf16>, tensor<2x3xbf16>) outs(%c : tensor<?x3xf32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// -----

// Other matmuls run as they are.
// QUANTIZED-LABEL: func @others
// QUANTIZED:         linalg.matmul ins({{.*}} : tensor<?x?xf32>
// QUANTIZED:         linalg.matmul ins({{.*}} : tensor<?x?xi8>
// QUANTIZED:         linalg.batch_matmul
// GPU:   gpu.binary @others_kernel
// CHECK: llvm.func @others
func.func @others(%xf: tensor<?x?xf32>, %wf: tensor<?x?xf32>, %cf: tensor<?x?xf32>,
                  %xi: tensor<?x?xi8>, %wi: tensor<?x?xi8>, %ci: tensor<?x?xi32>,
                  %xb: tensor<?x?x?xbf16>, %wb: tensor<?x?x?xbf16>, %cb: tensor<?x?x?xf32>)
    -> (tensor<?x?xf32>, tensor<?x?xi32>, tensor<?x?x?xf32>) {
  %0 = linalg.matmul ins(%xf, %wf : tensor<?x?xf32>, tensor<?x?xf32>) outs(%cf : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.matmul ins(%xi, %wi : tensor<?x?xi8>, tensor<?x?xi8>) outs(%ci : tensor<?x?xi32>) -> tensor<?x?xi32>
  %2 = linalg.batch_matmul ins(%xb, %wb : tensor<?x?x?xbf16>, tensor<?x?x?xbf16>) outs(%cb : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %0, %1, %2 : tensor<?x?xf32>, tensor<?x?xi32>, tensor<?x?x?xf32>
}

// -----

// Results and sums of nothing.
// CHECK: llvm.func @no_rows
// CHECK: llvm.func @no_columns
// CHECK: llvm.func @no_sum
func.func @no_rows(%x: tensor<0x5xbf16>, %w: tensor<5x7xbf16>, %c: tensor<0x7xf32>) -> tensor<0x7xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<0x5xbf16>, tensor<5x7xbf16>) outs(%c : tensor<0x7xf32>) -> tensor<0x7xf32>
  return %y : tensor<0x7xf32>
}
func.func @no_columns(%x: tensor<3x5xbf16>, %w: tensor<5x0xbf16>, %c: tensor<3x0xbf16>) -> tensor<3x0xbf16> {
  %y = linalg.matmul ins(%x, %w : tensor<3x5xbf16>, tensor<5x0xbf16>) outs(%c : tensor<3x0xbf16>) -> tensor<3x0xbf16>
  return %y : tensor<3x0xbf16>
}
func.func @no_sum(%x: tensor<3x0xbf16>, %w: tensor<0x7xbf16>, %c: tensor<3x7xf32>) -> tensor<3x7xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<3x0xbf16>, tensor<0x7xbf16>) outs(%c : tensor<3x7xf32>) -> tensor<3x7xf32>
  return %y : tensor<3x7xf32>
}

// -----

// Returns that are alike but for their values are merged on the way.
// CHECK: llvm.func @two_returns
func.func @two_returns(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %c: i1) -> tensor<?x64xf32> {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  return %x : tensor<?x64xf32>
^bb2:
  return %y : tensor<?x64xf32>
}
