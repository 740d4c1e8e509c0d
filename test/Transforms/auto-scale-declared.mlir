// RUN: moss-opt %s --moss-auto-scale --split-input-file | FileCheck %s
// RUN: moss-opt %s --moss-auto-scale --split-input-file --remark-format=emitRemark --remarks-filter=moss-auto-scale -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

#jit = #moss.scheme<f8E4M3FN, global = jit>
#adam = #moss.weight<#moss.optimizer<adam>, state = globals>

// What a program declares gets its body, and stays private; a rate may be f32.
// CHECK:     func.func private @moss_update_scales(%[[LR:.*]]: f32, %[[T:.*]]: i64) attributes {moss.weights = ["layer:0"]} {
// CHECK:       moss.next_scale {{.*}} lr(%[[LR]] : f32) step(%[[T]])
// CHECK:     func.func private @moss_get_scales() -> tensor<1xf32> {
// CHECK:     func.func private @layer_reset_scales(%{{.*}}: tensor<8x8xbf16>) {
// CHECK:       moss.quantize <f8E4M3FN, global = jit>
// CHECK:     func.func @step(
// CHECK:       call @layer(
// CHECK:       call @moss_update_scales(
// CHECK:     func.func @moss_init_scales() {
// CHECK-NOT: func.func
func.func private @moss_update_scales(f32, i64)
func.func private @moss_get_scales() -> tensor<1xf32>
func.func private @layer_reset_scales(tensor<8x8xbf16>)

func.func private @layer(%w: tensor<8x8xbf16> {moss.weight = #adam}, %step: i64 {moss.step}, %p: tensor<8x8xf8E4M3FN>)
    -> tensor<8x8xf8E4M3FN> {
  %g = tensor.empty() : tensor<f32>
  %q:2 = moss.quantize #jit ins(%w : tensor<8x8xbf16>) payload(%p : tensor<8x8xf8E4M3FN>) global(%g : tensor<f32>)
    -> tensor<8x8xf8E4M3FN>, tensor<f32>
  return %q#0 : tensor<8x8xf8E4M3FN>
}

func.func @step(%w: tensor<8x8xbf16>, %t: i64, %lr: f32, %p: tensor<8x8xf8E4M3FN>) -> (tensor<8x8xf8E4M3FN>, tensor<1xf32>) {
  %one = arith.constant 1 : i64
  %0 = call @layer(%w, %t, %p) : (tensor<8x8xbf16>, i64, tensor<8x8xf8E4M3FN>) -> tensor<8x8xf8E4M3FN>
  %1 = call @moss_get_scales() : () -> tensor<1xf32>
  %after = arith.addi %t, %one : i64
  call @moss_update_scales(%lr, %after) : (f32, i64) -> ()
  return %0, %1 : tensor<8x8xf8E4M3FN>, tensor<1xf32>
}

// -----

// With nothing to predict, they do nothing, and scales were never measured.
// CHECK:      func.func private @moss_init_scales(%[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<2x3xf64>)
// CHECK-SAME:     -> (tensor<2xf32> {moss.updates = 0 : i64}, tensor<2x3xf64> {moss.updates = 1 : i64}) {
// CHECK-NEXT:   return %[[A]], %[[B]]
// CHECK:      func.func private @moss_update_scales(%{{.*}}: f32, %{{.*}}: i64) {
// CHECK-NEXT:   return
// CHECK:      func.func private @layer_reset_scales(%{{.*}}: tensor<8x8xbf16>) {
// CHECK-NEXT:   return
// CHECK:      func.func private @moss_get_scales() -> tensor<2xf32> {
// CHECK:        arith.constant 0x7FC00000 : f32
// REMARK: [Missed] not-quantized {{.*}} Function=layer | Reason="nothing quantizes argument 0", Remark="the weight's scale is not predicted"
// REMARK: [Missed] no-scales {{.*}} Function=moss_init_scales | Reason="no weight's scale is predicted", Remark="the function does nothing"
#sgd = #moss.weight<#moss.optimizer<sgd>>
func.func private @moss_init_scales(tensor<2xf32>, tensor<2x3xf64>) -> (tensor<2xf32>, tensor<2x3xf64>)
func.func private @moss_update_scales(f32, i64)
func.func private @layer_reset_scales(tensor<8x8xbf16>)
func.func private @moss_get_scales() -> tensor<2xf32>
func.func @layer(%w: tensor<8x8xbf16> {moss.weight = #sgd}) -> tensor<8x8xbf16> {
  return %w : tensor<8x8xbf16>
}

// -----

// Without a mark, a declaration of this name is the program's own.
// CHECK: func.func private @moss_update_scales(f32, i64){{$}}
func.func private @moss_update_scales(f32, i64)
