// RUN: moss-opt %s --pass-pipeline="builtin.module(gpu.module(gpu.func(moss-create-channels)))" -split-input-file | FileCheck %s

#schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>

gpu.module @m {
  // The position in the ring counts the iterations of both loops.
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
  // CHECK:           %[[NEXT:[a-z0-9_]+]] = arith.addi %[[I]], %{{.*}} : i32
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

  // Three loops deep, as for promotion every few tiles.
  // CHECK-LABEL: gpu.func @chain(
  // CHECK:       scf.for {{.*}} iter_args(%[[I0:[a-z0-9_]+]] = %{{.*}}) -> (i32)
  // CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[I1:[a-z0-9_]+]] = %[[I0]])
  // CHECK:           %[[IN:[a-z0-9_]+]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[I2:[a-z0-9_]+]] = %[[I1]])
  // CHECK:             moss.put %{{.*}}[%[[I2]]]
  // CHECK:             %[[NEXT:[a-z0-9_]+]] = arith.addi %[[I2]]
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
