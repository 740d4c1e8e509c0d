// DEFINE: %{kernels} = moss-quantize-to-gpu,canonicalize,cse,gpu-launch-sink-index-computations,gpu-kernel-outlining
// DEFINE: %{nvvm} = gpu.module(canonicalize,cse,moss-convert-fp8-to-nvvm,expand-strided-metadata,convert-scf-to-cf,convert-vector-to-llvm,convert-gpu-to-nvvm,convert-nvvm-to-llvm,reconcile-unrealized-casts,canonicalize,cse)
// RUN: moss-opt %s --pass-pipeline='builtin.module(%{kernels},nvvm-attach-target{chip=sm_90a features=+ptx80 O=3},%{nvvm})' \
// RUN:   | mlir-opt --gpu-module-to-binary=format=isa -o %t.mlir
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=moss_quantize_amax_dynxdyn_kernel | FileCheck %s --check-prefix=AMAX
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=moss_quantize_dynxdyn_kernel | FileCheck %s --check-prefix=CONVERT
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=moss_quantize_transpose_dynxdyn_kernel | FileCheck %s --check-prefix=TRANSPOSE
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
