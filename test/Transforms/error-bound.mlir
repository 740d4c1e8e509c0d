// RUN: moss-opt %s --pass-pipeline="builtin.module(func.func(moss-error-bound,canonicalize,cse))" -split-input-file -verify-diagnostics \
// RUN:   --remark-format=emitRemark --remarks-filter="moss-error-bound" | FileCheck %s
// RUN: moss-opt %s --pass-pipeline="builtin.module(func.func(moss-error-bound{matrix-unit},canonicalize,cse))" -split-input-file \
// RUN:   | FileCheck %s --check-prefix=UNIT

#id = affine_map<(i) -> (i)>

// A sum in f32, rounded to bf16: 2^-24 in the program and in the reference, then
// 2^-8.
// CHECK-LABEL: func @rounding(
// CHECK-SAME:      %[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>, %{{.*}}: tensor<?xbf16>) -> (tensor<?xf32>, tensor<?xf32>)
// CHECK-SAME:      attributes {moss.quantized_operands = [], moss.unbounded_ops = []}
// CHECK-DAG:     %[[U8:.*]] = arith.constant 3.906250e-03 : f32
// CHECK-DAG:     %[[U23:.*]] = arith.constant 1.1920929E-7 : f32
// CHECK:         %[[R:.*]]:2 = linalg.generic {{.*}} ins(%[[X]], %[[Y]] :
// CHECK:         ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32, %{{.*}}: f32):
// CHECK:           %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK:           %[[ABS:.*]] = math.absf %[[S]] : f32
// CHECK:           arith.mulf %[[ABS]], %[[U23]] : f32
// CHECK:           arith.mulf %{{.*}}, %[[U8]] : f32
// CHECK-NOT:       arith.truncf
// CHECK:           linalg.yield %[[S]], %{{.*}} : f32, f32
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @rounding(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xbf16>) -> tensor<?xbf16> {
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
         ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%z : tensor<?xbf16>) {
  ^bb0(%a: f32, %b: f32, %out: bf16):
    %s = arith.addf %a, %b : f32
    %t = arith.truncf %s : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<?xbf16>
  return %0 : tensor<?xbf16>
}

// -----

#id = affine_map<(i) -> (i)>

