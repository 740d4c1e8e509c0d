// RUN: moss-opt %s --moss-place-amax | FileCheck %s

#delayed = #moss.scheme<f8E4M3FN, global = delayed>
#rule = #moss.amax_rule<f8E4M3FN, max, margin = 0>

// The first is measured in place, and the second, which is used elsewhere, is copied.

// CHECK-LABEL: func.func @place(
// CHECK-SAME:    %[[SCALES:[a-z0-9]+]]: memref<2xf32>, %[[HISTORY:[a-z0-9]+]]: memref<2x4xf32>, %[[OUT:[a-z0-9]+]]: memref<f32>)
// CHECK-NOT:     memref.alloc
// CHECK:         %[[SLOT:.*]] = memref.subview %[[HISTORY]][0, 0] [1, 1] [1, 1] : memref<2x4xf32> to memref<f32, strided<[]>>
// CHECK:         moss.quantize {{.*}} global(%[[SLOT]] : memref<f32, strided<[]>>)
// CHECK:         moss.quantize {{.*}} global(%[[OUT]] : memref<f32>)
// CHECK:         %[[OTHER:.*]] = memref.subview %[[HISTORY]][1, 0] [1, 1] [1, 1] : memref<2x4xf32> to memref<f32, strided<[], offset: 4>>
// CHECK-NEXT:    memref.copy %[[OUT]], %[[OTHER]]
// CHECK-NEXT:    moss.next_delayed_scale [#moss.amax_rule<f8E4M3FN, max, margin = 0>] rows [2] outs(%[[SCALES]], %[[HISTORY]] :
func.func @place(%x: memref<8x64xbf16>, %s: memref<f32>, %p: memref<8x64xf8E4M3FN>, %scales: memref<2xf32>, %history: memref<2x4xf32>,
    %out: memref<f32>) {
  %a = memref.alloc() : memref<f32>
  moss.quantize #delayed ins(%x : memref<8x64xbf16>) scale(%s : memref<f32>) payload(%p : memref<8x64xf8E4M3FN>) global(%a : memref<f32>)
  moss.quantize #delayed ins(%x : memref<8x64xbf16>) scale(%s : memref<f32>) payload(%p : memref<8x64xf8E4M3FN>) global(%out : memref<f32>)
  moss.next_delayed_scale [#rule] rows [2] amax(%a, %out : memref<f32>, memref<f32>) outs(%scales, %history : memref<2xf32>, memref<2x4xf32>)
  return
}

// A buffer that two ops write, or that goes to two places, is copied. So is all
// where something else looks at the history.

// CHECK-LABEL: func.func @copy(
// CHECK:         %[[A:.*]] = memref.alloc
// CHECK-COUNT-2: moss.quantize {{.*}} global(%[[A]] :
// CHECK-COUNT-2: memref.copy %[[A]],
func.func @copy(%x: memref<8x64xbf16>, %s: memref<f32>, %p: memref<8x64xf8E4M3FN>, %scales: memref<2xf32>, %history: memref<2x4xf32>) {
  %a = memref.alloc() : memref<f32>
  moss.quantize #delayed ins(%x : memref<8x64xbf16>) scale(%s : memref<f32>) payload(%p : memref<8x64xf8E4M3FN>) global(%a : memref<f32>)
  moss.quantize #delayed ins(%x : memref<8x64xbf16>) scale(%s : memref<f32>) payload(%p : memref<8x64xf8E4M3FN>) global(%a : memref<f32>)
  moss.next_delayed_scale [#rule] rows [2] amax(%a, %a : memref<f32>, memref<f32>) outs(%scales, %history : memref<2xf32>, memref<2x4xf32>)
  return
}

// CHECK-LABEL: func.func @looked_at(
// CHECK:         %[[A:.*]] = memref.alloc
// CHECK:         moss.quantize {{.*}} global(%[[A]] :
// CHECK:         memref.copy %[[A]],
func.func @looked_at(%x: memref<8x64xbf16>, %s: memref<f32>, %p: memref<8x64xf8E4M3FN>, %scales: memref<1xf32>, %history: memref<1x4xf32>) -> f32 {
  %a = memref.alloc() : memref<f32>
  %c0 = arith.constant 0 : index
  moss.quantize #delayed ins(%x : memref<8x64xbf16>) scale(%s : memref<f32>) payload(%p : memref<8x64xf8E4M3FN>) global(%a : memref<f32>)
  %old = memref.load %history[%c0, %c0] : memref<1x4xf32>
  moss.next_delayed_scale [#rule] rows [1] amax(%a : memref<f32>) outs(%scales, %history : memref<1xf32>, memref<1x4xf32>)
  return %old : f32
}
