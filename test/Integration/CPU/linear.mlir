// RUN: moss-opt %s --moss-quantize="global=unit" --canonicalize --cse \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   --moss-choose-schedule="target=cpu" --moss-quantize-to-loops --moss-tile-to-loops --moss-hoist-dequant \
// RUN:   --convert-linalg-to-loops --moss-lower-to-cpu \
// RUN: | mlir-runner -e main -entry-point-result=void \
// RUN:   -shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so,%llvm_lib_dir/libmlir_runner_utils.so | FileCheck %s

// From BF16 linear layers to results, on shapes that no tile divides and a K
// that rows must be padded for. The inputs are small multiples of powers of
// two, for which FP8 is exact, so the same layers in FP32 give the same bits.

#a_bt = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]

func.func private @printMemrefF32(memref<*xf32>)

func.func @fp8(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>, %v: tensor<?x?xbf16>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%0 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = linalg.matmul indexing_maps = #a_bt ins(%x, %v : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%1 : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

func.func @fp32(%x: tensor<?x?xf32>, %w: tensor<?x?xf32>, %v: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<?x?xf32>, tensor<?x?xf32>) outs(%0 : tensor<?x?xf32>) -> tensor<?x?xf32>
  %2 = linalg.matmul indexing_maps = #a_bt ins(%x, %v : tensor<?x?xf32>, tensor<?x?xf32>) outs(%1 : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

// Elements ((i * 5 + j * 3 + seed) mod 7 - 2) * 2^(i mod 3), in both types.
func.func @make(%rows: index, %cols: index, %seed: index) -> (tensor<?x?xbf16>, tensor<?x?xf32>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %c1 = arith.constant 1 : index
  %wide = tensor.generate %rows, %cols {
  ^bb0(%i: index, %j: index):
    %i5 = arith.muli %i, %c5 : index
    %j3 = arith.muli %j, %c3 : index
    %ij = arith.addi %i5, %j3 : index
    %s = arith.addi %ij, %seed : index
    %r = arith.remui %s, %c7 : index
    %centered = arith.subi %r, %c2 : index
    %shift = arith.remui %i, %c3 : index
    %power = arith.shli %c1, %shift : index
    %value = arith.muli %centered, %power : index
    %int = arith.index_cast %value : index to i32
    %float = arith.sitofp %int : i32 to f32
    tensor.yield %float : f32
  } : tensor<?x?xf32>
  %narrow = tensor.generate %rows, %cols {
  ^bb0(%i: index, %j: index):
    %element = tensor.extract %wide[%i, %j] : tensor<?x?xf32>
    %truncated = arith.truncf %element : f32 to bf16
    tensor.yield %truncated : bf16
  } : tensor<?x?xbf16>
  return %narrow, %wide : tensor<?x?xbf16>, tensor<?x?xf32>
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %m = arith.constant 37 : index
  %n = arith.constant 41 : index
  %k = arith.constant 150 : index
  %x:2 = func.call @make(%m, %k, %c0) : (index, index, index) -> (tensor<?x?xbf16>, tensor<?x?xf32>)
  %w:2 = func.call @make(%k, %n, %c1) : (index, index, index) -> (tensor<?x?xbf16>, tensor<?x?xf32>)
  %v:2 = func.call @make(%n, %k, %c3) : (index, index, index) -> (tensor<?x?xbf16>, tensor<?x?xf32>)
  %init0 = tensor.empty(%m, %n) : tensor<?x?xf32>
  %init1 = tensor.empty(%m, %n) : tensor<?x?xf32>
  %fp8 = func.call @fp8(%x#0, %w#0, %v#0, %init0) : (tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %fp32 = func.call @fp32(%x#1, %w#1, %v#1, %init1) : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>

  // The number of elements that differ, and the largest magnitude.
  %counts = arith.constant dense<0.0> : tensor<2xf32>
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %differ, %largest = scf.for %i = %c0 to %m step %c1 iter_args(%d0 = %zero, %l0 = %zero) -> (f32, f32) {
    %d1, %l1 = scf.for %j = %c0 to %n step %c1 iter_args(%d = %d0, %l = %l0) -> (f32, f32) {
      %a = tensor.extract %fp8[%i, %j] : tensor<?x?xf32>
      %b = tensor.extract %fp32[%i, %j] : tensor<?x?xf32>
      %same = arith.cmpf oeq, %a, %b : f32
      %step = arith.select %same, %zero, %one : f32
      %dn = arith.addf %d, %step : f32
      %abs = math.absf %b : f32
      %ln = arith.maximumf %l, %abs : f32
      scf.yield %dn, %ln : f32, f32
    }
    scf.yield %d1, %l1 : f32, f32
  }
  %counts0 = tensor.insert %differ into %counts[%c0] : tensor<2xf32>
  %counts1 = tensor.insert %largest into %counts0[%c1] : tensor<2xf32>
  %buffer = bufferization.to_buffer %counts1 : tensor<2xf32> to memref<2xf32>
  %unranked = memref.cast %buffer : memref<2xf32> to memref<*xf32>
  call @printMemrefF32(%unranked) : (memref<*xf32>) -> ()
  return
}

// CHECK: [0,  {{[1-9][0-9]+}}]
