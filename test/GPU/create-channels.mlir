// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-create-channels)))" -split-input-file | FileCheck %s

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

gpu.module @m {
  // The position in the ring advances through the iterations of both loops.
  // CHECK-LABEL: gpu.func @simple(
  // CHECK-SAME:  %[[A:[a-z0-9_]+]]: memref<?x?xf8E4M3FN>, %[[B:[a-z0-9_]+]]: memref<?x?xf8E5M2>
  // CHECK-DAG:   %[[CH:[a-z0-9_]+]] = moss.channel : <4 x (vector<128x128xf8E4M3FN>, vector<256x128xf8E5M2>)>
  // CHECK-DAG:   %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : i32
  // CHECK:       scf.for %[[M:[a-z0-9_]+]] = {{.*}} iter_args(%[[OUTER:[a-z0-9_]+]] = %[[ZERO]]) -> (i32)
  // CHECK:         %[[SUM:[a-z0-9_]+]]:2 = scf.for %[[K:[a-z0-9_]+]] = {{.*}} iter_args(%[[C:[a-z0-9_]+]] = %{{.*}}, %[[I:[a-z0-9_]+]] = %[[OUTER]]) -> (vector<128x256xf32>, i32)
  // CHECK-NOT:       vector.transfer_read
  // CHECK:           moss.put %[[CH]][%[[I]]] from(%[[A]], %[[B]] : {{.*}}) at(%[[M]], %{{.*}}), (%[[K]], %[[K]])
  // CHECK-NEXT:      %[[T:[a-z0-9_]+]]:2 = moss.get %[[CH]][%[[I]]]
  // CHECK-NEXT:      %[[P:[a-z0-9_]+]] = moss.mma %[[T]]#0, %[[T]]#1, %[[C]]
  // CHECK-NEXT:      moss.release %[[CH]][%[[I]]]
  // CHECK:           %[[NEXT:[a-z0-9_]+]] = moss.advance %[[CH]][%[[I]]]
  // CHECK:           scf.yield %[[P]], %[[NEXT]]
  // CHECK:         }
  // CHECK:         vector.transfer_write %[[SUM]]#0
  // CHECK:         scf.yield %[[SUM]]#1 : i32
  gpu.func @simple(%a: memref<?x?xf8E4M3FN>, %b: memref<?x?xf8E5M2>, %c: memref<?x?xf32>, %M: index, %K: index) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    %pad1 = arith.constant 0.0 : f8E5M2
    scf.for %m = %c0 to %M step %c128 {
      %s = scf.for %k = %c0 to %K step %c128 iter_args(%d = %zero) -> (vector<128x256xf32>) {
        %ta = vector.transfer_read %a[%m, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
        %tb = vector.transfer_read %b[%c0, %k], %pad1 : memref<?x?xf8E5M2>, vector<256x128xf8E5M2>
        %p = moss.mma %ta, %tb, %d : vector<128x128xf8E4M3FN>, vector<256x128xf8E5M2>, vector<128x256xf32>
        scf.yield %p : vector<128x256xf32>
      }
      vector.transfer_write %s, %c[%m, %c0] : vector<128x256xf32>, memref<?x?xf32>
    } {moss.schedule = #schedule}
    gpu.return
  }

  // Scales that change along K travel with the operands: those of 1 x 128 groups as
  // rows of their transpose, those of 128 x 128 in units of 16 bytes. They are read
  // behind the product, and the slot is released when columns, too, are read. Scales
  // of rows that are not adjacent are loaded as they were.
  // CHECK-LABEL: gpu.func @scales(
  // CHECK-SAME:  %[[A:[a-z0-9_]+]]: memref<256x512xf8E4M3FN>, %[[E:[a-z0-9_]+]]: memref<256x4xf32, strided<[1, 256]>>, %[[F:[a-z0-9_]+]]: memref<2x4xf32>
  // CHECK:       %[[CH:[a-z0-9_]+]] = moss.channel : <4 x (vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<1x128xf32>, vector<1x256xf32>)>
  // CHECK:         scf.for
  // CHECK:         scf.for %[[K:[a-z0-9_]+]] =
  // CHECK:           %[[SLOW:[a-z0-9_]+]] = moss.load_scales
  // CHECK:           %[[G:[a-z0-9_]+]] = arith.divui %[[K]], %c128{{.*}}
  // CHECK:           %[[TE:[a-z0-9_]+]] = memref.transpose %[[E]] (d0, d1) -> (d1, d0)
  // CHECK:           moss.put %[[CH]]{{.*}} from(%[[A]], %[[A]], %[[TE]], %{{.*}} : {{.*}}) at(%{{.*}}, %{{.*}}, %[[G]], %{{.*}})
  // CHECK:           %[[T:[a-z0-9_]+]]:4 = moss.get
  // CHECK:           %[[P:[a-z0-9_]+]] = moss.mma
  // CHECK:           %[[COLS:[a-z0-9_]+]] = moss.read_scales %[[T]]#3 : vector<1x256xf32> -> vector<1x256xf32>
  // CHECK:           %[[ROWS:[a-z0-9_]+]] = moss.read_scales %[[T]]#2 : vector<1x128xf32> -> vector<128x1xf32>
  // CHECK:           moss.add_rescaled %{{.*}}, %[[P]] rows(%[[ROWS]] : vector<128x1xf32>) cols(%[[COLS]] : vector<1x256xf32>)
  // CHECK:           moss.release
  gpu.func @scales(%a: memref<256x512xf8E4M3FN>, %e: memref<256x4xf32, strided<[1, 256]>>, %f: memref<2x4xf32>,
                   %g: memref<256x4xf32>, %c: memref<256x256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %m = %c0 to %c256 step %c128 {
      %s:2 = scf.for %k = %c0 to %c512 step %c128 iter_args(%d = %zero, %x = %zero) -> (vector<128x256xf32>, vector<128x256xf32>) {
        %rows = moss.load_scales %e[%m, %k] bound(%c256) group [1, 128] : memref<256x4xf32, strided<[1, 256]>> -> vector<128x1xf32>
        %cols = moss.load_scales %e[%c0, %k] bound(%c256) group [1, 128] : memref<256x4xf32, strided<[1, 256]>> -> vector<1x256xf32>
        %slow = moss.load_scales %g[%m, %k] bound(%c256) group [1, 128] : memref<256x4xf32> -> vector<128x1xf32>
        %ta = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<128x128xf8E4M3FN>
        %tb = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<256x128xf8E4M3FN>
        %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
        %q = moss.add_rescaled %d, %p rows(%rows : vector<128x1xf32>) cols(%cols : vector<1x256xf32>) : vector<128x256xf32>
        %y = moss.add_rescaled %x, %p rows(%slow : vector<128x1xf32>) : vector<128x256xf32>
        scf.yield %q, %y : vector<128x256xf32>, vector<128x256xf32>
      }
      %t = arith.addf %s#0, %s#1 : vector<128x256xf32>
      vector.transfer_write %t, %c[%m, %c0] {in_bounds = [true, true]} : vector<128x256xf32>, memref<256x256xf32>
    } {moss.schedule = #schedule}
    gpu.return
  }

  // Products of slices share a slot, which is released after the last of them. Their
  // scales are rows of one tile, or the same scale in each; those that all rows share
  // are in one unit. A matrix by itself takes two tiles.
  // CHECK-LABEL: gpu.func @slices(
  // CHECK-SAME:  %[[A:[a-z0-9_]+]]: memref<256x512xf8E4M3FN>, %[[E:[a-z0-9_]+]]: memref<256x8xf8E8M0FNU, strided<[1, 256]>>, %[[G:[a-z0-9_]+]]: memref<256x4xf32, strided<[1, 256]>>, %[[F:[a-z0-9_]+]]: memref<2x8xf32>
  // CHECK:       %[[CH:[a-z0-9_]+]] = moss.channel : <4 x (vector<128x128xf8E4M3FN>, vector<128x128xf8E4M3FN>, vector<2x128xf8E8M0FNU>, vector<1x128xf32>, vector<1x4xf32>)>
  // CHECK:         scf.for
  // CHECK:         scf.for %[[K:[a-z0-9_]+]] =
  // CHECK-NOT:       transfer_read
  // CHECK-NOT:       moss.load_scales
  // CHECK:           %[[GE:[a-z0-9_]+]] = arith.divui %[[K]], %c64
  // CHECK:           moss.put %[[CH]]{{.*}} from(%[[A]], %[[A]], {{.*}}) at(%{{.*}}, %{{.*}}, %[[GE]], %{{.*}}, %{{.*}}), (%[[K]], %[[K]], %{{.*}}, %{{.*}}, %{{.*}})
  // CHECK-NEXT:      %[[T:[a-z0-9_]+]]:5 = moss.get
  // CHECK-DAG:       %[[A0:[a-z0-9_]+]] = vector.extract_strided_slice %[[T]]#0 {offsets = [0, 0]
  // CHECK-DAG:       %[[A1:[a-z0-9_]+]] = vector.extract_strided_slice %[[T]]#0 {offsets = [0, 64]
  // CHECK-DAG:       %[[B0:[a-z0-9_]+]] = vector.extract_strided_slice %[[T]]#1 {offsets = [0, 0]
  // CHECK:           moss.mma %[[A0]], %[[B0]],
  // CHECK-DAG:       moss.read_scales %[[T]]#2 : vector<2x128xf8E8M0FNU> -> vector<128x1xf8E8M0FNU>
  // CHECK-DAG:       moss.read_scales %[[T]]#3 : vector<1x128xf32> -> vector<128x1xf32>
  // CHECK-DAG:       moss.read_scales %[[T]]#4[%{{.*}}] : vector<1x4xf32> -> vector<1x128xf32>
  // CHECK:           moss.add_rescaled
  // CHECK-DAG:       %[[B1:[a-z0-9_]+]] = vector.extract_strided_slice %[[T]]#1 {offsets = [0, 64]
  // CHECK:           moss.mma %[[A1]], %[[B1]],
  // CHECK-DAG:       moss.read_scales %[[T]]#2 row(1) : vector<2x128xf8E8M0FNU> -> vector<128x1xf8E8M0FNU>
  // CHECK-DAG:       moss.read_scales %[[T]]#3 : vector<1x128xf32> -> vector<128x1xf32>
  // CHECK-DAG:       moss.read_scales %[[T]]#4[%{{.*}}] : vector<1x4xf32> -> vector<1x128xf32>
  // CHECK-DAG:       moss.release
  // CHECK:           moss.add_rescaled
  // CHECK-NOT:       moss.release
  // CHECK:           scf.yield
  gpu.func @slices(%a: memref<256x512xf8E4M3FN>, %e: memref<256x8xf8E8M0FNU, strided<[1, 256]>>,
                   %g: memref<256x4xf32, strided<[1, 256]>>, %f: memref<2x8xf32>, %c: memref<256x256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %i = %c0 to %c2 step %c1 {
      %m = arith.muli %i, %c128 : index
      %s:2 = scf.for %k = %c0 to %c512 step %c128 iter_args(%d = %zero, %x = %zero) -> (vector<128x128xf32>, vector<128x128xf32>) {
        %k1 = arith.addi %k, %c64 : index
        %t = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<128x128xf8E4M3FN>
        %t0 = vector.extract_strided_slice %t {offsets = [0, 0], sizes = [128, 64], strides = [1, 1]} : vector<128x128xf8E4M3FN> to vector<128x64xf8E4M3FN>
        %t1 = vector.extract_strided_slice %t {offsets = [0, 64], sizes = [128, 64], strides = [1, 1]} : vector<128x128xf8E4M3FN> to vector<128x64xf8E4M3FN>
        %e0 = moss.load_scales %e[%m, %k] bound(%c256) group [1, 64] : memref<256x8xf8E8M0FNU, strided<[1, 256]>> -> vector<128x1xf8E8M0FNU>
        %g0 = moss.load_scales %g[%m, %k] bound(%c256) group [1, 128] : memref<256x4xf32, strided<[1, 256]>> -> vector<128x1xf32>
        %f0 = moss.load_scales %f[%m, %k] bound(%c256) group [128, 64] : memref<2x8xf32> -> vector<1x128xf32>
        %p0 = moss.mma %t0, %t0, %zero : vector<128x64xf8E4M3FN>, vector<128x64xf8E4M3FN>, vector<128x128xf32>
        %d0 = moss.add_rescaled %d, %p0 rows(%e0 : vector<128x1xf8E8M0FNU>) : vector<128x128xf32>
        %x0 = moss.add_rescaled %x, %p0 rows(%g0 : vector<128x1xf32>) cols(%f0 : vector<1x128xf32>) : vector<128x128xf32>
        %e1 = moss.load_scales %e[%m, %k1] bound(%c256) group [1, 64] : memref<256x8xf8E8M0FNU, strided<[1, 256]>> -> vector<128x1xf8E8M0FNU>
        %g1 = moss.load_scales %g[%m, %k1] bound(%c256) group [1, 128] : memref<256x4xf32, strided<[1, 256]>> -> vector<128x1xf32>
        %f1 = moss.load_scales %f[%m, %k1] bound(%c256) group [128, 64] : memref<2x8xf32> -> vector<1x128xf32>
        %p1 = moss.mma %t1, %t1, %zero : vector<128x64xf8E4M3FN>, vector<128x64xf8E4M3FN>, vector<128x128xf32>
        %d1 = moss.add_rescaled %d0, %p1 rows(%e1 : vector<128x1xf8E8M0FNU>) : vector<128x128xf32>
        %x1 = moss.add_rescaled %x0, %p1 rows(%g1 : vector<128x1xf32>) cols(%f1 : vector<1x128xf32>) : vector<128x128xf32>
        scf.yield %d1, %x1 : vector<128x128xf32>, vector<128x128xf32>
      }
      %q = arith.addf %s#0, %s#1 : vector<128x128xf32>
      vector.transfer_write %q, %c[%m, %c0] {in_bounds = [true, true]} : vector<128x128xf32>, memref<256x256xf32>
    } {moss.schedule = #moss.schedule<tile = [128, 128, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
    gpu.return
  }

  // Scales that are used before the product, in a branch too, are loaded as they were.
  // CHECK-LABEL: gpu.func @used_before(
  // CHECK:         moss.channel : <4 x (vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>)>
  // CHECK:         %[[ROWS:[a-z0-9_]+]] = moss.load_scales
  // CHECK:         scf.if
  // CHECK:         moss.get
  // CHECK:         moss.mma
  // CHECK:         moss.add_rescaled %{{.*}}, %{{.*}} rows(%[[ROWS]]
  gpu.func @used_before(%a: memref<256x512xf8E4M3FN>, %e: memref<256x4xf32, strided<[1, 256]>>, %seen: memref<256x1xf32>,
                        %b: i1, %c: memref<256x256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %m = %c0 to %c256 step %c128 {
      %s = scf.for %k = %c0 to %c512 step %c128 iter_args(%d = %zero) -> (vector<128x256xf32>) {
        %rows = moss.load_scales %e[%m, %k] bound(%c256) group [1, 128] : memref<256x4xf32, strided<[1, 256]>> -> vector<128x1xf32>
        scf.if %b {
          vector.transfer_write %rows, %seen[%m, %c0] {in_bounds = [true, true]} : vector<128x1xf32>, memref<256x1xf32>
        }
        %ta = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<128x128xf8E4M3FN>
        %tb = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<256x128xf8E4M3FN>
        %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
        %q = moss.add_rescaled %d, %p rows(%rows : vector<128x1xf32>) : vector<128x256xf32>
        scf.yield %q : vector<128x256xf32>
      }
      vector.transfer_write %s, %c[%m, %c0] {in_bounds = [true, true]} : vector<128x256xf32>, memref<256x256xf32>
    } {moss.schedule = #schedule}
    gpu.return
  }

  // The tile of a scale that all rows share begins at a whole unit, and the position
  // in it is found before the product.
  // CHECK-LABEL: gpu.func @blocks(
  // CHECK-SAME:  %[[F:[a-z0-9_]+]]: memref<2x8xf32>
  // CHECK:         scf.for
  // CHECK:         scf.for %[[K:[a-z0-9_]+]] =
  // CHECK:           %[[G:[a-z0-9_]+]] = arith.divui %[[K]], %c128{{.*}}
  // CHECK:           %[[U:[a-z0-9_]+]] = arith.divui %[[G]], %c4{{.*}}
  // CHECK:           %[[COL:[a-z0-9_]+]] = arith.muli %[[U]], %c4{{.*}}
  // CHECK:           moss.put {{.*}} from(%{{.*}}, %{{.*}}, %[[F]] : {{.*}}) at({{.*}}), (%[[K]], %[[K]], %[[COL]])
  // CHECK:           %[[R:[a-z0-9_]+]] = arith.remui %{{.*}}, %c4{{.*}}
  // CHECK:           %[[I:[a-z0-9_]+]] = arith.index_castui %[[R]] : index to i32
  // CHECK:           moss.mma
  // CHECK-NEXT:      moss.read_scales %{{.*}}#2[%[[I]]] : vector<1x4xf32> -> vector<128x1xf32>
  // CHECK-NEXT:      moss.release
  gpu.func @blocks(%f: memref<2x8xf32>, %a: memref<256x1024xf8E4M3FN>, %c: memref<256x256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c1024 = arith.constant 1024 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %i = %c0 to %c2 step %c1 {
      %m = arith.muli %i, %c128 : index
      %s = scf.for %k = %c0 to %c1024 step %c128 iter_args(%d = %zero) -> (vector<128x256xf32>) {
        %rows = moss.load_scales %f[%m, %k] bound(%c256) group [128, 128] : memref<2x8xf32> -> vector<128x1xf32>
        %ta = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<256x1024xf8E4M3FN>, vector<128x128xf8E4M3FN>
        %tb = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x1024xf8E4M3FN>, vector<256x128xf8E4M3FN>
        %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
        %q = moss.add_rescaled %d, %p rows(%rows : vector<128x1xf32>) : vector<128x256xf32>
        scf.yield %q : vector<128x256xf32>
      }
      vector.transfer_write %s, %c[%m, %c0] {in_bounds = [true, true]} : vector<128x256xf32>, memref<256x256xf32>
    } {moss.schedule = #schedule}
    gpu.return
  }

  // E8M0 scales of single columns become f32 in the ring, those of rows do not.
  // CHECK-LABEL: gpu.func @extended(
  // CHECK:         %[[CH:[a-z0-9_]+]] = moss.channel : <4 x (vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<1x128xf8E8M0FNU>, vector<1x256xf8E8M0FNU>), extended = [3]>
  // CHECK:         moss.put %[[CH]][%[[I:[a-z0-9_]+]]]
  // CHECK-NEXT:    moss.extend_scales %[[CH]][%[[I]]]
  // CHECK-NEXT:    %[[T:[a-z0-9_]+]]:4 = moss.get {{.*}} -> {{.*}}, vector<1x128xf8E8M0FNU>, vector<1x256xf32>
  // CHECK:         %[[COLS:[a-z0-9_]+]] = moss.read_scales %[[T]]#3 : vector<1x256xf32> -> vector<1x256xf32>
  // CHECK:         %[[ROWS:[a-z0-9_]+]] = moss.read_scales %[[T]]#2 : vector<1x128xf8E8M0FNU> -> vector<128x1xf8E8M0FNU>
  // CHECK:         moss.add_rescaled {{.*}} rows(%[[ROWS]] : vector<128x1xf8E8M0FNU>) cols(%[[COLS]] : vector<1x256xf32>)
  gpu.func @extended(%e: memref<256x4xf8E8M0FNU, strided<[1, 256]>>, %a: memref<256x512xf8E4M3FN>, %c: memref<256x256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %m = %c0 to %c256 step %c128 {
      %s = scf.for %k = %c0 to %c512 step %c128 iter_args(%d = %zero) -> (vector<128x256xf32>) {
        %rows = moss.load_scales %e[%m, %k] bound(%c256) group [1, 128] : memref<256x4xf8E8M0FNU, strided<[1, 256]>> -> vector<128x1xf8E8M0FNU>
        %cols = moss.load_scales %e[%c0, %k] bound(%c256) group [1, 128] : memref<256x4xf8E8M0FNU, strided<[1, 256]>> -> vector<1x256xf8E8M0FNU>
        %ta = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<128x128xf8E4M3FN>
        %tb = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<256x128xf8E4M3FN>
        %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
        %q = moss.add_rescaled %d, %p rows(%rows : vector<128x1xf8E8M0FNU>) cols(%cols : vector<1x256xf8E8M0FNU>) : vector<128x256xf32>
        scf.yield %q : vector<128x256xf32>
      }
      vector.transfer_write %s, %c[%m, %c0] {in_bounds = [true, true]} : vector<128x256xf32>, memref<256x256xf32>
    } {moss.schedule = #schedule}
    gpu.return
  }

  // Exponents that are added as integers stay as they are.
  // CHECK-LABEL: gpu.func @exponents(
  // CHECK:         moss.channel : <4 x (vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<1x256xf8E8M0FNU>)>
  // CHECK-NOT:     moss.extend_scales
  // CHECK:         moss.rescale {{.*}} cols(%{{.*}} : vector<1x256xf8E8M0FNU>)
  gpu.func @exponents(%e: memref<256x4xf8E8M0FNU, strided<[1, 256]>>, %a: memref<256x512xf8E4M3FN>, %c: memref<256x256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %m = %c0 to %c256 step %c128 {
      %s = scf.for %k = %c0 to %c512 step %c128 iter_args(%d = %zero) -> (vector<128x256xf32>) {
        %cols = moss.load_scales %e[%c0, %k] bound(%c256) group [1, 128] : memref<256x4xf8E8M0FNU, strided<[1, 256]>> -> vector<1x256xf8E8M0FNU>
        %ta = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<128x128xf8E4M3FN>
        %tb = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<256x128xf8E4M3FN>
        %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
        %q = moss.rescale %p cols(%cols : vector<1x256xf8E8M0FNU>) : vector<128x256xf32>
        %t = arith.addf %d, %q : vector<128x256xf32>
        scf.yield %t : vector<128x256xf32>
      }
      vector.transfer_write %s, %c[%m, %c0] {in_bounds = [true, true]} : vector<128x256xf32>, memref<256x256xf32>
    } {moss.schedule = #schedule}
    gpu.return
  }

  // Scales that something needs before the product do not come with its operands.
  // CHECK-LABEL: gpu.func @early(
  // CHECK:         %[[ROWS:[a-z0-9_]+]] = moss.load_scales
  // CHECK:         vector.broadcast %[[ROWS]]
  // CHECK:         moss.get
  // CHECK-NEXT:    moss.mma
  gpu.func @early(%e: memref<128x4xf32, strided<[1, 128]>>, %a: memref<256x512xf8E4M3FN>, %c: memref<256x256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %m = %c0 to %c128 step %c128 {
      %s = scf.for %k = %c0 to %c512 step %c128 iter_args(%d = %zero) -> (vector<128x256xf32>) {
        %rows = moss.load_scales %e[%m, %k] bound(%c128) group [1, 128] : memref<128x4xf32, strided<[1, 128]>> -> vector<128x1xf32>
        %ta = vector.transfer_read %a[%m, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<128x128xf8E4M3FN>
        %tb = vector.transfer_read %a[%c0, %k], %pad {in_bounds = [true, true]} : memref<256x512xf8E4M3FN>, vector<256x128xf8E4M3FN>
        %factors = vector.broadcast %rows : vector<128x1xf32> to vector<128x256xf32>
        %p = moss.mma %ta, %tb, %zero : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
        %q = arith.mulf %p, %factors : vector<128x256xf32>
        %t = arith.addf %d, %q : vector<128x256xf32>
        scf.yield %t : vector<128x256xf32>
      }
      vector.transfer_write %s, %c[%m, %c0] {in_bounds = [true, true]} : vector<128x256xf32>, memref<256x256xf32>
    } {moss.schedule = #schedule}
    gpu.return
  }

  // Three loops deep, as for promotion every few tiles.
  // CHECK-LABEL: gpu.func @chain(
  // CHECK:       scf.for {{.*}} iter_args(%[[I0:[a-z0-9_]+]] = %{{.*}}) -> (i32)
  // CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[I1:[a-z0-9_]+]] = %[[I0]])
  // CHECK:           %[[IN:[a-z0-9_]+]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[I2:[a-z0-9_]+]] = %[[I1]])
  // CHECK:             moss.put %{{.*}}[%[[I2]]]
  // CHECK:             %[[NEXT:[a-z0-9_]+]] = moss.advance %{{.*}}[%[[I2]]]
  // CHECK:             scf.yield %{{.*}}, %[[NEXT]]
  // CHECK:           }
  // CHECK:           scf.yield %{{.*}}, %[[IN]]#1
  gpu.func @chain(%a: memref<?x?xf8E4M3FN>, %c: memref<?x?xf32>, %M: index, %K: index) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x256xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %m = %c0 to %M step %c128 {
      %s = scf.for %h = %c0 to %K step %c128 iter_args(%d = %zero) -> (vector<128x256xf32>) {
        %p = scf.for %k = %h to %K step %c128 iter_args(%e = %zero) -> (vector<128x256xf32>) {
          %ta = vector.transfer_read %a[%m, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
          %tb = vector.transfer_read %a[%c0, %k], %pad : memref<?x?xf8E4M3FN>, vector<256x128xf8E4M3FN>
          %q = moss.mma %ta, %tb, %e : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
          scf.yield %q : vector<128x256xf32>
        }
        %t = arith.addf %d, %p : vector<128x256xf32>
        scf.yield %t : vector<128x256xf32>
      }
      vector.transfer_write %s, %c[%m, %c0] : vector<128x256xf32>, memref<?x?xf32>
    } {moss.schedule = #schedule}
    gpu.return
  }

  // A kernel without product has no channel.
  // CHECK-LABEL: gpu.func @no_product(
  // CHECK-NOT:   moss.channel
  // CHECK:       vector.transfer_read
  gpu.func @no_product(%a: memref<?x?xf8E4M3FN>, %b: memref<?x?xf8E4M3FN>) kernel {
    %c0 = arith.constant 0 : index
    %pad = arith.constant 0.0 : f8E4M3FN
    %t = vector.transfer_read %a[%c0, %c0], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
    vector.transfer_write %t, %b[%c0, %c0] : vector<128x128xf8E4M3FN>, memref<?x?xf8E4M3FN>
    gpu.return
  }
}

// -----

#schedule = #moss.schedule<tile = [128, 128, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

gpu.module @m {
  // A tile that is multiplied by itself is copied for each operand.
  // CHECK-LABEL: gpu.func @square(
  // CHECK-SAME:  %[[A:[a-z0-9_]+]]: memref<?x?xf8E4M3FN>
  // CHECK:       moss.channel : <4 x (vector<128x128xf8E4M3FN>, vector<128x128xf8E4M3FN>)>
  // CHECK:       moss.put %{{.*}} from(%[[A]], %[[A]] : {{.*}}) at(%[[M:[a-z0-9_]+]], %[[M]]), (%[[K:[a-z0-9_]+]], %[[K]])
  // CHECK-NEXT:  %[[T:[a-z0-9_]+]]:2 = moss.get
  // CHECK-NEXT:  moss.mma %[[T]]#0, %[[T]]#1
  gpu.func @square(%a: memref<?x?xf8E4M3FN>, %c: memref<?x?xf32>, %M: index, %K: index) kernel {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : vector<128x128xf32>
    %pad = arith.constant 0.0 : f8E4M3FN
    scf.for %m = %c0 to %M step %c128 {
      %s = scf.for %k = %c0 to %K step %c128 iter_args(%d = %zero) -> (vector<128x128xf32>) {
        %t = vector.transfer_read %a[%m, %k], %pad : memref<?x?xf8E4M3FN>, vector<128x128xf8E4M3FN>
        %p = moss.mma %t, %t, %d : vector<128x128xf8E4M3FN>, vector<128x128xf8E4M3FN>, vector<128x128xf32>
        scf.yield %p : vector<128x128xf32>
      }
      vector.transfer_write %s, %c[%m, %m] : vector<128x128xf32>, memref<?x?xf32>
    } {moss.schedule = #schedule}
    gpu.return
  }
}
