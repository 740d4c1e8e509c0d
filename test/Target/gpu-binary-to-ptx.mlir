// RUN: mlir-opt %s --gpu-module-to-binary=format=isa -o %t.mlir
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=first | FileCheck %s
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=second | FileCheck %s --check-prefix=SECOND
// RUN: moss-translate %t.mlir --moss-gpu-binary-to-ptx --moss-ptx-binary=second --moss-ptx-object=1 \
// RUN:   | FileCheck %s --check-prefix=OBJECT
// Upstream's translations are there too.
// RUN: moss-translate %t.mlir --mlir-to-llvmir | FileCheck %s --check-prefix=LLVMIR

// CHECK: {{^}}.version 8.0
// CHECK: {{^}}.target sm_90a
// CHECK: {{^}}.visible .entry first_kernel(
// CHECK-NOT: second_kernel
// CHECK-NOT: \0A
// SECOND: .version 8.0
// SECOND: .entry second_kernel(
// OBJECT: .version 8.6
// OBJECT: .entry second_kernel(
// LLVMIR: @first_binary = internal constant

module attributes {gpu.container_module} {
  gpu.module @first [#nvvm.target<chip = "sm_90a", features = "+ptx80">] {
    llvm.func @first_kernel() attributes {nvvm.kernel} {
      llvm.return
    }
  }
  gpu.module @second [#nvvm.target<chip = "sm_90a", features = "+ptx80">,
                      #nvvm.target<chip = "sm_90a", features = "+ptx86">] {
    llvm.func @second_kernel() attributes {nvvm.kernel} {
      llvm.return
    }
  }
}
