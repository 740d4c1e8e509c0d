// RUN: moss-opt %s --moss-expand-rescale --split-input-file | FileCheck %s
// RUN: moss-opt %s --moss-expand-rescale=for-threads --split-input-file | FileCheck %s --check-prefix=THREADS

// Scales of rows are split and combined as a column, and each element costs two
// multiplications.

// CHECK-LABEL: @rows
// CHECK-SAME:    %[[TILE:.*]]: vector<8x16xf32>, %[[ROWS:.*]]: vector<8x1xf8E8M0FNU>
// CHECK:         arith.bitcast %[[ROWS]] : vector<8x1xf8E8M0FNU> to vector<8x1xi8>
// CHECK:         %[[FIRST:.*]] = arith.mulf %{{.*}} : vector<8x1xf32>
// CHECK-NOT:     vector<8x16xi32>
// CHECK:         %[[B1:.*]] = vector.broadcast %[[FIRST]] : vector<8x1xf32> to vector<8x16xf32>
// CHECK-NEXT:    %[[M:.*]] = arith.mulf %[[TILE]], %[[B1]] : vector<8x16xf32>
// CHECK-NEXT:    %[[B2:.*]] = vector.broadcast %{{.*}} : vector<8x1xf32> to vector<8x16xf32>
// CHECK-NEXT:    %[[R:.*]] = arith.mulf %[[M]], %[[B2]] : vector<8x16xf32>
// CHECK-NEXT:    return %[[R]]
// THREADS-LABEL: @rows
// THREADS:         %[[M:.*]] = arith.mulf %{{.*}} : vector<8x16xf32>
// THREADS-NEXT:    moss.apply_powers %[[M]] by %{{.*}} : vector<8x16xf32>, vector<8x1xf32>
func.func @rows(%t: vector<8x16xf32>, %e: vector<8x1xf8E8M0FNU>) -> vector<8x16xf32> {
  %r = moss.rescale %t rows(%e : vector<8x1xf8E8M0FNU>) : vector<8x16xf32>
  return %r : vector<8x16xf32>
}

// -----

// Scalars stay scalars, and are normalized when they are subnormal.

// CHECK-LABEL: @scalars
// CHECK-NOT:     vector<8x16xi32>
// CHECK:         arith.constant 4.2949673E+9 : f32
// CHECK:         %[[C:.*]] = arith.mulf %{{[0-9]+}}, %{{[0-9]+}} : f32
// CHECK-NEXT:    %[[X:.*]] = arith.addi %{{.*}} : i32
// CHECK:         arith.maxsi %[[X]]
// CHECK:         %[[FIRST:.*]] = arith.mulf %[[C]], %{{.*}} : f32
// CHECK:         vector.broadcast %[[FIRST]] : f32 to vector<8x16xf32>
// THREADS-LABEL: @scalars
// THREADS:         moss.apply_powers %{{.*}} by %{{.*}} : vector<8x16xf32>, f32
func.func @scalars(%t: vector<8x16xf32>, %a: f32, %b: f32) -> vector<8x16xf32> {
  %r = moss.rescale %t by(%a, %b) : vector<8x16xf32>
  return %r : vector<8x16xf32>
}

// -----

// With scales of rows and columns, exponents are added per element.

// CHECK-LABEL: @both
// CHECK:         arith.mulf %{{.*}} : vector<8x1xf32>
// CHECK:         arith.addi %{{.*}} : vector<8x1xi32>
// CHECK-DAG:     %[[X:.*]] = vector.broadcast %{{.*}} : vector<8x1xi32> to vector<8x16xi32>
// CHECK-DAG:     %[[Y:.*]] = vector.broadcast %{{.*}} : vector<1x16xi32> to vector<8x16xi32>
// CHECK:         arith.addi %[[X]], %[[Y]] : vector<8x16xi32>
// CHECK:         arith.constant dense<125> : vector<8x16xi32>
func.func @both(%t: vector<8x16xf32>, %e: vector<8x1xf8E8M0FNU>, %f: vector<1x16xf8E8M0FNU>, %s: f32)
    -> vector<8x16xf32> {
  %r = moss.rescale %t rows(%e : vector<8x1xf8E8M0FNU>) cols(%f : vector<1x16xf8E8M0FNU>)
      by(%s) : vector<8x16xf32>
  return %r : vector<8x16xf32>
}

// -----

// Four significands make a product below 16, for which the bound leaves room.

// CHECK-LABEL: @four_significands
// CHECK:         arith.constant dense<123> : vector<8x16xi32>
func.func @four_significands(%t: vector<8x16xf32>, %e: vector<8x1xf32>, %f: vector<1x16xf32>, %s: f32)
    -> vector<8x16xf32> {
  %r = moss.rescale %t rows(%e : vector<8x1xf32>) cols(%f : vector<1x16xf32>)
      by(%s, %s) : vector<8x16xf32>
  return %r : vector<8x16xf32>
}

// -----

// The product of the scales is rounded, product and sum are fused. E8M0 code 0
// is a subnormal number, code 255 NaN.

// CHECK-LABEL: @sum
// CHECK-SAME:    %[[C:[a-z0-9]+]]: vector<8x16xf32>, %[[T:[a-z0-9]+]]: vector<8x16xf32>, %[[E:[a-z0-9]+]]: vector<8x1xf8E8M0FNU>, %[[F:[a-z0-9]+]]: vector<1x16xf32>
// CHECK-DAG:     %[[MIN:.*]] = arith.constant dense<4194304> : vector<8x1xi32>
// CHECK-DAG:     %[[NAN:.*]] = arith.constant dense<2143289344> : vector<8x1xi32>
// CHECK-DAG:     %[[BITS:.*]] = arith.maxui %{{.*}}, %[[MIN]]
// CHECK:         arith.select %{{.*}}, %[[NAN]], %[[BITS]]
// CHECK:         %[[ROWS:.*]] = vector.broadcast %{{.*}} : vector<8x1xf32> to vector<8x16xf32>
// CHECK:         %[[COLS:.*]] = vector.broadcast %[[F]] : vector<1x16xf32> to vector<8x16xf32>
// CHECK:         %[[FACTOR:.*]] = arith.mulf %[[ROWS]], %[[COLS]]
// CHECK:         math.fma %[[T]], %[[FACTOR]], %[[C]] : vector<8x16xf32>
func.func @sum(%c: vector<8x16xf32>, %t: vector<8x16xf32>, %e: vector<8x1xf8E8M0FNU>, %f: vector<1x16xf32>)
    -> vector<8x16xf32> {
  %r = moss.add_rescaled %c, %t rows(%e : vector<8x1xf8E8M0FNU>) cols(%f : vector<1x16xf32>) : vector<8x16xf32>
  return %r : vector<8x16xf32>
}
