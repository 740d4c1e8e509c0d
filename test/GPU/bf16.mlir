// BF16 operands take the road of FP8: the same tiles and slots in bytes, so half
// the elements along K, and steps of 16.
// RUN: moss-opt %s --moss-fp8-lower="scheme=bf16 to=kernel" | FileCheck %s --check-prefix=KERNEL
// RUN: moss-opt %s --moss-fp8-lower="scheme=bf16 to=kernel" \
// RUN:   | moss-opt --pass-pipeline="builtin.module(gpu.module(moss-distribute-tiles),canonicalize,cse)" \
// RUN:   | FileCheck %s --check-prefix=TILES
// RUN: moss-opt %s --moss-fp8-lower="scheme=bf16 to=nvvm" | FileCheck %s --check-prefix=NVVM
// RUN: moss-opt %s --moss-fp8-lower="scheme=bf16 to=ptx" | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %python %S/Inputs/k-loop.py < %t.ptx | FileCheck %s --check-prefix=LOOP --implicit-check-not="floating point"

// KERNEL:      moss.channel : <4 x (vector<128x64xbf16>, vector<256x64xbf16>)>
// KERNEL:      moss.mma {{.*}} : vector<128x64xbf16>, vector<256x64xbf16>, vector<128x256xf32>
// KERNEL-NOT:  moss.rescale
// KERNEL:      arith.truncf {{.*}} to vector<128x256xbf16>
// KERNEL:      moss.encode_tensor_map %{{.*}} : memref<?x4096xbf16> -> <128x64xbf16, swizzle = 128>
// KERNEL:      moss.encode_tensor_map %{{.*}} : memref<4096x4096xbf16> -> <256x64xbf16, swizzle = 128>
// KERNEL:      dynamic_shared_memory_size %c229440_i32

// Operands stay in shared memory, and the result of the same type does not. A
// step of K is 32 bytes, 2 in units of descriptors.
// TILES:       moss.get {{.*}} -> vector<128x64xbf16>, vector<256x64xbf16>
// TILES-COUNT-4: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 256, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// TILES-NOT:   nvvm.wgmma.mma_async
// TILES:       nvvm.stmatrix

// A slot of (128 + 256) * 64 * 2 bytes, and B's tile behind A's.
// NVVM:        %[[BYTES:[0-9]+]] = llvm.mlir.constant(49152 : i32)
// NVVM:        nvvm.mbarrier.arrive.expect_tx %{{.*}}, %[[BYTES]] :
// NVVM:        nvvm.cp.async.bulk.tensor.shared.cluster.global
// NVVM:        llvm.getelementptr %{{.*}}[16384]
// NVVM:        nvvm.cp.async.bulk.tensor.shared.cluster.global

// LOOP:        wait for a slot: 1
// LOOP:        product wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16: 4

func.func @matmul(%x: tensor<?x4096xbf16>, %w: tensor<4096x4096xbf16>, %init: tensor<?x4096xbf16>) -> tensor<?x4096xbf16> {
  %zero = arith.constant 0.0 : bf16
  %zeros = linalg.fill ins(%zero : bf16) outs(%init : tensor<?x4096xbf16>) -> tensor<?x4096xbf16>
  %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<?x4096xbf16>, tensor<4096x4096xbf16>) outs(%zeros : tensor<?x4096xbf16>) -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
