// RUN: moss-opt %s --moss-mma-to-loops | FileCheck %s --check-prefixes=CHECK,FP32
// RUN: moss-opt %s --moss-mma-to-loops=arithmetic=emulate | FileCheck %s --check-prefixes=CHECK,EMULATE

// Scratch memory is allocated at the entry of the function, once for both ops.

// CHECK-LABEL: @chain
// CHECK-COUNT-1: memref.alloca() {{.*}} : memref<8x4xf32>
// CHECK-NOT:     memref<8x4xf32>
// CHECK:         scf.for
// CHECK:           vector.transfer_write %{{.*}} : vector<8x4xf32>, memref<8x4xf32>
// CHECK:           vector.transfer_write %{{.*}} : vector<8x64xf8E4M3FN>, memref<8x64xf8E4M3FN>
// CHECK:           arith.extf {{.*}} : vector<32xf8E4M3FN> to vector<32xf32>
// CHECK:           vector.transfer_write %{{.*}} : vector<4x64xf8E5M2>, memref<4x64xf8E5M2>
// CHECK:           arith.extf {{.*}} : vector<32xf8E5M2> to vector<32xf32>

// Plain f32: the sum of a row is carried over K, then added to the accumulator.

// FP32:            %[[SUM:.*]] = scf.for {{.*}} -> (vector<32xf32>)
// FP32:              arith.mulf
// FP32:              arith.addf
// FP32:            %[[OLD:.*]] = memref.load
// FP32:            %[[NEW:.*]] = arith.addf %[[OLD]]
// FP32:            memref.store %[[NEW]]
// FP32-NOT:        arith.fptosi

// Emulation: steps along K are outermost; all terms are aligned by a conversion
// to integers, which truncates toward zero.

// EMULATE:         scf.if {{.*}} -> (f32)
// EMULATE:         else
// EMULATE:           vector.reduction <maxsi>, {{.*}} : vector<32xi16> into i16
// EMULATE:           arith.constant 13 : i32
// EMULATE:           arith.fptosi {{.*}} : vector<32xf64> to vector<32xi32>
// EMULATE:           vector.reduction <add>, {{.*}} : vector<32xi32> into i32

// CHECK:           vector.transfer_read %{{.*}} : memref<8x4xf32>, vector<8x4xf32>
// CHECK-NOT:       moss.mma
func.func @chain(%a: vector<8x64xf8E4M3FN>, %b: vector<4x64xf8E5M2>, %c: vector<8x4xf32>, %n: index)
    -> vector<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %c) -> (vector<8x4xf32>) {
    %d = moss.mma %a, %b, %acc : vector<8x64xf8E4M3FN>, vector<4x64xf8E5M2>, vector<8x4xf32>
    %e = moss.mma %a, %b, %d : vector<8x64xf8E4M3FN>, vector<4x64xf8E5M2>, vector<8x4xf32>
    scf.yield %e : vector<8x4xf32>
  }
  return %r : vector<8x4xf32>
}

// BF16: steps of 16.

// CHECK-LABEL: @bf16
// CHECK:         arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// FP32:          scf.for {{.*}} -> (vector<16xf32>)
// EMULATE:       arith.constant dense<7> : vector<16xi16>
// EMULATE:       arith.constant dense<127> : vector<16xi16>
// EMULATE:       arith.constant 32640 : i16
// EMULATE:       scf.if {{.*}} -> (f32)
// EMULATE:         arith.constant 25 : i32
// EMULATE:         arith.fptosi {{.*}} : vector<16xf64> to vector<16xi32>
// CHECK-NOT:     moss.mma
func.func @bf16(%a: vector<8x64xbf16>, %b: vector<4x64xbf16>, %c: vector<8x4xf32>) -> vector<8x4xf32> {
  %d = moss.mma %a, %b, %c : vector<8x64xbf16>, vector<4x64xbf16>, vector<8x4xf32>
  return %d : vector<8x4xf32>
}
