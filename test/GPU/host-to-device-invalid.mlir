// RUN: moss-opt %s --pass-pipeline='builtin.module(func.func(moss-host-to-device))' -split-input-file -verify-diagnostics

func.func @load(%s: memref<f32>) -> f32 {
  // expected-error @+1 {{accesses device memory on the host; compute the value in a linalg op, or mark a function that works on host memory with 'moss.host'}}
  %x = memref.load %s[] : memref<f32>
  return %x : f32
}

// -----

func.func @stack() {
  // expected-error @+1 {{accesses device memory on the host}}
  %m = memref.alloca() : memref<4xf32>
  return
}

// -----

func.func @linalg(%x: f32, %m: memref<4xf32>) {
  // expected-error @+1 {{would run on the host, but its data is in device memory; run moss-linalg-to-device-loops first}}
  linalg.fill ins(%x : f32) outs(%m : memref<4xf32>)
  return
}

// -----

func.func @strided(%a: memref<8xf32, strided<[2]>>, %b: memref<8xf32>) {
  // expected-error @+1 {{copies a memref that is not contiguous; run moss-linalg-to-device-loops first}}
  memref.copy %a, %b : memref<8xf32, strided<[2]>> to memref<8xf32>
  return
}

// -----

memref.global "private" @counter : memref<4xf32> = dense<0.0>
func.func @mutable_global(%out: memref<4xf32>) {
  // expected-error @+1 {{refers to 'counter', which the program may change, but which lies in the host's memory; pass it as an argument}}
  %g = memref.get_global @counter : memref<4xf32>
  memref.copy %g, %out : memref<4xf32> to memref<4xf32>
  return
}
