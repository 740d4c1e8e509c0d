// A layer and the gradient of its weight under delayed scales: @x is read in
// both orientations, and rows of @x and @g are as many as a call has.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#xt = affine_map<(m, n, k) -> (k, m)>
#g = affine_map<(m, n, k) -> (k, n)>

func.func @step(%x: tensor<?x64xbf16>, %w: tensor<32x64xbf16>, %g: tensor<?x32xbf16>)
    -> (tensor<?x32xf32>, tensor<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %x, %c0 : tensor<?x64xbf16>
  %e0 = tensor.empty(%rows) : tensor<?x32xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<?x32xf32>) -> tensor<?x32xf32>
  %y = linalg.matmul indexing_maps = [#x, #w, #y]
    ins(%x, %w : tensor<?x64xbf16>, tensor<32x64xbf16>) outs(%i0 : tensor<?x32xf32>) -> tensor<?x32xf32>
  %e1 = tensor.empty() : tensor<64x32xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %gw = linalg.matmul indexing_maps = [#xt, #g, #y]
    ins(%x, %g : tensor<?x64xbf16>, tensor<?x32xbf16>) outs(%i1 : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %y, %gw : tensor<?x32xf32>, tensor<64x32xf32>
}
