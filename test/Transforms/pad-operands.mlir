// RUN: moss-opt %s --moss-pad-operands --split-input-file --verify-diagnostics \
// RUN:   --remark-format=emitRemark --remarks-filter="moss.*" | FileCheck %s

#s = #moss.scheme<f8E4M3FN, global = unit>

// CHECK-LABEL: func @copied(
// CHECK-SAME:      %[[A:.*]]: memref<8x40xf8E4M3FN>, %[[B:.*]]: memref<16x40xf8E4M3FN, strided<[64, 1]>>
// CHECK:         %[[BUFFER:.*]] = memref.alloc() : memref<8x48xf8E4M3FN>
// CHECK:         %[[VIEW:.*]] = memref.subview %[[BUFFER]][0, 0] [8, 40] [1, 1]
// CHECK:         linalg.copy ins(%[[A]] : memref<8x40xf8E4M3FN>) outs(%[[VIEW]]
// CHECK:         moss.scaled_matmul {{.*}} %[[VIEW]] : {{.*}} %[[B]] :
// CHECK:         memref.dealloc %[[BUFFER]]
func.func @copied(%a: memref<8x40xf8E4M3FN>, %b: memref<16x40xf8E4M3FN, strided<[64, 1]>>, %c: memref<8x16xf32>) {
  // expected-remark @below {{the left payload is copied first: its rows are not known to begin at multiples of 16 bytes}}
  moss.scaled_matmul #moss.accumulate<fast> lhs(#s, %a : memref<8x40xf8E4M3FN>)
    rhs(#s, %b : memref<16x40xf8E4M3FN, strided<[64, 1]>>) outs(%c : memref<8x16xf32>)
  return
}

// -----

#s = #moss.scheme<f8E4M3FN, global = unit>

// Strange strides and unknown rows are copied; a view of a padded buffer is not.
// CHECK-LABEL: func @views(
// CHECK:         %[[OWN:.*]] = memref.subview
// CHECK:         %[[LENGTH:.*]] = affine.apply
// CHECK:         %[[BUFFER:.*]] = memref.alloc(%{{.*}}, %{{.*}}) : memref<?x?xf8E4M3FN>
// CHECK:         %[[VIEW:.*]] = memref.subview %[[BUFFER]]
// CHECK:         moss.scaled_matmul {{.*}} %[[OWN]] : {{.*}} %[[VIEW]] :
func.func @views(%m: index, %k: index, %b: memref<?x?xf8E4M3FN, strided<[?, 2]>>, %c: memref<?x?xf32>) {
  %length = affine.apply affine_map<()[k] -> ((k ceildiv 16) * 16)>()[%k]
  %own = memref.alloc(%m, %length) : memref<?x?xf8E4M3FN>
  %a = memref.subview %own[0, 0] [%m, %k] [1, 1] : memref<?x?xf8E4M3FN> to memref<?x?xf8E4M3FN, strided<[?, 1]>>
  // expected-remark @below {{the right payload is copied first}}
  moss.scaled_matmul #moss.accumulate<fast> lhs(#s, %a : memref<?x?xf8E4M3FN, strided<[?, 1]>>)
    rhs(#s, %b : memref<?x?xf8E4M3FN, strided<[?, 2]>>) outs(%c : memref<?x?xf32>)
  return
}

// -----

#s = #moss.scheme<bf16, global = unit>

// 16 bytes are 8 elements.
// CHECK-LABEL: func @bf16(
// CHECK-SAME:      %[[A:.*]]: memref<8x40xbf16>, %[[B:.*]]: memref<16x40xbf16, strided<[44, 1]>>
// CHECK:         memref.alloc() : memref<16x40xbf16>
// CHECK:         moss.scaled_matmul {{.*}} %[[A]] :
func.func @bf16(%a: memref<8x40xbf16>, %b: memref<16x40xbf16, strided<[44, 1]>>, %c: memref<8x16xf32>) {
  // expected-remark @below {{the right payload is copied first}}
  moss.scaled_matmul #moss.accumulate<fast> lhs(#s, %a : memref<8x40xbf16>)
    rhs(#s, %b : memref<16x40xbf16, strided<[44, 1]>>) outs(%c : memref<8x16xf32>)
  return
}
