// RUN: moss-opt %s --moss-inline-shared-ops | FileCheck %s

// Functions of the program stay, whatever they call.
// CHECK-LABEL: func @f(
// CHECK-SAME:      %{{.*}}: i1, %[[A:[a-z0-9]*]]: memref<8xf32>, %[[B:[a-z0-9]*]]: memref<8xf32>)
// CHECK:         scf.if
// CHECK:           memref.copy %[[A]], %[[B]]
// CHECK:         memref.copy %[[B]], %[[A]]
// CHECK-NEXT:    call @own
// CHECK-NEXT:    return
func.func @f(%p: i1, %a: memref<8xf32>, %b: memref<8xf32>) {
  scf.if %p {
    func.call @shared(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  }
  call @shared(%b, %a) : (memref<8xf32>, memref<8xf32>) -> ()
  call @own(%b) : (memref<8xf32>) -> ()
  return
}

// CHECK-NOT: func {{.*}}@shared
// CHECK:     func private @own
func.func private @shared(%a: memref<8xf32>, %b: memref<8xf32>) attributes {moss.shared} {
  memref.copy %a, %b : memref<8xf32> to memref<8xf32>
  return
}
func.func private @own(%a: memref<8xf32>) {
  return
}
