// A 7B LLaMA model's gate projection, scaled down (4096 to 512 features in, 11008
// to 344 out, 256 tokens), with a main function that checks its result on a CPU
// against double precision:
//
//   moss-opt --moss-fp8-lower=target=cpu examples/llama-7b-linear-check.mlir \
//     | mlir-runner -e main -entry-point-result=void \
//         -shared-libs=/usr/lib/llvm-22/lib/libmlir_c_runner_utils.so
//
// The tokens' magnitudes differ by up to 2^15, as those of real activations do:
// one scale for all of them would lose the small ones. The projection alone is
// in BF16, so it alone becomes FP8.
//
// Two things are checked. First, every element is within the bound that follows
// from the format. E4M3 has 4 bits of significand, so rounding moves an element x
// of an operand by at most 2^-4 |x|, or by half of its smallest subnormal, 2^-10
// times the scale, and the scale is at most amax / 224. With d such a bound,
// |a'b' - ab| <= |a| db + |b| da + da db. Sums, scales and the rounding to BF16 add
// less than 2^-7 of the sum of |ab|.
// Second, the relative error of each token's results, as a norm: roundings of at
// most 2^-4 that are independent come to less than sqrt(2/3) 2^-4 = 0.051 on
// average, so 2^-4 is not exceeded.

#tokens_in = affine_map<(m, n, k) -> (m, k)>
#out_in = affine_map<(m, n, k) -> (n, k)>
#tokens_out = affine_map<(m, n, k) -> (m, n)>
#token = affine_map<(m, n, k) -> (m)>
#all = affine_map<(m, n, k) -> ()>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#scalar = affine_map<(i, j) -> ()>

func.func @gate_proj(%x: tensor<256x512xbf16>, %w: tensor<344x512xbf16>) -> tensor<256x344xbf16> {
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<256x344xbf16>
  %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<256x344xbf16>) -> tensor<256x344xbf16>
  %y = linalg.matmul indexing_maps = [#tokens_in, #out_in, #tokens_out]
         ins(%x, %w : tensor<256x512xbf16>, tensor<344x512xbf16>)
         outs(%init : tensor<256x344xbf16>) -> tensor<256x344xbf16>
  return %y : tensor<256x344xbf16>
}

// A uniform number in [-1, 1) for each element and seed: a hash of its position.
func.func @uniform(%i: index, %j: index, %seed: i32) -> f32 {
  %c512 = arith.constant 512 : index
  %c16 = arith.constant 16 : i32
  %c13 = arith.constant 13 : i32
  %multiplier0 = arith.constant 0x85EBCA6B : i32
  %multiplier1 = arith.constant 0xC2B2AE35 : i32
  %scale = arith.constant 4.65661287e-10 : f32      // 2^-31
  %row = arith.muli %i, %c512 : index
  %position = arith.addi %row, %j : index
  %p = arith.index_cast %position : index to i32
  %h0 = arith.addi %p, %seed : i32
  %h1 = arith.shrui %h0, %c16 : i32
  %h2 = arith.xori %h0, %h1 : i32
  %h3 = arith.muli %h2, %multiplier0 : i32
  %h4 = arith.shrui %h3, %c13 : i32
  %h5 = arith.xori %h3, %h4 : i32
  %h6 = arith.muli %h5, %multiplier1 : i32
  %h7 = arith.shrui %h6, %c16 : i32
  %h8 = arith.xori %h6, %h7 : i32
  %f = arith.sitofp %h8 : i32 to f32
  %u = arith.mulf %f, %scale : f32
  return %u : f32
}

// Uniform in [-2^(i mod 16), 2^(i mod 16)) in row i.
func.func @activations() -> tensor<256x512xbf16> {
  %seed = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c15 = arith.constant 15 : index
  %x = tensor.generate {
  ^bb0(%i: index, %j: index):
    %u = func.call @uniform(%i, %j, %seed) : (index, index, i32) -> f32
    %e = arith.andi %i, %c15 : index
    %e32 = arith.index_cast %e : index to i32
    %power32 = arith.shli %one, %e32 : i32
    %power = arith.sitofp %power32 : i32 to f32
    %scaled = arith.mulf %u, %power : f32
    %b = arith.truncf %scaled : f32 to bf16
    tensor.yield %b : bf16
  } : tensor<256x512xbf16>
  return %x : tensor<256x512xbf16>
}

// Uniform in [-0.04, 0.04).
func.func @weights() -> tensor<344x512xbf16> {
  %seed = arith.constant 1000000 : i32
  %magnitude = arith.constant 0.04 : f32
  %w = tensor.generate {
  ^bb0(%i: index, %j: index):
    %u = func.call @uniform(%i, %j, %seed) : (index, index, i32) -> f32
    %scaled = arith.mulf %u, %magnitude : f32
    %b = arith.truncf %scaled : f32 to bf16
    tensor.yield %b : bf16
  } : tensor<344x512xbf16>
  return %w : tensor<344x512xbf16>
}

