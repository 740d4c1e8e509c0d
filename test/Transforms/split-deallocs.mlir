// RUN: moss-opt %s --moss-split-deallocs | FileCheck %s

// Allocations that are only freed, or only returned.
// CHECK-LABEL: func @alone(
// CHECK:         %[[A:.*]] = memref.alloc() : memref<1xf32>
// CHECK:         %[[B:.*]] = memref.alloc() : memref<2xf32>
// CHECK:         %[[R:.*]] = memref.alloc() : memref<3xf32>
// CHECK:         memref.dealloc %[[A]]
// CHECK-NEXT:    memref.dealloc %[[B]]
// CHECK-NEXT:    bufferization.dealloc{{ *$}}
// CHECK-NEXT:    %[[OWNED:.*]] = arith.constant true
// CHECK-NEXT:    return %[[R]], %[[OWNED]]
func.func @alone() -> (memref<3xf32>, i1) {
  %true = arith.constant true
  %a = memref.alloc() : memref<1xf32>
  %b = memref.alloc() : memref<2xf32>
  %r = memref.alloc() : memref<3xf32>
  %0 = bufferization.dealloc (%a, %r, %b : memref<1xf32>, memref<3xf32>, memref<2xf32>) if (%true, %true, %true)
       retain (%r : memref<3xf32>)
  return %r, %0 : memref<3xf32>, i1
}

// A buffer stays if a view of it is retained, if it is freed only under a condition or twice, or if
// it may have come back from a call or a branch.
// CHECK-LABEL: func @together(
// CHECK-SAME:      %[[P:.*]]: i1, %[[ARG:.*]]: memref<8xf32>)
// CHECK-DAG:     %[[A:.*]] = memref.alloc() : memref<8xf32>
// CHECK-DAG:     %[[B:.*]] = memref.alloc() : memref<9xf32>
// CHECK-DAG:     %[[C:.*]] = memref.alloc() : memref<10xf32>
// CHECK-DAG:     %[[D:.*]] = memref.alloc() : memref<11xf32>
// CHECK-DAG:     %[[E:.*]] = memref.alloc() : memref<12xf32>
// CHECK-DAG:     %[[F:.*]] = memref.alloc() : memref<13xf32>
// CHECK-DAG:     %[[V:.*]] = memref.subview
// CHECK-DAG:     %[[W:.*]] = call @view
// CHECK-DAG:     %[[S:.*]] = scf.if
// CHECK:         memref.dealloc %[[E]]
// CHECK-NOT:     memref.dealloc
// CHECK:         %[[OWN:.*]]:4 = bufferization.dealloc (%[[A]], %[[B]], %[[C]], %[[C]], %[[D]], %[[F]], %[[ARG]] :
// CHECK-SAME:      if (%{{.*}}, %[[P]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[P]])
// CHECK-SAME:      retain (%[[V]], %[[W]], %[[S]], %[[ARG]] :
// CHECK:         return %[[V]], %[[OWN]]#0, %[[OWN]]#3
func.func @together(%p: i1, %arg: memref<8xf32>) -> (memref<4xf32, strided<[1]>>, i1, i1) {
  %true = arith.constant true
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<9xf32>
  %c = memref.alloc() : memref<10xf32>
  %d = memref.alloc() : memref<11xf32>
  %e = memref.alloc() : memref<12xf32>
  %v = memref.subview %a[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  %f = memref.alloc() : memref<13xf32>
  %w = call @view(%f) : (memref<13xf32>) -> memref<13xf32>
  %s = scf.if %p -> memref<11xf32> {
    scf.yield %d : memref<11xf32>
  } else {
    %other = memref.alloc() : memref<11xf32>
    scf.yield %other : memref<11xf32>
  }
  %0:4 = bufferization.dealloc
    (%a, %b, %c, %c, %d, %e, %f, %arg : memref<8xf32>, memref<9xf32>, memref<10xf32>, memref<10xf32>, memref<11xf32>, memref<12xf32>, memref<13xf32>, memref<8xf32>)
    if (%true, %p, %true, %true, %true, %true, %true, %p)
    retain (%v, %w, %s, %arg : memref<4xf32, strided<[1]>>, memref<13xf32>, memref<11xf32>, memref<8xf32>)
  return %v, %0#0, %0#3 : memref<4xf32, strided<[1]>>, i1, i1
}
func.func private @view(memref<13xf32>) -> memref<13xf32>
