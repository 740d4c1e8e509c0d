// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A perceptron of two layers that learns the outputs of another: forward, backward
// and AdamW, in matmuls of BF16. docs/Perceptron.md says how to run it, and what it
// prints for each step.

#adamw = #moss.optimizer<adamw, beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1>
#weight = #moss.weight<#adamw, interval = 100, state = globals>

#id = affine_map<(i, j) -> (i, j)>
#scalar = affine_map<(i, j) -> ()>
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Defined by moss-auto-scale: the bounds on both weights after an optimizer step, from
// its rate and number, and the scales that predict how they are quantized.
func.func private @moss_update_scales(f32, i64)
func.func private @moss_get_scales() -> tensor<2xf32>

// A uniform number in [-1, 1): a hash of the element's position and a seed.
func.func private @uniform(%position: index, %seed: i32) -> f32 {
  %c16 = arith.constant 16 : i32
  %c13 = arith.constant 13 : i32
  %golden = arith.constant 0x9E3779B9 : i32
  %m0 = arith.constant 0x85EBCA6B : i32
  %m1 = arith.constant 0xC2B2AE35 : i32
  %scale = arith.constant 4.65661287e-10 : f32      // 2^-31
  %p = arith.index_cast %position : index to i32
  %s = arith.muli %seed, %golden : i32
  %h0 = arith.addi %p, %s : i32
  %h1 = arith.shrui %h0, %c16 : i32
  %h2 = arith.xori %h0, %h1 : i32
  %h3 = arith.muli %h2, %m0 : i32
  %h4 = arith.shrui %h3, %c13 : i32
  %h5 = arith.xori %h3, %h4 : i32
  %h6 = arith.muli %h5, %m1 : i32
  %h7 = arith.shrui %h6, %c16 : i32
  %h8 = arith.xori %h6, %h7 : i32
  %f = arith.sitofp %h8 : i32 to f32
  %u = arith.mulf %f, %scale : f32
  return %u : f32
}

// A matrix of such numbers, times a scale.
func.func private @random(%rows: index, %cols: index, %seed: i32, %scale: f32) -> tensor<?x?xf32> {
  %t = tensor.generate %rows, %cols {
  ^bb0(%i: index, %j: index):
    %row = arith.muli %i, %cols : index
    %position = arith.addi %row, %j : index
    %u = func.call @uniform(%position, %seed) : (index, i32) -> f32
    %v = arith.mulf %u, %scale : f32
    tensor.yield %v : f32
  } : tensor<?x?xf32>
  return %t : tensor<?x?xf32>
}

// One step of AdamW (beta1 = 0.9, beta2 = 0.95, eps = 1e-8, weight decay 0.1);
// c1 and c2 are 1 - beta1^t and 1 - beta2^t.
func.func private @adamw(%w: tensor<?x?xf32>, %m: tensor<?x?xf32>, %v: tensor<?x?xf32>, %g: tensor<?x?xf32>,
                         %lr: f32, %c1: f32, %c2: f32) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  %one = arith.constant 1.0 : f32
  %beta1 = arith.constant 0.9 : f32
  %beta2 = arith.constant 0.95 : f32
  %eps = arith.constant 1.0e-8 : f32
  %decay = arith.constant 0.1 : f32
  %d1 = arith.subf %one, %beta1 : f32
  %d2 = arith.subf %one, %beta2 : f32
  %lr_decay = arith.mulf %lr, %decay : f32
  %keep = arith.subf %one, %lr_decay : f32
  %r:3 = linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<?x?xf32>) outs(%w, %m, %v : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  ^bb0(%gi: f32, %wi: f32, %mi: f32, %vi: f32):
    %m0 = arith.mulf %mi, %beta1 : f32
    %m1 = arith.mulf %gi, %d1 : f32
    %m2 = arith.addf %m0, %m1 : f32
    %gg = arith.mulf %gi, %gi : f32
    %v0 = arith.mulf %vi, %beta2 : f32
    %v1 = arith.mulf %gg, %d2 : f32
    %v2 = arith.addf %v0, %v1 : f32
    %mh = arith.divf %m2, %c1 : f32
    %vh = arith.divf %v2, %c2 : f32
    %root = math.sqrt %vh : f32
    %denominator = arith.addf %root, %eps : f32
    %direction = arith.divf %mh, %denominator : f32
    %move = arith.mulf %direction, %lr : f32
    %kept = arith.mulf %wi, %keep : f32
    %w1 = arith.subf %kept, %move : f32
    linalg.yield %w1, %m2, %v2 : f32, f32, f32
  } -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
  return %r#0, %r#1, %r#2 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>
}

