// DEFINE: %{kernels} = moss-quantize-to-gpu,canonicalize,cse,gpu-launch-sink-index-computations,gpu-kernel-outlining
// DEFINE: %{nvvm} = gpu.module(canonicalize,cse,moss-convert-fp8-to-nvvm,expand-strided-metadata,convert-scf-to-cf,convert-vector-to-llvm,convert-gpu-to-nvvm,convert-nvvm-to-llvm,reconcile-unrealized-casts,canonicalize,cse)
// RUN: moss-opt %s --pass-pipeline='builtin.module(%{kernels},nvvm-attach-target{chip=sm_90a features=+ptx80 O=3},%{nvvm})' \
// RUN:   | mlir-opt --gpu-module-to-binary=format=isa -o %t.mlir
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=moss_quantize_amax_dynxdyn_kernel | FileCheck %s --check-prefix=AMAX
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=moss_quantize_dynxdyn_kernel | FileCheck %s --check-prefix=CONVERT
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=moss_quantize_transpose_dynxdyn_kernel | FileCheck %s --check-prefix=TRANSPOSE
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=moss_quantize_8192x4096_kernel | FileCheck %s --check-prefix=HELD
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=moss_dequantize_dynxdyn_kernel | FileCheck %s --check-prefix=DEQUANTIZE

// Loads and stores are wide, conversions are instructions, and a row is reduced
// by instructions as well.

// AMAX-LABEL: .entry moss_quantize_amax_dynxdyn_kernel
// AMAX: ld.global.v4.b32
// AMAX: redux.sync.max.u32
// AMAX: atom.global.max.u32
// CONVERT-LABEL: .entry moss_quantize_dynxdyn_kernel(
// CONVERT: ld.global.v4.b32
// CONVERT-COUNT-4: cvt.rn.satfinite.e4m3x2.f32
// CONVERT: st.global.v4.b16
func.func @rows(%x: memref<?x?xbf16>, %p: memref<?x?xf8E4M3FN>, %m: memref<?x1xf8E8M0FNU>, %g: memref<f32>) {
  moss.quantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
    ins(%x : memref<?x?xbf16>) payload(%p : memref<?x?xf8E4M3FN>) micro(%m : memref<?x1xf8E8M0FNU>) global(%g : memref<f32>)
  return
}

// The loads of four groups are on their way together; magnitudes are compared in
// pairs.

// HELD-LABEL: .entry moss_quantize_8192x4096_kernel
// HELD-COUNT-8: ld.global.v4.b32
// HELD-NOT: ld.global
// HELD: max.u16x2
// HELD-NOT: prmt
func.func @held(%x: memref<8192x4096xbf16>, %p: memref<8192x4096xf8E4M3FN>, %m: memref<8192x32xf32, strided<[1, 8192]>>) {
  moss.quantize <f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>
    ins(%x : memref<8192x4096xbf16>) payload(%p : memref<8192x4096xf8E4M3FN>) micro(%m : memref<8192x32xf32, strided<[1, 8192]>>)
  return
}

// TRANSPOSE-LABEL: .entry moss_quantize_transpose_dynxdyn_kernel
// TRANSPOSE: ld.global.v4.b32
// TRANSPOSE: bar.sync
// TRANSPOSE: cvt.rn.satfinite.e5m2x2.f32
// TRANSPOSE: st.global.v4.b16
func.func @transposed(%x: memref<?x?xbf16>, %p: memref<?x?xf8E5M2>, %g: memref<f32>) {
  moss.quantize <f8E5M2, global = given> transpose ins(%x : memref<?x?xbf16>) scale(%g : memref<f32>)
    payload(%p : memref<?x?xf8E5M2>)
  return
}

// DEQUANTIZE-LABEL: .entry moss_dequantize_dynxdyn_kernel
// DEQUANTIZE: cvt.rn.f16x2.e4m3x2
// DEQUANTIZE: st.global.v4.b32
func.func @dequantize(%p: memref<?x?xf8E4M3FN>, %m: memref<?x1xf8E8M0FNU>, %g: memref<f32>, %y: memref<?x?xbf16>) {
  moss.dequantize <f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
    payload(%p : memref<?x?xf8E4M3FN>) micro(%m : memref<?x1xf8E8M0FNU>) global(%g : memref<f32>)
    outs(%y : memref<?x?xbf16>)
  return
}
