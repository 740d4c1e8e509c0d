// REQUIRES: ptxas
// RUN: moss-opt %s --moss-fp8-lower=to=cubin | FileCheck %s
// An ELF file for the device.
// CHECK: gpu.binary @matmul_kernel {{.*}}bin = "\7FELF

func.func @matmul(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %c: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %y = linalg.matmul ins(%x, %w : tensor<?x64xbf16>, tensor<64x64xbf16>) outs(%c : tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
