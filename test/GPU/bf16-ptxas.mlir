// REQUIRES: ptxas
// Kernels on BF16 neither spill registers nor serialize products either, with the
// whole sum in the matrix unit and with promotion.
// DEFINE: %{options} = scheme=bf16
// DEFINE: %{assembled} = moss-opt %S/bf16.mlir --moss-fp8-lower=%{options} | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx \
// DEFINE:   && %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: %{assembled}
// REDEFINE: %{options} = "scheme=bf16 accumulate=promoted"
// RUN: %{assembled}
// REDEFINE: %{options} = "scheme=bf16 tile=256,64,32"
// RUN: %{assembled}

// CHECK: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// CHECK: Used 168 registers
