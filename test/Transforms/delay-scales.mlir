// RUN: moss-opt %s --moss-delay-scales --split-input-file | FileCheck %s
// RUN: moss-opt %s --moss-delay-scales="amax-history=3 amax-algorithm=most_recent margin=2" --split-input-file \
// RUN:   | FileCheck %s --check-prefix=OPTIONS
// RUN: moss-opt %s --moss-delay-scales --split-input-file -o /dev/null --remark-format=emitRemark \
// RUN:   --remarks-filter=moss-delay-scales 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

#delayed = #moss.scheme<f8E4M3FN, global = delayed>
#wide = #moss.scheme<f8E5M2, global = delayed>

// A row for each matrix and format, E4M3 first. The matmul takes the scale that
// its operands were quantized with, and the tables are updated last.

// REMARK-DAG: remark: [Passed] delayed | Category:moss-delay-scales | Function=layer | Remark="the scale follows from the amax of earlier calls", matrix="rhs of the matmul at delay-scales.mlir:{{[0-9]+}}:8", row=1
// REMARK-DAG: remark: [Passed] delayed | {{.*}} matrix="lhs of the matmul at delay-scales.mlir:{{[0-9]+}}:8", row=0

// CHECK-LABEL: func.func @layer(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x64xbf16>, %[[W:[a-z0-9]+]]: tensor<16x64xbf16>, %[[Y:[a-z0-9]+]]: tensor<8x16xf32>,
// CHECK-SAME:    %[[SCALES:[a-z0-9]+]]: tensor<2xf32> {moss.initial = 1.000000e+00 : f32,
// CHECK-SAME:      moss.rows = ["lhs of the matmul at {{.*}}", "rhs of the matmul at {{.*}}"]},
// CHECK-SAME:    %[[HISTORY:[a-z0-9]+]]: tensor<2x16xf32> {moss.initial = 0.000000e+00 : f32, moss.rows = [
// CHECK-SAME:    -> (tensor<8x16xf32>, tensor<2xf32> {moss.updates = 3 : i64}, tensor<2x16xf32> {moss.updates = 4 : i64})
// CHECK:         %[[SW:.*]] = tensor.extract_slice %[[SCALES]][1] [1] [1] : tensor<2xf32> to tensor<f32>
// CHECK:         %[[QW:.*]]:2 = moss.quantize <f8E5M2, global = delayed> ins(%[[W]] : {{.*}}) scale(%[[SW]] : tensor<f32>) payload(
// CHECK:         %[[SX:.*]] = tensor.extract_slice %[[SCALES]][0] [1] [1]
// CHECK:         %[[QX:.*]]:2 = moss.quantize <f8E4M3FN, global = delayed> ins(%[[X]] : {{.*}}) scale(%[[SX]] : tensor<f32>) payload(
// CHECK:         %[[R:.*]] = moss.scaled_matmul <fast> lhs(<f8E4M3FN, global = delayed>, %[[QX]]#0 : {{.*}}) global(%[[SX]] : tensor<f32>)
// CHECK-SAME:      rhs(<f8E5M2, global = delayed>, %[[QW]]#0 : {{.*}}) global(%[[SW]] : tensor<f32>) outs(%[[Y]] :
// CHECK:         %[[NEXT:.*]]:2 = moss.next_delayed_scale [#moss.amax_rule<f8E4M3FN, max, margin = 0>, #moss.amax_rule<f8E5M2, max, margin = 0>] rows [1, 1]
// CHECK-SAME:      amax(%[[QX]]#1, %[[QW]]#1 : tensor<f32>, tensor<f32>) outs(%[[SCALES]], %[[HISTORY]] : tensor<2xf32>, tensor<2x16xf32>)
// CHECK:         return %[[R]], %[[NEXT]]#0, %[[NEXT]]#1

// CHECK-LABEL: func.func @layer_init_delayed_scales(
// CHECK-SAME:    %[[S:[a-z0-9]+]]: tensor<2xf32>, %[[H:[a-z0-9]+]]: tensor<2x16xf32>) -> (tensor<2xf32> {moss.updates = 0 : i64}, tensor<2x16xf32> {moss.updates = 1 : i64})
// CHECK:         %[[ONE:.*]] = arith.constant 1.0
// CHECK:         %[[S1:.*]] = linalg.fill ins(%[[ONE]] : f32) outs(%[[S]] :
// CHECK:         %[[ZERO:.*]] = arith.constant 0.0
// CHECK:         %[[H1:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[H]] :
// CHECK:         return %[[S1]], %[[H1]]

