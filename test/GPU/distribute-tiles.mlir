// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(moss-distribute-tiles),canonicalize)" | FileCheck %s

gpu.module @m {
  // Two consumers with two waves each: M x 1 has 2 elements a wave, 1 x N has
  // N / 4, a tile N / 2. Element i is in row (i / 2) % 2 and column
  // 2 (i / 4) + i % 2 of the thread's.
  // CHECK-LABEL: gpu.func @two_waves(
  // CHECK:       consumers(2) registers(232) (%[[WG:[a-z0-9_]+]]) {
  // CHECK:         %[[TID:[a-z0-9_]+]] = nvvm.read.ptx.sreg.tid.x
  // CHECK:         %[[T:[a-z0-9_]+]] = arith.andi %[[TID]], %c127_i32
  // CHECK:         %[[L:[a-z0-9_]+]] = arith.andi %[[TID]], %c31_i32
  // CHECK:         %[[N:[a-z0-9_]+]] = arith.index_cast %[[WG]] : index to i32
  // CHECK:         %[[W:[a-z0-9_]+]] = arith.shrui %[[T]], %c5_i32
  // CHECK:         %[[W16:[a-z0-9_]+]] = arith.shli %[[W]], %c4_i32
  // CHECK:         %[[L4:[a-z0-9_]+]] = arith.shrui %[[L]], %c2_i32
  // CHECK:         %[[ROW:[a-z0-9_]+]] = arith.addi %[[W16]], %[[L4]]
  // CHECK:         %[[Q:[a-z0-9_]+]] = arith.andi %[[L]], %c3_i32
  // CHECK:         %[[COL:[a-z0-9_]+]] = arith.shli %[[Q]], %c1_i32
  // CHECK:         %[[COLS:[a-z0-9_]+]] = arith.muli %{{.*}} : vector<4xi8>
  // CHECK:         %[[C0:[a-z0-9_]+]] = vector.shuffle %[[COLS]], %[[COLS]] [0, 1, 0, 1, 2, 3, 2, 3] : vector<4xi8>
  // CHECK:         %[[C1:[a-z0-9_]+]] = vector.shuffle %[[COLS]], %[[COLS]] [0, 1, 0, 1, 2, 3, 2, 3] : vector<4xi8>
  //                A wave is done before the next.
  // CHECK:         %[[ROWS0:[a-z0-9_]+]] = arith.addi %{{.*}} : vector<2xi8>
  // CHECK-NEXT:    %[[R0:[a-z0-9_]+]] = vector.shuffle %[[ROWS0]], %[[ROWS0]] [0, 0, 1, 1, 0, 0, 1, 1] : vector<2xi8>
  // CHECK-NEXT:    arith.addi %[[R0]], %[[C0]] : vector<8xi8>
  // CHECK:         %[[ROWS1:[a-z0-9_]+]] = arith.addi %{{.*}} : vector<2xi8>
  // CHECK-NEXT:    %[[R1:[a-z0-9_]+]] = vector.shuffle %[[ROWS1]], %[[ROWS1]] [0, 0, 1, 1, 0, 0, 1, 1] : vector<2xi8>
  // CHECK-NEXT:    arith.addi %[[R1]], %[[C1]] : vector<8xi8>
  // CHECK:         arith.muli %[[N]], %c128_i32
  // CHECK-NOT:     vector<256x
  gpu.func @two_waves(%rows: memref<?x?xi8>, %cols: memref<?x?xi8>, %out: memref<?x?xi8>) kernel {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0 : i8
    %x = arith.constant 3 : i8
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
      %m = vector.load %cols[%c0, %c0] : memref<?x?xi8>, vector<1xi8>
      %s = vector.extract %m[0] : i8 from vector<1xi8>
      %r = vector.broadcast %s : i8 to vector<256x1xi8>
      %r2 = arith.addi %r, %r : vector<256x1xi8>
      %c = vector.broadcast %s : i8 to vector<1x16xi8>
      %c2 = arith.muli %c, %c : vector<1x16xi8>
      %br = vector.broadcast %r2 : vector<256x1xi8> to vector<256x16xi8>
      %bc = vector.broadcast %c2 : vector<1x16xi8> to vector<256x16xi8>
      %sum = arith.addi %br, %bc : vector<256x16xi8>
      vector.transfer_write %sum, %out[%c0, %c0] : vector<256x16xi8>, memref<?x?xi8>
    }
    gpu.return
  }

  // A loop carries one vector per wave; splat constants become splats.
  // CHECK-LABEL: gpu.func @carried(
  // CHECK-DAG:     %[[ZERO:[a-z0-9_]+]] = arith.constant dense<0.000000e+00> : vector<4xf32>
  // CHECK:         scf.for {{.*}} iter_args(%[[A:[a-z0-9_]+]] = %[[ZERO]], %[[B:[a-z0-9_]+]] = %[[ZERO]]) -> (vector<4xf32>, vector<4xf32>)
  // CHECK-NEXT:      %[[A1:[a-z0-9_]+]] = arith.addf %[[A]], %[[A]] : vector<4xf32>
  // CHECK-NEXT:      %[[B1:[a-z0-9_]+]] = arith.addf %[[B]], %[[B]] : vector<4xf32>
  // CHECK-NEXT:      scf.yield %[[A1]], %[[B1]]
  gpu.func @carried(%out: memref<?x?xf32>, %K: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : vector<128x8xf32>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %s = scf.for %k = %c0 to %K step %c1 iter_args(%x = %zero) -> (vector<128x8xf32>) {
        %y = arith.addf %x, %x : vector<128x8xf32>
        scf.yield %y : vector<128x8xf32>
      }
      vector.transfer_write %s, %out[%c0, %c0] : vector<128x8xf32>, memref<?x?xf32>
    }
    gpu.return
  }

  // Three consumers with a wave each. A product that starts from zero does not
  // read its accumulator in the first of its steps of 32.
  // CHECK-LABEL: gpu.func @products(
  // CHECK:       consumers(3) registers(160) (%[[WG:[a-z0-9_]+]]) {
  // CHECK:         %[[T:[a-z0-9_]+]]:2 = moss.get
  // CHECK-NEXT:    %[[DB:[a-z0-9_]+]] = moss.tile_descriptor %[[T]]#1 row(%c0_i32) : vector<8x64xf8E5M2>
  // CHECK-NEXT:    %[[ROW:[a-z0-9_]+]] = arith.muli %{{.*}}, %c64_i32
  // CHECK-NEXT:    %[[DA:[a-z0-9_]+]] = moss.tile_descriptor %[[T]]#0 row(%[[ROW]]) : vector<192x64xf8E4M3FN>
  // CHECK:         nvvm.wgmma.fence.aligned
  // CHECK-NEXT:    %[[S0:[a-z0-9_]+]] = nvvm.wgmma.mma_async %[[DA]], %[[DB]], %{{.*}}, <m = 64, n = 8, k = 32>, D[<f32>, <zero>], A[<e4m3>, <one>, <row>], B[<e5m2>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)>
  // CHECK-NEXT:    %[[DA1:[a-z0-9_]+]] = arith.addi %[[DA]], %c2_i64
  // CHECK-NEXT:    %[[DB1:[a-z0-9_]+]] = arith.addi %[[DB]], %c2_i64
  // CHECK-NEXT:    %[[S1:[a-z0-9_]+]] = nvvm.wgmma.mma_async %[[DA1]], %[[DB1]], %[[S0]], <m = 64, n = 8, k = 32>, D[<f32>, <one>]
  // CHECK-NEXT:    nvvm.wgmma.commit.group.sync.aligned
  // CHECK-NEXT:    nvvm.wgmma.wait.group.sync.aligned 0
  // CHECK-COUNT-4: llvm.extractvalue %[[S1]]
  // CHECK-COUNT-2: nvvm.wgmma.mma_async {{.*}} D[<f32>, <one>]
  gpu.func @products(%ch: !moss.channel<4 x (vector<192x64xf8E4M3FN>, vector<8x64xf8E5M2>)>, %i: i32, %out: memref<?x?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : vector<192x8xf32>
    moss.warp_specialize producer registers(24) {
    } consumers(3) registers(160) (%wg) {
      %t:2 = moss.get %ch[%i] : !moss.channel<4 x (vector<192x64xf8E4M3FN>, vector<8x64xf8E5M2>)> -> vector<192x64xf8E4M3FN>, vector<8x64xf8E5M2>
      %p = moss.mma %t#0, %t#1, %zero : vector<192x64xf8E4M3FN>, vector<8x64xf8E5M2>, vector<192x8xf32>
      %q = moss.mma %t#0, %t#1, %p : vector<192x64xf8E4M3FN>, vector<8x64xf8E5M2>, vector<192x8xf32>
      vector.transfer_write %q, %out[%c0, %c0] : vector<192x8xf32>, memref<?x?xf32>
    }
    gpu.return
  }

  // Scales are loaded by row, the last one past the bound; groups of 4 rows and 128 of K.
  // CHECK-LABEL: gpu.func @scales(
  // CHECK-SAME:  %[[E:[a-z0-9_]+]]: memref<?x?xf8E8M0FNU>, %{{.*}}, %[[M:[a-z0-9_]+]]: index, %[[BOUND:[a-z0-9_]+]]: index, %[[K:[a-z0-9_]+]]: index
  // CHECK-DAG:     %[[KG:[a-z0-9_]+]] = arith.divui %[[K]], %c128
  // CHECK:         %[[LAST:[a-z0-9_]+]] = arith.subi %[[BOUND]], %c1
  // CHECK:         %[[CLAMPED:[a-z0-9_]+]] = arith.minui %{{.*}}, %[[LAST]]
  // CHECK:         %[[G:[a-z0-9_]+]] = arith.divui %[[CLAMPED]], %c4
  // CHECK:         %[[S:[a-z0-9_]+]] = memref.load %[[E]][%[[G]], %[[KG]]]
  // CHECK:         memref.load %[[E]]
  // CHECK:         vector.from_elements %[[S]], %{{.*}} : vector<2xf8E8M0FNU>
  // CHECK-COUNT-2: memref.load %[[E]][%c0, %c0]
  // CHECK:         vector.from_elements %{{.*}} : vector<2xf8E8M0FNU>
  gpu.func @scales(%e: memref<?x?xf8E8M0FNU>, %out: memref<?x?xi8>, %m: index, %bound: index, %k: index) kernel {
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %rows = moss.load_scales %e[%m, %k] bound(%bound) group [4, 128] : memref<?x?xf8E8M0FNU> -> vector<64x1xf8E8M0FNU>
      %cols = moss.load_scales %e[%m, %k] bound(%bound) group [0, 0] : memref<?x?xf8E8M0FNU> -> vector<1x8xf8E8M0FNU>
      %br = vector.broadcast %rows : vector<64x1xf8E8M0FNU> to vector<64x8xf8E8M0FNU>
      %bc = vector.broadcast %cols : vector<1x8xf8E8M0FNU> to vector<64x8xf8E8M0FNU>
      %ir = arith.bitcast %br : vector<64x8xf8E8M0FNU> to vector<64x8xi8>
      %ic = arith.bitcast %bc : vector<64x8xf8E8M0FNU> to vector<64x8xi8>
      %s = arith.addi %ir, %ic : vector<64x8xi8>
      vector.transfer_write %s, %out[%m, %k] : vector<64x8xi8>, memref<?x?xi8>
    }
    gpu.return
  }

  // Reads yield the padding outside, writes do not happen there.
  // CHECK-LABEL: gpu.func @elements(
  // CHECK-SAME:  %[[C:[a-z0-9_]+]]: memref<?x?xbf16>, %[[M:[a-z0-9_]+]]: index, %[[N:[a-z0-9_]+]]: index, %[[PAD:[a-z0-9_]+]]: bf16
  // CHECK:         %[[H:[a-z0-9_]+]] = memref.dim %[[C]], %c0
  // CHECK:         %[[W:[a-z0-9_]+]] = memref.dim %[[C]], %c1
  // CHECK:         arith.minui
  // CHECK:         %[[L:[a-z0-9_]+]] = memref.load %[[C]][%[[I:[a-z0-9_]+]], %[[J:[a-z0-9_]+]]]
  // CHECK:         %[[IN:[a-z0-9_]+]] = arith.andi
  // CHECK:         arith.select %[[IN]], %[[L]], %[[PAD]] : bf16
  // CHECK-COUNT-3: memref.load
  // CHECK:         %[[V:[a-z0-9_]+]] = vector.from_elements {{.*}} : vector<4xbf16>
  // CHECK:         %[[F:[a-z0-9_]+]] = arith.extf %[[V]] : vector<4xbf16> to vector<4xf32>
  // CHECK:         nvvm.convert.f32x2.to.bf16x2 %{{.*}}#1, %{{.*}}#0
  // CHECK:         nvvm.convert.f32x2.to.bf16x2 %{{.*}}#3, %{{.*}}#2
  // CHECK-NOT:     arith.truncf
  // CHECK-COUNT-4: scf.if
  // CHECK-NOT:     scf.if
  gpu.func @elements(%c: memref<?x?xbf16>, %m: index, %n: index, %pad: bf16) kernel {
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %old = vector.transfer_read %c[%m, %n], %pad : memref<?x?xbf16>, vector<64x8xbf16>
      %x = arith.extf %old : vector<64x8xbf16> to vector<64x8xf32>
      %y = arith.addf %x, %x : vector<64x8xf32>
      %t = arith.truncf %y : vector<64x8xf32> to vector<64x8xbf16>
      vector.transfer_write %t, %c[%m, %n] : vector<64x8xbf16>, memref<?x?xbf16>
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @no_roles(
  // CHECK:         arith.addf %{{.*}} : vector<64x8xf32>
  gpu.func @no_roles(%x: vector<64x8xf32>, %c: memref<?x?xf32>, %m: index) kernel {
    %y = arith.addf %x, %x : vector<64x8xf32>
    vector.transfer_write %y, %c[%m, %m] : vector<64x8xf32>, memref<?x?xf32>
    gpu.return
  }
}
