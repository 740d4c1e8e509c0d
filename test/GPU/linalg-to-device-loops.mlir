// RUN: moss-opt %s --pass-pipeline='builtin.module(func.func(moss-linalg-to-device-loops))' -split-input-file \
// RUN:   | FileCheck %s
// RUN: moss-opt %s --pass-pipeline='builtin.module(func.func(moss-linalg-to-device-loops{block-size=64}))' -split-input-file \
// RUN:   | FileCheck %s --check-prefix=SIZE
// Every loop becomes a launch.
// RUN: moss-opt %s --moss-linalg-to-gpu -split-input-file | FileCheck %s --check-prefix=LAUNCH

// Rows to x, blocks of 256 neighboring elements to y; the last one is guarded.
// CHECK-LABEL: func @fill
// SIZE-LABEL:  func @fill
// CHECK: %[[C256:.*]] = arith.muli %{{.*}}, %c256 : index
// CHECK: scf.parallel (%[[I:.*]], %[[B:.*]]) = {{.*}} step (%{{.*}}, %[[C256]])
// CHECK:   scf.parallel
// CHECK:     scf.if
// CHECK:       memref.store %{{.*}}, %arg1[%{{.*}}, %{{.*}}] : memref<?x?xf32>
// CHECK:   {mapping = [{{.*}}processor = sequential{{.*}}processor = thread_x
// CHECK: {mapping = [{{.*}}processor = block_x{{.*}}processor = block_y
// SIZE: arith.muli %{{.*}}, %c64 : index
// LAUNCH-LABEL: func @fill
// LAUNCH: gpu.launch_func @fill_kernel::@fill_kernel blocks in (%{{.*}}, %{{.*}}, %c1) threads in (%c256, %c1, %c1)
func.func @fill(%x: f32, %m: memref<?x?xf32>) {
  linalg.fill ins(%x : f32) outs(%m : memref<?x?xf32>)
  return
}

// -----

// Outer dimensions are collapsed, so that only x can be large.
// CHECK-LABEL: func @rank_four
// CHECK: scf.parallel (%{{.*}}, %{{.*}}) =
// CHECK:   arith.remsi
// CHECK:   arith.divsi
// CHECK: processor = block_x{{.*}}processor = block_y
// CHECK-NOT: block_z
func.func @rank_four(%x: f32, %m: memref<?x?x?x?xf32>) {
  linalg.fill ins(%x : f32) outs(%m : memref<?x?x?x?xf32>)
  return
}

// -----

// Narrow rows share a block.
// CHECK-LABEL: func @narrow
// CHECK: scf.parallel (%{{.*}}) = (%{{.*}}) to (%{{.*}}) step
// CHECK:   arith.remsi
// CHECK: processor = thread_x
// CHECK: processor = block_x
// LAUNCH-LABEL: func @narrow
// LAUNCH: threads in (%c256, %c1, %c1)
func.func @narrow(%x: f32, %m: memref<?x4xf32>) {
  linalg.fill ins(%x : f32) outs(%m : memref<?x4xf32>)
  return
}

// -----

// A scalar takes one thread; a full reduction too, with a loop in it.
// CHECK-LABEL: func @scalars
// CHECK: scf.parallel
// CHECK:   memref.store %{{.*}}, %arg0[] : memref<f32>
// CHECK: processor = block_x
// CHECK: scf.parallel
// CHECK:   scf.for
// CHECK:     arith.maximumf
// CHECK: processor = block_x
// LAUNCH-LABEL: func @scalars
// LAUNCH-COUNT-2: blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
func.func @scalars(%s: memref<f32>, %m: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<f32>)
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                  iterator_types = ["reduction"]}
      ins(%m : memref<?xf32>) outs(%s : memref<f32>) {
  ^bb0(%x: f32, %old: f32):
    %max = arith.maximumf %x, %old : f32
    linalg.yield %max : f32
  }
  return
}

// -----

// A strided copy becomes loops; a contiguous one is left for gpu.memcpy.
// CHECK-LABEL: func @copies
// CHECK: scf.parallel
// CHECK:   memref.load %arg0
// CHECK:   memref.store %{{.*}}, %arg1
// CHECK: memref.copy %arg1, %arg2
func.func @copies(%a: memref<8x64xf32, strided<[80, 1]>>, %b: memref<8x64xf32>, %c: memref<8x64xf32>) {
  memref.copy %a, %b : memref<8x64xf32, strided<[80, 1]>> to memref<8x64xf32>
  memref.copy %b, %c : memref<8x64xf32> to memref<8x64xf32>
  return
}

// -----

// What is in a launch already, and functions on host memory, stay.
// CHECK-LABEL: func @launch
// CHECK: gpu.launch
// CHECK:   linalg.fill
// CHECK-LABEL: func @driver
// CHECK:   linalg.fill
func.func @launch(%x: f32, %m: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    linalg.fill ins(%x : f32) outs(%m : memref<4xf32>)
    gpu.terminator
  }
  return
}
func.func @driver(%x: f32, %m: memref<4xf32>) attributes {moss.host} {
  linalg.fill ins(%x : f32) outs(%m : memref<4xf32>)
  return
}
