#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func private @gelu(%h: tensor<16x128xf32>) -> tensor<16x128xf32> {
  %e = tensor.empty() : tensor<16x128xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%h : tensor<16x128xf32>) outs(%e : tensor<16x128xf32>) {
  ^bb0(%a: f32, %o: f32):
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %c = arith.constant 0.70710678 : f32
    %s = arith.mulf %a, %c : f32
    %t = math.erf %s : f32
    %u = arith.addf %t, %one : f32
    %v = arith.mulf %u, %half : f32
    %w = arith.mulf %v, %a : f32
    linalg.yield %w : f32
  } -> tensor<16x128xf32>
  return %0 : tensor<16x128xf32>
}
func.func @mlp(%x: tensor<16x64xbf16>, %w1: tensor<64x128xbf16>, %w2: tensor<128x32xbf16>) -> (tensor<16x32xf32>, tensor<16x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<16x128xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16x128xf32>) -> tensor<16x128xf32>
  %h = linalg.matmul ins(%x, %w1 : tensor<16x64xbf16>, tensor<64x128xbf16>) outs(%i1 : tensor<16x128xf32>) -> tensor<16x128xf32>
  %g = call @gelu(%h) : (tensor<16x128xf32>) -> tensor<16x128xf32>
  %gb = arith.truncf %g : tensor<16x128xf32> to tensor<16x128xbf16>
  %e2 = tensor.empty() : tensor<16x32xf32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %y = linalg.matmul ins(%gb, %w2 : tensor<16x128xbf16>, tensor<128x32xbf16>) outs(%i2 : tensor<16x32xf32>) -> tensor<16x32xf32>
  // Softmax of each row.
  %er = tensor.empty() : tensor<16xf32>
  %ninf = arith.constant 0xFF800000 : f32
  %im = linalg.fill ins(%ninf : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%y : tensor<16x32xf32>) outs(%im : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.maximumf %a, %o : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  %ex = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%y, %m : tensor<16x32xf32>, tensor<16xf32>) outs(%e2 : tensor<16x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = arith.subf %a, %b : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<16x32xf32>
  %is = linalg.fill ins(%zero : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%ex : tensor<16x32xf32>) outs(%is : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.addf %a, %o : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32>
  %p = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%ex, %s : tensor<16x32xf32>, tensor<16xf32>) outs(%e2 : tensor<16x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %1 = arith.divf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<16x32xf32>
  return %y, %p : tensor<16x32xf32>, tensor<16x32xf32>
}
