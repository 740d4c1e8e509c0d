// RUN: moss-opt %s --moss-choose-schedule -split-input-file | FileCheck %s
// RUN: moss-opt %s --moss-choose-schedule="target=cpu" -split-input-file | FileCheck %s --check-prefix=CPU
// RUN: moss-opt %s --moss-choose-schedule="tile=64,192,64 stages=3 consumers=1 raster=4 blocks=7" -split-input-file | FileCheck %s --check-prefix=OPTIONS
// RUN: moss-opt %s --moss-choose-schedule="tile=256,64,128" -split-input-file | FileCheck %s --check-prefix=STAGES
// RUN: moss-opt %s --moss-choose-schedule="consumers=3" -split-input-file | FileCheck %s --check-prefix=THREE
// RUN: moss-opt %s --moss-choose-schedule="consumers=1" -split-input-file | FileCheck %s --check-prefix=ONE

#tensor = #moss.scheme<f8E4M3FN, global = jit>

// Fast accumulation has registers for one wide wave a warpgroup.
// CHECK-LABEL: func @fast(
// CHECK: schedule(<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 16, blocks = 132>)
// CPU-LABEL: func @fast(
// CPU: schedule(<tile = [32, 32, 128], stages = 1, consumers = 1, raster = 8, blocks = 1>)
// OPTIONS-LABEL: func @fast(
// OPTIONS: schedule(<tile = [64, 192, 64], stages = 3, consumers = 1, raster = 4, blocks = 7>)
// Five stages of 40,960 bytes would not fit beside the output.
// STAGES-LABEL: func @fast(
// STAGES: schedule(<tile = [256, 64, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>)
// A number of consumers gets a tile that suits it.
// THREE-LABEL: func @fast(
// THREE: schedule(<tile = [192, 192, 128], stages = 3, consumers = 3,
// ONE-LABEL: func @fast(
// ONE: schedule(<tile = [64, 256, 128], stages = 5, consumers = 1,
func.func @fast(%a: tensor<?x512xf8E4M3FN>, %b: tensor<256x512xf8E4M3FN>, %c: tensor<?x256xbf16>) -> tensor<?x256xbf16> {
  %0 = moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : tensor<?x512xf8E4M3FN>) rhs(#tensor, %b : tensor<256x512xf8E4M3FN>)
    outs(%c : tensor<?x256xbf16>) -> tensor<?x256xbf16>
  return %0 : tensor<?x256xbf16>
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>
#k512 = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 512], global = unit, rounding = ceil>

// Promotion adds one wave of partial sums behind the products of another. When
// the interval is longer than a tile both waves have them, and a sum on either
// side of micro groups likewise.
// CHECK-LABEL: func @promoted(
// CHECK: schedule(<tile = [192, 128, 128], stages = 4, consumers = 3, raster = 8, blocks = 132>)
// CHECK: schedule(<tile = [128, 128, 128], stages = 6, consumers = 2, raster = 8, blocks = 132>)
// CHECK: schedule(<tile = [128, 128, 128], stages = 6, consumers = 2, raster = 8, blocks = 132>)
func.func @promoted(%a: memref<512x1024xf8E4M3FN>, %b: memref<512x1024xf8E4M3FN>, %bm: memref<512x2xf8E8M0FNU>, %c: memref<512x512xf32>) {
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#tensor, %a : memref<512x1024xf8E4M3FN>) rhs(#tensor, %b : memref<512x1024xf8E4M3FN>)
    outs(%c : memref<512x512xf32>)
  moss.scaled_matmul #moss.accumulate<promoted(256)>
    lhs(#tensor, %a : memref<512x1024xf8E4M3FN>) rhs(#tensor, %b : memref<512x1024xf8E4M3FN>)
    outs(%c : memref<512x512xf32>)
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<512x1024xf8E4M3FN>)
    rhs(#k512, %b : memref<512x1024xf8E4M3FN>) micro(%bm : memref<512x2xf8E8M0FNU>)
    outs(%c : memref<512x512xf32>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>
#mx = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>
#k192 = #moss.scheme<f8E4M3FN, micro = f32, group = [1, 192], global = unit, rounding = ceil>

// Tiles along K divide the promotion interval and every micro group, and more
// of the smaller stages fit. A kernel's tile can also hold whole groups.
// CHECK-LABEL: func @narrow_k(
// CHECK: schedule(<tile = [192, 128, 64], stages = 8,
// CHECK: schedule(<tile = [192, 128, 128], stages = 4,
// CHECK: schedule(<tile = [192, 128, 64], stages = 8,
// CHECK: schedule(<tile = [192, 128, 64], stages = 8,
// CPU-LABEL: func @narrow_k(
// CPU: schedule(<tile = [32, 32, 64],
// CPU: schedule(<tile = [32, 32, 32],
// CPU: schedule(<tile = [32, 32, 64],
// CPU: schedule(<tile = [32, 32, 32],
func.func @narrow_k(%a: memref<512x384xf8E4M3FN>, %b: memref<512x384xf8E4M3FN>, %bm: memref<512x12xf8E8M0FNU>,
                    %bf: memref<512x2xf32>, %c: memref<512x512xf32>) {
  moss.scaled_matmul #moss.accumulate<promoted(64)>
    lhs(#tensor, %a : memref<512x384xf8E4M3FN>) rhs(#tensor, %b : memref<512x384xf8E4M3FN>)
    outs(%c : memref<512x512xf32>)
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<512x384xf8E4M3FN>)
    rhs(#mx, %b : memref<512x384xf8E4M3FN>) micro(%bm : memref<512x12xf8E8M0FNU>)
    outs(%c : memref<512x512xf32>)
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<512x384xf8E4M3FN>)
    rhs(#k192, %b : memref<512x384xf8E4M3FN>) micro(%bf : memref<512x2xf32>)
    outs(%c : memref<512x512xf32>)
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#k192, %a : memref<512x384xf8E4M3FN>) micro(%bf : memref<512x2xf32>)
    rhs(#mx, %b : memref<512x384xf8E4M3FN>) micro(%bm : memref<512x12xf8E8M0FNU>)
    outs(%c : memref<512x512xf32>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>

// A schedule that is there stays, whatever the options say.
// CHECK-LABEL: func @given(
// CHECK: schedule(<tile = [64, 64, 32], stages = 1, consumers = 1, raster = 1, blocks = 1>)
// OPTIONS-LABEL: func @given(
// OPTIONS: schedule(<tile = [64, 64, 32], stages = 1, consumers = 1, raster = 1, blocks = 1>)
func.func @given(%a: memref<0x512xf8E4M3FN>, %b: memref<512x512xf8E4M3FN>, %c: memref<0x512xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %a : memref<0x512xf8E4M3FN>) rhs(#tensor, %b : memref<512x512xf8E4M3FN>)
    outs(%c : memref<0x512xf32>)
    schedule(<tile = [64, 64, 32], stages = 1, consumers = 1, raster = 1, blocks = 1>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

// Partial sums: the tile that fills the machine's 132 multiprocessors better, 4 rounds
// of 256 rows here, 21 of 192 rows there.
// CHECK-LABEL: func @rounds(
// CHECK: schedule(<tile = [256, 128, 128], stages = 4, consumers = 2,
// CHECK: schedule(<tile = [192, 128, 128], stages = 4, consumers = 3,
func.func @rounds(%a: memref<4096x4096xf8E4M3FN>, %b: memref<4096x4096xf8E4M3FN>, %c: memref<4096x4096xbf16>,
                  %d: memref<8192x4096xf8E4M3FN>, %e: memref<8192x4096xf8E4M3FN>, %f: memref<8192x8192xbf16>) {
  moss.scaled_matmul #moss.accumulate<promoted(128)> lhs(#tensor, %a : memref<4096x4096xf8E4M3FN>)
    rhs(#tensor, %b : memref<4096x4096xf8E4M3FN>) outs(%c : memref<4096x4096xbf16>)
  moss.scaled_matmul #moss.accumulate<promoted(128)> lhs(#tensor, %d : memref<8192x4096xf8E4M3FN>)
    rhs(#tensor, %e : memref<8192x4096xf8E4M3FN>) outs(%f : memref<8192x8192xbf16>)
  return
}

// -----

#groups = #moss.scheme<f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>
#blocks = #moss.scheme<f8E4M3FN, micro = f32, group = [128, 128], global = unit, rounding = ceil>

// Three consumers hide the loads of scales, those of columns too; windows of
// both fit beside the ring.
// CHECK-LABEL: func @scales_along_k(
// CHECK: schedule(<tile = [192, 128, 128], stages = 4, consumers = 3,
// CHECK: schedule(<tile = [192, 128, 128], stages = 4, consumers = 3,
func.func @scales_along_k(%a: memref<?x512xf8E4M3FN>, %am: memref<?x4xf32>, %b: memref<512x512xf8E4M3FN>,
                          %bb: memref<4x4xf32>, %bg: memref<512x4xf32>, %c: memref<?x512xf32>) {
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#groups, %a : memref<?x512xf8E4M3FN>) micro(%am : memref<?x4xf32>)
    rhs(#blocks, %b : memref<512x512xf8E4M3FN>) micro(%bb : memref<4x4xf32>)
    outs(%c : memref<?x512xf32>)
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#groups, %a : memref<?x512xf8E4M3FN>) micro(%am : memref<?x4xf32>)
    rhs(#groups, %b : memref<512x512xf8E4M3FN>) micro(%bg : memref<512x4xf32>)
    outs(%c : memref<?x512xf32>)
  return
}
