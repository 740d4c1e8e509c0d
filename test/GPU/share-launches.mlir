// RUN: moss-opt %s --moss-share-launches | FileCheck %s

module attributes {gpu.container_module} {
  gpu.module @k {
    llvm.func @k(%a: !llvm.ptr, %n: i64, %m: i64) attributes {gpu.kernel} {
      llvm.return
    }
  }
  gpu.module @once {
    llvm.func @once(%a: !llvm.ptr) attributes {gpu.kernel} {
      llvm.return
    }
  }

  // The same constant is one of the shared function, and others are arguments.
  // CHECK:       llvm.func internal @k_launch(%[[GRID:.*]]: i64, %[[A:.*]]: !llvm.ptr, %[[M:.*]]: i64, %[[STREAM:.*]]: !llvm.ptr) attributes {no_inline} {
  // CHECK:         %[[C8:.*]] = llvm.mlir.constant(8 : i64)
  // CHECK:         gpu.launch_func <%[[STREAM]] : !llvm.ptr> @k::@k blocks in (%[[GRID]], %{{.*}}, %{{.*}}) threads in ({{.*}}) : i64 args(%[[A]] : !llvm.ptr, %{{.*}} : i64, %[[M]] : i64)
  // CHECK-NEXT:    llvm.return

  // CHECK-LABEL: llvm.func @f(
  // CHECK-SAME:      %[[A:[^:]*]]: !llvm.ptr, %[[B:[^:]*]]: !llvm.ptr, %[[S:[^:]*]]: !llvm.ptr, %[[N:[^:]*]]: i64)
  llvm.func @f(%a: !llvm.ptr, %b: !llvm.ptr, %stream: !llvm.ptr, %n: i64) {
    %c1 = llvm.mlir.constant(1 : i64) : i64
    %c4 = llvm.mlir.constant(4 : i64) : i64
    %c5 = llvm.mlir.constant(5 : i64) : i64
    %c8 = llvm.mlir.constant(8 : i64) : i64
    // CHECK-DAG: %[[C4:.*]] = llvm.mlir.constant(4 : i64)
    // CHECK-DAG: %[[C5:.*]] = llvm.mlir.constant(5 : i64)
    // CHECK: llvm.call @k_launch(%[[C4]], %[[A]], %[[C5]], %[[S]])
    gpu.launch_func <%stream : !llvm.ptr> @k::@k blocks in (%c4, %c1, %c1) threads in (%c8, %c1, %c1) : i64
      args(%a : !llvm.ptr, %c8 : i64, %c5 : i64)
    // CHECK: gpu.launch_func <%[[S]] : !llvm.ptr> @once::@once
    gpu.launch_func <%stream : !llvm.ptr> @once::@once blocks in (%c4, %c1, %c1) threads in (%c8, %c1, %c1) : i64
      args(%a : !llvm.ptr)
    // CHECK: llvm.call @k_launch(%[[N]], %[[B]], %[[N]], %[[S]])
    gpu.launch_func <%stream : !llvm.ptr> @k::@k blocks in (%n, %c1, %c1) threads in (%c8, %c1, %c1) : i64
      args(%b : !llvm.ptr, %c8 : i64, %n : i64)
    llvm.return
  }
}
