// RUN: moss-opt %s --moss-auto-scale | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#jit = #moss.scheme<f8E4M3FN, global = jit>
#weight = #moss.weight<#moss.optimizer<sgd>, interval = 100>

// The optimizer step is in the function: scales are predicted ahead of it, and
// payloads are kept for the next call.

// CHECK-LABEL: func.func @train(
// CHECK-SAME:    %[[W:[a-z0-9]+]]: tensor<8x16xf32>, %[[G:[a-z0-9]+]]: tensor<8x16xf32>, %[[LR:[a-z0-9]+]]: f64, %{{[a-z0-9]+}}: tensor<8x16xf8E4M3FN>,
// CHECK-SAME:    %[[STEP:[a-z0-9]+]]: i64, %[[SCALES:[a-z0-9]+]]: tensor<1xf32>, %[[KEPT:[a-z0-9]+]]: tensor<8x16xf8E4M3FN>,
// CHECK-SAME:    %[[STATE:[a-z0-9]+]]: tensor<1x3xf64>, %[[AMAX:[a-z0-9]+]]: tensor<1xf32>)
// CHECK-SAME:    -> (tensor<8x16xf8E4M3FN>, tensor<8x16xf32> {moss.updates = 0 : i64}, tensor<1xf32> {moss.updates = 5 : i64},
// CHECK-SAME:        tensor<1x3xf64> {moss.updates = 7 : i64}, tensor<8x16xf8E4M3FN> {moss.updates = 6 : i64})
// CHECK:         %[[NOW:.*]]:2 = scf.if %{{.*}} -> (tensor<1xf32>, tensor<8x16xf8E4M3FN>) {
// CHECK:           moss.quantize <f8E4M3FN, global = jit>
// CHECK:           moss.quantize <f8E4M3FN, global = given> ins(%{{.*}}) scale(%{{.*}}) payload(%[[KEPT]]
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %[[SCALES]], %[[KEPT]]
// CHECK-NOT:     moss.quantize
// CHECK:         %[[T:.*]] = arith.addi %[[STEP]], %c1_i64
// CHECK:         %[[NEXT:.*]]:2 = moss.next_scale {{.*}} lr(%[[LR]] : f64) step(%[[T]]) amax(%[[AMAX]] : tensor<1xf32>) outs(%[[NOW]]#0, %[[STATE]]
// CHECK:         %[[SCALE:.*]] = tensor.extract_slice %[[NEXT]]#0[0] [1] [1]
// CHECK:         %[[NEW:.*]] = linalg.generic
// CHECK:         %[[ROUNDED:.*]] = arith.truncf %[[NEW]]
// CHECK:         %[[Q:.*]] = moss.quantize <f8E4M3FN, global = given> ins(%[[ROUNDED]] : tensor<8x16xbf16>) scale(%[[SCALE]] : tensor<f32>) payload(%[[NOW]]#1
// CHECK:         return %[[NOW]]#1, %[[NEW]], %[[NEXT]]#0, %[[NEXT]]#1, %[[Q]]
// CHECK-LABEL: func.func @train_reset_scales(
// CHECK-SAME:    -> (tensor<1xf32> {moss.updates = 1 : i64}, tensor<8x16xf8E4M3FN> {moss.updates = 2 : i64})
// CHECK-LABEL: func.func @moss_init_scales(
// CHECK-NOT:   @moss_update_scales
func.func @train(%w: tensor<8x16xf32> {moss.weight = #weight}, %g: tensor<8x16xf32>, %lr: f64 {moss.learning_rate}, %p: tensor<8x16xf8E4M3FN>)
    -> (tensor<8x16xf8E4M3FN>, tensor<8x16xf32> {moss.updates = 0}) {
  %e = tensor.empty() : tensor<f32>
  %b = arith.truncf %w : tensor<8x16xf32> to tensor<8x16xbf16>
  %q:2 = moss.quantize #jit ins(%b : tensor<8x16xbf16>) payload(%p : tensor<8x16xf8E4M3FN>) global(%e : tensor<f32>)
    -> tensor<8x16xf8E4M3FN>, tensor<f32>
  %rate = arith.truncf %lr : f64 to f32
  %new = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<8x16xf32>) outs(%w : tensor<8x16xf32>) {
  ^bb0(%gi: f32, %wi: f32):
    %d = arith.mulf %gi, %rate : f32
    %n = arith.subf %wi, %d : f32
    linalg.yield %n : f32
  } -> tensor<8x16xf32>
  return %q#0, %new : tensor<8x16xf8E4M3FN>, tensor<8x16xf32>
}
