// What stands around the loops is lowered too, down to the LLVM dialect alone.
//
// RUN: moss-opt %s --moss-lower-to-cpu | FileCheck %s
// RUN: moss-opt %s --moss-lower-to-cpu=arithmetic=emulate | FileCheck %s --check-prefixes=CHECK,EMULATE
// RUN: moss-opt %s --moss-lower-to-cpu | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM

// CHECK-NOT: {{(func|scf|arith|memref|vector|linalg|math|moss)\.}}

// LLVM-LABEL: define void @tile(
func.func @tile(%A: memref<?x?xf8E4M3FN>, %B: memref<?x?xf8E5M2, strided<[?, 1], offset: ?>>,
                %C: memref<?x?xbf16>, %m: index, %s: f32) {
  %c0 = arith.constant 0 : index
  %padA = arith.constant 0.0 : f8E4M3FN
  %padB = arith.constant 0.0 : f8E5M2
  %zero = arith.constant dense<0.0> : vector<16x16xf32>
  %a = vector.transfer_read %A[%m, %c0], %padA : memref<?x?xf8E4M3FN>, vector<16x32xf8E4M3FN>
  %b = vector.transfer_read %B[%m, %c0], %padB
      : memref<?x?xf8E5M2, strided<[?, 1], offset: ?>>, vector<16x32xf8E5M2>
  // EMULATE: llvm.intr.vector.reduce.smax
  %p = moss.mma %a, %b, %zero : vector<16x32xf8E4M3FN>, vector<16x32xf8E5M2>, vector<16x16xf32>
  %r = moss.rescale %p by(%s) : vector<16x16xf32>
  %t = arith.truncf %r : vector<16x16xf32> to vector<16x16xbf16>
  vector.transfer_write %t, %C[%m, %m] : vector<16x16xbf16>, memref<?x?xbf16>
  return
}

// LLVM-LABEL: define void @around(
// LLVM:         call float @erff(
func.func @around(%x: memref<8x?xf32>, %q: memref<8x?xf8E4M3FN>) {
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c1 : memref<8x?xf32>
  %y = memref.alloc(%n) : memref<8x?xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<8x?xf32>) outs(%y : memref<8x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %e = math.erf %in : f32
      linalg.yield %e : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%y : memref<8x?xf32>) outs(%q : memref<8x?xf8E4M3FN>) {
    ^bb0(%in: f32, %out: f8E4M3FN):
      %e = arith.truncf %in : f32 to f8E4M3FN
      linalg.yield %e : f8E4M3FN
  }
  memref.copy %y, %x : memref<8x?xf32> to memref<8x?xf32>
  memref.dealloc %y : memref<8x?xf32>
  return
}
