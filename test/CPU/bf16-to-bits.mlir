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
