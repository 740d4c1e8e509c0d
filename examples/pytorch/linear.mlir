// A linear layer as PyTorch defines it, y = x w^T, for any number of tokens and
// features. linear.py compiles it and calls it on torch's tensors.

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>

func.func @moss_linear(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>) -> tensor<?x?xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %tokens = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %features = tensor.dim %w, %c0 : tensor<?x?xbf16>
  %empty = tensor.empty(%tokens, %features) : tensor<?x?xbf16>
  %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  %y = linalg.matmul indexing_maps = [#x, #w, #y]
         ins(%x, %w : tensor<?x?xbf16>, tensor<?x?xbf16>)
         outs(%init : tensor<?x?xbf16>) -> tensor<?x?xbf16>
  return %y : tensor<?x?xbf16>
}