// OPTIONS-LABEL: func.func @layer(
// OPTIONS:         moss.next_delayed_scale [#moss.amax_rule<f8E4M3FN, most_recent, margin = 2>, #moss.amax_rule<f8E5M2, most_recent, margin = 2>]
// OPTIONS-SAME:      tensor<2x3xf32>
func.func @layer(%x: tensor<8x64xbf16>, %w: tensor<16x64xbf16>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %one = arith.constant dense<1.0> : tensor<f32>
  %a = tensor.empty() : tensor<f32>
  %px = tensor.empty() : tensor<8x64xf8E4M3FN>
  %pw = tensor.empty() : tensor<16x64xf8E5M2>
  %w8:2 = moss.quantize #wide ins(%w : tensor<16x64xbf16>) scale(%one : tensor<f32>)
    payload(%pw : tensor<16x64xf8E5M2>) global(%a : tensor<f32>) -> tensor<16x64xf8E5M2>, tensor<f32>
  %x8:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
    payload(%px : tensor<8x64xf8E4M3FN>) global(%a : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  %0 = moss.scaled_matmul #moss.accumulate<fast> lhs(#delayed, %x8#0 : tensor<8x64xf8E4M3FN>) global(%one : tensor<f32>)
    rhs(#wide, %w8#0 : tensor<16x64xf8E5M2>) global(%one : tensor<f32>) outs(%y : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}

// -----

#delayed = #moss.scheme<f8E4M3FN, global = delayed>
#rows = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = delayed, rounding = ceil>

// One matrix in both orientations is measured once, also under other micro
// scales. What has an amax that is used measures it all the same.

// REMARK: remark: [Passed] delayed | {{.*}}Function=both{{.*}} row=0

// CHECK-LABEL: func.func @both(
// CHECK-SAME:    %[[SCALES:[a-z0-9]+]]: tensor<1xf32> {
// CHECK:         %[[S0:.*]] = tensor.extract_slice %[[SCALES]][0] [1] [1]
// CHECK:         moss.quantize <f8E4M3FN, global = delayed> ins({{.*}}) scale(%[[S0]] :
// CHECK:         %[[S1:.*]] = tensor.extract_slice %[[SCALES]][0] [1] [1]
// CHECK:         %[[T:.*]]:2 = moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = given, rounding = ceil> transpose ins({{.*}}) scale(%[[S1]] : tensor<f32>)
// CHECK-NOT:       global(
// CHECK-SAME:      -> tensor<64x8xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
// CHECK:         %[[S2:.*]] = tensor.extract_slice %[[SCALES]][0] [1] [1]
// CHECK:         %[[Q:.*]]:2 = moss.quantize <f8E4M3FN, global = delayed> transpose ins({{.*}}) scale(%[[S2]] :
// CHECK:         moss.dequantize <f8E4M3FN, micro = {{.*}}, global = given, {{.*}}> payload(%[[T]]#0 : {{.*}}) micro(%[[T]]#1 : {{.*}}) global(%[[S1]] :
// CHECK:         moss.dequantize <f8E4M3FN, global = delayed> payload(%[[Q]]#0 : {{.*}}) global(%[[S2]] :
// CHECK:         moss.next_delayed_scale {{.*}} rows [1] amax(%{{.*}} : tensor<f32>)
func.func @both(%x: tensor<8x64xbf16>, %d: tensor<8x64xbf16>, %e: tensor<64x8xbf16>)
    -> (tensor<8x64xbf16>, tensor<64x8xbf16>, tensor<64x8xbf16>, tensor<f32>) {
  %one = arith.constant dense<1.0> : tensor<f32>
  %a = tensor.empty() : tensor<f32>
  %p = tensor.empty() : tensor<8x64xf8E4M3FN>
  %t = tensor.empty() : tensor<64x8xf8E4M3FN>
  %m = tensor.empty() : tensor<64x1xf8E8M0FNU>
  %0:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%a : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  %1:3 = moss.quantize #rows transpose ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
    payload(%t : tensor<64x8xf8E4M3FN>) micro(%m : tensor<64x1xf8E8M0FNU>) global(%a : tensor<f32>)
    -> tensor<64x8xf8E4M3FN>, tensor<64x1xf8E8M0FNU>, tensor<f32>
  %2:2 = moss.quantize #delayed transpose ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
    payload(%t : tensor<64x8xf8E4M3FN>) global(%a : tensor<f32>) -> tensor<64x8xf8E4M3FN>, tensor<f32>
  %3 = moss.dequantize #delayed payload(%0#0 : tensor<8x64xf8E4M3FN>) global(%one : tensor<f32>)
    outs(%d : tensor<8x64xbf16>) -> tensor<8x64xbf16>
  %4 = moss.dequantize #rows payload(%1#0 : tensor<64x8xf8E4M3FN>) micro(%1#1 : tensor<64x1xf8E8M0FNU>) global(%one : tensor<f32>)
    outs(%e : tensor<64x8xbf16>) -> tensor<64x8xbf16>
  %5 = moss.dequantize #delayed payload(%2#0 : tensor<64x8xf8E4M3FN>) global(%one : tensor<f32>)
    outs(%e : tensor<64x8xbf16>) -> tensor<64x8xbf16>
  return %3, %4, %5, %2#1 : tensor<8x64xbf16>, tensor<64x8xbf16>, tensor<64x8xbf16>, tensor<f32>
}

// -----

#delayed = #moss.scheme<f8E4M3FN, global = delayed>

// A scale that the program computes, or another constant, is its own business.

// CHECK-LABEL: func.func @computed(
// CHECK-SAME:    -> (tensor<8x64xf8E4M3FN>, tensor<8x64xf8E4M3FN>, tensor<f32>)
// CHECK-NOT:     next_delayed_scale
func.func @computed(%x: tensor<8x64xbf16>, %s: tensor<f32>, %p: tensor<8x64xf8E4M3FN>)
    -> (tensor<8x64xf8E4M3FN>, tensor<8x64xf8E4M3FN>, tensor<f32>) {
  %two = arith.constant dense<2.0> : tensor<f32>
  %0:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%s : tensor<f32>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%s : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  %1:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%two : tensor<f32>)
    payload(%p : tensor<8x64xf8E4M3FN>) global(%s : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
  return %0#0, %1#0, %1#1 : tensor<8x64xf8E4M3FN>, tensor<8x64xf8E4M3FN>, tensor<f32>
}