// The product in double precision.
func.func @reference(%x: tensor<256x512xbf16>, %w: tensor<344x512xbf16>) -> tensor<256x344xf64> {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<256x344xf64>
  %init = linalg.fill ins(%zero : f64) outs(%empty : tensor<256x344xf64>) -> tensor<256x344xf64>
  %y = linalg.generic {indexing_maps = [#tokens_in, #out_in, #tokens_out],
                       iterator_types = ["parallel", "parallel", "reduction"]}
         ins(%x, %w : tensor<256x512xbf16>, tensor<344x512xbf16>)
         outs(%init : tensor<256x344xf64>) {
  ^bb0(%a: bf16, %b: bf16, %sum: f64):
    %a32 = arith.extf %a : bf16 to f32
    %b32 = arith.extf %b : bf16 to f32
    %a64 = arith.extf %a32 : f32 to f64
    %b64 = arith.extf %b32 : f32 to f64
    %p = arith.mulf %a64, %b64 : f64
    %s = arith.addf %sum, %p : f64
    linalg.yield %s : f64
  } -> tensor<256x344xf64>
  return %y : tensor<256x344xf64>
}

// The largest magnitude of each token.
func.func @token_amax(%x: tensor<256x512xbf16>) -> tensor<256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256xf32>) -> tensor<256xf32>
  %amax = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
            ins(%x : tensor<256x512xbf16>) outs(%init : tensor<256xf32>) {
  ^bb0(%a: bf16, %max: f32):
    %a32 = arith.extf %a : bf16 to f32
    %abs = math.absf %a32 : f32
    %m = arith.maximumf %max, %abs : f32
    linalg.yield %m : f32
  } -> tensor<256xf32>
  return %amax : tensor<256xf32>
}

