// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-specialize-warps)))" | FileCheck %s

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>
#schedule3 = #moss.schedule<tile = [192, 64, 128], stages = 4, consumers = 3, raster = 8, blocks = 132>
!a = vector<128x128xf8E4M3FN>
!b = vector<256x128xf8E4M3FN>
!c = vector<128x256xf32>
!channel = !moss.channel<4 x (!a, !b)>
!extended = !moss.channel<4 x (vector<192x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf8E8M0FNU>), extended = [2]>
!map_a = !moss.tensor_map<128x128xf8E4M3FN, swizzle = 128>
!map_b = !moss.tensor_map<256x128xf8E4M3FN, swizzle = 128>
!map_c = !moss.tensor_map<64x32xf32, swizzle = 128>

gpu.module @m {
  // Promoted sums in two nested loops, scales and a store.
  // CHECK-LABEL: gpu.func @two_sides(
  // CHECK:       %[[CH:[a-z0-9_]+]] = moss.channel
  // CHECK-NEXT:  moss.warp_specialize producer registers(40) {
  // CHECK-NOT:     {{moss.mma|arith.addf|f32|moss.get|moss.release|moss.store_tile|memref.load|moss.load_scales}}
  // CHECK:         scf.for {{.*}} iter_args(%[[I0:[a-z0-9_]+]] = %{{.*}}) -> (i32) {
  // CHECK-NEXT:      scf.for {{.*}} iter_args(%[[I1:[a-z0-9_]+]] = %[[I0]]) -> (i32) {
  // CHECK-NEXT:        scf.for {{.*}} iter_args(%[[I2:[a-z0-9_]+]] = %[[I1]]) -> (i32) {
  // CHECK-NEXT:          moss.put %[[CH]][%[[I2]]]
  // CHECK-NEXT:          moss.advance %[[CH]][%[[I2]]]
  // CHECK-NEXT:          scf.yield
  // CHECK-NEXT:        }
  // CHECK-NEXT:        scf.yield
  // CHECK-NEXT:      }
  // CHECK-NEXT:      scf.yield
  // CHECK-NEXT:    } {moss.schedule
  // CHECK-NEXT:  } consumers(2) registers(232) (%{{.*}}) {
  // CHECK-NOT:     moss.put
  // CHECK:         moss.load_scales
  // CHECK:         scf.for {{.*}} -> (vector<128x256xf32>, i32) {
  // CHECK-NEXT:      scf.for {{.*}} -> (vector<128x256xf32>, i32) {
  // CHECK-NEXT:        moss.get %[[CH]]
  // CHECK-NEXT:        moss.mma
  // CHECK-NEXT:        moss.release %[[CH]]
  // CHECK:           arith.addf
  // CHECK:         memref.load
  // CHECK:         moss.rescale
  // CHECK:         moss.store_tile
  // CHECK-NOT:     moss.put
  // CHECK:       gpu.return
  gpu.func @two_sides(%ma: !map_a, %mb: !map_b, %mc: !map_c, %e: memref<?x1xf8E8M0FNU>, %g: memref<f32>, %M: index, %K: index) kernel {
    %ch = moss.channel : !channel
    %c0_i32 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !c
    %0 = scf.for %m = %c0 to %M step %c128 iter_args(%i = %c0_i32) -> (i32) {
      %rows = moss.load_scales %e[%m, %c0] bound(%M) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<128x1xf8E8M0FNU>
      %s:2 = scf.for %h = %c0 to %K step %c128 iter_args(%d = %zero, %i1 = %i) -> (!c, i32) {
        %p:2 = scf.for %k = %h to %K step %c128 iter_args(%x = %zero, %i2 = %i1) -> (!c, i32) {
          moss.put %ch[%i2] from(%ma, %mb : !map_a, !map_b) at(%m, %c0), (%k, %k) : !channel
          %t:2 = moss.get %ch[%i2] : !channel -> !a, !b
          %q = moss.mma %t#0, %t#1, %x : !a, !b, !c
          moss.release %ch[%i2] : !channel
          %next = moss.advance %ch[%i2] : !channel
          scf.yield %q, %next : !c, i32
        }
        %sum = arith.addf %d, %p#0 : !c
        scf.yield %sum, %p#1 : !c, i32
      }
      %scale = memref.load %g[] : memref<f32>
      %r = moss.rescale %s#0 rows(%rows : vector<128x1xf8E8M0FNU>) by(%scale) : !c
      moss.store_tile %r, %mc[%m, %c0] : !c, !map_c
      scf.yield %s#1 : i32
    } {moss.schedule = #schedule}
    gpu.return
  }

  // Three consumers have fewer registers each. Direct stores belong to them too,
  // and so does what they read.
  // CHECK-LABEL: gpu.func @three_consumers(
  // CHECK:       moss.warp_specialize producer registers(24) {
  // CHECK-NOT:     vector.transfer
  // CHECK:       } consumers(3) registers(160) (%{{.*}}) {
  // CHECK:         vector.transfer_read
  // CHECK:         vector.transfer_write
  gpu.func @three_consumers(%a: memref<?x?xf8E4M3FN>, %c: memref<?x?xf32>, %M: index) kernel {
    %ch = moss.channel : !moss.channel<4 x (vector<192x128xf8E4M3FN>, vector<64x128xf8E4M3FN>)>
    %i = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c192 = arith.constant 192 : index
    %pad = arith.constant 0.0 : f32
    scf.for %m = %c0 to %M step %c192 {
      moss.put %ch[%i] from(%a, %a : memref<?x?xf8E4M3FN>, memref<?x?xf8E4M3FN>) at(%m, %c0), (%c0, %c0)
        : !moss.channel<4 x (vector<192x128xf8E4M3FN>, vector<64x128xf8E4M3FN>)>
      %t:2 = moss.get %ch[%i] : !moss.channel<4 x (vector<192x128xf8E4M3FN>, vector<64x128xf8E4M3FN>)> -> vector<192x128xf8E4M3FN>, vector<64x128xf8E4M3FN>
      %old = vector.transfer_read %c[%m, %c0], %pad : memref<?x?xf32>, vector<192x64xf32>
      %q = moss.mma %t#0, %t#1, %old : vector<192x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<192x64xf32>
      moss.release %ch[%i] : !moss.channel<4 x (vector<192x128xf8E4M3FN>, vector<64x128xf8E4M3FN>)>
      vector.transfer_write %q, %c[%m, %c0] : vector<192x64xf32>, memref<?x?xf32>
    } {moss.schedule = #schedule3}
    gpu.return
  }

  // Of the loops around it, the converter keeps the position in the ring.
  // CHECK-LABEL: gpu.func @converter(
  // CHECK:       moss.warp_specialize producer registers(24) {
  // CHECK:         moss.put
  // CHECK-NOT:     moss.extend_scales
  // CHECK:       } converter {
  // CHECK-NOT:     {{moss.put|moss.get|moss.mma|moss.release|vector.transfer_write|f32}}
  // CHECK:         scf.for {{.*}} iter_args(%[[I:[a-z0-9_]+]] = %{{.*}}) -> (i32) {
  // CHECK-NEXT:      moss.extend_scales %{{.*}}[%[[I]]]
  // CHECK-NEXT:      arith.addi %[[I]]
  // CHECK-NEXT:      scf.yield
  // CHECK-NEXT:    }
  // CHECK-NEXT:  } consumers(3) registers(160) (%{{.*}}) {
  // CHECK-NOT:     {{moss.put|moss.extend_scales}}
  // CHECK:         moss.get
  // CHECK:         vector.transfer_write
  gpu.func @converter(%a: memref<?x?xf8E4M3FN>, %e: memref<?x?xf8E8M0FNU>, %c: memref<?x?xf32>, %M: index) kernel {
    %ch = moss.channel : !extended
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0 = arith.constant 0 : index
    %c192 = arith.constant 192 : index
    %zero = arith.constant dense<0.0> : vector<192x64xf32>
    scf.for %m = %c0 to %M step %c192 iter_args(%i = %c0_i32) -> (i32) {
      moss.put %ch[%i] from(%a, %a, %e : memref<?x?xf8E4M3FN>, memref<?x?xf8E4M3FN>, memref<?x?xf8E8M0FNU>) at(%m, %c0, %c0), (%c0, %c0, %c0) : !extended
      moss.extend_scales %ch[%i] : !extended
      %t:3 = moss.get %ch[%i] : !extended -> vector<192x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf32>
      %q = moss.mma %t#0, %t#1, %zero : vector<192x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<192x64xf32>
      %cols = moss.read_scales %t#2 : vector<1x64xf32> -> vector<1x64xf32>
      %r = moss.add_rescaled %zero, %q cols(%cols : vector<1x64xf32>) : vector<192x64xf32>
      moss.release %ch[%i] : !extended
      vector.transfer_write %r, %c[%m, %c0] : vector<192x64xf32>, memref<?x?xf32>
      %next = arith.addi %i, %c1_i32 : i32
      scf.yield %next : i32
    } {moss.schedule = #schedule3}
    gpu.return
  }

  // CHECK-LABEL: gpu.func @no_channel(
  // CHECK-NOT:   moss.warp_specialize
  // CHECK:       memref.store
  gpu.func @no_channel(%g: memref<f32>, %x: f32) kernel {
    memref.store %x, %g[] : memref<f32>
    gpu.return
  }
}
