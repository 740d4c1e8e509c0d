// RUN: moss-opt %s --pass-pipeline="builtin.module(func.func(moss-elementwise-to-linalg))" | FileCheck %s

// CHECK-LABEL: func @add(
// CHECK:         linalg.generic
// CHECK:           arith.addf %{{.*}} : f32
func.func @add(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.addf %a, %b : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Of each element.
// CHECK-LABEL: func @elements(
// CHECK:         linalg.generic
func.func @elements(%p: tensor<?xi1>, %a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.select %p, %a, %b : tensor<?xi1>, tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Of tensors that may differ in shape.
// CHECK-LABEL: func @choice(
// CHECK-NEXT:    arith.select %{{.*}} : tensor<?xf32>
// CHECK-NEXT:    return
func.func @choice(%p: i1, %a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.select %p, %a, %b : tensor<?xf32>
  return %0 : tensor<?xf32>
}
