// REQUIRES: no-gpu
// The library loads, and the program starts and runs, without a GPU; only a
// launch is an error.
// RUN: mlir-opt %s --gpu-module-to-binary=format=isa --gpu-to-llvm -o %t.mlir
// RUN: mlir-runner %t.mlir -e without_launch --entry-point-result=i32 \
// RUN:   --shared-libs=%moss_lib_dir/libmoss_runtime.so | FileCheck %s --check-prefix=RUNS
// RUN: not mlir-runner %t.mlir -e with_launch --entry-point-result=void \
// RUN:   --shared-libs=%moss_lib_dir/libmoss_runtime.so 2>&1 | FileCheck %s
// RUN: not mlir-runner %t.mlir -e replaced_handler --entry-point-result=void \
// RUN:   --shared-libs=%moss_lib_dir/libmoss_runtime.so 2>&1 | FileCheck %s --check-prefix=HANDLER

// RUNS: 7
// CHECK: moss: error: mgpuModuleGetFunction: {{.+}}; {{run on a machine with|check that|install}}
// HANDLER-NOT: moss: error
// HANDLER: mgpuModuleGetFunction:

module attributes {gpu.container_module} {
  gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
    llvm.func @nothing() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  llvm.func @puts(!llvm.ptr) -> i32
  llvm.func @mossSetErrorHandler(!llvm.ptr) -> !llvm.ptr
  llvm.func @without_launch() -> i32 {
    %seven = llvm.mlir.constant(7 : i32) : i32
    llvm.return %seven : i32
  }
  llvm.func @with_launch() {
    %one = llvm.mlir.constant(1 : i64) : i64
    gpu.launch_func @kernels::@nothing blocks in (%one, %one, %one)
        threads in (%one, %one, %one) : i64
    llvm.return
  }
  llvm.func @replaced_handler() {
    %puts = llvm.mlir.addressof @puts : !llvm.ptr
    %previous = llvm.call @mossSetErrorHandler(%puts) : (!llvm.ptr) -> !llvm.ptr
    llvm.call @with_launch() : () -> ()
    llvm.return
  }
}
