// Results are arguments, so that files come back as they were read.
func.func @copies(%a: tensor<?x3xbf16>, %b: tensor<4xf8E4M3FN>, %c: tensor<2xi64>, %d: f32)
    -> (tensor<?x3xbf16>, tensor<4xf8E4M3FN>, tensor<2xi64>, f32) {
  return %a, %b, %c, %d : tensor<?x3xbf16>, tensor<4xf8E4M3FN>, tensor<2xi64>, f32
}
