// RUN: moss-opt %s --moss-bf16-to-bits | FileCheck %s

// Values, constants and signatures become those of 16-bit integers.

// CHECK-LABEL: llvm.func @move(
// CHECK-SAME:    %{{.*}}: vector<8xi16>, %[[P:.*]]: !llvm.ptr) -> i16
// CHECK:         %[[ONE:.*]] = llvm.mlir.constant(16256 : i16) : i16
// CHECK:         llvm.mlir.constant(dense<-16384> : vector<8xi16>) : vector<8xi16>
// CHECK:         llvm.load %[[P]] : !llvm.ptr -> vector<8xi16>
// CHECK-NOT:     bf16
// CHECK:         llvm.return %[[ONE]] : i16
llvm.func @move(%v: vector<8xbf16>, %p: !llvm.ptr) -> bf16 {
  %one = llvm.mlir.constant(1.0 : bf16) : bf16
  %splat = llvm.mlir.constant(dense<-2.0> : vector<8xbf16>) : vector<8xbf16>
  %w = llvm.load %p : !llvm.ptr -> vector<8xbf16>
  llvm.store %w, %p : vector<8xbf16>, !llvm.ptr
  llvm.store %splat, %p : vector<8xbf16>, !llvm.ptr
  llvm.return %one : bf16
}

// CHECK-LABEL: llvm.func @extend(
// CHECK-SAME:    %[[V:.*]]: vector<8xi16>)
// CHECK:         %[[BITS:.*]] = llvm.bitcast %[[V]] : vector<8xi16> to vector<8xi16>
// CHECK:         %[[WIDE:.*]] = llvm.zext %[[BITS]] : vector<8xi16> to vector<8xi32>
// CHECK:         %[[SHIFT:.*]] = llvm.mlir.constant(dense<16> : vector<8xi32>)
// CHECK:         %[[HIGH:.*]] = llvm.shl %[[WIDE]], %[[SHIFT]]
// CHECK:         %[[F32:.*]] = llvm.bitcast %[[HIGH]] : vector<8xi32> to vector<8xf32>
// CHECK:         llvm.fpext %[[F32]] : vector<8xf32> to vector<8xf64>
llvm.func @extend(%v: vector<8xbf16>) -> vector<8xf64> {
  %r = llvm.fpext %v : vector<8xbf16> to vector<8xf64>
  llvm.return %r : vector<8xf64>
}