// Copies, signs and maxima of exact values are exact: the bound is zeros.
// CHECK-LABEL: func @exact(
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:           arith.maximumf
// CHECK:           linalg.yield %{{[^,]*}} : f32
// CHECK:         %[[SLICE:.*]] = tensor.extract_slice %{{.*}}[2] [4] [1] : tensor<8xf32> to tensor<4xf32>
// CHECK:         %[[BOUND:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<4xf32>)
// CHECK:         return %[[SLICE]], %[[BOUND]]
func.func @exact(%x: tensor<8xbf16>, %y: tensor<8xbf16>) -> tensor<4xbf16> {
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
         ins(%x : tensor<8xbf16>) outs(%y : tensor<8xbf16>) {
  ^bb0(%a: bf16, %out: bf16):
    %n = arith.negf %a : bf16
    %m = arith.maximumf %n, %a : bf16
    linalg.yield %m : bf16
  } -> tensor<8xbf16>
  %1 = tensor.extract_slice %0[2] [4] [1] : tensor<8xbf16> to tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// -----

#id = affine_map<(i) -> (i)>
#scalar = affine_map<(i) -> ()>

// Each addition of a sum rounds, in relation to what it yields, and the errors
// are carried along.
// CHECK-LABEL: func @sum(
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%{{.*}} : tensor<8xf32>) outs(%{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>)
// CHECK:         ^bb0(%[[A:.*]]: f32, %[[SUM:.*]]: f32, %[[ERROR:.*]]: f32):
// CHECK:           %[[S:.*]] = arith.addf %[[SUM]], %[[A]]
// CHECK:           arith.addf %{{.*}}, %[[ERROR]]
func.func @sum(%x: tensor<8xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<f32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<f32>) -> tensor<f32>
  %0 = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction"]}
         ins(%x : tensor<8xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %s = arith.addf %sum, %a : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// What a comparison decides may be decided otherwise if the errors reach across:
// then the distance of both choices counts too.
// CHECK-LABEL: func @choice(
// CHECK:         %[[DECIDED:.*]] = arith.cmpf ogt
// CHECK:         %[[UNSURE:.*]] = arith.cmpf ule
// CHECK:         arith.select %[[DECIDED]]
// CHECK:         arith.select %[[UNSURE]]
func.func @choice(%x: f32, %y: f32) -> f32 {
  %zero = arith.constant 0.0 : f32
  %s = arith.addf %x, %y : f32
  %p = arith.cmpf ogt, %s, %zero : f32
  %r = arith.select %p, %s, %zero : f32
  return %r : f32
}

// -----

// An op without a rule is computed in its own type, and nothing is known.
// CHECK-LABEL: func @unknown(
// CHECK-SAME:      moss.unbounded_ops = ["tensor.pad at {{.*}}error-bound.mlir:{{.*}}"]
// CHECK-DAG:     %[[INF:.*]] = arith.constant 0x7F800000 : f32
// CHECK:         tensor.pad
// CHECK:         } : tensor<4xbf16> to tensor<6xbf16>
// CHECK:         %[[BOUND:.*]] = linalg.fill ins(%[[INF]] : f32)
// CHECK:         return %{{.*}}, %[[BOUND]]
func.func @unknown(%x: tensor<4xbf16>) -> tensor<6xbf16> {
  %zero = arith.constant 0.0 : bf16
  // expected-remark @below {{there is no rule for the error of this op}}
  %0 = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : bf16
  } : tensor<4xbf16> to tensor<6xbf16>
  return %0 : tensor<6xbf16>
}

// -----

// A loop carries the bounds of what it carries.
// CHECK-LABEL: func @loop(
// CHECK:         scf.for {{.*}} iter_args(%[[V:.*]] = %{{.*}}, %[[E:.*]] = %{{.*}}) -> (f32, f32)
// CHECK:           %[[S:.*]] = arith.addf %[[V]], %[[V]]
// CHECK:           scf.yield %[[S]], %{{.*}} : f32, f32
func.func @loop(%x: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> f32 {
    %s = arith.addf %v, %v : f32
    scf.yield %s : f32
  }
  return %0 : f32
}

// -----

#rows = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
#wide = #moss.scheme<f8E5M2, global = unit>

// A group's scale is at most twice its largest magnitude over 448; half of the
// smallest subnormal is 2^-10. Under the known scale 1, what exceeds 57344 (less
// the slack) may saturate; half of E5M2's smallest subnormal is 2^-17.
// CHECK-LABEL: func @quantized(
// CHECK-SAME:      -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<2xi64>, tensor<2xi64>)
// CHECK-SAME:      moss.quantized_operands = ["lhs of the matmul at {{.*}}", "rhs of the matmul at {{.*}}"]
// CHECK-DAG:     arith.constant 9.765625E-4 : f32
// CHECK-DAG:     arith.constant 0.0588244833 : f32
// CHECK-DAG:     arith.constant 0.111112066 : f32
// CHECK-DAG:     arith.constant 57343.8906 : f32
// CHECK-DAG:     arith.constant 7.62939453E-6 : f32
// In FP32 the sum loses 5 * 64 * 2^-24 + 2^-20; the matrix unit 2 steps of
// 34 * 2^-13 besides, which is 0.0083.
// CHECK-DAG:     arith.constant 2.00271606E-5
// CHECK:         moss.quantize
// CHECK:         linalg.generic {{.*}} library_call = "moss_reference_matmul"
// UNIT-LABEL: func @quantized(
// UNIT:         arith.constant 0.00832080841 : f32
func.func @quantized(%x: tensor<8x64xbf16>, %w: tensor<64x16xbf16>, %y: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
  %p = tensor.empty() : tensor<8x64xf8E4M3FN>
  %m = tensor.empty() : tensor<8x1xf8E8M0FNU>
  %g = tensor.empty() : tensor<f32>
  %a:3 = moss.quantize #rows ins(%x : tensor<8x64xbf16>) payload(%p : tensor<8x64xf8E4M3FN>)
           micro(%m : tensor<8x1xf8E8M0FNU>) global(%g : tensor<f32>)
           -> tensor<8x64xf8E4M3FN>, tensor<8x1xf8E8M0FNU>, tensor<f32>
  %q = tensor.empty() : tensor<16x64xf8E5M2>
  %b = moss.quantize #wide transpose ins(%w : tensor<64x16xbf16>) payload(%q : tensor<16x64xf8E5M2>) -> tensor<16x64xf8E5M2>
  %0 = moss.scaled_matmul #moss.accumulate<fast>
         lhs(#rows, %a#0 : tensor<8x64xf8E4M3FN>) micro(%a#1 : tensor<8x1xf8E8M0FNU>) global(%a#2 : tensor<f32>)
         rhs(#wide, %b : tensor<16x64xf8E5M2>) outs(%y : tensor<8x16xbf16>) -> tensor<8x16xbf16>
  return %0 : tensor<8x16xbf16>
}
