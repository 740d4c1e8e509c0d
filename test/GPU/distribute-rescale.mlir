// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(moss-distribute-tiles),canonicalize)" | FileCheck %s

!channel = !moss.channel<4 x (vector<128x32xf8E4M3FN>, vector<8x32xf8E4M3FN>)>

gpu.module @m {
  // Scales are loaded before the products and converted after each wave's own,
  // whose registers the next wave's overwrite. All columns share one scale,
  // since a tile of 8 columns begins at a multiple of 8: it is loaded once, and
  // joins those of the two rows.
  // CHECK-LABEL: gpu.func @rows_and_block(
  // CHECK-SAME:  i32, %[[E:[a-z0-9_]+]]: memref<?x?xf32>, %[[F:[a-z0-9_]+]]: memref<?x?xf32>,
  // CHECK-COUNT-4: memref.load %[[E]]
  // CHECK:         %[[BLOCK:[a-z0-9_]+]] = memref.load %[[F]]
  // CHECK-NOT:     memref.load %[[F]]
  // CHECK:         %[[P0:[a-z0-9_]+]] = nvvm.wgmma.mma_async
  // CHECK:         nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK:         %[[T0:[a-z0-9_]+]] = vector.from_elements {{.*}} : vector<4xf32>
  // CHECK:         %[[SPLAT:[a-z0-9_]+]] = vector.broadcast %[[BLOCK]] : f32 to vector<2xf32>
  // CHECK:         %[[S0:[a-z0-9_]+]] = llvm.intr.fma(%{{.*}}, %[[SPLAT]], %{{.*}}) : (vector<2xf32>, vector<2xf32>, vector<2xf32>) -> vector<2xf32>
  // CHECK:         %[[F0:[a-z0-9_]+]] = vector.shuffle %[[S0]], %[[S0]] [0, 0, 1, 1]
  // CHECK:         llvm.intr.fma(%[[T0]], %[[F0]], %{{.*}}) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  // CHECK:         nvvm.wgmma.mma_async %{{.*}}, %{{.*}}, %[[P0]],
  // CHECK:         llvm.intr.fma
  gpu.func @rows_and_block(%ch: !channel, %i: i32, %e: memref<?x?xf32>, %f: memref<?x?xf32>, %out: memref<?x?xf32>,
                           %m: index, %tile: index, %bound: index, %k: index) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %cst = arith.constant 0.0 : f32
    %zero = arith.constant dense<0.0> : vector<128x8xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %n = arith.muli %tile, %c8 : index
      %acc = vector.transfer_read %out[%m, %n], %cst : memref<?x?xf32>, vector<128x8xf32>
      %rows = moss.load_scales %e[%m, %k] bound(%bound) group [1, 32] : memref<?x?xf32> -> vector<128x1xf32>
      %cols = moss.load_scales %f[%n, %k] bound(%bound) group [128, 32] : memref<?x?xf32> -> vector<1x8xf32>
      %t:2 = moss.get %ch[%i] : !channel -> vector<128x32xf8E4M3FN>, vector<8x32xf8E4M3FN>
      %p = moss.mma %t#0, %t#1, %zero : vector<128x32xf8E4M3FN>, vector<8x32xf8E4M3FN>, vector<128x8xf32>
      %s = moss.add_rescaled %acc, %p rows(%rows : vector<128x1xf32>) cols(%cols : vector<1x8xf32>) : vector<128x8xf32>
      vector.transfer_write %s, %out[%m, %n] : vector<128x8xf32>, memref<?x?xf32>
    }
    gpu.return
  }

  // A scale per column: a product of scales for each element, as a multiply-add of
  // zero. A row that may lie past the bound is clamped, and none is if tiles divide
  // it.
  // CHECK-LABEL: gpu.func @rows_and_columns(
  // CHECK:         %[[ZERO:[a-z0-9_]+]] = llvm.mlir.zero : vector<4xf32>
  // CHECK-NOT:     arith.minui
  // CHECK:         %[[R:[a-z0-9_]+]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
  // CHECK:         %[[C:[a-z0-9_]+]] = vector.from_elements %{{.*}}, %{{.*}} : vector<2xf32>
  // CHECK:         %[[RR:[a-z0-9_]+]] = vector.shuffle %[[R]], %[[R]] [0, 0, 1, 1]
  // CHECK:         %[[CC:[a-z0-9_]+]] = vector.shuffle %[[C]], %[[C]] [0, 1, 0, 1]
  // CHECK:         %[[FC:[a-z0-9_]+]] = llvm.intr.fma(%[[RR]], %[[CC]], %[[ZERO]])
  // CHECK:         llvm.intr.fma(%{{.*}}, %[[FC]], %{{.*}})
  gpu.func @rows_and_columns(%acc: f32, %e: memref<64x8xf32>, %f: memref<64x8xf32>, %out: memref<64x64xf32>,
                             %k: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t = vector.broadcast %acc : f32 to vector<64x8xf32>
      %rows = moss.load_scales %e[%c0, %k] bound(%c64) group [1, 32] : memref<64x8xf32> -> vector<64x1xf32>
      %cols = moss.load_scales %f[%c0, %k] bound(%c64) group [1, 32] : memref<64x8xf32> -> vector<1x8xf32>
      %s = moss.add_rescaled %t, %t rows(%rows : vector<64x1xf32>) cols(%cols : vector<1x8xf32>) : vector<64x8xf32>
      vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x8xf32>, memref<64x64xf32>
    }
    gpu.return
  }

  // Each wave skips its multiplications by powers that are 1. Two rows have one each,
  // and a scalar is the same for all.
  // CHECK-LABEL: gpu.func @powers(
  // CHECK-SAME:    %[[P:[a-z0-9_]+]]: f32,
  // CHECK-DAG:     %[[ONE:[a-z0-9_]+]] = arith.constant 1.000000e+00 : f32
  // CHECK-DAG:     %[[ONES:[a-z0-9_]+]] = arith.constant dense<1.000000e+00> : vector<2xf32>
  // CHECK:         %[[DIFFERS:[a-z0-9_]+]] = arith.cmpf une, %[[ROWS:[a-z0-9_]+]], %[[ONES]] : vector<2xf32>
  // CHECK:         %[[ANY:[a-z0-9_]+]] = vector.reduction <or>, %[[DIFFERS]] : vector<2xi1> into i1
  // CHECK:         %[[C:[a-z0-9_]+]] = llvm.intr.expect %[[ANY]], %{{.*}} : i1
  // CHECK:         %[[R:[a-z0-9_]+]] = scf.if %[[C]] -> (vector<4xf32>) {
  // CHECK:           %[[F:[a-z0-9_]+]] = vector.shuffle %[[ROWS]], %[[ROWS]] [0, 0, 1, 1]
  // CHECK:           %[[M:[a-z0-9_]+]] = arith.mulf %[[T:[a-z0-9_]+]], %[[F]]
  // CHECK:           scf.yield %[[M]]
  // CHECK:         } else {
  // CHECK:           scf.yield %[[T]]
  // CHECK:         arith.cmpf une, %[[P]], %[[ONE]] : f32
  // CHECK:         scf.if {{.*}} {
  // CHECK:           %[[S:[a-z0-9_]+]] = vector.broadcast %[[P]] : f32 to vector<4xf32>
  // CHECK:           arith.mulf %{{.*}}, %[[S]]
  gpu.func @powers(%p: f32, %a: f32, %e: memref<128x8xf32>, %out: memref<128x8xf32>, %k: index) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t = vector.broadcast %a : f32 to vector<128x8xf32>
      %rows = moss.load_scales %e[%c0, %k] bound(%c128) group [1, 32] : memref<128x8xf32> -> vector<128x1xf32>
      %r = moss.apply_powers %t by %rows : vector<128x8xf32>, vector<128x1xf32>
      %s = moss.apply_powers %r by %p : vector<128x8xf32>, f32
      vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<128x8xf32>, memref<128x8xf32>
    }
    gpu.return
  }

  // The second wave's branch is behind that of the first, though what both take is
  // defined outside the loop.
  // CHECK-LABEL: gpu.func @carried(
  // CHECK:         %[[L:[a-z0-9_]+]]:2 = scf.for {{.*}} iter_args(%[[X0:[a-z0-9_]+]] = %{{.*}}, %[[X1:[a-z0-9_]+]] = %{{.*}})
  // CHECK:           %[[R0:[a-z0-9_]+]] = scf.if
  // CHECK:             arith.mulf %[[X0]]
  // CHECK:           } else {
  // CHECK-NEXT:        scf.yield %[[X0]]
  // CHECK-NEXT:      }
  // CHECK:           %[[R1:[a-z0-9_]+]] = scf.if
  // CHECK:             arith.mulf %[[X1]]
  // CHECK:           scf.yield %[[R0]], %[[R1]]
  gpu.func @carried(%p: f32, %a: f32, %out: memref<128x8xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t = vector.broadcast %a : f32 to vector<128x8xf32>
      %l = scf.for %i = %c0 to %n step %c1 iter_args(%x = %t) -> vector<128x8xf32> {
        %r = moss.apply_powers %x by %p : vector<128x8xf32>, f32
        scf.yield %r : vector<128x8xf32>
      }
      vector.transfer_write %l, %out[%c0, %c0] {in_bounds = [true, true]} : vector<128x8xf32>, memref<128x8xf32>
    }
    gpu.return
  }

  // A tile of one column has one element for each power.
  // CHECK-LABEL: gpu.func @column(
  // CHECK:         scf.if
  // CHECK-NEXT:      arith.mulf %{{.*}}, %{{.*}} : vector<2xf32>
  gpu.func @column(%e: memref<64x8xf32>, %out: memref<64x8xf32>, %k: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t = moss.load_scales %e[%c0, %c0] bound(%c64) group [1, 32] : memref<64x8xf32> -> vector<64x1xf32>
      %rows = moss.load_scales %e[%c0, %k] bound(%c64) group [1, 32] : memref<64x8xf32> -> vector<64x1xf32>
      %r = moss.apply_powers %t by %rows : vector<64x1xf32>, vector<64x1xf32>
      %s = vector.broadcast %r : vector<64x1xf32> to vector<64x8xf32>
      vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x8xf32>, memref<64x8xf32>
    }
    gpu.return
  }
}
