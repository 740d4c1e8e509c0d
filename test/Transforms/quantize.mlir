// RUN: moss-opt --moss-quantize %s | FileCheck %s
// RUN: moss-opt --moss-quantize="scheme=per-tensor global=unit accumulate=fast" %s | FileCheck %s --check-prefix=TENSOR
// RUN: moss-opt --moss-quantize="lhs-group=1,64 rhs-scheme=mx rounding=nearest promote-interval=256" %s | FileCheck %s --check-prefix=GROUPS
// RUN: moss-opt --moss-quantize='rhs-scheme="#moss.scheme<f8E5M2, global = unit>"' %s | FileCheck %s --check-prefix=TEXT

// CHECK: #[[$CEIL16:.*]] = affine_map<()[s0] -> ((s0 ceildiv 16) * 16)>

// CHECK-LABEL: func @plain
// CHECK-SAME:    (%[[X:.*]]: tensor<8x64xbf16>, %[[W:.*]]: tensor<64x16xbf16>, %[[C:.*]]: tensor<8x16xf32>)
// TENSOR-LABEL: func @plain
// GROUPS-LABEL: func @plain
// TEXT-LABEL: func @plain
func.func @plain(%x: tensor<8x64xbf16>, %w: tensor<64x16xbf16>, %c: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // CHECK: %[[P:.*]] = tensor.empty() : tensor<8x64xf8E4M3FN>
  // CHECK: %[[M:.*]] = tensor.empty() : tensor<8x1xf8E8M0FNU>
  // CHECK: %[[G:.*]] = tensor.empty() : tensor<f32>
  // CHECK: %[[XQ:.*]]:3 = moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil> ins(%[[X]] :
  // CHECK-SAME: payload(%[[P]] : {{.*}}) micro(%[[M]] : {{.*}}) global(%[[G]] :
  // CHECK: %[[WQ:.*]]:2 = moss.quantize <f8E4M3FN, global = jit> transpose ins(%[[W]] : tensor<64x16xbf16>) payload(%{{.*}} : tensor<16x64xf8E4M3FN>) global(
  // CHECK-NOT: linalg
  // CHECK: %[[R:.*]] = moss.scaled_matmul <promoted(128)> lhs(<f8E4M3FN, micro = {{.*}}>, %[[XQ]]#0 : {{.*}}) micro(%[[XQ]]#1 : {{.*}}) global(%[[XQ]]#2 :
  // CHECK-SAME: rhs(<f8E4M3FN, global = jit>, %[[WQ]]#0 : {{.*}}) global(%[[WQ]]#1 : {{.*}}) outs(%[[C]] : tensor<8x16xf32>)
  // CHECK: return %[[R]]
  // TENSOR-COUNT-2: moss.quantize <f8E4M3FN, global = unit>
  // TENSOR: moss.scaled_matmul <fast> lhs(<f8E4M3FN, global = unit>, %{{.*}} : tensor<8x64xf8E4M3FN>) rhs(<f8E4M3FN, global = unit>, %{{.*}} : tensor<16x64xf8E4M3FN>) outs
  // GROUPS: moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, 64], global = jit, rounding = nearest> ins({{.*}} micro(%{{.*}} : tensor<8x1xf8E8M0FNU>)
  // GROUPS: moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = nearest> transpose ins({{.*}} micro(%{{.*}} : tensor<16x2xf8E8M0FNU>)
  // GROUPS: moss.scaled_matmul <promoted(256)>
  // TEXT: moss.quantize <f8E4M3FN, micro = f8E8M0FNU
  // TEXT: moss.quantize <f8E5M2, global = unit> transpose
  %zero = arith.constant 0.0 : f32
  %0 = linalg.fill ins(%zero : f32) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x16xbf16>) outs(%0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// The rows of a K that is not a multiple of 16 are padded in memory. A value
// to add to is kept.

// CHECK-LABEL: func @accumulate
// CHECK-SAME:    %[[C:[a-z0-9]+]]: tensor<4x6xbf16>)
func.func @accumulate(%x: tensor<4x100xbf16>, %w: tensor<100x6xbf16>, %c: tensor<4x6xbf16>) -> tensor<4x6xbf16> {
  // CHECK: %[[BUFFER:.*]] = bufferization.alloc_tensor() : tensor<4x112xf8E4M3FN>
  // CHECK: %[[P:.*]] = tensor.extract_slice %[[BUFFER]][0, 0] [4, 100] [1, 1]
  // CHECK: moss.quantize {{.*}} payload(%[[P]] : tensor<4x100xf8E4M3FN>)
  // CHECK: moss.scaled_matmul <promoted(128)> accumulates {{.*}} outs(%[[C]] : tensor<4x6xbf16>)
  %0 = linalg.matmul ins(%x, %w : tensor<4x100xbf16>, tensor<100x6xbf16>) outs(%c : tensor<4x6xbf16>) -> tensor<4x6xbf16>
  return %0 : tensor<4x6xbf16>
}

// CHECK-LABEL: func @dynamic_transposed
// CHECK-SAME:    (%[[X:.*]]: tensor<?x?xbf16>, %[[W:.*]]: tensor<?x?xbf16>,
func.func @dynamic_transposed(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  // CHECK-DAG: %[[K:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[M:.*]] = tensor.dim %[[X]], %c1
  // CHECK: %[[PADDED:.*]] = affine.apply #[[$CEIL16]]()[%[[K]]]
  // CHECK: %[[BUFFER:.*]] = bufferization.alloc_tensor(%[[M]], %[[PADDED]]) : tensor<?x?xf8E4M3FN>
  // CHECK: tensor.extract_slice %[[BUFFER]][0, 0] [%[[M]], %[[K]]] [1, 1]
  // CHECK: tensor.empty(%[[M]]) : tensor<?x1xf8E8M0FNU>
  // CHECK: moss.quantize <{{.*}}> transpose ins(%[[X]] :
  // CHECK: moss.quantize <{{.*}}> ins(%[[W]] :
  // CHECK: moss.scaled_matmul
  %0 = linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// Neither the name of the op nor the order of its loops matters. A result that
// is stored transposed takes its rows from the second operand.

// CHECK-LABEL: func @contract_and_generic
// CHECK-SAME:    (%[[A:.*]]: tensor<8x64xbf16>, %[[B:.*]]: tensor<16x64xbf16>,
func.func @contract_and_generic(%a: tensor<8x64xbf16>, %b: tensor<16x64xbf16>, %c: tensor<8x16xf32>, %d: tensor<16x8xf32>)
    -> (tensor<8x16xf32>, tensor<16x8xf32>) {
  // CHECK: %[[AQ:.*]]:3 = moss.quantize <{{.*}}group = [1, full]{{.*}}> ins(%[[A]]
  // CHECK: %[[BQ:.*]]:2 = moss.quantize <f8E4M3FN, global = jit> ins(%[[B]]
  // CHECK: moss.scaled_matmul {{.*}} lhs({{.*}}, %[[AQ]]#0 {{.*}} rhs({{.*}}, %[[BQ]]#0
  %0 = linalg.contract
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%a, %b : tensor<8x64xbf16>, tensor<16x64xbf16>) outs(%c : tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK: %[[BROWS:.*]]:3 = moss.quantize <{{.*}}group = [1, full]{{.*}}> ins(%[[B]]
  // CHECK: %[[ATENSOR:.*]]:2 = moss.quantize <f8E4M3FN, global = jit> ins(%[[A]]
  // CHECK: moss.scaled_matmul {{.*}} lhs({{.*}}, %[[BROWS]]#0 {{.*}} rhs({{.*}}, %[[ATENSOR]]#0
  %1 = linalg.generic {
      indexing_maps = [affine_map<(k, m, n) -> (m, k)>, affine_map<(k, m, n) -> (n, k)>, affine_map<(k, m, n) -> (n, m)>],
      iterator_types = ["reduction", "parallel", "parallel"]}
    ins(%a, %b : tensor<8x64xbf16>, tensor<16x64xbf16>) outs(%d : tensor<16x8xf32>) {
  ^bb0(%x: bf16, %y: bf16, %acc: f32):
    %xe = arith.extf %x : bf16 to f32
    %ye = arith.extf %y : bf16 to f32
    %p = arith.mulf %ye, %xe : f32
    %s = arith.addf %p, %acc : f32
    linalg.yield %s : f32
  } -> tensor<16x8xf32>
  return %0, %1 : tensor<8x16xf32>, tensor<16x8xf32>
}

// One quantize serves all matmuls that it dominates, per orientation.

// CHECK-LABEL: func @share
func.func @share(%x: tensor<64x64xbf16>, %w: tensor<64x64xbf16>, %c: tensor<64x64xf32>, %cond: i1) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  // CHECK: %[[XQ:.*]]:3 = moss.quantize <{{.*}}> ins(%arg0
  // CHECK: %[[WQ:.*]]:2 = moss.quantize <{{.*}}> transpose ins(%arg1
  // CHECK: moss.scaled_matmul {{.*}} lhs({{.*}}, %[[XQ]]#0 {{.*}} rhs({{.*}}, %[[WQ]]#0
  %0 = linalg.matmul ins(%x, %w : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%c : tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: scf.if
  %1 = scf.if %cond -> tensor<64x64xf32> {
    // CHECK-NEXT: moss.scaled_matmul {{.*}} lhs({{.*}}, %[[XQ]]#0 {{.*}} rhs({{.*}}, %[[WQ]]#0
    %2 = linalg.matmul ins(%x, %w : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %2 : tensor<64x64xf32>
  } else {
    // CHECK: else
    // CHECK: moss.quantize <f8E4M3FN, global = jit> ins(%arg1
    %2 = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%x, %w : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %2 : tensor<64x64xf32>
  }
  // CHECK: moss.quantize <f8E4M3FN, global = jit> ins(%arg1
  // CHECK-NOT: moss.quantize
  %3 = linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<64x64xbf16>, tensor<64x64xbf16>) outs(%1 : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %3 : tensor<64x64xf32>, tensor<64x64xf32>
}
