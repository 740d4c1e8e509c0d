// RUN: moss-opt %s --pass-pipeline='builtin.module(gpu.module(moss-expand-device-math))' | FileCheck %s
// No call of libdevice is left in the kernel.
// RUN: moss-opt %s --moss-gpu-to-llvm | moss-translate --moss-gpu-binary-to-ptx | FileCheck %s --check-prefix=PTX

// PTX-NOT: __nv_
// PTX: .entry elementwise
// PTX-NOT: __nv_

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @elementwise
  // CHECK-NOT: math.
  // CHECK: llvm.call_intrinsic "llvm.sqrt.f32"
  // CHECK-NOT: math.
  gpu.func @elementwise(%m: memref<8xf32>, %b: memref<1xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %x = memref.load %m[%c0] : memref<8xf32>
    %sqrt = math.sqrt %x : f32
    memref.store %sqrt, %m[%c1] : memref<8xf32>
    %exp = math.exp %x : f32
    memref.store %exp, %m[%c2] : memref<8xf32>
    %tanh = math.tanh %x : f32
    memref.store %tanh, %m[%c3] : memref<8xf32>
    %pow = math.powf %x, %exp : f32
    memref.store %pow, %m[%c4] : memref<8xf32>
    %h = memref.load %b[%c0] : memref<1xbf16>
    %erf = math.erf %h : bf16
    %rsqrt = math.rsqrt %erf : bf16
    memref.store %rsqrt, %b[%c0] : memref<1xbf16>
    gpu.return
  }
}
