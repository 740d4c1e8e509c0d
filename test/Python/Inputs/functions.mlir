#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>

func.func @linear(%x: tensor<?x?xbf16>, %w: tensor<8x?xbf16>) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %tokens = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %empty = tensor.empty(%tokens) : tensor<?x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = linalg.matmul indexing_maps = [#x, #w, #y]
         ins(%x, %w : tensor<?x?xbf16>, tensor<8x?xbf16>)
         outs(%init : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// a * factor + offset
func.func @scale(%a: tensor<?x8xf32>, %factor: f32, %offset: i32) -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %rows = tensor.dim %a, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%rows) : tensor<?x8xf32>
  %f = arith.sitofp %offset : i32 to f32
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
         ins(%a : tensor<?x8xf32>) outs(%empty : tensor<?x8xf32>) {
  ^bb0(%in: f32, %old: f32):
    %p = arith.mulf %in, %factor : f32
    %s = arith.addf %p, %f : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

#i = affine_map<(i) -> (i)>
#scalar = affine_map<(i) -> ()>

func.func @sum(%a: tensor<?xf32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [#i, #scalar], iterator_types = ["reduction"]}
         ins(%a : tensor<?xf32>) outs(%init : tensor<f32>) {
  ^bb0(%in: f32, %old: f32):
    %s = arith.addf %in, %old : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  %s = tensor.extract %r[] : tensor<f32>
  return %s : f32
}

// The number of elements, and the elements.
func.func @count(%a: tensor<?x8xf32>) -> (index, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %rows = tensor.dim %a, %c0 : tensor<?x8xf32>
  %n = arith.muli %rows, %c8 : index
  return %n, %a : index, tensor<?x8xf32>
}

func.func @product(%a: bf16, %b: f16) -> (bf16, f16) {
  %x = arith.extf %a : bf16 to f32
  %y = arith.extf %b : f16 to f32
  %p = arith.mulf %x, %y : f32
  %r0 = arith.truncf %p : f32 to bf16
  %r1 = arith.truncf %p : f32 to f16
  return %r0, %r1 : bf16, f16
}

// Updates that read what others overwrite, and the old value of one.
func.func @rotate(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>)
    -> (tensor<?x8xf32> {moss.updates = 0}, tensor<?x8xf32> {moss.updates = 1}, tensor<?x8xf32>) {
  %sum = arith.addf %a, %b : tensor<?x8xf32>
  return %b, %sum, %a : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// New values that would be computed in each other's memory.
func.func @cross(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>)
    -> (tensor<?x8xf32> {moss.updates = 0}, tensor<?x8xf32> {moss.updates = 1}) {
  %0 = arith.subf %b, %a : tensor<?x8xf32>
  %1 = arith.negf %a : tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}
