// Sums of one step, whose loops over K are folded, take their scales through the
// ring as others do: launches have memory for these.
// RUN: moss-opt %s --moss-fp8-lower="to=kernel accumulate=fast" --split-input-file | FileCheck %s

#tensor = #moss.scheme<f8E4M3FN, global = unit>
#mx = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>
!e = memref<64x1xf8E8M0FNU, strided<[1, 64]>>

// A sum of one small group has a tile of its extent.
// CHECK-LABEL: gpu.func @one_group_kernel(
// CHECK:         moss.channel : <8 x (vector<192x32xf8E4M3FN>, vector<128x32xf8E4M3FN>, vector<1x192xf8E8M0FNU>)>
// 8 * (10,240 + 256 + 16) + 49,152.
// CHECK-LABEL: func.func @one_group(
// CHECK:         gpu.launch_func {{.*}} dynamic_shared_memory_size %c133248_i32
func.func @one_group(%a: memref<64x32xf8E4M3FN>, %e: !e, %b: memref<64x32xf8E4M3FN>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#mx, %a : memref<64x32xf8E4M3FN>) micro(%e : !e) rhs(#tensor, %b : memref<64x32xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>
#mx = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>
!e = memref<64x4xf8E8M0FNU, strided<[1, 64]>>

// A schedule may merge all steps to one, whose loop is folded then: their scales stay
// the rows of one tile.
// CHECK-LABEL: gpu.func @several_groups_kernel(
// CHECK:         moss.channel : <4 x (vector<192x128xf8E4M3FN>, vector<128x128xf8E4M3FN>, vector<4x192xf8E8M0FNU>)>
// CHECK:         moss.put {{.*}} at(%c0, %c0, %c0), (%c0, %c0, %c0)
// CHECK:         %[[TILES:[a-z0-9_]+]]:3 = moss.get
// CHECK:         moss.read_scales %[[TILES]]#2 : vector<4x192xf8E8M0FNU>
// CHECK:         moss.read_scales %[[TILES]]#2 row(1) : vector<4x192xf8E8M0FNU>
// CHECK:         moss.read_scales %[[TILES]]#2 row(2) : vector<4x192xf8E8M0FNU>
// CHECK:         moss.read_scales %[[TILES]]#2 row(3) : vector<4x192xf8E8M0FNU>
// 4 * (40,960 + 768 + 16) + 49,152.
// CHECK-LABEL: func.func @several_groups(
// CHECK:         gpu.launch_func {{.*}} dynamic_shared_memory_size %c216128_i32
func.func @several_groups(%a: memref<64x128xf8E4M3FN>, %e: !e, %b: memref<64x128xf8E4M3FN>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#mx, %a : memref<64x128xf8E4M3FN>) micro(%e : !e) rhs(#tensor, %b : memref<64x128xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
    schedule(#moss.schedule<tile = [192, 128, 128], stages = 4, consumers = 3, raster = 8, blocks = 132>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>
#group = #moss.scheme<f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>
!e = memref<64x1xf32, strided<[1, 64]>>

// The loop is folded before the launch is made.
// CHECK-LABEL: gpu.func @one_large_group_kernel(
// CHECK:         moss.channel : <4 x (vector<192x128xf8E4M3FN>, vector<128x128xf8E4M3FN>, vector<1x192xf32>)>
// CHECK-LABEL: func.func @one_large_group(
// CHECK:         gpu.launch_func {{.*}} dynamic_shared_memory_size %c216128_i32
func.func @one_large_group(%a: memref<64x128xf8E4M3FN>, %e: !e, %b: memref<64x128xf8E4M3FN>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#group, %a : memref<64x128xf8E4M3FN>) micro(%e : !e) rhs(#tensor, %b : memref<64x128xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
  return
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>
#mx = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>
!e = memref<64x4xf8E8M0FNU, strided<[1, 64]>>

// Without a schedule, tiles are small enough for several steps.
// CHECK-LABEL: gpu.func @several_steps_kernel(
// CHECK:         moss.channel : <8 x (vector<192x32xf8E4M3FN>, vector<128x32xf8E4M3FN>, vector<1x192xf8E8M0FNU>)>
func.func @several_steps(%a: memref<64x128xf8E4M3FN>, %e: !e, %b: memref<64x128xf8E4M3FN>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<fast>
    lhs(#mx, %a : memref<64x128xf8E4M3FN>) micro(%e : !e) rhs(#tensor, %b : memref<64x128xf8E4M3FN>)
    outs(%c : memref<64x64xf32>)
  return
}
