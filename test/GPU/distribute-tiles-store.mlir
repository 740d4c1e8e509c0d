// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(moss-distribute-tiles),canonicalize,cse)" | FileCheck %s

// The ring of 4 x 12288 bytes comes first, then two boxes of 8192 bytes for each
// consumer.
!channel = !moss.channel<4 x (vector<128x64xf8E4M3FN>, vector<64x64xf8E4M3FN>)>

gpu.module @m {
  // CHECK:       llvm.mlir.global external @moss_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  // 64 f32 columns are two boxes, which are filled and stored together.
  // CHECK-LABEL: gpu.func @f32(
  // CHECK-SAME:  %[[MAP:[a-z0-9_]+]]: !moss.tensor_map<64x32xf32, swizzle = 128>
  // CHECK:         %[[SMEM:[a-z0-9_]+]] = llvm.mlir.addressof @moss_shared_memory
  // CHECK:         %[[BYTES:[a-z0-9_]+]] = arith.muli %[[WG:[a-z0-9_]+]], %c16384_i32
  // CHECK:         %[[OUT:[a-z0-9_]+]] = llvm.getelementptr %[[SMEM]][49152]
  // CHECK:         %[[BOX0:[a-z0-9_]+]] = llvm.getelementptr %[[OUT]][%[[BYTES]]]
  // CHECK:         %[[BOX1:[a-z0-9_]+]] = llvm.getelementptr %[[BOX0]][8192]
  // CHECK:         scf.if %[[LEADER:[a-z0-9_]+]] {
  // CHECK-NEXT:      nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK-NEXT:    }
  // CHECK:         %[[ID:[a-z0-9_]+]] = arith.addi %[[WG]], %c1_i32
  // CHECK-NEXT:    nvvm.barrier id = %[[ID]] number_of_threads = %c128_i32
  // CHECK-COUNT-16: llvm.store %{{.*}} : vector<2xf32>, !llvm.ptr<3>
  // CHECK-NOT:     llvm.store
  // CHECK:         nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
  // CHECK-NEXT:    nvvm.barrier id = %[[ID]]
  // CHECK:         scf.if %[[LEADER]] {
  // CHECK:           nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %[[BOX0]], box[%[[COL:[a-z0-9_]+]], %{{.*}}]
  // CHECK-NEXT:      nvvm.cp.async.bulk.commit.group
  // CHECK-NEXT:    }
  // CHECK:         %[[COL1:[a-z0-9_]+]] = arith.addi %[[COL]], %c32_i32
  // CHECK:           nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %[[BOX1]], box[%[[COL1]], %{{.*}}]
  // CHECK:         nvvm.cp.async.bulk.wait_group 0
  // CHECK-NOT:     {read}
  // CHECK:       gpu.return
  gpu.func @f32(%map: !moss.tensor_map<64x32xf32, swizzle = 128>, %x: f32, %m: index) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
      %t = vector.broadcast %x : f32 to vector<128x64xf32>
      moss.store_tile %t, %map[%m, %m] : vector<128x64xf32>, !moss.tensor_map<64x32xf32, swizzle = 128>
    }
    gpu.return
  }

  // 64 bf16 columns are one box, which is the last: what stored it before must
  // have finished.
  // CHECK-LABEL: gpu.func @bf16(
  // CHECK:         %[[BOX:[a-z0-9_]+]] = llvm.getelementptr %{{.*}}[8192]
  // CHECK:           nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK-COUNT-4: nvvm.stmatrix %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>}
  // CHECK-NOT:     nvvm.stmatrix
  // CHECK:           nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %[[BOX]],
  gpu.func @bf16(%map: !moss.tensor_map<64x64xbf16, swizzle = 128>, %x: bf16, %m: index) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
      %t = vector.broadcast %x : bf16 to vector<128x64xbf16>
      moss.store_tile %t, %map[%m, %m] : vector<128x64xbf16>, !moss.tensor_map<64x64xbf16, swizzle = 128>
    }
    gpu.return
  }

  // Three boxes: the last, which must be free, then both in turn.
  // CHECK-LABEL: gpu.func @three_boxes(
  // CHECK:         %[[BOX1:[a-z0-9_]+]] = llvm.getelementptr %[[BOX0:[a-z0-9_]+]][8192]
  // CHECK:           nvvm.cp.async.bulk.wait_group 0 {read}
  // CHECK:           nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %[[BOX1]],
  // CHECK:           nvvm.cp.async.bulk.wait_group 1 {read}
  // CHECK:           nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %[[BOX0]],
  // CHECK:           nvvm.cp.async.bulk.wait_group 1 {read}
  // CHECK:           nvvm.cp.async.bulk.tensor.global.shared.cta %{{.*}}, %[[BOX1]],
  gpu.func @three_boxes(%map: !moss.tensor_map<64x64xbf16, swizzle = 128>, %x: bf16, %m: index) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
      %t = vector.broadcast %x : bf16 to vector<128x192xbf16>
      moss.store_tile %t, %map[%m, %m] : vector<128x192xbf16>, !moss.tensor_map<64x64xbf16, swizzle = 128>
    }
    gpu.return
  }
}

// Threads that fill a box wait for the copy engine to have read what it stores.
// CHECK-LABEL: gpu.func @both(
// CHECK:         nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK:         scf.if
// CHECK-NEXT:      nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT:    }
// CHECK-NEXT:    nvvm.barrier
// CHECK-COUNT-4: nvvm.stmatrix
// CHECK:         memref.store
gpu.module @engine_and_threads {
  gpu.func @both(%map: !moss.tensor_map<64x64xbf16, swizzle = 128>, %x: bf16, %out: memref<?x?xbf16>, %m: index) kernel {
    %ch = moss.channel : !moss.channel<4 x (vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>)>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      %t = vector.broadcast %x : bf16 to vector<64x64xbf16>
      moss.store_tile %t, %map[%m, %m] : vector<64x64xbf16>, !moss.tensor_map<64x64xbf16, swizzle = 128>
      vector.transfer_write %t, %out[%m, %m] : vector<64x64xbf16>, memref<?x?xbf16>
    }
    gpu.return
  }
}

// A destination out of the copy engine's reach: the warpgroup fills a box, and its
// threads store it by units of 16 bytes, unchecked where the unit is inside.
// CHECK-LABEL: gpu.func @by_threads(
// CHECK-SAME:    %[[OUT:[a-z0-9_]+]]: memref<?x?xbf16>
// CHECK-NOT:     wait_group
// CHECK-COUNT-4: nvvm.stmatrix
// CHECK:         nvvm.barrier
// CHECK:         scf.for
// CHECK:           llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK:           scf.if
// CHECK:             scf.if
// CHECK-COUNT-8:       memref.store {{.*}}, %[[OUT]]
// CHECK:             else
// CHECK-COUNT-8:       scf.if
gpu.module @threads {
  gpu.func @by_threads(%out: memref<?x?xbf16>, %m: index, %n: index) kernel {
    %t = arith.constant dense<1.0> : vector<64x64xbf16>
    %ch = moss.channel : !moss.channel<4 x (vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>)>
    moss.warp_specialize producer registers(40) {
    } consumers(1) registers(232) (%wg) {
      vector.transfer_write %t, %out[%m, %n] : vector<64x64xbf16>, memref<?x?xbf16>
    }
    gpu.return
  }
}
