// RUN: moss-opt %s --moss-hoist-allocas --allow-unregistered-dialect | FileCheck %s

// CHECK-LABEL: @loop
// CHECK-NEXT:    memref.alloca() : memref<4xf32>
// CHECK-NEXT:    memref.alloca() : memref<8xf32>
// CHECK:         scf.for
// CHECK-NOT:       memref.alloca() :
// CHECK:           memref.alloca(%{{.*}}) : memref<?xf32>
// CHECK:           memref.alloca_scope
// CHECK-NEXT:        memref.alloca() : memref<16xf32>
func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.alloca() : memref<4xf32>
    %b = memref.alloca() : memref<8xf32>
    %c = memref.alloca(%i) : memref<?xf32>
    "test.use"(%a, %b, %c) : (memref<4xf32>, memref<8xf32>, memref<?xf32>) -> ()
    memref.alloca_scope {
      %d = memref.alloca() : memref<16xf32>
      "test.use"(%d) : (memref<16xf32>) -> ()
    }
  }
  return
}
