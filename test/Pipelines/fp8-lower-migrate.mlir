// The gradient of a layer's weights multiplies with the forward pass's bytes, if
// asked to.
// RUN: moss-opt --moss-fp8-lower=to=quantized %s | FileCheck %s --check-prefix=ANEW
// RUN: moss-opt --moss-fp8-lower='to=quantized migrate-scales' %s | FileCheck %s --check-prefix=STORED
// RUN: moss-opt --moss-fp8-lower='to=kernel migrate-scales' %s | FileCheck %s --check-prefix=KERNEL
// RUN: moss-opt --moss-fp8-lower='to=ptx migrate-scales' %s -o /dev/null

// ANEW-COUNT-4: moss.quantize
// STORED-COUNT-3: moss.quantize
// STORED-NOT: moss.quantize
// Kernels transpose the bytes and scale the gradients.
// KERNEL: gpu.func @layer_kernel({{.*}}: memref<?x96xf8E4M3FN>, {{.*}}: memref<96x?xf8E4M3FN, strided<[?, 1]>>)
// KERNEL: gpu.func @layer_kernel({{.*}}: memref<?x32xbf16>, {{.*}}: memref<?xf8E8M0FNU>, {{.*}}: memref<?x32xf32>)
// KERNEL: arith.extf %{{.*}} : f8E8M0FNU to f32

#x_w = [affine_map<(t, n, k) -> (t, k)>, affine_map<(t, n, k) -> (n, k)>, affine_map<(t, n, k) -> (t, n)>]
#dy_x = [affine_map<(n, k, t) -> (t, n)>, affine_map<(n, k, t) -> (t, k)>, affine_map<(n, k, t) -> (n, k)>]

func.func @layer(%x: tensor<?x96xbf16>, %w: tensor<32x96xbf16>, %dy: tensor<?x32xbf16>, %y: tensor<?x32xf32>, %dw: tensor<32x96xf32>)
    -> (tensor<?x32xf32>, tensor<32x96xf32>) {
  %zero = arith.constant 0.0 : f32
  %y0 = linalg.fill ins(%zero : f32) outs(%y : tensor<?x32xf32>) -> tensor<?x32xf32>
  %0 = linalg.matmul indexing_maps = #x_w ins(%x, %w : tensor<?x96xbf16>, tensor<32x96xbf16>) outs(%y0 : tensor<?x32xf32>) -> tensor<?x32xf32>
  %dw0 = linalg.fill ins(%zero : f32) outs(%dw : tensor<32x96xf32>) -> tensor<32x96xf32>
  %1 = linalg.matmul indexing_maps = #dy_x ins(%dy, %x : tensor<?x32xbf16>, tensor<?x96xbf16>) outs(%dw0 : tensor<32x96xf32>) -> tensor<32x96xf32>
  return %0, %1 : tensor<?x32xf32>, tensor<32x96xf32>
}
