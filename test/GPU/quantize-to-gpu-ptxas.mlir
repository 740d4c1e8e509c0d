// REQUIRES: ptxas
// The assembler takes every kernel, and spills no register: a warning about
// that would be an error.
// DEFINE: %{kernels} = moss-quantize-to-gpu,canonicalize,cse,gpu-launch-sink-index-computations,gpu-kernel-outlining
// DEFINE: %{nvvm} = gpu.module(canonicalize,cse,moss-convert-fp8-to-nvvm,expand-strided-metadata,convert-scf-to-cf,convert-vector-to-llvm,convert-gpu-to-nvvm,convert-nvvm-to-llvm,reconcile-unrealized-casts,canonicalize,cse)
// RUN: moss-opt %S/quantize-to-gpu.mlir --split-input-file \
// RUN:   --pass-pipeline='builtin.module(%{kernels},nvvm-attach-target{chip=sm_90a features=+ptx80 O=3 ptxas-cmd-options="--warn-on-spills --warning-as-error"},%{nvvm})' \
// RUN:   | mlir-opt --split-input-file --gpu-module-to-binary=format=bin | FileCheck %s

// CHECK: gpu.binary @moss_quantize_amax_dynxdyn_kernel
// CHECK: gpu.binary @moss_quantize_64x512_kernel
// CHECK: gpu.binary @moss_quantize_transpose_dynxdyn_kernel
// CHECK: gpu.binary @moss_dequantize_dynxdyn_kernel
