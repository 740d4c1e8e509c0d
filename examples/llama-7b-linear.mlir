// The gate projection of a 7B LLaMA model: activations of 4096 features to 11008,
// for any number of tokens. Weights are stored [out features, in features], as in
// the model's checkpoint.
//
//   moss-opt --moss-fp8-lower examples/llama-7b-linear.mlir

#tokens_in = affine_map<(m, n, k) -> (m, k)>
#out_in = affine_map<(m, n, k) -> (n, k)>
#tokens_out = affine_map<(m, n, k) -> (m, n)>

func.func @gate_proj(%x: tensor<?x4096xbf16>, %w: tensor<11008x4096xbf16>) -> tensor<?x11008xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : bf16
  %tokens = tensor.dim %x, %c0 : tensor<?x4096xbf16>
  %empty = tensor.empty(%tokens) : tensor<?x11008xbf16>
  %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<?x11008xbf16>) -> tensor<?x11008xbf16>
  %y = linalg.matmul indexing_maps = [#tokens_in, #out_in, #tokens_out]
         ins(%x, %w : tensor<?x4096xbf16>, tensor<11008x4096xbf16>)
         outs(%init : tensor<?x11008xbf16>) -> tensor<?x11008xbf16>
  return %y : tensor<?x11008xbf16>
}
