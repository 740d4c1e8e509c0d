// RUN: moss-opt --moss-quantize --remark-format=emitRemark --remarks-filter=.* -verify-diagnostics %s | FileCheck %s

// CHECK-NOT: moss.
// CHECK-LABEL: func @last

func.func @element_types(%a: tensor<8x64xf16>, %b: tensor<64x16xbf16>, %c: tensor<8x16xf32>,
    %i: tensor<8x64xi8>, %j: tensor<64x16xi8>, %k: tensor<8x16xi32>, %x: tensor<8x64xbf16>, %d: tensor<8x16xf64>)
    -> (tensor<8x16xf32>, tensor<8x16xi32>, tensor<8x16xf64>) {
  // expected-remark @below {{[Missed] left-alone | Category:moss-quantize | Function=element_types | Reason="operand #0 has element type f16, and only bf16 is quantized"}}
  %0 = linalg.matmul ins(%a, %b : tensor<8x64xf16>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-remark @below {{operand #0 has element type i8, and only bf16 is quantized}}
  %1 = linalg.matmul ins(%i, %j : tensor<8x64xi8>, tensor<64x16xi8>) outs(%k : tensor<8x16xi32>) -> tensor<8x16xi32>
  // expected-remark @below {{its result has element type f64, but must be f32 or bf16}}
  %2 = linalg.matmul ins(%x, %b : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%d : tensor<8x16xf64>) -> tensor<8x16xf64>
  return %0, %1, %2 : tensor<8x16xf32>, tensor<8x16xi32>, tensor<8x16xf64>
}

func.func @memrefs(%a: memref<8x64xbf16>, %b: memref<64x16xbf16>, %c: memref<8x16xf32>) {
  // expected-remark @below {{its operands are memrefs; run moss-quantize before bufferization}}
  linalg.matmul ins(%a, %b : memref<8x64xbf16>, memref<64x16xbf16>) outs(%c : memref<8x16xf32>)
  return
}

func.func @shapes(%a: tensor<2x8x64xbf16>, %b: tensor<2x64x16xbf16>, %c: tensor<2x8x16xf32>, %v: tensor<64xbf16>, %d: tensor<8x16xf32>,
    %w: tensor<64x16xbf16>, %r: tensor<2x8x16xf32>) -> (tensor<2x8x16xf32>, tensor<2x8x16xf32>) {
  // expected-remark @below {{it is batched; only two-dimensional matmuls are quantized}}
  %0 = linalg.batch_matmul ins(%a, %b : tensor<2x8x64xbf16>, tensor<2x64x16xbf16>) outs(%c : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  // expected-remark @below {{its indexing maps are not those of a two-dimensional matmul}}
  %1 = linalg.contract
    indexing_maps = [affine_map<(a, m, n, k) -> (a, m, k)>, affine_map<(a, m, n, k) -> (k, n)>, affine_map<(a, m, n, k) -> (a, m, n)>]
    ins(%a, %w : tensor<2x8x64xbf16>, tensor<64x16xbf16>) outs(%r : tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
  return %0, %1 : tensor<2x8x16xf32>, tensor<2x8x16xf32>
}

#encoding = #sparse_tensor.encoding<{map = (i, j) -> (i : dense, j : compressed)}>

func.func @sparse(%a: tensor<8x64xbf16, #encoding>, %b: tensor<64x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-remark @below {{its operands are not all dense ranked tensors}}
  %0 = linalg.matmul ins(%a, %b : tensor<8x64xbf16, #encoding>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

#matmul = {
  indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
  iterator_types = ["parallel", "parallel", "reduction"]
}

func.func @bodies(%a: tensor<8x64xbf16>, %b: tensor<64x16xbf16>, %c: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  // expected-remark @below {{its body is not a multiplication and an addition}}
  %0 = linalg.generic #matmul ins(%a, %b : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xe = arith.extf %x : bf16 to f32
    %ye = arith.extf %y : bf16 to f32
    %n = arith.negf %ye : f32
    %p = arith.mulf %xe, %n : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  // expected-remark @below {{its body is not a multiplication and an addition}}
  %1 = linalg.generic #matmul ins(%a, %b : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xe = arith.extf %x : bf16 to f32
    %ye = arith.extf %y : bf16 to f32
    %p = arith.addf %xe, %ye : f32
    %s = arith.maximumf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<8x16xf32>
}

func.func @effects(%a: tensor<8x64xbf16>, %b: tensor<64x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-remark @below {{its body is not a multiplication and an addition}}
  %0 = linalg.generic #matmul ins(%a, %b : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xe = arith.extf %x : bf16 to f32
    %ye = arith.extf %y : bf16 to f32
    vector.print %xe : f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// What is not like a matmul at all is not worth a remark.

func.func @no_reduction(%a: tensor<8x64xbf16>, %b: tensor<64x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "parallel"]
  } ins(%a, %b : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xe = arith.extf %x : bf16 to f32
    %ye = arith.extf %y : bf16 to f32
    %p = arith.mulf %xe, %ye : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

func.func @elementwise(%a: tensor<8x64xbf16>, %b: tensor<8x64xbf16>, %v: tensor<64xbf16>, %c: tensor<8xbf16>) -> (tensor<8x64xbf16>, tensor<8xbf16>) {
  %0 = linalg.add ins(%a, %b : tensor<8x64xbf16>, tensor<8x64xbf16>) outs(%a : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  %1 = linalg.matvec ins(%a, %v : tensor<8x64xbf16>, tensor<64xbf16>) outs(%c : tensor<8xbf16>) -> tensor<8xbf16>
  return %0, %1 : tensor<8x64xbf16>, tensor<8xbf16>
}

func.func @last(%a: tensor<8x64xbf16>, %b: tensor<64x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // expected-remark @below {{[Passed] quantized | Category:moss-quantize | Function=last | Remark="quantized to FP8", accumulate=#moss.accumulate<promoted(128)>, lhs="#moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>", rhs="#moss.scheme<f8E4M3FN, global = jit>"}}
  %0 = linalg.matmul ins(%a, %b : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
