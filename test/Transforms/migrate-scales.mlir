// RUN: moss-opt --moss-migrate-scales --split-input-file %s | FileCheck %s
// RUN: moss-opt --moss-migrate-scales --split-input-file %s \
// RUN:   --remark-format=emitRemark --remarks-filter=moss-migrate-scales -verify-diagnostics

#rows = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
#tensor = #moss.scheme<f8E4M3FN, global = jit>

// The forward pass quantized %x by rows; the gradient of the weights sums over
// these rows.

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$K0:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func @weight_gradient
// CHECK-SAME:    %[[X:.*]]: tensor<?x96xbf16>, %[[DY:.*]]: tensor<?x32xbf16>, %[[XT:.*]]: tensor<96x?xf8E4M3FN>
func.func @weight_gradient(%x: tensor<?x96xbf16>, %dy: tensor<?x32xbf16>, %xt: tensor<96x?xf8E4M3FN>, %dyt: tensor<32x?xf8E4M3FN>,
    %p: tensor<?x96xf8E4M3FN>, %m: tensor<?x1xf8E8M0FNU>, %n: tensor<96x1xf8E8M0FNU>, %g: tensor<f32>, %init: tensor<32x96xf32>)
    -> (tensor<?x96xf8E4M3FN>, tensor<32x96xf32>) {
  // CHECK: %[[X8:.*]]:3 = moss.quantize {{.*}} ins(%[[X]]
  %x8:3 = moss.quantize #rows ins(%x : tensor<?x96xbf16>)
    payload(%p : tensor<?x96xf8E4M3FN>) micro(%m : tensor<?x1xf8E8M0FNU>) global(%g : tensor<f32>)
    -> tensor<?x96xf8E4M3FN>, tensor<?x1xf8E8M0FNU>, tensor<f32>
  // CHECK-NOT: moss.quantize
  %xt8:3 = moss.quantize #rows transpose ins(%x : tensor<?x96xbf16>)
    payload(%xt : tensor<96x?xf8E4M3FN>) micro(%n : tensor<96x1xf8E8M0FNU>) global(%g : tensor<f32>)
    -> tensor<96x?xf8E4M3FN>, tensor<96x1xf8E8M0FNU>, tensor<f32>
  %dy8:2 = moss.quantize #tensor transpose ins(%dy : tensor<?x32xbf16>)
    payload(%dyt : tensor<32x?xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<32x?xf8E4M3FN>, tensor<f32>
  // CHECK: %[[XT8:.*]] = linalg.transpose ins(%[[X8]]#0 : tensor<?x96xf8E4M3FN>) outs(%[[XT]] : tensor<96x?xf8E4M3FN>) permutation = [1, 0]
  // CHECK: %[[E:.*]] = tensor.collapse_shape %[[X8]]#1 {{\[\[}}0, 1]] : tensor<?x1xf8E8M0FNU> into tensor<?xf8E8M0FNU>
  // CHECK: %[[SCALED:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$K0]], #[[$ID]]], iterator_types = ["parallel", "parallel"]}
  // CHECK-SAME: ins(%[[DY]], %[[E]] : {{.*}}) outs(%{{.*}} : tensor<?x32xf32>)
  // CHECK: arith.extf %{{.*}} : bf16 to f32
  // CHECK: arith.extf %{{.*}} : f8E8M0FNU to f32
  // CHECK: arith.mulf %{{.*}} : f32
  // CHECK: %[[DY8:.*]]:2 = moss.quantize <f8E4M3FN, global = jit> transpose ins(%[[SCALED]] : tensor<?x32xf32>)
  // CHECK: moss.scaled_matmul
  // CHECK-SAME: lhs(<f8E4M3FN, global = jit>, %[[DY8]]#0 : tensor<32x?xf8E4M3FN>) global(%[[DY8]]#1
  // CHECK-SAME: rhs(<f8E4M3FN, global = jit>, %[[XT8]] : tensor<96x?xf8E4M3FN>) global(%[[X8]]#2
  // expected-remark @below {{[Passed] migrated | Category:moss-migrate-scales | Function=weight_gradient | Remark="rhs takes the bytes that were quantized along the other dimension, and the other operand their micro scales"}}
  %dw = moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#tensor, %dy8#0 : tensor<32x?xf8E4M3FN>) global(%dy8#1 : tensor<f32>)
    rhs(#rows, %xt8#0 : tensor<96x?xf8E4M3FN>) micro(%xt8#1 : tensor<96x1xf8E8M0FNU>) global(%xt8#2 : tensor<f32>)
    outs(%init : tensor<32x96xf32>) -> tensor<32x96xf32>
  return %x8#0, %dw : tensor<?x96xf8E4M3FN>, tensor<32x96xf32>
}

// -----

#unit = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>

// What was quantized in another function comes as bytes; the other operand has K
// innermost already, and is used elsewhere, too.

// CHECK-DAG: #[[$ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$K1:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @stored
// CHECK-SAME:    %[[Q:.*]]: tensor<64x96xf8E4M3FN>, %[[E:.*]]: tensor<64x1xf8E8M0FNU>, %[[DY:.*]]: tensor<32x64xf32>
func.func @stored(%q: tensor<64x96xf8E4M3FN>, %e: tensor<64x1xf8E8M0FNU>, %dy: tensor<32x64xf32>, %x: tensor<64x96xbf16>,
    %xt: tensor<96x64xf8E4M3FN>, %n: tensor<96x1xf8E8M0FNU>, %p: tensor<32x64xf8E4M3FN>, %o: tensor<32x1xf8E8M0FNU>,
    %init: tensor<96x32xbf16>) -> (tensor<32x64xf8E4M3FN>, tensor<96x32xbf16>) {
  %values = moss.dequantize #unit payload(%q : tensor<64x96xf8E4M3FN>) micro(%e : tensor<64x1xf8E8M0FNU>)
    outs(%x : tensor<64x96xbf16>) -> tensor<64x96xbf16>
  %xt8:2 = moss.quantize #unit transpose ins(%values : tensor<64x96xbf16>)
    payload(%xt : tensor<96x64xf8E4M3FN>) micro(%n : tensor<96x1xf8E8M0FNU>) -> tensor<96x64xf8E4M3FN>, tensor<96x1xf8E8M0FNU>
  // CHECK: %[[OLD:.*]]:2 = moss.quantize {{.*}} ins(%[[DY]]
  %dy8:2 = moss.quantize #unit ins(%dy : tensor<32x64xf32>)
    payload(%p : tensor<32x64xf8E4M3FN>) micro(%o : tensor<32x1xf8E8M0FNU>) -> tensor<32x64xf8E4M3FN>, tensor<32x1xf8E8M0FNU>
  // CHECK: %[[XT8:.*]] = linalg.transpose ins(%[[Q]]
  // CHECK: %[[SCALED:.*]] = linalg.generic {indexing_maps = [#[[$ID]], #[[$K1]], #[[$ID]]]
  // CHECK-SAME: ins(%[[DY]], %{{.*}}) outs(%{{.*}} : tensor<32x64xf32>)
  // CHECK: %[[DY8:.*]]:2 = moss.quantize {{.*}} ins(%[[SCALED]] : tensor<32x64xf32>)
  // CHECK: moss.scaled_matmul <fast> accumulates
  // CHECK-SAME: lhs(<f8E4M3FN, global = unit>, %[[XT8]] : tensor<96x64xf8E4M3FN>)
  // CHECK-SAME: rhs({{.*}} %[[DY8]]#0 : tensor<32x64xf8E4M3FN>) micro(%[[DY8]]#1
  // expected-remark @below {{lhs takes the bytes that were quantized along the other dimension, and the other operand their micro scales}}
  %dw = moss.scaled_matmul #moss.accumulate<fast> accumulates
    lhs(#unit, %xt8#0 : tensor<96x64xf8E4M3FN>) micro(%xt8#1 : tensor<96x1xf8E8M0FNU>)
    rhs(#unit, %dy8#0 : tensor<32x64xf8E4M3FN>) micro(%dy8#1 : tensor<32x1xf8E8M0FNU>)
    outs(%init : tensor<96x32xbf16>) -> tensor<96x32xbf16>
  // CHECK: return %[[OLD]]#0
  return %dy8#0, %dw : tensor<32x64xf8E4M3FN>, tensor<96x32xbf16>
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = jit>
#given = #moss.scheme<f8E4M3FN, global = given>

// Both operands are stored, under one scale, so nothing but a transposition is
// left; the larger one is taken.

// CHECK-LABEL: func @one_scale
// CHECK-SAME:    %[[SCALE:[a-z0-9]*]]: tensor<f32>
func.func @one_scale(%scale: tensor<f32>, %x: tensor<64x96xbf16>, %dy: tensor<64x32xbf16>, %p: tensor<64x96xf8E4M3FN>,
    %pt: tensor<96x64xf8E4M3FN>, %r: tensor<64x32xf8E4M3FN>, %rt: tensor<32x64xf8E4M3FN>, %g: tensor<f32>, %init: tensor<32x96xf32>)
    -> (tensor<64x96xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<32x96xf32>) {
  // CHECK: %[[X8:.*]] = moss.quantize
  %x8 = moss.quantize #given ins(%x : tensor<64x96xbf16>) scale(%scale : tensor<f32>)
    payload(%p : tensor<64x96xf8E4M3FN>) -> tensor<64x96xf8E4M3FN>
  %xt8 = moss.quantize #given transpose ins(%x : tensor<64x96xbf16>) scale(%scale : tensor<f32>)
    payload(%pt : tensor<96x64xf8E4M3FN>) -> tensor<96x64xf8E4M3FN>
  %dy8:2 = moss.quantize #tensor ins(%dy : tensor<64x32xbf16>)
    payload(%r : tensor<64x32xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<64x32xf8E4M3FN>, tensor<f32>
  // CHECK: %[[DYT8:.*]]:2 = moss.quantize <f8E4M3FN, global = jit> transpose
  %dyt8:2 = moss.quantize #tensor transpose ins(%dy : tensor<64x32xbf16>)
    payload(%rt : tensor<32x64xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<32x64xf8E4M3FN>, tensor<f32>
  // CHECK: %[[XT8:.*]] = linalg.transpose ins(%[[X8]] : tensor<64x96xf8E4M3FN>)
  // CHECK-NEXT: moss.scaled_matmul
  // CHECK-SAME: lhs(<f8E4M3FN, global = jit>, %[[DYT8]]#0 : tensor<32x64xf8E4M3FN>) global(%[[DYT8]]#1
  // CHECK-SAME: rhs(<f8E4M3FN, global = given>, %[[XT8]] : tensor<96x64xf8E4M3FN>) global(%[[SCALE]] : tensor<f32>)
  // expected-remark @below {{rhs takes the bytes that were quantized along the other dimension"}}
  %dw = moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#tensor, %dyt8#0 : tensor<32x64xf8E4M3FN>) global(%dyt8#1 : tensor<f32>)
    rhs(#given, %xt8 : tensor<96x64xf8E4M3FN>) global(%scale : tensor<f32>)
    outs(%init : tensor<32x96xf32>) -> tensor<32x96xf32>
  return %x8, %dy8#0, %dw : tensor<64x96xf8E4M3FN>, tensor<64x32xf8E4M3FN>, tensor<32x96xf32>
}
