// A matmul, then a function that moss-error-bound has no rule for.
#id = affine_map<(i, j) -> (i, j)>

func.func @unknown(%x: tensor<8x64xbf16>, %w: tensor<64x16xbf16>) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%0 : tensor<8x16xf32>) outs(%empty : tensor<8x16xf32>) {
  ^bb0(%a: f32, %out: f32):
    %t = math.atan %a : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}
