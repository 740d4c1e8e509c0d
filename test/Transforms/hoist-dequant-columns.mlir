// RUN: moss-opt %s --moss-hoist-dequant | FileCheck %s

// Column scales are read behind the loop, where they are used; row scales, of which a
// thread holds few, before it.
// CHECK-LABEL: func @columns_behind(
// CHECK:         %[[ROWS:.*]] = moss.load_scales {{.*}} -> vector<64x1xf8E8M0FNU>
// CHECK-NOT:     moss.load_scales
// CHECK:         %[[SUM:.*]] = scf.for
// CHECK:         }
// CHECK:         %[[COLS:.*]] = moss.load_scales {{.*}} -> vector<1x64xf8E8M0FNU>
// CHECK:         moss.rescale %[[SUM]] rows(%[[ROWS]] : {{.*}}) cols(%[[COLS]] :
func.func @columns_behind(%a: memref<64x?xf8E4M3FN>, %b: memref<64x?xf8E4M3FN>, %am: memref<64x1xf8E8M0FNU>,
                          %bm: memref<64x1xf8E8M0FNU>, %k: index) -> vector<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %pad = arith.constant 0.0 : f8E4M3FN
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %rows = moss.load_scales %am[%c0, %c0] bound(%c64) group [1, 0] : memref<64x1xf8E8M0FNU> -> vector<64x1xf8E8M0FNU>
  %cols = moss.load_scales %bm[%c0, %c0] bound(%c64) group [1, 0] : memref<64x1xf8E8M0FNU> -> vector<1x64xf8E8M0FNU>
  %sum = scf.for %i = %c0 to %k step %c128 iter_args(%c = %zero) -> (vector<64x64xf32>) {
    %ta = vector.transfer_read %a[%c0, %i], %pad : memref<64x?xf8E4M3FN>, vector<64x128xf8E4M3FN>
    %tb = vector.transfer_read %b[%c0, %i], %pad : memref<64x?xf8E4M3FN>, vector<64x128xf8E4M3FN>
    %p = moss.mma %ta, %tb, %zero : vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<64x64xf32>
    %r = moss.rescale %p rows(%rows : vector<64x1xf8E8M0FNU>) cols(%cols : vector<1x64xf8E8M0FNU>) : vector<64x64xf32>
    %s = arith.addf %c, %r : vector<64x64xf32>
    scf.yield %s : vector<64x64xf32>
  }
  return %sum : vector<64x64xf32>
}
