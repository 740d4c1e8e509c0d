// RUN: moss-opt %s --moss-fuse-quantize --split-input-file | FileCheck %s
// RUN: moss-opt %s --moss-fuse-quantize=transposed=false --split-input-file | FileCheck %s --check-prefix=ROWS
// RUN: moss-opt %s --moss-fuse-quantize=transposed=false --split-input-file --remark-format=emitRemark \
// RUN:   --remarks-filter=moss-fuse-quantize 2>&1 | FileCheck %s --check-prefix=REMARK

#id = affine_map<(i, j) -> (i, j)>
#scalar = affine_map<(i, j) -> ()>
#given = #moss.scheme<f8E4M3FN, global = given>

// Both payloads come out of the loop that updates the weight, after the rounding
// of the master copy, and it is the only op that reads the weight.

// CHECK-LABEL: func.func @update(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8x16xf32>, %[[G:[a-z0-9]+]]: tensor<8x16xf32>, %[[S:[a-z0-9]+]]: tensor<f32>, %[[E:[a-z0-9]+]]: tensor<8x16xf32>)
// CHECK-DAG:     %[[P:.*]] = tensor.empty() : tensor<8x16xf8E4M3FN>
// CHECK-DAG:     %[[PT:.*]] = tensor.empty() : tensor<16x8xf8E4M3FN>
// CHECK:         %[[NEW:.*]]:3 = linalg.generic
// CHECK-SAME:      ins(%[[W]], %[[G]], %[[S]], %[[S]] : {{.*}}) outs(%[[E]], %[[P]], %[[PT]] :
// CHECK:           arith.subf
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
// CHECK:           arith.truncf %{{.*}} : f32 to f8E4M3FN
// CHECK:           arith.truncf %{{.*}} : f32 to f8E4M3FN
// CHECK:           linalg.yield %{{.*}}, %{{.*}}, %{{.*}} : f32, f8E4M3FN, f8E4M3FN
// CHECK-NOT:     moss.quantize
// CHECK:         return %[[NEW]]#0, %[[NEW]]#1, %[[NEW]]#2

// ROWS-LABEL: func.func @update(
// ROWS:         %[[NEW:.*]]:2 = linalg.generic
// ROWS:         moss.quantize <f8E4M3FN, global = given> transpose ins(
// REMARK: [Passed] fused | Category:moss-fuse-quantize | Function=update
// REMARK: [Missed] not-fused | {{.*}}it transposes, and the option 'transposed' is off
func.func @update(%w: tensor<8x16xf32>, %g: tensor<8x16xf32>, %s: tensor<f32>, %e: tensor<8x16xf32>)
    -> (tensor<8x16xf32>, tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>) {
  %new = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w, %g : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    linalg.yield %d : f32
  } -> tensor<8x16xf32>
  %r = arith.truncf %new : tensor<8x16xf32> to tensor<8x16xbf16>
  %p = tensor.empty() : tensor<8x16xf8E4M3FN>
  %pt = tensor.empty() : tensor<16x8xf8E4M3FN>
  %q = moss.quantize #given ins(%r : tensor<8x16xbf16>) scale(%s : tensor<f32>) payload(%p : tensor<8x16xf8E4M3FN>) -> tensor<8x16xf8E4M3FN>
  %t = moss.quantize #given transpose ins(%r : tensor<8x16xbf16>) scale(%s : tensor<f32>) payload(%pt : tensor<16x8xf8E4M3FN>) -> tensor<16x8xf8E4M3FN>
  return %new, %q, %t : tensor<8x16xf32>, tensor<8x16xf8E4M3FN>, tensor<16x8xf8E4M3FN>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#turned = affine_map<(i, j) -> (j, i)>
#jit = #moss.scheme<f8E4M3FN, global = jit>
#given = #moss.scheme<f8E4M3FN, global = given>
#delayed = #moss.scheme<f8E4M3FN, global = delayed>
#unit = #moss.scheme<f8E5M2, global = unit>

// Scales that depend on the result, and results in another order, are left alone.

// CHECK-LABEL: func.func @left_alone(
// CHECK:         linalg.generic
// CHECK-NEXT:    ^bb0(%{{.*}}: f32, %{{.*}}: f32):
// CHECK:         moss.quantize <f8E4M3FN, global = jit>
// CHECK:         moss.quantize <f8E4M3FN, global = given>
// CHECK:         moss.quantize <f8E5M2, global = unit>
// CHECK:         moss.quantize <f8E4M3FN, global = delayed>
// REMARK: [Missed] not-fused | {{.*}}its scale depends on what is computed
// REMARK: [Missed] not-fused | {{.*}}its scale or its payload is not known before its source is computed
// REMARK: [Missed] not-fused | {{.*}}its source is not computed in the order of its elements
// REMARK: [Missed] not-fused | {{.*}}its amax is a result, too
func.func @left_alone(%w: tensor<8x16xf32>, %e: tensor<8x16xf32>, %f: tensor<16x8xf32>)
    -> (tensor<8x16xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<16x8xf8E5M2>, tensor<8x16xf8E4M3FN>) {
  %new = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %d = arith.negf %a : f32
    linalg.yield %d : f32
  } -> tensor<8x16xf32>
  %other = linalg.generic {indexing_maps = [#id, #turned], iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<8x16xf32>) outs(%f : tensor<16x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<16x8xf32>
  %g = tensor.empty() : tensor<f32>
  %p = tensor.empty() : tensor<8x16xf8E4M3FN>
  %pt = tensor.empty() : tensor<16x8xf8E5M2>
  %q:2 = moss.quantize #jit ins(%new : tensor<8x16xf32>) payload(%p : tensor<8x16xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<8x16xf8E4M3FN>, tensor<f32>
  %r = moss.quantize #given ins(%new : tensor<8x16xf32>) scale(%q#1 : tensor<f32>) payload(%p : tensor<8x16xf8E4M3FN>) -> tensor<8x16xf8E4M3FN>
  %u = moss.quantize #unit ins(%other : tensor<16x8xf32>) payload(%pt : tensor<16x8xf8E5M2>) -> tensor<16x8xf8E5M2>
  %d:2 = moss.quantize #delayed ins(%new : tensor<8x16xf32>) scale(%q#1 : tensor<f32>) payload(%p : tensor<8x16xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<8x16xf8E4M3FN>, tensor<f32>
  return %q#0, %r, %u, %d#0 : tensor<8x16xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<16x8xf8E5M2>, tensor<8x16xf8E4M3FN>
}
