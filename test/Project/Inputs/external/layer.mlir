func.func @layer(%x: tensor<64x128xf32>, %w: tensor<128x32xf32>, %y: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = linalg.matmul ins(%x, %w : tensor<64x128xf32>, tensor<128x32xf32>) outs(%y : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}
