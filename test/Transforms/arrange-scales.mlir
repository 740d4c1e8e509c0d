// RUN: moss-opt %s --moss-arrange-scales --split-input-file --verify-diagnostics \
// RUN:   --remark-format=emitRemark --remarks-filter="moss.*" | FileCheck %s

#groups = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 128], global = unit, rounding = ceil>
#blocks = #moss.scheme<f8E4M3FN, micro = f32, group = [128, 128], global = unit, rounding = ceil>

// Buffers of the program are allocated as the copy engine wants them: scales of
// neighboring rows adjacent, and 112 of 100 bytes a group along K; those of blocks
// with rows of four.
// CHECK-LABEL: func @own(
// CHECK:         %[[E:.*]] = memref.alloc() : memref<4x112xf8E8M0FNU>
// CHECK:         %[[VIEW:.*]] = memref.subview %[[E]][0, 0] [4, 100] [1, 1]
// CHECK:         %[[T:.*]] = memref.transpose %[[VIEW]] (d0, d1) -> (d1, d0) : {{.*}} to memref<100x4xf8E8M0FNU, strided<[1, 112]>>
// CHECK:         %[[F:.*]] = memref.alloc() : memref<1x8xf32>
// CHECK:         %[[U:.*]] = memref.subview %[[F]][0, 0] [1, 5] [1, 1]
// CHECK:         moss.quantize {{.*}} micro(%[[T]] :
// CHECK:         moss.scaled_matmul {{.*}} micro(%[[T]] :
// CHECK:         moss.scaled_matmul {{.*}} micro(%[[U]] :
// CHECK:         memref.dealloc %[[E]] : memref<4x112xf8E8M0FNU>
// CHECK:         memref.dealloc %[[F]] : memref<1x8xf32>
func.func @own(%x: memref<100x512xbf16>, %w: memref<16x640xbf16>, %p: memref<100x512xf8E4M3FN>, %q: memref<16x640xf8E4M3FN>,
               %a: memref<100x640xf8E4M3FN>, %c: memref<100x16xf32>, %d: memref<100x100xf32>) {
  %e = memref.alloc() : memref<100x4xf8E8M0FNU>
  %f = memref.alloc() : memref<1x5xf32>
  moss.quantize #groups ins(%x : memref<100x512xbf16>) payload(%p : memref<100x512xf8E4M3FN>) micro(%e : memref<100x4xf8E8M0FNU>)
  moss.quantize #blocks ins(%w : memref<16x640xbf16>) payload(%q : memref<16x640xf8E4M3FN>) micro(%f : memref<1x5xf32>)
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#groups, %p : memref<100x512xf8E4M3FN>) micro(%e : memref<100x4xf8E8M0FNU>)
    rhs(#moss.scheme<f8E4M3FN, global = unit>, %p : memref<100x512xf8E4M3FN>) outs(%d : memref<100x100xf32>)
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#moss.scheme<f8E4M3FN, global = unit>, %a : memref<100x640xf8E4M3FN>)
    rhs(#blocks, %q : memref<16x640xf8E4M3FN>) micro(%f : memref<1x5xf32>) outs(%c : memref<100x16xf32>)
  memref.dealloc %e : memref<100x4xf8E8M0FNU>
  memref.dealloc %f : memref<1x5xf32>
  return
}

// -----

#groups = #moss.scheme<f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>
#rows = #moss.scheme<f8E4M3FN, micro = f32, group = [1, full], global = unit, rounding = ceil>

// Scales from elsewhere are taken as they are if they lie so, and copied if not.
// Those that are constant along K are none of this pass's business.
// CHECK-LABEL: func @arguments(
// CHECK-SAME:      %[[E:[a-z0-9]+]]: memref<100x4xf32, strided<[1, 100]>>, %[[F:[a-z0-9]+]]: memref<16x4xf32>
// CHECK:         %[[BUFFER:.*]] = memref.alloc() : memref<4x16xf32>
// CHECK:         %[[T:.*]] = memref.transpose
// CHECK:         linalg.copy ins(%[[F]] : memref<16x4xf32>) outs(%[[T]]
// CHECK:         moss.scaled_matmul {{.*}} micro(%[[E]] : {{.*}} micro(%[[T]] :
// CHECK:         memref.dealloc %[[BUFFER]]
// CHECK:         moss.scaled_matmul {{.*}} micro(%[[E]] : {{.*}} micro(%arg4 :
func.func @arguments(%e: memref<100x4xf32, strided<[1, 100]>>, %f: memref<16x4xf32>, %p: memref<100x512xf8E4M3FN>,
                     %q: memref<16x512xf8E4M3FN>, %r: memref<16x1xf32>, %c: memref<100x16xf32>) {
  // expected-remark @below {{the micro scales of the right operand are copied first: the copy engine needs those of neighboring rows adjacent, in rows that begin at multiples of 16 bytes}}
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#groups, %p : memref<100x512xf8E4M3FN>) micro(%e : memref<100x4xf32, strided<[1, 100]>>)
    rhs(#groups, %q : memref<16x512xf8E4M3FN>) micro(%f : memref<16x4xf32>) outs(%c : memref<100x16xf32>)
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#groups, %p : memref<100x512xf8E4M3FN>) micro(%e : memref<100x4xf32, strided<[1, 100]>>)
    rhs(#rows, %q : memref<16x512xf8E4M3FN>) micro(%r : memref<16x1xf32>) outs(%c : memref<100x16xf32>)
  return
}

// -----

#groups = #moss.scheme<f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>
#blocks = #moss.scheme<f8E4M3FN, micro = f32, group = [128, 128], global = unit, rounding = ceil>

// Strides that nobody knows are not trusted, and rows of five scales do not begin at
// multiples of 16 bytes.
// CHECK-LABEL: func @unknown(
// CHECK-COUNT-2: linalg.copy
func.func @unknown(%e: memref<?x5xf32, strided<[1, ?]>>, %f: memref<1x5xf32>, %p: memref<?x640xf8E4M3FN>,
                   %q: memref<16x640xf8E4M3FN>, %c: memref<?x16xf32>) {
  // expected-remark @below {{the micro scales of the left operand are copied first}}
  // expected-remark @below {{the micro scales of the right operand are copied first: the copy engine needs those of neighboring groups along K adjacent}}
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#groups, %p : memref<?x640xf8E4M3FN>) micro(%e : memref<?x5xf32, strided<[1, ?]>>)
    rhs(#blocks, %q : memref<16x640xf8E4M3FN>) micro(%f : memref<1x5xf32>) outs(%c : memref<?x16xf32>)
  return
}

// -----

#groups = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 128], global = unit, rounding = ceil>

// A view cannot begin in an empty buffer, so scales of nothing get one that is not.
// CHECK-LABEL: func @empty(
// CHECK:         %[[E:.*]] = memref.alloc() : memref<4x16xf8E8M0FNU>
// CHECK:         memref.subview %[[E]][0, 0] [4, 0] [1, 1]
// CHECK:         %[[F:.*]] = memref.alloc() : memref<16x16xf8E8M0FNU>
// CHECK:         memref.subview %[[F]][0, 0] [0, 16] [1, 1]
func.func @empty(%p: memref<0x512xf8E4M3FN>, %q: memref<16x512xf8E4M3FN>, %r: memref<16x0xf8E4M3FN>,
                 %c: memref<0x16xf32>, %d: memref<16x16xf32>) {
  %e = memref.alloc() : memref<0x4xf8E8M0FNU>
  %f = memref.alloc() : memref<16x0xf8E8M0FNU>
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#groups, %p : memref<0x512xf8E4M3FN>) micro(%e : memref<0x4xf8E8M0FNU>)
    rhs(#moss.scheme<f8E4M3FN, global = unit>, %q : memref<16x512xf8E4M3FN>) outs(%c : memref<0x16xf32>)
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#groups, %r : memref<16x0xf8E4M3FN>) micro(%f : memref<16x0xf8E8M0FNU>)
    rhs(#moss.scheme<f8E4M3FN, global = unit>, %r : memref<16x0xf8E4M3FN>) outs(%d : memref<16x16xf32>)
  memref.dealloc %e : memref<0x4xf8E8M0FNU>
  memref.dealloc %f : memref<16x0xf8E8M0FNU>
  return
}

// -----

#blocks = #moss.scheme<f8E4M3FN, micro = f32, group = [128, 128], global = unit, rounding = ceil>

// A slice of a buffer of the program need not begin at a multiple of 16 bytes, nor have
// such rows.
// CHECK-LABEL: func @slices(
// CHECK-COUNT-2: linalg.copy
func.func @slices(%p: memref<256x1024xf8E4M3FN>, %q: memref<256x1024xf8E4M3FN>, %n: index, %c: memref<256x256xf32>) {
  %e = memref.alloc() : memref<2x12xf32>
  %f = memref.alloc(%n) : memref<2x?xf32>
  %s = memref.subview %e[0, 1] [2, 8] [1, 1] : memref<2x12xf32> to memref<2x8xf32, strided<[12, 1], offset: 1>>
  %t = memref.subview %f[0, 0] [2, 8] [1, 1] : memref<2x?xf32> to memref<2x8xf32, strided<[?, 1]>>
  // expected-remark @below {{the micro scales of the left operand are copied first}}
  // expected-remark @below {{the micro scales of the right operand are copied first}}
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#blocks, %p : memref<256x1024xf8E4M3FN>) micro(%s : memref<2x8xf32, strided<[12, 1], offset: 1>>)
    rhs(#blocks, %q : memref<256x1024xf8E4M3FN>) micro(%t : memref<2x8xf32, strided<[?, 1]>>) outs(%c : memref<256x256xf32>)
  memref.dealloc %e : memref<2x12xf32>
  memref.dealloc %f : memref<2x?xf32>
  return
}
