// A linear layer, an elementwise function with other types, and scalars.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

func.func @layer(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %empty = tensor.empty(%rows) : tensor<?x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %0 = linalg.matmul indexing_maps = [#x, #w, #y]
         ins(%x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// Fails after it has allocated memory, if K does not agree.
func.func @product(%x: tensor<?x?xbf16>, %w: tensor<32x?xbf16>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %empty = tensor.empty(%rows) : tensor<?x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x32xf32>) -> tensor<?x32xf32>
  %0 = linalg.matmul indexing_maps = [#x, #w, #y]
         ins(%x, %w : tensor<?x?xbf16>, tensor<32x?xbf16>) outs(%init : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

#d3 = affine_map<(i, j, k) -> (i, j, k)>

// factor * x, and x as it is.
func.func @scale(%x: tensor<2x?x3xf32>, %factor: f32) -> (tensor<2x?x3xf32>, tensor<2x?x3xf32>) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<2x?x3xf32>
  %empty = tensor.empty(%n) : tensor<2x?x3xf32>
  %scaled = linalg.generic {indexing_maps = [#d3, #d3], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<2x?x3xf32>) outs(%empty : tensor<2x?x3xf32>) {
  ^bb0(%a: f32, %old: f32):
    %product = arith.mulf %a, %factor : f32
    linalg.yield %product : f32
  } -> tensor<2x?x3xf32>
  return %scaled, %x : tensor<2x?x3xf32>, tensor<2x?x3xf32>
}

func.func @mix(%n: i64, %flag: i1, %half: bf16) -> (i64, i1, f32) attributes {moss.host} {
  %one = arith.constant 1 : i64
  %true = arith.constant true
  %next = arith.addi %n, %one : i64
  %not = arith.xori %flag, %true : i1
  %wide = arith.extf %half : bf16 to f32
  return %next, %not, %wide : i64, i1, f32
}
