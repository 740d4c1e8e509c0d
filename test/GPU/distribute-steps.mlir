// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(moss-distribute-tiles),canonicalize,cse)" | FileCheck %s

!channel = !moss.channel<4 x (vector<128x64xf8E4M3FN>, vector<64x64xf8E4M3FN>, vector<2x128xf8E8M0FNU>)>

gpu.module @m {
  // Two products of slices of the same tiles, in two waves each. A slice begins 32
  // bytes, 2 units of a descriptor, into a row. Products overwrite the registers of
  // those before, of another wave or slice. Scales, each slice's a row of 128 bytes,
  // are read before the wait of their wave.
  // CHECK-LABEL: gpu.func @slices(
  // CHECK-DAG:       %[[TWO:[a-z0-9_]+]] = arith.constant 2 : i64
  // CHECK:           %[[T:[a-z0-9_]+]]:3 = moss.get
  // CHECK-NOT:       vector.extract_strided_slice
  // CHECK:           %[[B:[a-z0-9_]+]] = moss.tile_descriptor %[[T]]#1 row(%{{.*}}) : vector<64x64xf8E4M3FN>
  // CHECK:           %[[A0:[a-z0-9_]+]] = moss.tile_descriptor %[[T]]#0 row(%[[ROW0:[a-z0-9_]+]]) : vector<128x64xf8E4M3FN>
  // CHECK:           %[[P00:[a-z0-9_]+]] = nvvm.wgmma.mma_async %[[A0]], %[[B]], %{{.*}} {{.*}}D[<f32>, <zero>]
  // CHECK:           %[[E:[a-z0-9_]+]] = moss.tile_address %[[T]]#2 : vector<2x128xf8E8M0FNU>
  // CHECK:           %[[TILE:[a-z0-9_]+]] = llvm.inttoptr %[[E]] : i32 to !llvm.ptr<3>
  // CHECK-COUNT-2:   llvm.load %{{.*}} : !llvm.ptr<3> -> i8
  // CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:           llvm.intr.fma
  // CHECK:           %[[A1:[a-z0-9_]+]] = moss.tile_descriptor %[[T]]#0 row(%[[ROW1:[a-z0-9_]+]])
  // CHECK:           %[[P01:[a-z0-9_]+]] = nvvm.wgmma.mma_async %[[A1]], %[[B]], %[[P00]],
  // CHECK-COUNT-2:   llvm.load %{{.*}} : !llvm.ptr<3> -> i8
  // CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:           llvm.intr.fma
  // CHECK:           %[[B1:[a-z0-9_]+]] = arith.addi %[[B]], %[[TWO]] : i64
  // CHECK:           %[[A10:[a-z0-9_]+]] = arith.addi %[[A0]], %[[TWO]] : i64
  // CHECK:           %[[P10:[a-z0-9_]+]] = nvvm.wgmma.mma_async %[[A10]], %[[B1]], %[[P01]],
  // CHECK:           %[[SECOND:[a-z0-9_]+]] = llvm.getelementptr %[[TILE]][128]
  // CHECK:           llvm.getelementptr %[[SECOND]][
  // CHECK-COUNT-2:   llvm.load %{{.*}} : !llvm.ptr<3> -> i8
  // CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:           llvm.intr.fma
  // CHECK:           %[[A11:[a-z0-9_]+]] = arith.addi %[[A1]], %[[TWO]] : i64
  // CHECK:           nvvm.wgmma.mma_async %[[A11]], %[[B1]], %[[P10]],
  // CHECK-COUNT-2:   llvm.load %{{.*}} : !llvm.ptr<3> -> i8
  // CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:           llvm.intr.fma
  // CHECK:           moss.release
  gpu.func @slices(%ch: !channel, %i: i32, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant dense<0.0> : vector<128x64xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %sum = scf.for %k = %c0 to %c4096 step %c64 iter_args(%acc = %zero) -> (vector<128x64xf32>) {
        %t:3 = moss.get %ch[%i] : !channel -> vector<128x64xf8E4M3FN>, vector<64x64xf8E4M3FN>, vector<2x128xf8E8M0FNU>
        %a0 = vector.extract_strided_slice %t#0 {offsets = [0, 0], sizes = [128, 32], strides = [1, 1]} : vector<128x64xf8E4M3FN> to vector<128x32xf8E4M3FN>
        %b0 = vector.extract_strided_slice %t#1 {offsets = [0, 0], sizes = [64, 32], strides = [1, 1]} : vector<64x64xf8E4M3FN> to vector<64x32xf8E4M3FN>
        %p0 = moss.mma %a0, %b0, %zero : vector<128x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<128x64xf32>
        %e0 = moss.read_scales %t#2 : vector<2x128xf8E8M0FNU> -> vector<128x1xf8E8M0FNU>
        %s0 = moss.add_rescaled %acc, %p0 rows(%e0 : vector<128x1xf8E8M0FNU>) : vector<128x64xf32>
        %a1 = vector.extract_strided_slice %t#0 {offsets = [0, 32], sizes = [128, 32], strides = [1, 1]} : vector<128x64xf8E4M3FN> to vector<128x32xf8E4M3FN>
        %b1 = vector.extract_strided_slice %t#1 {offsets = [0, 32], sizes = [64, 32], strides = [1, 1]} : vector<64x64xf8E4M3FN> to vector<64x32xf8E4M3FN>
        %p1 = moss.mma %a1, %b1, %zero : vector<128x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<128x64xf32>
        %e1 = moss.read_scales %t#2 row(1) : vector<2x128xf8E8M0FNU> -> vector<128x1xf8E8M0FNU>
        moss.release %ch[%i] : !channel
        %s1 = moss.add_rescaled %s0, %p1 rows(%e1 : vector<128x1xf8E8M0FNU>) : vector<128x64xf32>
        scf.yield %s1 : vector<128x64xf32>
      }
      vector.transfer_write %sum, %out[%c0, %c0] : vector<128x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}
