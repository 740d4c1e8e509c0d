// RUN: moss-opt %s --moss-share-ops | FileCheck %s
// RUN: moss-opt %s --moss-share-ops --moss-inline-shared-ops | FileCheck %s --check-prefix=INLINE --implicit-check-not=moss.shared --implicit-check-not=call
// RUN: moss-opt %s --moss-share-ops -o /dev/null --remark-format=emitRemark --remarks-filter='moss-share-ops' 2>&1 | FileCheck %s --check-prefix=REMARK

#rows = #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
#tensor = #moss.scheme<f8E4M3FN, global = jit>

// REMARK-COUNT-5: remark: [Passed] shared | {{.*}}"compiled once for all ops that are equal to it", ops=2
// REMARK-NOT:     remark:

// Across functions, in loops too.
// CHECK-LABEL: func @quantize(
// CHECK-SAME:      %[[X:[a-z0-9]*]]: memref<8x?xbf16>, %[[P:[a-z0-9]*]]: memref<8x?xf8E4M3FN>, %[[M:[a-z0-9]*]]: memref<8x1xf8E8M0FNU>, %[[G:[a-z0-9]*]]: memref<f32>
// CHECK:         call @moss_quantize_8xdyn(%[[X]], %[[P]], %[[M]], %[[G]])
// CHECK:         scf.for
// CHECK:           call @moss_quantize_8xdyn(
// CHECK-NOT:     moss.quantize
// INLINE-LABEL: func @quantize(
// INLINE:         moss.quantize
// INLINE:         scf.for
// INLINE:           moss.quantize
func.func @quantize(%x: memref<8x?xbf16>, %p: memref<8x?xf8E4M3FN>, %m: memref<8x1xf8E8M0FNU>, %g: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  moss.quantize #rows ins(%x : memref<8x?xbf16>) payload(%p : memref<8x?xf8E4M3FN>) micro(%m : memref<8x1xf8E8M0FNU>) global(%g : memref<f32>)
  scf.for %i = %c0 to %n step %c1 {
    moss.quantize #rows ins(%x : memref<8x?xbf16>) payload(%p : memref<8x?xf8E4M3FN>) micro(%m : memref<8x1xf8E8M0FNU>) global(%g : memref<f32>)
  }
  return
}

// The third uses one payload twice, the fourth accumulates in another way: both stay.
// CHECK-LABEL: func @matmuls(
// CHECK-SAME:      %[[A:[a-z0-9]*]]: memref<64x32xf8E4M3FN>, %[[B:[a-z0-9]*]]: memref<64x32xf8E4M3FN>, %[[S:[a-z0-9]*]]: memref<f32>, %[[T:[a-z0-9]*]]: memref<f32>, %[[C:[a-z0-9]*]]: memref<64x64xf32>)
// CHECK:         call @moss_matmul_64x64x32(%[[A]], %[[S]], %[[B]], %[[T]], %[[C]])
// CHECK:         call @moss_matmul_64x64x32(%[[B]], %[[T]], %[[A]], %[[S]], %[[C]])
// CHECK:         moss.scaled_matmul {{.*}} lhs({{.*}}, %[[A]] : {{.*}}rhs({{.*}}, %[[A]] :
// CHECK:         moss.scaled_matmul <promoted(128)>
func.func @matmuls(%a: memref<64x32xf8E4M3FN>, %b: memref<64x32xf8E4M3FN>, %s: memref<f32>, %t: memref<f32>, %c: memref<64x64xf32>) {
  moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %a : memref<64x32xf8E4M3FN>) global(%s : memref<f32>)
    rhs(#tensor, %b : memref<64x32xf8E4M3FN>) global(%t : memref<f32>) outs(%c : memref<64x64xf32>)
  moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %b : memref<64x32xf8E4M3FN>) global(%t : memref<f32>)
    rhs(#tensor, %a : memref<64x32xf8E4M3FN>) global(%s : memref<f32>) outs(%c : memref<64x64xf32>)
  moss.scaled_matmul #moss.accumulate<fast> lhs(#tensor, %a : memref<64x32xf8E4M3FN>) global(%s : memref<f32>)
    rhs(#tensor, %a : memref<64x32xf8E4M3FN>) global(%t : memref<f32>) outs(%c : memref<64x64xf32>)
  moss.scaled_matmul #moss.accumulate<promoted(128)> lhs(#tensor, %a : memref<64x32xf8E4M3FN>) global(%s : memref<f32>)
    rhs(#tensor, %b : memref<64x32xf8E4M3FN>) global(%t : memref<f32>) outs(%c : memref<64x64xf32>)
  return
}

// Constants that a region uses are part of the op, other values are arguments.
// CHECK-LABEL: func @relu(
// CHECK-SAME:      %[[X:[a-z0-9]*]]: memref<4x8xf32>, %[[Y:[a-z0-9]*]]: memref<4x8xf32>, %[[S:[a-z0-9]*]]: f32, %[[T:[a-z0-9]*]]: f32)
// CHECK:         call @moss_linalg_generic_4x8(%[[X]], %[[Y]], %[[S]])
// CHECK:         call @moss_linalg_generic_4x8(%[[X]], %[[Y]], %[[T]])
// CHECK:         linalg.generic
// CHECK:         linalg.generic
// INLINE-LABEL: func @relu(
// INLINE-COUNT-4: linalg.generic
#id = affine_map<(i, j) -> (i, j)>
func.func @relu(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %s: f32, %t: f32) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.mulf %in, %s : f32
    %q = arith.maximumf %p, %zero : f32
    linalg.yield %q : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.mulf %in, %t : f32
    %q = arith.maximumf %p, %zero : f32
    linalg.yield %q : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.mulf %in, %s : f32
    %q = arith.maximumf %p, %one : f32
    linalg.yield %q : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %p = arith.mulf %in, %s : f32
    %q = arith.maximumf %p, %zero : f32
    linalg.yield %q : f32
  }
  return
}

