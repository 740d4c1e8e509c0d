// RUN: moss-opt --transform-interpreter --canonicalize --cse --split-input-file %s | FileCheck %s

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = given, rounding = ceil>
#block = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [4, 32], global = given, rounding = ceil>

// CHECK-DAG: #[[$BY4:.*]] = affine_map<()[s0] -> (s0 floordiv 4)>
// CHECK-DAG: #[[$BY32:.*]] = affine_map<()[s0] -> (s0 floordiv 32)>
// CHECK-LABEL: func @matmul
// CHECK-SAME:    (%[[A:.*]]: tensor<100x64xf8E4M3FN>, %[[AM:.*]]: tensor<100x1xf8E8M0FNU>, %[[B:.*]]: tensor<48x64xf8E4M3FN>, %[[BM:.*]]: tensor<12x2xf8E8M0FNU>, %[[G:.*]]: tensor<f32>
func.func @matmul(%a: tensor<100x64xf8E4M3FN>, %am: tensor<100x1xf8E8M0FNU>, %b: tensor<48x64xf8E4M3FN>,
    %bm: tensor<12x2xf8E8M0FNU>, %g: tensor<f32>, %c: tensor<100x48xf32>) -> tensor<100x48xf32> {
  // CHECK: scf.for %[[I:.*]] = %c0 to %c100 step %c32
  // CHECK: scf.for %[[J:.*]] = %c0 to %c48 step %c16
  // CHECK: scf.for %[[L:.*]] = %c0 to %c64 step %c32 iter_args(%[[C:.*]] =
  // CHECK-DAG: %[[SIZE:.*]] = affine.min #{{.*}}(%[[I]])
  // CHECK-DAG: %[[AT:.*]] = tensor.extract_slice %[[A]][%[[I]], %[[L]]] [%[[SIZE]], 32] [1, 1]
  // CHECK-DAG: %[[AMT:.*]] = tensor.extract_slice %[[AM]][%[[I]], 0] [%[[SIZE]], 1] [1, 1]
  // CHECK-DAG: %[[BT:.*]] = tensor.extract_slice %[[B]][%[[J]], %[[L]]] [16, 32] [1, 1]
  // CHECK-DAG: %[[JM:.*]] = affine.apply #[[$BY4]]()[%[[J]]]
  // CHECK-DAG: %[[LM:.*]] = affine.apply #[[$BY32]]()[%[[L]]]
  // CHECK-DAG: %[[BMT:.*]] = tensor.extract_slice %[[BM]][%[[JM]], %[[LM]]] [4, 1] [1, 1]
  // CHECK-DAG: %[[CT:.*]] = tensor.extract_slice %[[C]][%[[I]], %[[J]]] [%[[SIZE]], 16] [1, 1]
  // CHECK: %[[R:.*]] = moss.scaled_matmul <fast> accumulates lhs({{.*}}, %[[AT]] : {{.*}}) micro(%[[AMT]] : {{.*}}) global(%[[G]] : {{.*}}) rhs({{.*}}, %[[BT]] : {{.*}}) micro(%[[BMT]] : {{.*}}) global(%[[G]] : {{.*}}) outs(%[[CT]] :
  // CHECK: tensor.insert_slice %[[R]] into %[[C]][%[[I]], %[[J]]] [%[[SIZE]], 16] [1, 1]
  %r = moss.scaled_matmul #moss.accumulate<fast> accumulates
    lhs(#row, %a : tensor<100x64xf8E4M3FN>) micro(%am : tensor<100x1xf8E8M0FNU>) global(%g : tensor<f32>)
    rhs(#block, %b : tensor<48x64xf8E4M3FN>) micro(%bm : tensor<12x2xf8E8M0FNU>) global(%g : tensor<f32>)
    outs(%c : tensor<100x48xf32>) -> tensor<100x48xf32>
  return %r : tensor<100x48xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["moss.scaled_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %1, %loops:3 = transform.structured.tile_using_for %0 tile_sizes [32, 16, 32]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

#tensor = #moss.scheme<f8E4M3FN, global = unit>

// Without a tile along K, nothing needs to accumulate; K may be dynamic.

// CHECK-LABEL: func @parallel_memrefs
// CHECK-SAME:    (%[[A:.*]]: memref<?x?xf8E4M3FN>, %[[B:.*]]: memref<?x?xf8E4M3FN>, %[[C:.*]]: memref<?x?xbf16>)
func.func @parallel_memrefs(%a: memref<?x?xf8E4M3FN>, %b: memref<?x?xf8E4M3FN>, %c: memref<?x?xbf16>) {
  // CHECK-DAG: %[[K:.*]] = memref.dim %[[A]], %c1
  // CHECK: scf.for %[[I:.*]] = %c0 to
  // CHECK: scf.for %[[J:.*]] = %c0 to
  // CHECK-DAG: %[[AT:.*]] = memref.subview %[[A]][%[[I]], 0] [%[[M:.*]], %[[K]]] [1, 1]
  // CHECK-DAG: %[[BT:.*]] = memref.subview %[[B]][%[[J]], 0] [%[[N:.*]], %[[K]]] [1, 1]
  // CHECK-DAG: %[[CT:.*]] = memref.subview %[[C]][%[[I]], %[[J]]] [%[[M]], %[[N]]] [1, 1]
  // CHECK: moss.scaled_matmul <fast> lhs({{.*}}, %[[AT]] : {{.*}}) rhs({{.*}}, %[[BT]] : {{.*}}) outs(%[[CT]] :
  moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %a : memref<?x?xf8E4M3FN>) rhs(#tensor, %b : memref<?x?xf8E4M3FN>) outs(%c : memref<?x?xbf16>)
  return
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["moss.scaled_matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %1, %loops:2 = transform.structured.tile_using_for %0 tile_sizes [32, 16, 0]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

#mx = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>

// The last tile along K ends in a group of 4 elements, which is whole.

// CHECK-LABEL: func @quantize
// CHECK-SAME:    (%[[X:.*]]: tensor<100x8xbf16>,
func.func @quantize(%x: tensor<100x8xbf16>, %p: tensor<8x100xf8E4M3FN>, %m: tensor<8x4xf8E8M0FNU>)
    -> (tensor<8x100xf8E4M3FN>, tensor<8x4xf8E8M0FNU>) {
  // CHECK: scf.forall (%[[II:.*]], %[[LL:.*]]) in (3, 2) shared_outs(%[[P:.*]] = %{{.*}}, %[[M:.*]] = %{{.*}})
  // CHECK-DAG: %[[I:.*]] = affine.apply #{{.*}}(%[[II]])
  // CHECK-DAG: %[[L:.*]] = affine.apply #{{.*}}(%[[LL]])
  // CHECK-DAG: %[[ROWS:.*]] = affine.min #{{.*}}(%[[II]])
  // CHECK-DAG: %[[COLS:.*]] = affine.min #{{.*}}(%[[LL]])
  // CHECK-DAG: tensor.extract_slice %[[X]][%[[L]], %[[I]]] [%[[COLS]], %[[ROWS]]] [1, 1]
  // CHECK-DAG: tensor.extract_slice %[[P]][%[[I]], %[[L]]] [%[[ROWS]], %[[COLS]]] [1, 1]
  // CHECK: moss.quantize {{.*}} transpose
  // CHECK: scf.forall.in_parallel
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[P]][%[[I]], %[[L]]] [%[[ROWS]], %[[COLS]]] [1, 1]
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[M]][%[[I]], %{{.*}}] [%[[ROWS]], %{{.*}}] [1, 1]
  %q:2 = moss.quantize #mx transpose ins(%x : tensor<100x8xbf16>) payload(%p : tensor<8x100xf8E4M3FN>)
    micro(%m : tensor<8x4xf8E8M0FNU>) -> tensor<8x100xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
  return %q#0, %q#1 : tensor<8x100xf8E4M3FN>, tensor<8x4xf8E8M0FNU>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["moss.quantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %1, %loop = transform.structured.tile_using_forall %0 tile_sizes [3, 64]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

#row = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>

// Producers fuse into the loops of their consumer: the rows of a tile are
// quantized, and their values restored, where they are needed.

// CHECK-LABEL: func @fuse
func.func @fuse(%x: tensor<?x?xbf16>, %p: tensor<?x?xf8E4M3FN>, %m: tensor<?x1xf8E8M0FNU>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // CHECK-NOT: moss.quantize
  // CHECK: scf.for
  // CHECK: moss.quantize {{.*}} payload({{.*}} : tensor<?x?xf8E4M3FN>)
  // CHECK: moss.dequantize {{.*}} outs({{.*}} : tensor<?x?xf32>)
  %q:2 = moss.quantize #row ins(%x : tensor<?x?xbf16>) payload(%p : tensor<?x?xf8E4M3FN>)
    micro(%m : tensor<?x1xf8E8M0FNU>) -> tensor<?x?xf8E4M3FN>, tensor<?x1xf8E8M0FNU>
  %d = moss.dequantize #row payload(%q#0 : tensor<?x?xf8E4M3FN>) micro(%q#1 : tensor<?x1xf8E8M0FNU>)
    outs(%y : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}

module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %0 = transform.structured.match ops{["moss.dequantize"]} in %root : (!transform.any_op) -> !transform.any_op
    %1, %loop = transform.structured.fuse %0 tile_sizes [32, 0] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
