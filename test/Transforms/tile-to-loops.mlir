// RUN: moss-opt %s --moss-tile-to-loops | FileCheck %s

#tensor = #moss.scheme<f8E4M3FN, global = jit>
#unit = #moss.scheme<f8E5M2, global = unit>
#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
#rows4 = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [4, full], global = unit, rounding = ceil>
#mx = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>
#k128 = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 128], global = unit, rounding = ceil>
#k512 = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 512], global = unit, rounding = ceil>
#f32k128 = #moss.scheme<f8E4M3FN, micro = f32, group = [128, 128], global = unit, rounding = ceil>

// Row scales are read once, as their groups span K, but applied in the loop;
// global scales are applied after it; one rounding to bf16 at the end.
// CHECK-LABEL: func @rows(
// CHECK-SAME: %[[A:[a-z0-9_]+]]: memref<?x4096xf8E4M3FN>, %[[AM:[a-z0-9_]+]]: memref<?x1xf8E8M0FNU>, %[[AG:[a-z0-9_]+]]: memref<f32>,
// CHECK-SAME: %[[B:[a-z0-9_]+]]: memref<512x4096xf8E4M3FN>, %[[BG:[a-z0-9_]+]]: memref<f32>, %[[C:[a-z0-9_]+]]: memref<?x512xbf16>
// CHECK-DAG:   %[[C0:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-DAG:   %[[M:[a-z0-9_]+]] = memref.dim %[[A]], %{{.*}} : memref<?x4096xf8E4M3FN>
// CHECK-DAG:   %[[ZERO:[a-z0-9_]+]] = arith.constant dense<0.000000e+00> : vector<128x256xf32>
// CHECK:       scf.forall (%[[I:[a-z0-9_]+]], %[[J:[a-z0-9_]+]]) = (0, 0) to (%[[M]], 512) step (128, 256) {
// CHECK-DAG:     %[[SA:[a-z0-9_]+]] = memref.load %[[AG]][]
// CHECK-DAG:     %[[SB:[a-z0-9_]+]] = memref.load %[[BG]][]
// CHECK-DAG:     %[[E:[a-z0-9_]+]] = moss.load_scales %[[AM]][%[[I]], %{{.*}}] bound(%[[M]]) group [1, 0] : memref<?x1xf8E8M0FNU> -> vector<128x1xf8E8M0FNU>
// CHECK:         %[[STEP:[a-z0-9_]+]] = arith.constant 128 : index
// CHECK:         %[[SUM:[a-z0-9_]+]] = scf.for %[[K:[a-z0-9_]+]] = %{{.*}} to %{{.*}} step %[[STEP]] iter_args(%[[ACC:[a-z0-9_]+]] = %[[ZERO]]) -> (vector<128x256xf32>) {
// CHECK:           %[[TA:[a-z0-9_]+]] = vector.transfer_read %[[A]][%[[I]], %[[K]]], %{{.*}} {in_bounds = [false, true]} : memref<?x4096xf8E4M3FN>, vector<128x128xf8E4M3FN>
// CHECK:           %[[TB:[a-z0-9_]+]] = vector.transfer_read %[[B]][%[[J]], %[[K]]], %{{.*}} {in_bounds = [true, true]} : memref<512x4096xf8E4M3FN>, vector<256x128xf8E4M3FN>
// CHECK:           %[[P:[a-z0-9_]+]] = moss.mma %[[TA]], %[[TB]], %[[ZERO]]
// CHECK:           %[[R:[a-z0-9_]+]] = moss.rescale %[[P]] rows(%[[E]] : vector<128x1xf8E8M0FNU>) : vector<128x256xf32>
// CHECK:           %[[S:[a-z0-9_]+]] = arith.addf %[[ACC]], %[[R]] : vector<128x256xf32>
// CHECK:           scf.yield %[[S]]
// CHECK:         } {moss.accumulate = #moss.accumulate<promoted(128)>}
// CHECK:         %[[G:[a-z0-9_]+]] = moss.rescale %[[SUM]] by(%[[SA]], %[[SB]]) : vector<128x256xf32>
// CHECK:         %[[T:[a-z0-9_]+]] = arith.truncf %[[G]] : vector<128x256xf32> to vector<128x256xbf16>
// CHECK:         vector.transfer_write %[[T]], %[[C]][%[[I]], %[[J]]] {in_bounds = [false, true]} : vector<128x256xbf16>, memref<?x512xbf16>
// CHECK:       } {mapping = [#gpu.block<y>, #gpu.block<x>],
// CHECK-SAME:     moss.matmul = {accumulate = "#moss.accumulate<promoted(128)>", lhs = "#moss.scheme<f8E4M3FN, micro = f8E8M0FNU, {{.*}}>", rhs = "#moss.scheme<f8E4M3FN, global = jit>", shape = array<i64: -9223372036854775808, 512, {{.*}}>},
// CHECK-SAME:     moss.schedule = #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>}
// CHECK-NOT:   moss.scaled_matmul
func.func @rows(%a: memref<?x4096xf8E4M3FN>, %am: memref<?x1xf8E8M0FNU>, %ag: memref<f32>,
                %b: memref<512x4096xf8E4M3FN>, %bg: memref<f32>, %c: memref<?x512xbf16>) {
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#row, %a : memref<?x4096xf8E4M3FN>) micro(%am : memref<?x1xf8E8M0FNU>) global(%ag : memref<f32>)
    rhs(#tensor, %b : memref<512x4096xf8E4M3FN>) global(%bg : memref<f32>)
    outs(%c : memref<?x512xbf16>)
    schedule(<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>)
  return
}

// No scales at all: no rescale. An interval of two tiles is chained in an inner
// loop, which ends at the interval or at K.
// CHECK-LABEL: func @chain(
// CHECK:       %[[K:[a-z0-9_]+]] = memref.dim %{{.*}} : memref<64x?xf8E5M2>
// CHECK:       %[[ZERO:[a-z0-9_]+]] = arith.constant dense<0.0{{.*}}> : vector<32x32xf32>
// CHECK:         scf.for %[[K0:[a-z0-9_]+]] = %{{.*}} to %[[K]] step %{{.*}} iter_args(%[[ACC:[a-z0-9_]+]] = %[[ZERO]])
// CHECK:           %[[NEXT:[a-z0-9_]+]] = arith.addi %[[K0]], %{{.*}} : index
// CHECK:           %[[END:[a-z0-9_]+]] = arith.minui %[[NEXT]], %[[K]]
// CHECK:           %[[STEP:[a-z0-9_]+]] = arith.constant 128 : index
// CHECK:           %[[P:[a-z0-9_]+]] = scf.for %[[K1:[a-z0-9_]+]] = %[[K0]] to %[[END]] step %[[STEP]] iter_args(%[[PART:[a-z0-9_]+]] = %[[ZERO]])
// CHECK:             vector.transfer_read %{{.*}}[%{{.*}}, %[[K1]]]
// CHECK:             vector.transfer_read %{{.*}}[%{{.*}}, %[[K1]]]
// CHECK:             %[[D:[a-z0-9_]+]] = moss.mma %{{.*}}, %{{.*}}, %[[PART]] : vector<32x128xf8E5M2>, vector<32x128xf8E4M3FN>
// CHECK:             scf.yield %[[D]]
// CHECK:           %[[S:[a-z0-9_]+]] = arith.addf %[[ACC]], %[[P]]
// CHECK:           scf.yield %[[S]]
// CHECK:         } {moss.accumulate = #moss.accumulate<promoted(256)>}
// CHECK-NOT:     moss.rescale
// CHECK:         vector.transfer_write %{{.*}} : vector<32x32xf32>, memref<64x64xf32>
func.func @chain(%a: memref<64x?xf8E5M2>, %b: memref<64x?xf8E4M3FN>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<promoted(256)>
    lhs(#unit, %a : memref<64x?xf8E5M2>) rhs(#tensor, %b : memref<64x?xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// Tile K 64 with promotion every 64: no inner loop.
// CHECK-LABEL: func @promoted_64(
// CHECK:         %[[STEP:[a-z0-9_]+]] = arith.constant 64 : index
// CHECK:         scf.for %{{.*}} step %[[STEP]]
// CHECK-NOT:     scf.for
// CHECK:           moss.mma {{.*}} : vector<32x64xf8E4M3FN>, vector<32x64xf8E4M3FN>
// CHECK-NEXT:      arith.addf
func.func @promoted_64(%a: memref<64x256xf8E4M3FN>, %b: memref<64x256xf8E4M3FN>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<promoted(64)>
    lhs(#tensor, %a : memref<64x256xf8E4M3FN>) rhs(#tensor, %b : memref<64x256xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [32, 32, 64], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// Tiles of four groups along K: a product for each group.
// CHECK-LABEL: func @groups_in_tile(
// CHECK-SAME:  %[[A:[a-z0-9_]+]]: memref<64x256xf8E4M3FN>, %[[AM:[a-z0-9_]+]]: memref<64x8xf8E8M0FNU>
// CHECK:         %[[STEP:[a-z0-9_]+]] = arith.constant 32 : index
// CHECK:         scf.for %[[K:[a-z0-9_]+]] = %{{.*}} to %{{.*}} step %[[STEP]] iter_args
// CHECK-NOT:     scf.for
// CHECK:           moss.load_scales %[[AM]][%{{.*}}, %[[K]]]
// CHECK:           vector.transfer_read %[[A]][%{{.*}}, %[[K]]], {{.*}} vector<32x32xf8E4M3FN>
// CHECK:           moss.mma {{.*}} : vector<32x32xf8E4M3FN>, vector<32x32xf8E4M3FN>
// CHECK-NEXT:      moss.rescale
// CHECK-NEXT:      arith.addf
func.func @groups_in_tile(%a: memref<64x256xf8E4M3FN>, %am: memref<64x8xf8E8M0FNU>, %b: memref<64x256xf8E4M3FN>,
                          %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#mx, %a : memref<64x256xf8E4M3FN>) micro(%am : memref<64x8xf8E8M0FNU>)
    rhs(#tensor, %b : memref<64x256xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// Groups of several rows, and of several columns.
// CHECK-LABEL: func @outer_groups(
// CHECK-SAME: %[[A:[a-z0-9_]+]]: memref<?x256xf8E4M3FN>, %[[AM:[a-z0-9_]+]]: memref<?x1xf8E8M0FNU>, %[[B:[a-z0-9_]+]]: memref<62x256xf8E4M3FN>, %[[BM:[a-z0-9_]+]]: memref<16x1xf8E8M0FNU>
// CHECK-DAG:   %[[M:[a-z0-9_]+]] = memref.dim %[[A]]
// CHECK-DAG:   %[[N:[a-z0-9_]+]] = arith.constant 62 : index
// CHECK:       scf.forall (%[[I:[a-z0-9_]+]], %[[J:[a-z0-9_]+]]) = (0, 0) to (%[[M]], 62) step (32, 32)
// CHECK-DAG:     %[[E:[a-z0-9_]+]] = moss.load_scales %[[AM]][%[[I]], %{{.*}}] bound(%[[M]]) group [4, 0] : memref<?x1xf8E8M0FNU> -> vector<32x1xf8E8M0FNU>
// CHECK-DAG:     %[[F:[a-z0-9_]+]] = moss.load_scales %[[BM]][%[[J]], %{{.*}}] bound(%{{.*}}) group [4, 0] : memref<16x1xf8E8M0FNU> -> vector<1x32xf8E8M0FNU>
// CHECK:         scf.for
// CHECK:           vector.transfer_read %[[B]]{{.*}} {in_bounds = [false, true]}
// CHECK:           moss.rescale %{{.*}} rows(%[[E]] : vector<32x1xf8E8M0FNU>) cols(%[[F]] : vector<1x32xf8E8M0FNU>) : vector<32x32xf32>
func.func @outer_groups(%a: memref<?x256xf8E4M3FN>, %am: memref<?x1xf8E8M0FNU>,
                        %b: memref<62x256xf8E4M3FN>, %bm: memref<16x1xf8E8M0FNU>, %c: memref<?x62xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#rows4, %a : memref<?x256xf8E4M3FN>) micro(%am : memref<?x1xf8E8M0FNU>)
    rhs(#rows4, %b : memref<62x256xf8E4M3FN>) micro(%bm : memref<16x1xf8E8M0FNU>)
    outs(%c : memref<?x62xf32>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// Scales that change along K are read in the loop. A promotion interval is cut
// to the micro group.
// CHECK-LABEL: func @groups_along_k(
// CHECK-NOT:     moss.load_scales
// CHECK:         %[[STEP:[a-z0-9_]+]] = arith.constant 128 : index
// CHECK:         scf.for %[[K:[a-z0-9_]+]] = %{{.*}} to %{{.*}} step %[[STEP]]
// CHECK-DAG:       %[[E:[a-z0-9_]+]] = moss.load_scales %{{.*}}[%{{.*}}, %[[K]]] bound(%{{.*}}) group [1, 128] : memref<64x8xf8E8M0FNU> -> vector<32x1xf8E8M0FNU>
// CHECK-DAG:       %[[F:[a-z0-9_]+]] = moss.load_scales %{{.*}}[%{{.*}}, %[[K]]] bound(%{{.*}}) group [1, 512] : memref<64x2xf8E8M0FNU> -> vector<1x32xf8E8M0FNU>
// CHECK:           moss.mma
// CHECK:           moss.rescale %{{.*}} rows(%[[E]] : {{.*}}) cols(%[[F]] : {{.*}})
func.func @groups_along_k(%a: memref<64x1024xf8E4M3FN>, %am: memref<64x8xf8E8M0FNU>,
                          %b: memref<64x1024xf8E4M3FN>, %bm: memref<64x2xf8E8M0FNU>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<promoted(256)>
    lhs(#k128, %a : memref<64x1024xf8E4M3FN>) micro(%am : memref<64x8xf8E8M0FNU>)
    rhs(#k512, %b : memref<64x1024xf8E4M3FN>) micro(%bm : memref<64x2xf8E8M0FNU>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// f32 micro scales of blocks, on the columns only.
// CHECK-LABEL: func @f32_blocks(
// CHECK:         scf.for %[[K:[a-z0-9_]+]] =
// CHECK:           %[[F:[a-z0-9_]+]] = moss.load_scales %{{.*}}[%{{.*}}, %[[K]]] bound(%{{.*}}) group [128, 128] : memref<1x8xf32> -> vector<1x32xf32>
// CHECK:           moss.rescale %{{.*}} cols(%[[F]] : vector<1x32xf32>) : vector<32x32xf32>
func.func @f32_blocks(%a: memref<64x1024xf8E4M3FN>, %b: memref<64x1024xf8E4M3FN>, %bm: memref<1x8xf32>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#tensor, %a : memref<64x1024xf8E4M3FN>)
    rhs(#f32k128, %b : memref<64x1024xf8E4M3FN>) micro(%bm : memref<1x8xf32>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// The old value is added in f32, after all scales, before the one rounding.
// CHECK-LABEL: func @accumulates_bf16(
// CHECK:         %[[SUM:[a-z0-9_]+]] = scf.for
// CHECK:         } {moss.accumulate
// CHECK:         %[[OLD:[a-z0-9_]+]] = vector.transfer_read %[[C:[a-z0-9_]+]][%[[I:[a-z0-9_]+]], %[[J:[a-z0-9_]+]]], %{{.*}} {in_bounds = [true, false]} : memref<64x50xbf16>, vector<32x32xbf16>
// CHECK:         %[[EXT:[a-z0-9_]+]] = arith.extf %[[OLD]] : vector<32x32xbf16> to vector<32x32xf32>
// CHECK:         %[[ADD:[a-z0-9_]+]] = arith.addf %[[EXT]], %[[SUM]] : vector<32x32xf32>
// CHECK:         %[[T:[a-z0-9_]+]] = arith.truncf %[[ADD]]
// CHECK:         vector.transfer_write %[[T]], %[[C]][%[[I]], %[[J]]] {in_bounds = [true, false]}
func.func @accumulates_bf16(%a: memref<64x256xf8E4M3FN>, %b: memref<50x256xf8E4M3FN>, %c: memref<64x50xbf16>) {
  moss.scaled_matmul #moss.accumulate<fast> accumulates
    lhs(#tensor, %a : memref<64x256xf8E4M3FN>) rhs(#tensor, %b : memref<50x256xf8E4M3FN>)
    outs(%c : memref<64x50xbf16>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// CHECK-LABEL: func @accumulates_f32(
// CHECK:         %[[SUM:[a-z0-9_]+]] = scf.for
// CHECK:         } {moss.accumulate
// CHECK:         %[[OLD:[a-z0-9_]+]] = vector.transfer_read
// CHECK-NEXT:    %[[ADD:[a-z0-9_]+]] = arith.addf %[[OLD]], %[[SUM]] : vector<32x32xf32>
// CHECK-NEXT:    vector.transfer_write %[[ADD]]
func.func @accumulates_f32(%a: memref<64x256xf8E4M3FN>, %b: memref<64x256xf8E4M3FN>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<fast> accumulates
    lhs(#tensor, %a : memref<64x256xf8E4M3FN>) rhs(#tensor, %b : memref<64x256xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// Empty results yield loops of no iterations; strides do not matter.
// CHECK-LABEL: func @empty_result(
// CHECK:       scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (0, 64) step (32, 32)
// CHECK:         vector.transfer_write %{{.*}} : vector<32x32xf32>, memref<0x64xf32, strided<[1, 7]>>
func.func @empty_result(%a: memref<0x8xf8E4M3FN>, %b: memref<64x8xf8E4M3FN>, %c: memref<0x64xf32, strided<[1, 7]>>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<0x8xf8E4M3FN>) rhs(#tensor, %b : memref<64x8xf8E4M3FN>)
    outs(%c : memref<0x64xf32, strided<[1, 7]>>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// A sum over nothing is zero; adding it changes nothing.
// CHECK-LABEL: func @empty_sum(
// CHECK-SAME:  %{{.*}}, %[[C:[a-z0-9_]+]]: memref<64x64xbf16>
// CHECK:       %[[ZERO:[a-z0-9_]+]] = arith.constant 0.0{{.*}} : bf16
// CHECK-NEXT:  linalg.fill ins(%[[ZERO]] : bf16) outs(%[[C]] : memref<64x64xbf16>)
// CHECK-NOT:   {{scf|linalg|moss}}.
// CHECK:       return
func.func @empty_sum(%a: memref<64x0xf8E4M3FN>, %b: memref<64x?xf8E4M3FN>, %c: memref<64x64xbf16>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<64x0xf8E4M3FN>) rhs(#tensor, %b : memref<64x?xf8E4M3FN>)
    outs(%c : memref<64x64xbf16>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  moss.scaled_matmul #moss.accumulate<fast> accumulates
    lhs(#tensor, %a : memref<64x0xf8E4M3FN>) rhs(#tensor, %b : memref<64x?xf8E4M3FN>)
    outs(%c : memref<64x64xbf16>)
    schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}