// The loss and the gradients of both weights for one batch: y = relu(x w1^T) w2^T,
// and the loss is the mean of (y - t)^2. Five matmuls in BF16, or FP8 with Moss; three of
// them take a weight. `step` counts the optimizer steps before.
func.func private @gradients(%x: tensor<256x32xbf16>, %t: tensor<256x16xf32>,
                             %w1: tensor<64x32xbf16> {moss.weight = #weight}, %w2: tensor<16x64xbf16> {moss.weight = #weight},
                             %step: i64 {moss.step})
    -> (f32, tensor<64x32xf32>, tensor<16x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<256x64xf32>

  // Forward.
  %e0 = tensor.empty() : tensor<256x64xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %a = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%x, %w1 : tensor<256x32xbf16>, tensor<64x32xbf16>)
         outs(%i0 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %r = arith.maximumf %a, %zeros : tensor<256x64xf32>
  %h = arith.truncf %r : tensor<256x64xf32> to tensor<256x64xbf16>
  %e1 = tensor.empty() : tensor<256x16xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<256x16xf32>) -> tensor<256x16xf32>
  %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%h, %w2 : tensor<256x64xbf16>, tensor<16x64xbf16>)
         outs(%i1 : tensor<256x16xf32>) -> tensor<256x16xf32>

  // The loss, and its gradient with respect to y.
  %difference = arith.subf %y, %t : tensor<256x16xf32>
  %e2 = tensor.empty() : tensor<f32>
  %i2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%difference : tensor<256x16xf32>) outs(%i2 : tensor<f32>) {
  ^bb0(%d: f32, %s: f32):
    %dd = arith.mulf %d, %d : f32
    %s1 = arith.addf %s, %dd : f32
    linalg.yield %s1 : f32
  } -> tensor<f32>
  %total = tensor.extract %sum[] : tensor<f32>
  %weight = arith.constant 2.44140625e-4 : f32       // 1 / (256 * 16)
  %loss = arith.mulf %total, %weight : f32
  %slopes = arith.constant dense<4.8828125e-4> : tensor<256x16xf32>
  %dy32 = arith.mulf %difference, %slopes : tensor<256x16xf32>
  %dy = arith.truncf %dy32 : tensor<256x16xf32> to tensor<256x16xbf16>

  // Backward.
  %e3 = tensor.empty() : tensor<16x64xf32>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<16x64xf32>) -> tensor<16x64xf32>
  %dw2 = linalg.matmul indexing_maps = [#km, #kn, #mn] ins(%dy, %h : tensor<256x16xbf16>, tensor<256x64xbf16>)
           outs(%i3 : tensor<16x64xf32>) -> tensor<16x64xf32>
  %dh = linalg.matmul indexing_maps = [#mk, #kn, #mn] ins(%dy, %w2 : tensor<256x16xbf16>, tensor<16x64xbf16>)
          outs(%i0 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %on = arith.cmpf ogt, %a, %zeros : tensor<256x64xf32>
  %da32 = arith.select %on, %dh, %zeros : tensor<256x64xi1>, tensor<256x64xf32>
  %da = arith.truncf %da32 : tensor<256x64xf32> to tensor<256x64xbf16>
  %e4 = tensor.empty() : tensor<64x32xf32>
  %i4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %dw1 = linalg.matmul indexing_maps = [#km, #kn, #mn] ins(%da, %x : tensor<256x64xbf16>, tensor<256x32xbf16>)
           outs(%i4 : tensor<64x32xf32>) -> tensor<64x32xf32>
  return %loss, %dw1, %dw2 : f32, tensor<64x32xf32>, tensor<16x64xf32>
}

// The inputs and targets of a batch. The targets are those of a network of the
// same shape with other weights, in FP32.
func.func private @batch(%seed: i32) -> (tensor<256x32xbf16>, tensor<256x16xf32>) {
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<256x64xf32>
  %one = arith.constant 1.0 : f32
  %s1 = arith.constant -1 : i32
  %s2 = arith.constant -2 : i32
  %half = arith.constant 0.5 : f32
  %xd = call @random(%c256, %c32, %seed, %one) : (index, index, i32, f32) -> tensor<?x?xf32>
  %xs = tensor.cast %xd : tensor<?x?xf32> to tensor<256x32xf32>
  %x = arith.truncf %xs : tensor<256x32xf32> to tensor<256x32xbf16>
  %xe = arith.extf %x : tensor<256x32xbf16> to tensor<256x32xf32>
  %w1d = call @random(%c64, %c32, %s1, %half) : (index, index, i32, f32) -> tensor<?x?xf32>
  %w1 = tensor.cast %w1d : tensor<?x?xf32> to tensor<64x32xf32>
  %w2d = call @random(%c16, %c64, %s2, %half) : (index, index, i32, f32) -> tensor<?x?xf32>
  %w2 = tensor.cast %w2d : tensor<?x?xf32> to tensor<16x64xf32>
  %e0 = tensor.empty() : tensor<256x64xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %a = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%xe, %w1 : tensor<256x32xf32>, tensor<64x32xf32>)
         outs(%i0 : tensor<256x64xf32>) -> tensor<256x64xf32>
  %h = arith.maximumf %a, %zeros : tensor<256x64xf32>
  %e1 = tensor.empty() : tensor<256x16xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<256x16xf32>) -> tensor<256x16xf32>
  %t = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%h, %w2 : tensor<256x64xf32>, tensor<16x64xf32>)
         outs(%i1 : tensor<256x16xf32>) -> tensor<256x16xf32>
  return %x, %t : tensor<256x32xbf16>, tensor<256x16xf32>
}

