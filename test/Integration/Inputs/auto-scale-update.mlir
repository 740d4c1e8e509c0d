// One training step of a linear layer: forward, the gradient that goes on, and AdamW.
#id = affine_map<(i, j) -> (i, j)>
#weight = #moss.weight<#moss.optimizer<adamw, beta1 = 0.9, beta2 = 0.95, weight_decay = 0.1>, interval = 100>
func.func @train(%x: tensor<8x64xbf16>, %gy: tensor<8x32xbf16>, %g: tensor<64x32xf32>,
                 %w: tensor<64x32xf32> {moss.weight = #weight}, %m: tensor<64x32xf32>, %v: tensor<64x32xf32>,
                 %lr: f32 {moss.learning_rate}, %c1: f32, %c2: f32, %y: tensor<8x32xf32>, %gx: tensor<8x64xf32>)
    -> (tensor<8x32xf32>, tensor<8x64xf32>, tensor<64x32xf32> {moss.updates = 3},
        tensor<64x32xf32> {moss.updates = 4}, tensor<64x32xf32> {moss.updates = 5}) {
  %zero = arith.constant 0.0 : f32
  %wb = arith.truncf %w : tensor<64x32xf32> to tensor<64x32xbf16>
  %y0 = linalg.fill ins(%zero : f32) outs(%y : tensor<8x32xf32>) -> tensor<8x32xf32>
  %out = linalg.matmul ins(%x, %wb : tensor<8x64xbf16>, tensor<64x32xbf16>) outs(%y0 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %gx0 = linalg.fill ins(%zero : f32) outs(%gx : tensor<8x64xf32>) -> tensor<8x64xf32>
  %back = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
     ins(%gy, %wb : tensor<8x32xbf16>, tensor<64x32xbf16>) outs(%gx0 : tensor<8x64xf32>) -> tensor<8x64xf32>
  %new:3 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<64x32xf32>) outs(%w, %m, %v : tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) {
  ^bb0(%gi: f32, %wi: f32, %mi: f32, %vi: f32):
    %one = arith.constant 1.0 : f32
    %b1 = arith.constant 0.9 : f32
    %b2 = arith.constant 0.95 : f32
    %n1 = arith.subf %one, %b1 : f32
    %n2 = arith.subf %one, %b2 : f32
    %eps = arith.constant 1.0e-8 : f32
    %wd = arith.constant 0.1 : f32
    %m0 = arith.mulf %mi, %b1 : f32
    %m1 = arith.mulf %gi, %n1 : f32
    %m2 = arith.addf %m0, %m1 : f32
    %v0 = arith.mulf %vi, %b2 : f32
    %gg = arith.mulf %gi, %gi : f32
    %v1 = arith.mulf %gg, %n2 : f32
    %v2 = arith.addf %v0, %v1 : f32
    %mh = arith.divf %m2, %c1 : f32
    %vh = arith.divf %v2, %c2 : f32
    %r = math.sqrt %vh : f32
    %d = arith.addf %r, %eps : f32
    %u = arith.divf %mh, %d : f32
    %lw = arith.mulf %lr, %wd : f32
    %keep = arith.subf %one, %lw : f32
    %kept = arith.mulf %wi, %keep : f32
    %step = arith.mulf %lr, %u : f32
    %wn = arith.subf %kept, %step : f32
    linalg.yield %wn, %m2, %v2 : f32, f32, f32
  } -> (tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>)
  return %out, %back, %new#0, %new#1, %new#2 : tensor<8x32xf32>, tensor<8x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
}

// What the payloads must be: quantized on their own.
#given = #moss.scheme<f8E4M3FN, global = given>
func.func @reference(%w: tensor<64x32xf32>, %scales: tensor<1xf32>, %p: tensor<32x64xf8E4M3FN>, %q: tensor<64x32xf8E4M3FN>)
    -> (tensor<32x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>) {
  %b = arith.truncf %w : tensor<64x32xf32> to tensor<64x32xbf16>
  %s = tensor.extract_slice %scales[0] [1] [1] : tensor<1xf32> to tensor<f32>
  %0 = moss.quantize #given transpose ins(%b : tensor<64x32xbf16>) scale(%s : tensor<f32>) payload(%p : tensor<32x64xf8E4M3FN>) -> tensor<32x64xf8E4M3FN>
  %1 = moss.quantize #given ins(%b : tensor<64x32xbf16>) scale(%s : tensor<f32>) payload(%q : tensor<64x32xf8E4M3FN>) -> tensor<64x32xf8E4M3FN>
  return %0, %1 : tensor<32x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>
}
