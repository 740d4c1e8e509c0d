// From linalg on memrefs to a host module that launches PTX.
// RUN: moss-opt %s --pass-pipeline='builtin.module(moss-linalg-to-gpu,moss-gpu-to-llvm)' -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: moss-translate %t.mlir --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM
// RUN: moss-opt %s --pass-pipeline='builtin.module(moss-linalg-to-gpu,moss-gpu-to-llvm{chip=sm_89 features=+ptx81})' \
// RUN:   | FileCheck %s --check-prefix=SM89

memref.global "private" constant @bias : memref<64xbf16> = dense<1.0>

// CHECK: llvm.func @f
// One stream, one wait.
// CHECK: %[[S:.*]] = llvm.call @mgpuStreamCreate()
// CHECK-NOT: mgpuStream
// CHECK: llvm.call @mgpuMemAlloc(%{{.*}}, %[[S]],
// CHECK: gpu.launch_func <%[[S]] : !llvm.ptr> @f_kernel::@f_kernel
// CHECK: llvm.call @mgpuMemcpy(%{{.*}}, %{{.*}}, %{{.*}}, %[[S]])
// CHECK: llvm.call @mgpuMemFree(%{{.*}}, %[[S]])
// CHECK: llvm.call @mgpuStreamSynchronize(%[[S]])
// CHECK-NEXT: llvm.call @mgpuStreamDestroy(%[[S]])
// CHECK: llvm.func @_mlir_ciface_f
// LLVM: @f_kernel_binary = internal constant {{.*}}.target sm_90a
// LLVM: define void @_mlir_ciface_f(
// SM89: chip = "sm_89", features = "+ptx81"
func.func @f(%a: memref<?x64xbf16>, %out: memref<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?x64xbf16>
  %t = memref.alloc(%n) : memref<?x64xbf16>
  %bias = memref.get_global @bias : memref<64xbf16>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                   affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%a, %bias : memref<?x64xbf16>, memref<64xbf16>) outs(%t : memref<?x64xbf16>) {
  ^bb0(%x: bf16, %b: bf16, %old: bf16):
    %s = arith.addf %x, %b : bf16
    %y = math.tanh %s : bf16
    linalg.yield %y : bf16
  }
  memref.copy %t, %out : memref<?x64xbf16> to memref<?x64xbf16>
  memref.dealloc %t : memref<?x64xbf16>
  return
}