// The scale that puts the largest magnitude of a weight, as the matmuls see it, at the
// largest number of E4M3.
func.func private @true_scale(%w: tensor<?x?xf32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
      ins(%w : tensor<?x?xf32>) outs(%i : tensor<f32>) {
  ^bb0(%in: f32, %m: f32):
    %rounded = arith.truncf %in : f32 to bf16
    %seen = arith.extf %rounded : bf16 to f32
    %abs = math.absf %seen : f32
    %max = arith.maximumf %abs, %m : f32
    linalg.yield %max : f32
  } -> tensor<f32>
  %max = tensor.extract %r[] : tensor<f32>
  %largest = arith.constant 448.0 : f32
  %scale = arith.divf %max, %largest : f32
  return %scale : f32
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %steps = arith.constant 400 : index
  %next = arith.constant 1 : i64
  %one = arith.constant 1.0 : f32
  %beta1 = arith.constant 0.9 : f32
  %beta2 = arith.constant 0.95 : f32
  %lr = arith.constant 4.0e-3 : f32
  %zero = arith.constant 0.0 : f32
  %seed1 = arith.constant 1001 : i32
  %seed2 = arith.constant 1002 : i32
  %scale1 = arith.constant 0.3 : f32
  %scale2 = arith.constant 0.2 : f32
  %w1 = call @random(%c64, %c32, %seed1, %scale1) : (index, index, i32, f32) -> tensor<?x?xf32>
  %w2 = call @random(%c16, %c64, %seed2, %scale2) : (index, index, i32, f32) -> tensor<?x?xf32>
  %z1 = tensor.splat %zero[%c64, %c32] : tensor<?x?xf32>
  %z2 = tensor.splat %zero[%c16, %c64] : tensor<?x?xf32>
  vector.print str "step, loss, predicted 1, true 1, predicted 2, true 2\n"
  %r:8 = scf.for %step = %c0 to %steps step %c1
      iter_args(%w1i = %w1, %m1i = %z1, %v1i = %z1, %w2i = %w2, %m2i = %z2, %v2i = %z2, %b1 = %one, %b2 = %one)
      -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, f32, f32) {
    %seed = arith.index_cast %step : index to i32
    %x, %t = func.call @batch(%seed) : (i32) -> (tensor<256x32xbf16>, tensor<256x16xf32>)
    %w1s = tensor.cast %w1i : tensor<?x?xf32> to tensor<64x32xf32>
    %w2s = tensor.cast %w2i : tensor<?x?xf32> to tensor<16x64xf32>
    %w1b = arith.truncf %w1s : tensor<64x32xf32> to tensor<64x32xbf16>
    %w2b = arith.truncf %w2s : tensor<16x64xf32> to tensor<16x64xbf16>
    %before = arith.index_cast %step : index to i64
    %loss, %g1, %g2 = func.call @gradients(%x, %t, %w1b, %w2b, %before)
      : (tensor<256x32xbf16>, tensor<256x16xf32>, tensor<64x32xbf16>, tensor<16x64xbf16>, i64) -> (f32, tensor<64x32xf32>, tensor<16x64xf32>)
    %scales = func.call @moss_get_scales() : () -> tensor<2xf32>
    %b1n = arith.mulf %b1, %beta1 : f32
    %b2n = arith.mulf %b2, %beta2 : f32
    %k1 = arith.subf %one, %b1n : f32
    %k2 = arith.subf %one, %b2n : f32
    %g1d = tensor.cast %g1 : tensor<64x32xf32> to tensor<?x?xf32>
    %g2d = tensor.cast %g2 : tensor<16x64xf32> to tensor<?x?xf32>
    %u1:3 = func.call @adamw(%w1i, %m1i, %v1i, %g1d, %lr, %k1, %k2)
      : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, f32, f32, f32) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
    %u2:3 = func.call @adamw(%w2i, %m2i, %v2i, %g2d, %lr, %k1, %k2)
      : (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, f32, f32, f32) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
    %after = arith.addi %before, %next : i64
    func.call @moss_update_scales(%lr, %after) : (f32, i64) -> ()
    %predicted1 = tensor.extract %scales[%c0] : tensor<2xf32>
    %predicted2 = tensor.extract %scales[%c1] : tensor<2xf32>
    %true1 = func.call @true_scale(%w1i) : (tensor<?x?xf32>) -> f32
    %true2 = func.call @true_scale(%w2i) : (tensor<?x?xf32>) -> f32
    vector.print %step : index punctuation <comma>
    vector.print %loss : f32 punctuation <comma>
    vector.print %predicted1 : f32 punctuation <comma>
    vector.print %true1 : f32 punctuation <comma>
    vector.print %predicted2 : f32 punctuation <comma>
    vector.print %true2 : f32
    scf.yield %u1#0, %u1#1, %u1#2, %u2#0, %u2#1, %u2#2, %b1n, %b2n : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, f32, f32
  }
  return
}
