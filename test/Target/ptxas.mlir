// REQUIRES: ptxas
// The printed text is what ptxas takes.
// RUN: mlir-opt %s --gpu-module-to-binary=format=isa \
// RUN:   | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -arch=sm_90a %t.ptx -o %t.cubin

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
  llvm.func @kernel() attributes {nvvm.kernel} {
    llvm.return
  }
}
