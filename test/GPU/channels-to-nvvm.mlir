// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(moss-channels-to-nvvm),canonicalize,cse)" | FileCheck %s

// Slots of 128 x 64 + 64 x 64 = 12,288 bytes; three of them and two consumers'
// boxes of 16,384 bytes: full barriers at 69,632, empty ones 24 bytes later.
!channel = !moss.channel<3 x (vector<128x64xf8E4M3FN>, vector<64x64xf8E5M2>)>
!map_a = !moss.tensor_map<128x64xf8E4M3FN, swizzle = 64>
!map_b = !moss.tensor_map<64x64xf8E5M2, swizzle = 64>
!scaled = !moss.channel<2 x (vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf32>, vector<1x4xf32>)>
!extended = !moss.channel<2 x (vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf8E8M0FNU>, vector<1x64xf8E8M0FNU>), extended = [3]>
!map_rows = !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>

gpu.module @m {
  // CHECK:       llvm.mlir.global external @moss_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64}

  // One thread initializes a full barrier of 1 arrival and an empty one of 2 for
  // each stage, and all wait for it.
  // CHECK-LABEL: gpu.func @roles(
  // CHECK-SAME:  %[[MA:[a-z0-9_]+]]: !moss.tensor_map<128x64xf8E4M3FN, swizzle = 64>, %[[MB:[a-z0-9_]+]]: {{.*}}, %[[I:[a-z0-9_]+]]: i32, %[[M:[a-z0-9_]+]]: index, %[[K:[a-z0-9_]+]]: index
  // CHECK-SAME:  attributes {nvvm.minctasm = 1 : i32}
  // CHECK-DAG:     %[[SMEM:[a-z0-9_]+]] = llvm.mlir.addressof @moss_shared_memory
  // CHECK-DAG:     %[[TID:[a-z0-9_]+]] = nvvm.read.ptx.sreg.tid.x
  // CHECK:         %[[FIRST:[a-z0-9_]+]] = arith.cmpi eq, %[[TID]], %c0_i32
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK:           nvvm.mbarrier.init %{{.*}}, %c1_i32 : !llvm.ptr<3>
  // CHECK:           nvvm.mbarrier.init %{{.*}}, %c2_i32 : !llvm.ptr<3>
  // CHECK-COUNT-4:   nvvm.mbarrier.init
  // CHECK-NOT:       nvvm.mbarrier.init
  // CHECK:           nvvm.fence.mbarrier.init
  // CHECK-COUNT-2:   nvvm.prefetch tensormap
  // CHECK:         }
  // CHECK:         nvvm.barrier
  // CHECK:         %[[G:[a-z0-9_]+]] = arith.shrui %[[TID]], %c7_i32
  // CHECK:         %[[WG:[a-z0-9_]+]] = nvvm.shfl.sync idx %{{.*}}, %[[G]], %c0_i32, %c31_i32
  // CHECK:         %[[PRODUCER:[a-z0-9_]+]] = arith.cmpi eq, %[[WG]], %c0_i32
  // CHECK:         scf.if %[[PRODUCER]] {
  // CHECK:           nvvm.setmaxregister decrease 40
  // CHECK:           scf.if
  // CHECK:             nvvm.elect.sync
  // CHECK:             scf.if
  //                      The empty barrier completes a phase less than the full one.
  // CHECK:               %[[SLOT:[a-z0-9_]+]] = arith.andi %[[I]], %c65535_i32
  // CHECK:               %[[PHASE:[a-z0-9_]+]] = arith.shrui %[[I]], %c31_i32
  // CHECK:               %[[OTHER:[a-z0-9_]+]] = arith.xori %[[PHASE]], %c1_i32
  // CHECK:               %[[EMPTIES:[a-z0-9_]+]] = llvm.getelementptr %[[SMEM]][69656]
  // CHECK:               %[[EMPTY:[a-z0-9_]+]] = llvm.getelementptr %[[EMPTIES]][%{{.*}}]
  // CHECK:               nvvm.mbarrier.try_wait.parity %[[EMPTY]], %[[OTHER]],
  // CHECK:               %[[FULLS:[a-z0-9_]+]] = llvm.getelementptr %[[SMEM]][69632]
  // CHECK:               %[[FULL:[a-z0-9_]+]] = llvm.getelementptr %[[FULLS]][%{{.*}}]
  // CHECK:               nvvm.mbarrier.arrive.expect_tx %[[FULL]], %c12288_i32
  // CHECK:               %[[OFFA:[a-z0-9_]+]] = arith.muli %[[SLOT]], %c12288_i32
  // CHECK:               %[[A:[a-z0-9_]+]] = llvm.getelementptr %[[SMEM]][%[[OFFA]]]
  // CHECK-DAG:           %[[ROW:[a-z0-9_]+]] = arith.index_cast %[[M]] : index to i32
  // CHECK-DAG:           %[[COL:[a-z0-9_]+]] = arith.index_cast %[[K]] : index to i32
  // CHECK:               nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %[[FULL]], box[%[[COL]], %[[ROW]]]
  // CHECK:               llvm.getelementptr %[[A]][8192]
  // CHECK:               nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %[[FULL]], box[%[[COL]], %[[ROW]]]
  // CHECK-NOT:           nvvm.cp.async.bulk.tensor
  // CHECK:         } else {
  // CHECK:           nvvm.setmaxregister increase 232
  // CHECK:           %[[CONSUMER:[a-z0-9_]+]] = arith.subi %[[WG]], %c1_i32
  //                  Rows of 64 bytes: swizzle 2, 512 bytes from 8 rows to the next.
  //                  The slot is 768 units of 16 bytes from the one before. Memory
  //                  is touched behind the wait.
  // CHECK:           %[[DISTANCE:[a-z0-9_]+]] = arith.muli %{{.*}}, %c768_i32
  // CHECK:           %[[FIELD:[a-z0-9_]+]] = arith.addi %{{.*}}, %[[DISTANCE]] : i32
  // CHECK:           %[[WIDE:[a-z0-9_]+]] = arith.extui %[[FIELD]] : i32 to i64
  // CHECK:           arith.ori %[[WIDE]], %c-9223371899415756800_i64
  // CHECK:           nvvm.mbarrier.try_wait.parity %{{.*}}, %[[P:[a-z0-9_]+]],
  // CHECK:           memref.store
  // CHECK:           %[[IN_GROUP:[a-z0-9_]+]] = arith.andi %[[TID]], %c127_i32
  // CHECK:           %[[LEADER:[a-z0-9_]+]] = arith.cmpi eq, %[[IN_GROUP]], %c0_i32
  // CHECK:           nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 _, [$0];" ro(%{{.*}} : !llvm.ptr<3>), predicate = %[[LEADER]]
  // CHECK:         gpu.return
  gpu.func @roles(%ma: !map_a, %mb: !map_b, %i: i32, %m: index, %k: index, %out: memref<?x2xi64>) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
      moss.put %ch[%i] from(%ma, %mb : !map_a, !map_b) at(%m, %m), (%k, %k) : !channel
    } consumers(2) registers(232) (%wg) {
      %c0_i32 = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t:2 = moss.get %ch[%i] : !channel -> vector<128x64xf8E4M3FN>, vector<64x64xf8E5M2>
      %da = moss.tile_descriptor %t#0 row(%c0_i32) : vector<128x64xf8E4M3FN>
      %db = moss.tile_descriptor %t#1 row(%c0_i32) : vector<64x64xf8E5M2>
      memref.store %da, %out[%wg, %c0] : memref<?x2xi64>
      memref.store %db, %out[%wg, %c1] : memref<?x2xi64>
      moss.release %ch[%i] : !channel
    }
    gpu.return
  }

  // Scales lie behind the output boxes: two stages of 384 bytes, 256 of them for 64
  // f32 and 128 for 16 bytes. Threads read them, so that each warp releases the slot.
  // CHECK-LABEL: gpu.func @scales(
  // CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
  // CHECK:         nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c16656_i32
  // CHECK:         %[[OFFSET:[a-z0-9_]+]] = arith.muli %[[SLOT:[a-z0-9_]+]], %c384_i32
  // CHECK:         %[[STAGE:[a-z0-9_]+]] = llvm.getelementptr %{{.*}}[%[[OFFSET]]]
  // CHECK:         llvm.getelementptr %[[STAGE]][49152]
  // CHECK:         llvm.getelementptr %[[STAGE]][49408]
  // CHECK:         } else {
  // CHECK:           arith.addi %{{.*}}, %c49152_i32
  // CHECK:           arith.andi %{{.*}}, %c31_i32
  // CHECK:           nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 _, [$0];"
  gpu.func @scales(%ma: !map_rows, %ms: !moss.tensor_map<1x64xf32, swizzle = 0>, %mt: !moss.tensor_map<1x4xf32, swizzle = 0>,
                   %i: i32, %m: index, %k: index, %out: memref<?xi32>) kernel {
    %ch = moss.channel : !scaled
    moss.warp_specialize producer registers(40) {
      moss.put %ch[%i] from(%ma, %ma, %ms, %mt : !map_rows, !map_rows, !moss.tensor_map<1x64xf32, swizzle = 0>, !moss.tensor_map<1x4xf32, swizzle = 0>)
        at(%m, %m, %k, %m), (%k, %k, %m, %k) : !scaled
    } consumers(1) registers(232) (%wg) {
      %t:4 = moss.get %ch[%i] : !scaled -> vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf32>, vector<1x4xf32>
      %a = moss.tile_address %t#2 : vector<1x64xf32>
      memref.store %a, %out[%wg] : memref<?xi32>
      moss.release %ch[%i] : !scaled
    }
    gpu.return
  }

  // The third slot is the last: what follows is the first, at a turn of the other
  // parity, which is the sign.
  // CHECK-LABEL: gpu.func @advance(
  // CHECK-SAME:  %[[I:[a-z0-9_]+]]: i32
  // CHECK:         } else {
  // CHECK:           %[[NEXT:[a-z0-9_]+]] = arith.addi %[[I]], %c1_i32
  // CHECK:           %[[SLOT:[a-z0-9_]+]] = arith.andi %[[NEXT]], %c65535_i32
  // CHECK:           %[[PAST:[a-z0-9_]+]] = arith.cmpi eq, %[[SLOT]], %c3_i32
  // CHECK:           %[[TURN:[a-z0-9_]+]] = arith.andi %[[I]], %c-2147483648_i32
  // CHECK:           %[[FIRST:[a-z0-9_]+]] = arith.xori %[[TURN]], %c-2147483648_i32
  // CHECK:           %[[RESULT:[a-z0-9_]+]] = arith.select %[[PAST]], %[[FIRST]], %[[NEXT]]
  // CHECK:           memref.store %[[RESULT]]
  gpu.func @advance(%i: i32, %out: memref<?xi32>) kernel {
    %ch = moss.channel : !channel
    moss.warp_specialize producer registers(40) {
    } consumers(2) registers(232) (%wg) {
      %next = moss.advance %ch[%i] : !channel
      memref.store %next, %out[%wg] : memref<?xi32>
    }
    gpu.return
  }

  // Scales of 64 columns arrive at 49,152 and are f32 at 49,280, 512 bytes that the
  // converter writes; those of rows follow at 49,792. Slots are 768 bytes apart. The
  // full barrier, at 50,688, counts the bytes of the others and two arrivals, the
  // third, at 50,720, those of the columns.
  // CHECK-LABEL: gpu.func @extended(
  // CHECK:         nvvm.mbarrier.init %[[FULL0:[a-z0-9_]+]], %c2_i32
  // CHECK:         nvvm.mbarrier.init %{{.*}}, %c4_i32
  // CHECK:         nvvm.mbarrier.init %{{.*}}, %c1_i32
  // CHECK-COUNT-3: nvvm.mbarrier.init
  // CHECK-NOT:     nvvm.mbarrier.init
  // CHECK:         %[[WARP:[a-z0-9_]+]] = nvvm.shfl.sync idx
  // CHECK:         %[[WARP:[a-z0-9_]+]] = nvvm.shfl.sync idx
  // CHECK:         %[[FIRST:[a-z0-9_]+]] = arith.cmpi eq, %[[WARP]], %c0_i32
  // CHECK:         scf.if %[[FIRST]] {
  // CHECK:           nvvm.elect.sync
  // CHECK:           %[[ARRIVED:[a-z0-9_]+]] = llvm.getelementptr %{{.*}}[50720]
  // CHECK:           nvvm.mbarrier.arrive.expect_tx %[[SCALES:[a-z0-9_]+]], %c64_i32
  // CHECK:           llvm.getelementptr %{{.*}}[49152]
  // CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %[[SCALES]],
  // CHECK:           nvvm.mbarrier.arrive.expect_tx %[[FULL:[a-z0-9_]+]], %c16448_i32
  // CHECK-COUNT-2:   nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %[[FULL]],
  // CHECK:           llvm.getelementptr %{{.*}}[49792]
  // CHECK:           nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %[[FULL]],
  // CHECK:         } else {
  // CHECK:           %[[SECOND:[a-z0-9_]+]] = arith.cmpi eq, %[[WARP]], %c1_i32
  // CHECK:           scf.if %[[SECOND]] {
  // CHECK:             nvvm.mbarrier.try_wait.parity
  // CHECK:             %[[LANE:[a-z0-9_]+]] = arith.andi %{{.*}}, %c31_i32
  // CHECK:             %[[WORD:[a-z0-9_]+]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  // CHECK:             %[[CODES:[a-z0-9_]+]] = llvm.bitcast %[[WORD]] : i32 to vector<4xi8>
  // CHECK:             %[[SPECIAL:[a-z0-9_]+]] = arith.cmpi ne
  // CHECK:             scf.if %[[SPECIAL]] -> (vector<4xf32>) {
  // CHECK:               arith.extf %{{.*}} : vector<4xf8E8M0FNU> to vector<4xf32>
  // CHECK:             } else {
  // CHECK:               arith.shli
  // CHECK:             }
  // CHECK:             llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
  // CHECK-NOT:         llvm.load
  // CHECK:             nvvm.bar.warp.sync
  // CHECK:             %[[LEADER:[a-z0-9_]+]] = arith.cmpi eq, %[[LANE]], %c0_i32
  // CHECK:             nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 _, [$0];" ro(%{{.*}} : !llvm.ptr<3>), predicate = %[[LEADER]]
  // CHECK:         nvvm.setmaxregister increase 232
  // CHECK:           arith.addi %{{.*}}, %c49792_i32
  // CHECK:           arith.addi %{{.*}}, %c49280_i32
  gpu.func @extended(%ma: !map_rows, %ms: !moss.tensor_map<1x64xf8E8M0FNU, swizzle = 0>, %i: i32, %m: index, %k: index,
                     %out: memref<?x2xi32>) kernel {
    %ch = moss.channel : !extended
    moss.warp_specialize producer registers(40) {
      moss.put %ch[%i] from(%ma, %ma, %ms, %ms : !map_rows, !map_rows, !moss.tensor_map<1x64xf8E8M0FNU, swizzle = 0>, !moss.tensor_map<1x64xf8E8M0FNU, swizzle = 0>)
        at(%m, %m, %k, %k), (%k, %k, %m, %m) : !extended
    } converter {
      moss.extend_scales %ch[%i] : !extended
    } consumers(1) registers(232) (%wg) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %t:4 = moss.get %ch[%i] : !extended -> vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf8E8M0FNU>, vector<1x64xf32>
      %a = moss.tile_address %t#2 : vector<1x64xf8E8M0FNU>
      %b = moss.tile_address %t#3 : vector<1x64xf32>
      memref.store %a, %out[%wg, %c0] : memref<?x2xi32>
      memref.store %b, %out[%wg, %c1] : memref<?x2xi32>
      moss.release %ch[%i] : !extended
    }
    gpu.return
  }

  // A tile of 512 rows takes two boxes of 256, 32 bytes a row: 8,192 bytes apart.
  // CHECK-LABEL: gpu.func @two_boxes(
  // CHECK:         nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c16384_i32
  // CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %[[FULL:[a-z0-9_]+]], box[%{{.*}}, %[[ROW:[a-z0-9_]+]]]
  // CHECK:         llvm.getelementptr %{{.*}}[8192]
  // CHECK:         %[[ROW1:[a-z0-9_]+]] = arith.addi %[[ROW]], %c256_i32
  // CHECK:         nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %{{.*}}, %[[FULL]], box[%{{.*}}, %[[ROW1]]]
  // CHECK-NOT:     nvvm.cp.async.bulk.tensor
  gpu.func @two_boxes(%map: !moss.tensor_map<256x32xf8E4M3FN, swizzle = 32>, %i: i32, %m: index) kernel {
    %ch = moss.channel : !moss.channel<3 x (vector<512x32xf8E4M3FN>)>
    moss.warp_specialize producer registers(40) {
      moss.put %ch[%i] from(%map : !moss.tensor_map<256x32xf8E4M3FN, swizzle = 32>) at(%m), (%m) : !moss.channel<3 x (vector<512x32xf8E4M3FN>)>
    } consumers(2) registers(232) (%wg) {
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @no_channel(
  // CHECK-NEXT:    gpu.return
  gpu.func @no_channel() kernel {
    gpu.return
  }
}
