// RUN: moss-opt %s --pass-pipeline='builtin.module(gpu.module(moss-expand-device-math))' -verify-diagnostics

gpu.module @kernels {
  gpu.func @f64(%m: memref<f64>) kernel {
    %x = memref.load %m[] : memref<f64>
    // expected-error @+1 {{cannot be lowered for a GPU without a device library; compute it in f32 and from simpler functions}}
    %y = math.exp %x : f64
    memref.store %y, %m[] : memref<f64>
    gpu.return
  }
}
