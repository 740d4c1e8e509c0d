// REQUIRES: clang
// A lowered module becomes a library that needs nothing but the runtime beside
// it, with a C wrapper for each function.
// RUN: moss-opt %s --pass-pipeline='builtin.module(moss-linalg-to-gpu,moss-gpu-to-llvm)' -o %t.mlir
// RUN: rm -rf %t.dir
// RUN: env MOSS_BUILD_DIR=%moss_build_dir %moss_src_dir/utils/moss-build-shared.sh %t.mlir %t.dir/fill.so
// RUN: llvm-readelf --dynamic --dyn-syms %t.dir/fill.so | FileCheck %s
// It loads without a GPU, from any folder.
// RUN: mv %t.dir %t.moved
// RUN: python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])._mlir_ciface_fill' %t.moved/fill.so
// RUN: rm -rf %t.moved
// RUN: not env MOSS_BUILD_DIR=%t.none %moss_src_dir/utils/moss-build-shared.sh %t.mlir %t.so 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE

// NONE: build Moss, or set MOSS_BUILD_DIR

// CHECK-DAG: Shared library: [libmoss_runtime.so]
// CHECK-DAG: Library {{rpath|runpath}}: [$ORIGIN]
// CHECK-DAG: FUNC {{.*}} _mlir_ciface_fill
// CHECK-DAG: UND mgpuLaunchKernel
func.func @fill(%m: memref<?x?xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%m : memref<?x?xf32>)
  return
}