// The largest magnitude of the weights.
func.func @weight_amax(%w: tensor<344x512xbf16>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %amax = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction", "reduction"]}
            ins(%w : tensor<344x512xbf16>) outs(%init : tensor<f32>) {
  ^bb0(%a: bf16, %max: f32):
    %a32 = arith.extf %a : bf16 to f32
    %abs = math.absf %a32 : f32
    %m = arith.maximumf %max, %abs : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  return %amax : tensor<f32>
}

// The bound that is derived above, for each element of the result.
func.func @bound(%x: tensor<256x512xbf16>, %w: tensor<344x512xbf16>) -> tensor<256x344xf32> {
  %xmax = call @token_amax(%x) : (tensor<256x512xbf16>) -> tensor<256xf32>
  %wmax = call @weight_amax(%w) : (tensor<344x512xbf16>) -> tensor<f32>
  %zero = arith.constant 0.0 : f32
  %relative = arith.constant 6.25e-2 : f32          // 2^-4
  %absolute = arith.constant 4.35965397e-6 : f32    // 2^-10 / 224
  %rest = arith.constant 7.8125e-3 : f32            // 2^-7
  %empty = tensor.empty() : tensor<256x344xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x344xf32>) -> tensor<256x344xf32>
  %bound = linalg.generic {indexing_maps = [#tokens_in, #out_in, #token, #all, #tokens_out],
                           iterator_types = ["parallel", "parallel", "reduction"]}
             ins(%x, %w, %xmax, %wmax : tensor<256x512xbf16>, tensor<344x512xbf16>, tensor<256xf32>, tensor<f32>)
             outs(%init : tensor<256x344xf32>) {
  ^bb0(%a: bf16, %b: bf16, %amax: f32, %bmax: f32, %sum: f32):
    %a32 = arith.extf %a : bf16 to f32
    %b32 = arith.extf %b : bf16 to f32
    %aa = math.absf %a32 : f32
    %ab = math.absf %b32 : f32
    %ar = arith.mulf %aa, %relative : f32
    %as = arith.mulf %amax, %absolute : f32
    %da = arith.maximumf %ar, %as : f32
    %br = arith.mulf %ab, %relative : f32
    %bs = arith.mulf %bmax, %absolute : f32
    %db = arith.maximumf %br, %bs : f32
    %t0 = arith.mulf %aa, %db : f32
    %t1 = arith.mulf %ab, %da : f32
    %t2 = arith.mulf %da, %db : f32
    %t3 = arith.mulf %aa, %ab : f32
    %t4 = arith.mulf %t3, %rest : f32
    %s0 = arith.addf %t0, %t1 : f32
    %s1 = arith.addf %t2, %t4 : f32
    %s2 = arith.addf %s0, %s1 : f32
    %s = arith.addf %sum, %s2 : f32
    linalg.yield %s : f32
  } -> tensor<256x344xf32>
  return %bound : tensor<256x344xf32>
}

// For each token: the sum of the squared errors, the largest ratio of an error to
// its bound, and the sum of the reference's squares.
func.func @compare(%y: tensor<256x344xbf16>, %ref: tensor<256x344xf64>, %bound: tensor<256x344xf32>)
    -> (tensor<256xf64>, tensor<256xf64>, tensor<256xf64>) {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<256xf64>
  %init = linalg.fill ins(%zero : f64) outs(%empty : tensor<256xf64>) -> tensor<256xf64>
  %sums:3 = linalg.generic {indexing_maps = [#id, #id, #id, #row, #row, #row],
                            iterator_types = ["parallel", "reduction"]}
              ins(%y, %ref, %bound : tensor<256x344xbf16>, tensor<256x344xf64>, tensor<256x344xf32>)
              outs(%init, %init, %init : tensor<256xf64>, tensor<256xf64>, tensor<256xf64>) {
  ^bb0(%v: bf16, %r: f64, %b: f32, %errors: f64, %ratio: f64, %squares: f64):
    %v32 = arith.extf %v : bf16 to f32
    %v64 = arith.extf %v32 : f32 to f64
    %b64 = arith.extf %b : f32 to f64
    %d = arith.subf %v64, %r : f64
    %dd = arith.mulf %d, %d : f64
    %e = arith.addf %errors, %dd : f64
    %abs = math.absf %d : f64
    %part = arith.divf %abs, %b64 : f64
    %max = arith.maximumf %ratio, %part : f64
    %rr = arith.mulf %r, %r : f64
    %s = arith.addf %squares, %rr : f64
    linalg.yield %e, %max, %s : f64, f64, f64
  } -> (tensor<256xf64>, tensor<256xf64>, tensor<256xf64>)
  return %sums#0, %sums#1, %sums#2 : tensor<256xf64>, tensor<256xf64>, tensor<256xf64>
}

// The largest relative error of a token, and the largest ratio of all.
func.func @largest(%errors: tensor<256xf64>, %ratios: tensor<256xf64>, %squares: tensor<256xf64>) -> (f64, f64) {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %max:2 = scf.for %i = %c0 to %c256 step %c1 iter_args(%e = %zero, %r = %zero) -> (f64, f64) {
    %error = tensor.extract %errors[%i] : tensor<256xf64>
    %square = tensor.extract %squares[%i] : tensor<256xf64>
    %ratio = tensor.extract %ratios[%i] : tensor<256xf64>
    %quotient = arith.divf %error, %square : f64
    %relative = math.sqrt %quotient : f64
    %e1 = arith.maximumf %e, %relative : f64
    %r1 = arith.maximumf %r, %ratio : f64
    scf.yield %e1, %r1 : f64, f64
  }
  return %max#0, %max#1 : f64, f64
}

func.func @main() {
  %x = call @activations() : () -> tensor<256x512xbf16>
  %w = call @weights() : () -> tensor<344x512xbf16>
  %y = call @gate_proj(%x, %w) : (tensor<256x512xbf16>, tensor<344x512xbf16>) -> tensor<256x344xbf16>
  %ref = call @reference(%x, %w) : (tensor<256x512xbf16>, tensor<344x512xbf16>) -> tensor<256x344xf64>
  %bound = call @bound(%x, %w) : (tensor<256x512xbf16>, tensor<344x512xbf16>) -> tensor<256x344xf32>
  %errors, %ratios, %squares = call @compare(%y, %ref, %bound)
    : (tensor<256x344xbf16>, tensor<256x344xf64>, tensor<256x344xf32>) -> (tensor<256xf64>, tensor<256xf64>, tensor<256xf64>)
  %relative, %ratio = call @largest(%errors, %ratios, %squares)
    : (tensor<256xf64>, tensor<256xf64>, tensor<256xf64>) -> (f64, f64)

  vector.print str "largest relative error of a token's result (at most 0.0625): "
  vector.print %relative : f64
  vector.print str "largest error of an element, as a part of its bound (at most 1): "
  vector.print %ratio : f64
  %expected = arith.constant 0.0625 : f64
  %one = arith.constant 1.0 : f64
  %accurate = arith.cmpf ole, %relative, %expected : f64
  %within = arith.cmpf ole, %ratio, %one : f64
  cf.assert %within, "an element is farther from double precision than its bound"
  cf.assert %accurate, "a token's relative error is larger than independent roundings explain"
  vector.print str "the result is as exact as FP8 allows\n"
  return
}
