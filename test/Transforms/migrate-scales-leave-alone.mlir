// RUN: moss-opt --moss-migrate-scales --remark-format=emitRemark --remarks-filter=moss-migrate-scales -verify-diagnostics %s | FileCheck %s

// CHECK-NOT: linalg.transpose
// CHECK-LABEL: func @last

#tensor = #moss.scheme<f8E4M3FN, global = jit>
#unit = #moss.scheme<f8E4M3FN, global = unit>
#rows = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>
#rows_e5m2 = #moss.scheme<f8E5M2, micro = f8E8M0FNU, group = [1, full], global = unit, rounding = ceil>
#rows_f32 = #moss.scheme<f8E4M3FN, micro = f32, group = [1, full], global = unit, rounding = ceil>
#chunks = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [8, full], global = unit, rounding = ceil>
#blocks = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>
#delayed = #moss.scheme<f8E4M3FN, global = delayed>

func.func @f32_scales(%q: tensor<64x96xf8E4M3FN>, %e: tensor<64x1xf32>, %dy: tensor<64x32xbf16>, %x: tensor<64x96xbf16>,
    %xt: tensor<96x64xf8E4M3FN>, %p: tensor<32x64xf8E4M3FN>, %g: tensor<f32>, %init: tensor<96x32xf32>) -> tensor<96x32xf32> {
  %values = moss.dequantize #rows_f32 payload(%q : tensor<64x96xf8E4M3FN>) micro(%e : tensor<64x1xf32>)
    outs(%x : tensor<64x96xbf16>) -> tensor<64x96xbf16>
  %xt8:2 = moss.quantize #tensor transpose ins(%values : tensor<64x96xbf16>)
    payload(%xt : tensor<96x64xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<96x64xf8E4M3FN>, tensor<f32>
  %dy8:2 = moss.quantize #tensor transpose ins(%dy : tensor<64x32xbf16>)
    payload(%p : tensor<32x64xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<32x64xf8E4M3FN>, tensor<f32>
  // expected-remark @below {{[Missed] left-alone | Category:moss-migrate-scales | Function=f32_scales | Reason="its micro scales are not powers of two, so that moving them would round", Remark="lhs is quantized anew"}}
  %dw = moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %xt8#0 : tensor<96x64xf8E4M3FN>) global(%xt8#1 : tensor<f32>)
    rhs(#tensor, %dy8#0 : tensor<32x64xf8E4M3FN>) global(%dy8#1 : tensor<f32>)
    outs(%init : tensor<96x32xf32>) -> tensor<96x32xf32>
  return %dw : tensor<96x32xf32>
}

// Chunks of rows, and groups along the other dimension.
func.func @groups(%x: tensor<64x96xbf16>, %dy: tensor<64x32xbf16>, %q: tensor<64x96xf8E4M3FN>, %e: tensor<8x1xf8E8M0FNU>, %f: tensor<64x3xf8E8M0FNU>,
    %xt: tensor<96x64xf8E4M3FN>, %p: tensor<32x64xf8E4M3FN>, %g: tensor<f32>, %init: tensor<96x32xf32>)
    -> (tensor<64x96xf8E4M3FN>, tensor<64x96xf8E4M3FN>, tensor<96x32xf32>) {
  %chunks:2 = moss.quantize #chunks ins(%x : tensor<64x96xbf16>)
    payload(%q : tensor<64x96xf8E4M3FN>) micro(%e : tensor<8x1xf8E8M0FNU>) -> tensor<64x96xf8E4M3FN>, tensor<8x1xf8E8M0FNU>
  %blocks:2 = moss.quantize #blocks ins(%x : tensor<64x96xbf16>)
    payload(%q : tensor<64x96xf8E4M3FN>) micro(%f : tensor<64x3xf8E8M0FNU>) -> tensor<64x96xf8E4M3FN>, tensor<64x3xf8E8M0FNU>
  %xt8:2 = moss.quantize #tensor transpose ins(%x : tensor<64x96xbf16>)
    payload(%xt : tensor<96x64xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<96x64xf8E4M3FN>, tensor<f32>
  %dy8:2 = moss.quantize #tensor transpose ins(%dy : tensor<64x32xbf16>)
    payload(%p : tensor<32x64xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<32x64xf8E4M3FN>, tensor<f32>
  // expected-remark @below {{its micro groups span several elements of the sum; only those of single rows are moved}}
  // expected-remark @below {{its micro scales change along a dimension of the result, too}}
  %dw = moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %xt8#0 : tensor<96x64xf8E4M3FN>) global(%xt8#1 : tensor<f32>)
    rhs(#tensor, %dy8#0 : tensor<32x64xf8E4M3FN>) global(%dy8#1 : tensor<f32>)
    outs(%init : tensor<96x32xf32>) -> tensor<96x32xf32>
  return %chunks#0, %blocks#0, %dw : tensor<64x96xf8E4M3FN>, tensor<64x96xf8E4M3FN>, tensor<96x32xf32>
}

func.func @other_operand(%x: tensor<64x96xbf16>, %dy: tensor<64x32xbf16>, %q: tensor<64x96xf8E4M3FN>, %e: tensor<64x1xf8E8M0FNU>,
    %q5: tensor<64x96xf8E5M2>, %xt: tensor<96x64xf8E4M3FN>, %p: tensor<32x64xf8E4M3FN>, %g: tensor<f32>, %init: tensor<96x32xf32>)
    -> (tensor<64x96xf8E4M3FN>, tensor<64x96xf8E5M2>, tensor<96x32xf32>, tensor<96x32xf32>) {
  %x8:2 = moss.quantize #rows ins(%x : tensor<64x96xbf16>)
    payload(%q : tensor<64x96xf8E4M3FN>) micro(%e : tensor<64x1xf8E8M0FNU>) -> tensor<64x96xf8E4M3FN>, tensor<64x1xf8E8M0FNU>
  %e5m2:2 = moss.quantize #rows_e5m2 ins(%x : tensor<64x96xbf16>)
    payload(%q5 : tensor<64x96xf8E5M2>) micro(%e : tensor<64x1xf8E8M0FNU>) -> tensor<64x96xf8E5M2>, tensor<64x1xf8E8M0FNU>
  %xt8:2 = moss.quantize #tensor transpose ins(%x : tensor<64x96xbf16>)
    payload(%xt : tensor<96x64xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<96x64xf8E4M3FN>, tensor<f32>
  %dy8 = moss.quantize #unit transpose ins(%dy : tensor<64x32xbf16>)
    payload(%p : tensor<32x64xf8E4M3FN>) -> tensor<32x64xf8E4M3FN>
  // expected-remark @below {{it has another element type there}}
  // expected-remark @below {{the other operand's scale is known beforehand, and would not fit what the micro scales make of it}}
  %0 = moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %xt8#0 : tensor<96x64xf8E4M3FN>) global(%xt8#1 : tensor<f32>)
    rhs(#unit, %dy8 : tensor<32x64xf8E4M3FN>)
    outs(%init : tensor<96x32xf32>) -> tensor<96x32xf32>
  // expected-remark @below {{it has another element type there}}
  // expected-remark @below {{the other operand is not quantized in this program, so that nothing can take the micro scales}}
  %1 = moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %xt8#0 : tensor<96x64xf8E4M3FN>) global(%xt8#1 : tensor<f32>)
    rhs(#unit, %p : tensor<32x64xf8E4M3FN>)
    outs(%init : tensor<96x32xf32>) -> tensor<96x32xf32>
  return %x8#0, %e5m2#0, %0, %1 : tensor<64x96xf8E4M3FN>, tensor<64x96xf8E5M2>, tensor<96x32xf32>, tensor<96x32xf32>
}

func.func @delayed(%x: tensor<64x96xbf16>, %s: tensor<f32>, %q: tensor<64x96xf8E4M3FN>, %xt: tensor<96x64xf8E4M3FN>,
    %p: tensor<32x64xf8E4M3FN>, %g: tensor<f32>, %init: tensor<96x32xf32>) -> (tensor<64x96xf8E4M3FN>, tensor<96x32xf32>) {
  %x8:2 = moss.quantize #delayed ins(%x : tensor<64x96xbf16>) scale(%s : tensor<f32>)
    payload(%q : tensor<64x96xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<64x96xf8E4M3FN>, tensor<f32>
  %xt8:2 = moss.quantize #tensor transpose ins(%x : tensor<64x96xbf16>)
    payload(%xt : tensor<96x64xf8E4M3FN>) global(%g : tensor<f32>) -> tensor<96x64xf8E4M3FN>, tensor<f32>
  // expected-remark @below {{its global scale there is delayed, and may still be replaced}}
  %0 = moss.scaled_matmul #moss.accumulate<fast>
    lhs(#tensor, %xt8#0 : tensor<96x64xf8E4M3FN>) global(%xt8#1 : tensor<f32>)
    rhs(#unit, %p : tensor<32x64xf8E4M3FN>)
    outs(%init : tensor<96x32xf32>) -> tensor<96x32xf32>
  return %x8#0, %0 : tensor<64x96xf8E4M3FN>, tensor<96x32xf32>
}

// Quantized in the other orientation only behind the matmul, or on another
// path: not a word about that.
func.func @last(%x: tensor<64x96xbf16>, %q: tensor<64x96xf8E4M3FN>, %xt: tensor<96x64xf8E4M3FN>,
    %p: tensor<32x64xf8E4M3FN>, %init: tensor<96x32xf32>) -> (tensor<64x96xf8E4M3FN>, tensor<96x32xf32>) {
  %xt8 = moss.quantize #unit transpose ins(%x : tensor<64x96xbf16>) payload(%xt : tensor<96x64xf8E4M3FN>) -> tensor<96x64xf8E4M3FN>
  %0 = moss.scaled_matmul #moss.accumulate<fast>
    lhs(#unit, %xt8 : tensor<96x64xf8E4M3FN>) rhs(#unit, %p : tensor<32x64xf8E4M3FN>)
    outs(%init : tensor<96x32xf32>) -> tensor<96x32xf32>
  // CHECK: moss.quantize <f8E4M3FN, global = unit> ins(
  %x8 = moss.quantize #unit ins(%x : tensor<64x96xbf16>) payload(%q : tensor<64x96xf8E4M3FN>) -> tensor<64x96xf8E4M3FN>
  return %x8, %0 : tensor<64x96xf8E4M3FN>, tensor<96x32xf32>
}
