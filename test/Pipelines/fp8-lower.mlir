// Every level of the pipeline, on both targets.

// RUN: moss-opt %s --moss-fp8-lower=to=quantized | FileCheck %s --check-prefix=QUANTIZED
// RUN: moss-opt %s --moss-fp8-lower='target=cpu to=quantized' | FileCheck %s --check-prefix=QUANTIZED
// QUANTIZED-LABEL: func @matmul
// QUANTIZED:         moss.quantize {{.*}}tensor<300x200xbf16>
// QUANTIZED:         moss.quantize {{.*}}tensor<200x136xbf16>
// QUANTIZED:         moss.scaled_matmul
// QUANTIZED-NOT:     linalg.matmul
// QUANTIZED-LABEL: func @relu
// QUANTIZED:         linalg.generic {{.*}} ins(%{{.*}} : tensor<300x136xbf16>)

// RUN: moss-opt %s --moss-fp8-lower=to=loops | FileCheck %s --check-prefixes=LOOPS,LOOPS-GPU
// RUN: moss-opt %s --moss-fp8-lower='target=cpu to=loops' | FileCheck %s --check-prefixes=LOOPS,LOOPS-CPU
// LOOPS-LABEL:   func @matmul
// LOOPS:           scf.forall
// LOOPS:             moss.load_scales
// LOOPS:             scf.for
// LOOPS-GPU:           moss.mma {{.*}} vector<192x128xf32>
// LOOPS-CPU:           moss.mma {{.*}} vector<32x32xf32>
// LOOPS:               moss.rescale
// LOOPS:               scf.yield
// LOOPS:             vector.transfer_write

// RUN: moss-opt %s --moss-fp8-lower=to=hoisted | FileCheck %s --check-prefix=HOISTED
// RUN: moss-opt %s --moss-fp8-lower='target=cpu to=hoisted' | FileCheck %s --check-prefix=HOISTED
// HOISTED-LABEL: func @matmul
// HOISTED:         scf.for
// HOISTED:           moss.mma
// HOISTED-NOT:       moss.rescale
// HOISTED:           scf.yield
// HOISTED:         moss.rescale

// RUN: moss-opt %s --moss-fp8-lower=to=kernel | FileCheck %s --check-prefix=KERNEL
// KERNEL-LABEL: gpu.module @matmul_kernel
// KERNEL:         moss.warp_specialize
// KERNEL-LABEL: func.func @matmul(
// KERNEL:         moss.encode_tensor_map
// KERNEL:         gpu.launch_func @matmul_kernel::@matmul_kernel
// KERNEL-LABEL: func @relu
// KERNEL:         gpu.launch_func @relu_kernel::@relu_kernel

// RUN: moss-opt %s --moss-fp8-lower=to=nvvm | FileCheck %s --check-prefix=NVVM
// NVVM:       gpu.module @matmul_kernel [#nvvm.target<O = 3, chip = "sm_90a"
// NVVM:         llvm.inline_asm {{.*}}wgmma.mma_async
// NVVM:       llvm.func @matmul(
// NVVM:         llvm.call @mossTensorMapEncode2D
// NVVM:         gpu.launch_func {{.*}} @matmul_kernel::@matmul_kernel
// NVVM:       llvm.func @relu(

// RUN: moss-opt %s --moss-fp8-lower | FileCheck %s --check-prefix=PTX --implicit-check-not=unrealized_conversion_cast
// RUN: moss-opt %s --moss-fp8-lower=to=ptx | FileCheck %s --check-prefix=PTX
// PTX:        gpu.binary @matmul_kernel {{.*}}wgmma.mma_async.sync.aligned
// PTX:        gpu.binary @relu_kernel
// PTX:        llvm.func @matmul(
// PTX:        llvm.func @relu(

// RUN: moss-opt %s --moss-fp8-lower=target=cpu | FileCheck %s --check-prefix=LLVM --implicit-check-not=unrealized_conversion_cast --implicit-check-not=gpu.
// RUN: moss-opt %s --moss-fp8-lower='target=cpu to=llvm' | FileCheck %s --check-prefix=LLVM
// LLVM:       llvm.func @matmul(
// LLVM:       llvm.func @_mlir_ciface_matmul(
// LLVM:       llvm.func @relu(

func.func @matmul(%x: tensor<300x200xbf16>, %w: tensor<200x136xbf16>, %c: tensor<300x136xbf16>) -> tensor<300x136xbf16> {
  %zero = arith.constant 0.0 : bf16
  %init = linalg.fill ins(%zero : bf16) outs(%c : tensor<300x136xbf16>) -> tensor<300x136xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<300x200xbf16>, tensor<200x136xbf16>) outs(%init : tensor<300x136xbf16>) -> tensor<300x136xbf16>
  return %y : tensor<300x136xbf16>
}

func.func @relu(%x: tensor<300x136xbf16>, %out: tensor<300x136xbf16>) -> tensor<300x136xbf16> {
  %zero = arith.constant 0.0 : bf16
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<300x136xbf16>) outs(%out : tensor<300x136xbf16>) {
  ^bb0(%a: bf16, %old: bf16):
    %max = arith.maximumf %a, %zero : bf16
    linalg.yield %max : bf16
  } -> tensor<300x136xbf16>
  return %y : tensor<300x136xbf16>
}
