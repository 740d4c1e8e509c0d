// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(moss-distribute-tiles),canonicalize,cse)" | FileCheck %s

!channel = !moss.channel<4 x (vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>)>
!f32groups = memref<512x32xf32>
!groups = memref<512x64xf8E8M0FNU>
!many = memref<512x65xf8E8M0FNU>

gpu.module @m {
  // The first group of every 8 fills the windows, a scale for each of 8 threads
  // and 16 positions a round: loads, a barrier of the warpgroup, stores, another.
  // Rows are read before the products, columns in pairs behind them.
  // CHECK-LABEL: gpu.func @windows(
  // CHECK-SAME:    %[[E:[a-z0-9_]+]]: memref<512x32xf32>, %[[F:[a-z0-9_]+]]: memref<512x32xf32>,
  // CHECK:         scf.for %[[K:[a-z0-9_]+]] =
  // CHECK:           %[[GROUP:[a-z0-9_]+]] = arith.divui %[[K]], %c128
  // CHECK:           %[[G:[a-z0-9_]+]] = arith.index_cast %[[GROUP]] : index to i32
  // CHECK:           %[[IN:[a-z0-9_]+]] = arith.andi %[[G]], %c7_i32
  // CHECK:           arith.cmpi eq, %[[IN]], %c0_i32
  // CHECK:           scf.if %{{.*}} {
  // CHECK:             %[[GK:[a-z0-9_]+]] = arith.minui %{{.*}}, %c31
  // CHECK-COUNT-4:     memref.load %[[E]][%{{.*}}, %[[GK]]]
  // CHECK-COUNT-4:     memref.load %[[F]][%{{.*}}, %[[GK]]]
  // CHECK:             nvvm.barrier id = %{{.*}} number_of_threads = %c128_i32
  // CHECK-COUNT-8:     llvm.store
  // CHECK:             nvvm.barrier id = %{{.*}} number_of_threads = %c128_i32
  // CHECK:           }
  // CHECK:           arith.muli %[[IN]], %c68_i32
  // CHECK-COUNT-2:   llvm.load %{{.*}} : !llvm.ptr<3> -> f32
  // CHECK:           nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-COUNT-8:   llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
  // CHECK:           llvm.intr.fma
  gpu.func @windows(%e: !f32groups, %f: !f32groups, %ch: !channel, %i: i32, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %c4096 = arith.constant 4096 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %sum = scf.for %k = %c0 to %c4096 step %c128 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
        %rows = moss.load_scales %e[%c0, %k] bound(%c512) group [1, 128] : !f32groups -> vector<64x1xf32>
        %cols = moss.load_scales %f[%c0, %k] bound(%c512) group [1, 128] : !f32groups -> vector<1x64xf32>
        %t:2 = moss.get %ch[%i] : !channel -> vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>
        %p = moss.mma %t#0, %t#1, %zero : vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<64x64xf32>
        %s = moss.add_rescaled %acc, %p rows(%rows : vector<64x1xf32>) cols(%cols : vector<1x64xf32>) : vector<64x64xf32>
        scf.yield %s : vector<64x64xf32>
      }
      vector.transfer_write %sum, %out[%c0, %c0] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }

  // E8M0 scales lie in windows as bytes.
  // CHECK-LABEL: gpu.func @bytes(
  // CHECK:           scf.if
  // CHECK-COUNT-4:     memref.load {{.*}} : memref<512x65xf8E8M0FNU>
  // CHECK-COUNT-4:     llvm.store %{{.*}} : i8, !llvm.ptr<3>
  // CHECK:           }
  // CHECK-COUNT-2:   llvm.load %{{.*}} : !llvm.ptr<3> -> i8
  gpu.func @bytes(%e: !many, %ch: !channel, %i: i32, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %c8320 = arith.constant 8320 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %sum = scf.for %k = %c0 to %c8320 step %c128 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
        %rows = moss.load_scales %e[%c0, %k] bound(%c512) group [1, 128] : !many -> vector<64x1xf8E8M0FNU>
        %t:2 = moss.get %ch[%i] : !channel -> vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>
        %p = moss.mma %t#0, %t#1, %zero : vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<64x64xf32>
        %s = moss.add_rescaled %acc, %p rows(%rows : vector<64x1xf8E8M0FNU>) : vector<64x64xf32>
        scf.yield %s : vector<64x64xf32>
      }
      vector.transfer_write %sum, %out[%c0, %c0] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }

  // Those that stay in L1 need none.
  // CHECK-LABEL: gpu.func @cached(
  // CHECK-NOT:       scf.if
  // CHECK-COUNT-2:   memref.load {{.*}} : memref<512x64xf8E8M0FNU>
  gpu.func @cached(%e: !groups, %ch: !channel, %i: i32, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %c8192 = arith.constant 8192 : index
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %sum = scf.for %k = %c0 to %c8192 step %c128 iter_args(%acc = %zero) -> (vector<64x64xf32>) {
        %rows = moss.load_scales %e[%c0, %k] bound(%c512) group [1, 128] : !groups -> vector<64x1xf8E8M0FNU>
        %t:2 = moss.get %ch[%i] : !channel -> vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>
        %p = moss.mma %t#0, %t#1, %zero : vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<64x64xf32>
        %s = moss.add_rescaled %acc, %p rows(%rows : vector<64x1xf8E8M0FNU>) : vector<64x64xf32>
        scf.yield %s : vector<64x64xf32>
      }
      vector.transfer_write %sum, %out[%c0, %c0] : vector<64x64xf32>, memref<?x?xf32>
    }
    gpu.return
  }
}