// Names that are taken get a number. Layouts are parts of types.
// CHECK-LABEL: func @fill(
// CHECK-COUNT-2: call @moss_linalg_fill_8x16_0(
// CHECK:         linalg.fill
func.func @fill(%a: memref<8x16xf32>, %b: memref<8x16xf32>, %c: memref<8x16xf32, strided<[32, 1]>>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
  linalg.fill ins(%zero : f32) outs(%b : memref<8x16xf32>)
  linalg.fill ins(%zero : f32) outs(%c : memref<8x16xf32, strided<[32, 1]>>)
  return
}
func.func private @moss_linalg_fill_8x16()

// What runs on the host or in a kernel stays, and so do ops on tensors.
// CHECK-LABEL: func @host(
// CHECK-COUNT-2: linalg.fill
// CHECK-LABEL: func @kernel(
// CHECK-COUNT-2: linalg.fill
// CHECK-LABEL: func @tensors(
// CHECK-COUNT-2: linalg.fill
func.func @host(%a: memref<4xf32>, %x: f32) attributes {moss.host} {
  linalg.fill ins(%x : f32) outs(%a : memref<4xf32>)
  linalg.fill ins(%x : f32) outs(%a : memref<4xf32>)
  return
}
func.func @kernel(%a: memref<4xf32>, %x: f32, %n: index) {
  scf.forall (%i) in (%n) {
    linalg.fill ins(%x : f32) outs(%a : memref<4xf32>)
    linalg.fill ins(%x : f32) outs(%a : memref<4xf32>)
  }
  return
}
func.func @tensors(%a: tensor<4xf32>, %x: f32) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = linalg.fill ins(%x : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.fill ins(%x : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Scalars in a table are passed as scalars at any offset.
// CHECK-LABEL: func @table(
// CHECK:         %[[FIRST:.*]] = memref.cast %{{.*}} : memref<f32, strided<[]>> to memref<f32, strided<[], offset: ?>>
// CHECK:         call @moss_quantize_4x4(%{{.*}}, %[[FIRST]], %{{.*}})
// CHECK:         %[[THIRD:.*]] = memref.cast %{{.*}} : memref<f32, strided<[], offset: 2>> to memref<f32, strided<[], offset: ?>>
// CHECK:         call @moss_quantize_4x4(%{{.*}}, %[[THIRD]], %{{.*}})
#given = #moss.scheme<f8E4M3FN, global = given>
func.func @table(%x: memref<4x4xbf16>, %p: memref<4x4xf8E4M3FN>, %scales: memref<3xf32>) {
  %s = memref.subview %scales[0] [1] [1] : memref<3xf32> to memref<f32, strided<[]>>
  moss.quantize #given ins(%x : memref<4x4xbf16>) scale(%s : memref<f32, strided<[]>>) payload(%p : memref<4x4xf8E4M3FN>)
  %t = memref.subview %scales[2] [1] [1] : memref<3xf32> to memref<f32, strided<[], offset: 2>>
  moss.quantize #given ins(%x : memref<4x4xbf16>) scale(%t : memref<f32, strided<[], offset: 2>>) payload(%p : memref<4x4xf8E4M3FN>)
  return
}

// CHECK:       func.func private @moss_quantize_8xdyn(%{{.*}}) attributes {llvm.linkage = #llvm.linkage<internal>, moss.shared}
// CHECK-NEXT:    moss.quantize
// CHECK-NEXT:    return
// CHECK:       func.func private @moss_matmul_64x64x32(
// CHECK:       func.func private @moss_linalg_generic_4x8(%{{.*}}: memref<4x8xf32>, %{{.*}}: memref<4x8xf32>, %[[FACTOR:.*]]: f32)
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT:    linalg.generic
// CHECK:           arith.mulf %{{.*}}, %[[FACTOR]]
// CHECK:           arith.maximumf %{{.*}}, %[[ZERO]]
// CHECK:       func.func private @moss_linalg_fill_8x16_0(%{{.*}}: memref<8x16xf32>)
