// RUN: moss-opt %s --moss-map-to-grid | FileCheck %s

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

// A persistent grid: min(tiles, 132) blocks, but at least one; three warpgroups;
// the ring, the boxes of the output and the barriers. Tiles are numbered along M
// within groups of 8 rows of tiles.
// CHECK-LABEL: func @persistent(
// CHECK-SAME:  %[[M:[a-z0-9_]+]]: index, %[[N:[a-z0-9_]+]]: index
// CHECK-DAG:   %[[TM:[a-z0-9_]+]] = arith.ceildivui %[[M]], %c128
// CHECK-DAG:   %[[TN:[a-z0-9_]+]] = arith.ceildivui %[[N]], %c256
// CHECK:       %[[T:[a-z0-9_]+]] = arith.muli %[[TM]], %[[TN]]
// CHECK:       %[[LIMIT:[a-z0-9_]+]] = arith.constant 132 : index
// CHECK:       %[[B:[a-z0-9_]+]] = arith.minui %[[T]], %[[LIMIT]]
// CHECK:       %[[ONE:[a-z0-9_]+]] = arith.constant 1 : index
// CHECK:       %[[BLOCKS:[a-z0-9_]+]] = arith.maxui %[[B]], %[[ONE]]
// CHECK-DAG:   %[[THREADS:[a-z0-9_]+]] = arith.constant 384 : index
// CHECK-DAG:   %[[BYTES:[a-z0-9_]+]] = arith.constant 229440 : i32
// CHECK:       gpu.launch blocks(%[[ID:[a-z0-9_]+]], %{{.*}}, %{{.*}}) in (%[[GRID:[a-z0-9_]+]] = %[[BLOCKS]], %{{.*}} = %[[ONE]], %{{.*}} = %[[ONE]]) threads(%{{.*}}) in (%{{.*}} = %[[THREADS]], {{.*}}) dynamic_shared_memory_size %[[BYTES]]
// CHECK-DAG:     %[[TM32:[a-z0-9_]+]] = arith.index_cast %[[TM]] : index to i32
// CHECK-DAG:     %[[TN32:[a-z0-9_]+]] = arith.index_cast %[[TN]] : index to i32
// CHECK:         scf.for %[[I:[a-z0-9_]+]] = %[[ID]] to %[[T]] step %[[GRID]] {
// CHECK:           %[[TILE:[a-z0-9_]+]] = arith.index_cast %[[I]] : index to i32
// CHECK:           %[[RASTER:[a-z0-9_]+]] = arith.constant 8 : i32
// CHECK:           %[[GROUPSIZE:[a-z0-9_]+]] = arith.muli %[[TN32]], %[[RASTER]]
// CHECK:           %[[GROUP:[a-z0-9_]+]] = arith.divui %[[TILE]], %[[GROUPSIZE]]
// CHECK:           %[[FIRST:[a-z0-9_]+]] = arith.muli %[[GROUP]], %[[RASTER]]
// CHECK:           %[[IN:[a-z0-9_]+]] = arith.remui %[[TILE]], %[[GROUPSIZE]]
// CHECK:           %[[REST:[a-z0-9_]+]] = arith.subi %[[TM32]], %[[FIRST]]
// CHECK:           %[[HEIGHT:[a-z0-9_]+]] = arith.minui %[[REST]], %{{.*}}
// CHECK:           %[[TILEN:[a-z0-9_]+]] = arith.divui %[[IN]], %[[HEIGHT]]
// CHECK:           %[[DONE:[a-z0-9_]+]] = arith.muli %[[TILEN]], %[[HEIGHT]]
// CHECK:           %[[R:[a-z0-9_]+]] = arith.subi %[[IN]], %[[DONE]]
// CHECK:           %[[TILEM:[a-z0-9_]+]] = arith.addi %[[FIRST]], %[[R]]
// CHECK:           %[[TMI:[a-z0-9_]+]] = arith.index_cast %[[TILEM]] : i32 to index
// CHECK:           %[[ROW:[a-z0-9_]+]] = arith.muli %[[TMI]], %c128
// CHECK:           %[[TNI:[a-z0-9_]+]] = arith.index_cast %[[TILEN]] : i32 to index
// CHECK:           %[[COL:[a-z0-9_]+]] = arith.muli %[[TNI]], %c256
// CHECK:           vector.transfer_write %{{.*}}, %{{.*}}[%[[ROW]], %[[COL]]]
// CHECK:         } {moss.schedule = #moss.schedule<tile = [128, 256, 128],
// CHECK-NOT:   scf.forall
func.func @persistent(%M: index, %N: index, %c: memref<?x?xf32>, %t: vector<128x256xf32>) {
  scf.forall (%m, %n) = (0, 0) to (%M, %N) step (128, 256) {
    vector.transfer_write %t, %c[%m, %n] : vector<128x256xf32>, memref<?x?xf32>
  } {moss.schedule = #schedule}
  return
}

// Of 32 tiles along M every group has 8, which is a constant then.
// CHECK-LABEL: func @equal_groups(
// CHECK:         scf.for
// CHECK:           %[[IN:[a-z0-9_]+]] = arith.remui
// CHECK:           %[[HEIGHT:[a-z0-9_]+]] = arith.constant 8 : i32
// CHECK:           %[[TILEN:[a-z0-9_]+]] = arith.divui %[[IN]], %[[HEIGHT]]
// CHECK-NEXT:      %[[DONE:[a-z0-9_]+]] = arith.muli %[[TILEN]], %[[HEIGHT]]
// CHECK-NEXT:      arith.subi %[[IN]], %[[DONE]]
func.func @equal_groups(%c: memref<4096x4096xf32>, %t: vector<128x256xf32>) {
  scf.forall (%m, %n) = (0, 0) to (4096, 4096) step (128, 256) {
    vector.transfer_write %t, %c[%m, %n] : vector<128x256xf32>, memref<4096x4096xf32>
  } {moss.schedule = #schedule}
  return
}

// Of 43 the last group has 3. Both quotients are by constants.
// CHECK-LABEL: func @last_group(
// CHECK:         scf.for
// CHECK:           %[[GROUP:[a-z0-9_]+]] = arith.divui
// CHECK-NEXT:      %[[FIRST:[a-z0-9_]+]] = arith.muli %[[GROUP]]
// CHECK:           %[[IN:[a-z0-9_]+]] = arith.remui
// CHECK-DAG:       %[[USUAL:[a-z0-9_]+]] = arith.constant 8 : i32
// CHECK-DAG:       %[[LAST:[a-z0-9_]+]] = arith.constant 3 : i32
// CHECK-DAG:       %[[ROWS:[a-z0-9_]+]] = arith.constant 40 : i32
// CHECK:           %[[ISLAST:[a-z0-9_]+]] = arith.cmpi uge, %[[FIRST]], %[[ROWS]]
// CHECK-DAG:       %[[QLAST:[a-z0-9_]+]] = arith.divui %[[IN]], %[[LAST]]
// CHECK-DAG:       %[[QUSUAL:[a-z0-9_]+]] = arith.divui %[[IN]], %[[USUAL]]
// CHECK:           %[[TILEN:[a-z0-9_]+]] = arith.select %[[ISLAST]], %[[QLAST]], %[[QUSUAL]]
// CHECK:           %[[HEIGHT:[a-z0-9_]+]] = arith.select %[[ISLAST]], %[[LAST]], %[[USUAL]]
// CHECK:           %[[DONE:[a-z0-9_]+]] = arith.muli %[[TILEN]], %[[HEIGHT]]
// CHECK:           arith.subi %[[IN]], %[[DONE]]
func.func @last_group(%c: memref<5440x4096xf32>, %t: vector<128x256xf32>) {
  scf.forall (%m, %n) = (0, 0) to (5440, 4096) step (128, 256) {
    vector.transfer_write %t, %c[%m, %n] : vector<128x256xf32>, memref<5440x4096xf32>
  } {moss.schedule = #schedule}
  return
}

// The body's number of consumers decides about threads and shared memory.
// CHECK-LABEL: func @one_consumer(
// CHECK-DAG:   %[[THREADS:[a-z0-9_]+]] = arith.constant 256 : index
// CHECK-DAG:   %[[BYTES:[a-z0-9_]+]] = arith.constant 24608 : i32
// CHECK:       gpu.launch {{.*}} threads(%{{.*}}) in (%{{.*}} = %[[THREADS]], {{.*}}) dynamic_shared_memory_size %[[BYTES]]
func.func @one_consumer(%c: memref<0x64xf32>, %t: vector<64x64xf32>) {
  scf.forall (%m, %n) = (0, 0) to (0, 64) step (64, 64) {
    vector.transfer_write %t, %c[%m, %n] : vector<64x64xf32>, memref<0x64xf32>
  } {moss.schedule = #moss.schedule<tile = [64, 64, 32], stages = 2, consumers = 1, raster = 1, blocks = 1>}
  return
}

// Scales along K that travel through the ring take 256 bytes of each stage for f32
// and 128 for 64 bytes of f8E8M0FNU; those that do not are not counted.
// CHECK-LABEL: func @scales_along_k(
// CHECK:       %[[BYTES:[a-z0-9_]+]] = arith.constant 25376 : i32
// CHECK:       gpu.launch {{.*}} dynamic_shared_memory_size %[[BYTES]]
func.func @scales_along_k(%e: memref<64x4xf32, strided<[1, 64]>>, %f: memref<64x4xf8E8M0FNU, strided<[1, 64]>>,
                          %g: memref<64x4xf32>, %a: vector<64x32xf8E4M3FN>, %c: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%m, %n) = (0, 0) to (64, 64) step (64, 64) {
    scf.for %k = %c0 to %c128 step %c32 {
      %s = moss.load_scales %e[%m, %k] bound(%c64) group [1, 32] : memref<64x4xf32, strided<[1, 64]>> -> vector<64x1xf32>
      %t = moss.load_scales %f[%n, %k] bound(%c64) group [1, 32] : memref<64x4xf8E8M0FNU, strided<[1, 64]>> -> vector<1x64xf8E8M0FNU>
      %u = moss.load_scales %g[%n, %k] bound(%c64) group [1, 32] : memref<64x4xf32> -> vector<1x64xf32>
      %p = moss.mma %a, %a, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      %r = moss.rescale %p rows(%s : vector<64x1xf32>) cols(%t : vector<1x64xf8E8M0FNU>) : vector<64x64xf32>
      %v = moss.rescale %r cols(%u : vector<1x64xf32>) : vector<64x64xf32>
      vector.transfer_write %v, %c[%m, %n] : vector<64x64xf32>, memref<64x64xf32>
    }
  } {moss.schedule = #moss.schedule<tile = [64, 64, 32], stages = 2, consumers = 1, raster = 1, blocks = 1>}
  return
}

// Scales that are extended take five times as much and a barrier of 8 bytes a stage,
// for two stages 2 * (4,096 + 128 + 512 + 24) beside boxes of 16,384.
// CHECK-LABEL: func @extended_scales(
// CHECK:       %[[BYTES:[a-z0-9_]+]] = arith.constant 25904 : i32
// CHECK:       gpu.launch {{.*}} dynamic_shared_memory_size %[[BYTES]]
func.func @extended_scales(%f: memref<64x4xf8E8M0FNU, strided<[1, 64]>>, %a: vector<64x32xf8E4M3FN>, %c: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%m, %n) = (0, 0) to (64, 64) step (64, 64) {
    %s = scf.for %k = %c0 to %c128 step %c32 iter_args(%d = %zero) -> (vector<64x64xf32>) {
      %t = moss.load_scales %f[%n, %k] bound(%c64) group [1, 32] : memref<64x4xf8E8M0FNU, strided<[1, 64]>> -> vector<1x64xf8E8M0FNU>
      %p = moss.mma %a, %a, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      %r = moss.add_rescaled %d, %p cols(%t : vector<1x64xf8E8M0FNU>) : vector<64x64xf32>
      scf.yield %r : vector<64x64xf32>
    }
    vector.transfer_write %s, %c[%m, %n] : vector<64x64xf32>, memref<64x64xf32>
  } {moss.schedule = #moss.schedule<tile = [64, 64, 32], stages = 2, consumers = 1, raster = 1, blocks = 1>}
  return
}

// So is that for scales of several steps that share a tile, of two rows here: slots
// have 2 * (512 + 128 + 512) bytes of scales, columns extended to f32 as well.
// CHECK-LABEL: func @scales_of_steps(
// CHECK:       %[[BYTES:[a-z0-9_]+]] = arith.constant 35120 : i32
// CHECK:       gpu.launch {{.*}} dynamic_shared_memory_size %[[BYTES]]
func.func @scales_of_steps(%e: memref<64x4xf32, strided<[1, 64]>>, %f: memref<64x4xf8E8M0FNU, strided<[1, 64]>>,
                           %a: vector<64x32xf8E4M3FN>, %c: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  scf.forall (%m, %n) = (0, 0) to (64, 64) step (64, 64) {
    %sum = scf.for %k = %c0 to %c128 step %c64 iter_args(%d = %zero) -> (vector<64x64xf32>) {
      %s0 = moss.load_scales %e[%m, %k] bound(%c64) group [1, 32] : memref<64x4xf32, strided<[1, 64]>> -> vector<64x1xf32>
      %t0 = moss.load_scales %f[%n, %k] bound(%c64) group [1, 32] : memref<64x4xf8E8M0FNU, strided<[1, 64]>> -> vector<1x64xf8E8M0FNU>
      %p0 = moss.mma %a, %a, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      %d0 = moss.add_rescaled %d, %p0 rows(%s0 : vector<64x1xf32>) cols(%t0 : vector<1x64xf8E8M0FNU>) : vector<64x64xf32>
      %k1 = arith.addi %k, %c32 : index
      %s1 = moss.load_scales %e[%m, %k1] bound(%c64) group [1, 32] : memref<64x4xf32, strided<[1, 64]>> -> vector<64x1xf32>
      %t1 = moss.load_scales %f[%n, %k1] bound(%c64) group [1, 32] : memref<64x4xf8E8M0FNU, strided<[1, 64]>> -> vector<1x64xf8E8M0FNU>
      %p1 = moss.mma %a, %a, %zero : vector<64x32xf8E4M3FN>, vector<64x32xf8E4M3FN>, vector<64x64xf32>
      %d1 = moss.add_rescaled %d0, %p1 rows(%s1 : vector<64x1xf32>) cols(%t1 : vector<1x64xf8E8M0FNU>) : vector<64x64xf32>
      scf.yield %d1 : vector<64x64xf32>
    }
    vector.transfer_write %sum, %c[%m, %n] : vector<64x64xf32>, memref<64x64xf32>
  } {moss.schedule = #moss.schedule<tile = [64, 64, 64], stages = 2, consumers = 1, raster = 1, blocks = 1>}
  return
}

// Loops without schedule are not ours.
// CHECK-LABEL: func @no_schedule(
// CHECK-NOT:   gpu.launch
// CHECK:       scf.forall
func.func @no_schedule(%M: index, %N: index, %c: memref<?x?xf32>, %t: vector<128x256xf32>) {
  scf.forall (%m, %n) = (0, 0) to (%M, %N) step (128, 256) {
    vector.transfer_write %t, %c[%m, %n] : vector<128x256xf32>, memref<?x?xf32>
  }
  return
}
