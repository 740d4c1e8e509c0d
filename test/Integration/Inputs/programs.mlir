// Programs around matmuls, run on the CPU and on a GPU.

// A layer with bias, ReLU and a residual: max(x w + bias, 0) + residual.
func.func @layer(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>, %bias: tensor<?xf32>, %residual: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %n = tensor.dim %w, %c1 : tensor<?x?xbf16>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%bias, %residual : tensor<?xf32>, tensor<?x?xf32>) outs(%y : tensor<?x?xf32>) {
  ^bb0(%b: f32, %r: f32, %a: f32):
    %biased = arith.addf %a, %b : f32
    %relu = arith.maximumf %biased, %zero : f32
    %sum = arith.addf %relu, %r : f32
    linalg.yield %sum : f32
  } -> tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// x w^n, in a loop that yields a new tensor each time; x when n is 0.
func.func @power(%x: tensor<2x2xbf16>, %w: tensor<2x2xbf16>, %n: index) -> tensor<2x2xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : bf16
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<2x2xbf16>) {
    %e = tensor.empty() : tensor<2x2xbf16>
    %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<2x2xbf16>) -> tensor<2x2xbf16>
    %y = linalg.matmul ins(%a, %w : tensor<2x2xbf16>, tensor<2x2xbf16>) outs(%f : tensor<2x2xbf16>) -> tensor<2x2xbf16>
    scf.yield %y : tensor<2x2xbf16>
  }
  return %r : tensor<2x2xbf16>
}

// Accumulates into c if asked to.
func.func @choose(%x: tensor<2x2xbf16>, %w: tensor<2x2xbf16>, %c: tensor<2x2xf32>, %p: i1) -> tensor<2x2xf32> {
  %r = scf.if %p -> (tensor<2x2xf32>) {
    %y = linalg.matmul ins(%x, %w : tensor<2x2xbf16>, tensor<2x2xbf16>) outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>
    scf.yield %y : tensor<2x2xf32>
  } else {
    scf.yield %c : tensor<2x2xf32>
  }
  return %r : tensor<2x2xf32>
}

// What is not quantized: f32, integers, batches.
func.func @others(%xf: tensor<1x2xf32>, %wf: tensor<2x1xf32>, %xi: tensor<1x2xi8>, %wi: tensor<2x1xi8>,
                  %xb: tensor<1x1x2xbf16>, %wb: tensor<1x2x1xbf16>) -> (tensor<1x1xf32>, tensor<1x1xi32>, tensor<1x1x1xf32>) {
  %cf = arith.constant dense<0.0> : tensor<1x1xf32>
  %ci = arith.constant dense<0> : tensor<1x1xi32>
  %cb = arith.constant dense<0.0> : tensor<1x1x1xf32>
  %0 = linalg.matmul ins(%xf, %wf : tensor<1x2xf32>, tensor<2x1xf32>) outs(%cf : tensor<1x1xf32>) -> tensor<1x1xf32>
  %1 = linalg.matmul ins(%xi, %wi : tensor<1x2xi8>, tensor<2x1xi8>) outs(%ci : tensor<1x1xi32>) -> tensor<1x1xi32>
  %2 = linalg.batch_matmul ins(%xb, %wb : tensor<1x1x2xbf16>, tensor<1x2x1xbf16>) outs(%cb : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  return %0, %1, %2 : tensor<1x1xf32>, tensor<1x1xi32>, tensor<1x1x1xf32>
}

// A constant weight.
func.func @constant(%x: tensor<2x2xbf16>, %c: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %w = arith.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<2x2xbf16>, tensor<2x3xbf16>) outs(%c : tensor<2x3xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
