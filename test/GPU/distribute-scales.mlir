// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(moss-distribute-tiles),canonicalize,cse)" | FileCheck %s

!channel = !moss.channel<4 x (vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf32>, vector<1x64xf32>)>
!bytes = !moss.channel<4 x (vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf8E8M0FNU>)>

gpu.module @m {
  // Two rows of a thread are 8 apart, and read before the products; columns are
  // pairs, 8 apart too, and read behind them.
  // CHECK-LABEL: gpu.func @rows_and_columns(
  // CHECK:           %[[T:[a-z0-9_]+]]:4 = moss.get
  // CHECK:           %[[E:[a-z0-9_]+]] = moss.tile_address %[[T]]#2 : vector<1x64xf32>
  // CHECK:           %[[P:[a-z0-9_]+]] = llvm.inttoptr %[[E]] : i32 to !llvm.ptr<3>
  // CHECK:           %[[ROW:[a-z0-9_]+]] = llvm.getelementptr %[[P]][
  // CHECK:           llvm.load %[[ROW]] {alignment = 4 : i64} : !llvm.ptr<3> -> f32
  // CHECK:           %[[NEXT:[a-z0-9_]+]] = llvm.getelementptr %[[ROW]][32]
  // CHECK:           llvm.load %[[NEXT]] {alignment = 4 : i64} : !llvm.ptr<3> -> f32
  // CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:           moss.tile_address %[[T]]#3 : vector<1x64xf32>
  // CHECK-COUNT-8:   llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
  // CHECK:           llvm.intr.fma
  // CHECK:           moss.release
  gpu.func @rows_and_columns(%ch: !channel, %i: i32, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %sum = scf.for %k = %c0 to %c4096 step %c128 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
        %t:4 = moss.get %ch[%i] : !channel -> vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf32>, vector<1x64xf32>
        %rows = moss.read_scales %t#2 : vector<1x64xf32> -> vector<64x1xf32>
        %cols = moss.read_scales %t#3 : vector<1x64xf32> -> vector<1x64xf32>
        %p = moss.mma %t#0, %t#1, %zero : vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<64x64xf32>
        %s = moss.add_rescaled %acc, %p rows(%rows : vector<64x1xf32>) cols(%cols : vector<1x64xf32>) : vector<64x64xf32>
        moss.release %ch[%i] : !channel
        scf.yield %s : vector<64x64xf32>
      }
      vector.transfer_write %sum, %out[%c0, %c0] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }

  // Two steps in one block: each reads rows while its own products run, which
  // overwrite the registers of those before. No read may move in front of products.
  // CHECK-LABEL: gpu.func @two_steps(
  // CHECK-COUNT-3:   nvvm.wgmma.mma_async
  // CHECK:           %[[P:[a-z0-9_]+]] = nvvm.wgmma.mma_async %{{.*}}, D[<f32>, <one>]
  // CHECK-NEXT:      nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NEXT:      nvvm.bar.warp.sync %c-1_i32
  // CHECK:           moss.tile_address %[[T:[a-z0-9_]+]]#2
  // CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:           nvvm.wgmma.mma_async %{{.*}}, %{{.*}}, %[[P]], {{.*}}, D[<f32>, <zero>]
  // CHECK:           nvvm.bar.warp.sync
  // CHECK:           moss.tile_address %[[U:[a-z0-9_]+]]#2
  // CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
  gpu.func @two_steps(%ch: !bytes, %i: i32, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %j = moss.advance %ch[%i] : !bytes
      %t:3 = moss.get %ch[%i] : !bytes -> vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf8E8M0FNU>
      %p = moss.mma %t#0, %t#1, %zero : vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<64x64xf32>
      %rows = moss.read_scales %t#2 : vector<1x64xf8E8M0FNU> -> vector<64x1xf8E8M0FNU>
      %s = moss.add_rescaled %zero, %p rows(%rows : vector<64x1xf8E8M0FNU>) : vector<64x64xf32>
      moss.release %ch[%i] : !bytes
      %u:3 = moss.get %ch[%j] : !bytes -> vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf8E8M0FNU>
      %q = moss.mma %u#0, %u#1, %zero : vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<64x64xf32>
      %rows1 = moss.read_scales %u#2 : vector<1x64xf8E8M0FNU> -> vector<64x1xf8E8M0FNU>
      %sum = moss.add_rescaled %s, %q rows(%rows1 : vector<64x1xf8E8M0FNU>) : vector<64x64xf32>
      moss.release %ch[%j] : !bytes
      vector.transfer_write %sum, %out[%c0, %c0] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }

  // E8M0 scales are read as bytes.
  // CHECK-LABEL: gpu.func @bytes(
  // CHECK:           %[[E:[a-z0-9_]+]] = moss.tile_address %{{.*}}#2 : vector<1x64xf8E8M0FNU>
  // CHECK-COUNT-2:   llvm.load %{{.*}} : !llvm.ptr<3> -> i8
  // CHECK:           nvvm.wgmma.fence.aligned
  gpu.func @bytes(%ch: !bytes, %i: i32, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %sum = scf.for %k = %c0 to %c4096 step %c128 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
        %t:3 = moss.get %ch[%i] : !bytes -> vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf8E8M0FNU>
        %rows = moss.read_scales %t#2 : vector<1x64xf8E8M0FNU> -> vector<64x1xf8E8M0FNU>
        %p = moss.mma %t#0, %t#1, %zero : vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<64x64xf32>
        moss.release %ch[%i] : !bytes
        %s = moss.add_rescaled %acc, %p rows(%rows : vector<64x1xf8E8M0FNU>) : vector<64x64xf32>
        scf.yield %s : vector<64x64xf32>
      }
      vector.transfer_write %sum, %out[%c0, %c0] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}
