// RUN: moss-opt %s --pass-pipeline='builtin.module(func.func(moss-host-to-device))' | FileCheck %s
// Everything is then asynchronous on one stream, with one wait at the end.
// RUN: moss-opt %s --pass-pipeline='builtin.module(gpu-kernel-outlining,func.func(moss-host-to-device,gpu-async-region))' \
// RUN:   | FileCheck %s --check-prefix=ASYNC
// RUN: moss-opt %s --pass-pipeline='builtin.module(func.func(moss-host-to-device))' \
// RUN:   --remarks-filter=moss-host-to-device --remark-format=emitRemark -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// REMARK: the constant is copied to the device at every call{{.*}}elements=2

memref.global "private" constant @weights : memref<2xf32> = dense<[1.0, 2.0]>

// CHECK-LABEL: func @buffers
// CHECK: %[[M:.*]] = gpu.alloc  (%arg1) : memref<?xf32>
// CHECK: gpu.memcpy  %[[M]], %arg0 : memref<?xf32>, memref<?xf32>
// CHECK: gpu.launch
// CHECK:   memref.load %[[M]]
// CHECK: gpu.dealloc  %[[M]]
// ASYNC-LABEL: func @buffers
// ASYNC: %[[T0:.*]] = gpu.wait async
// ASYNC: gpu.alloc async [%[[T0]]]
// ASYNC-NOT: gpu.wait
// ASYNC: gpu.dealloc async
// ASYNC-NEXT: gpu.wait
// ASYNC-NEXT: return
func.func @buffers(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc(%n) {alignment = 64 : i64} : memref<?xf32>
  memref.copy %a, %m : memref<?xf32> to memref<?xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %x = memref.load %m[%c0] : memref<?xf32>
    memref.store %x, %a[%bx] : memref<?xf32>
    gpu.terminator
  }
  memref.dealloc %m : memref<?xf32>
  return
}

// A constant is copied to the device, and freed unless it is handed out.
// CHECK-LABEL: func @constant
// CHECK: %[[H:.*]] = memref.get_global @weights
// CHECK: %[[D:.*]] = gpu.alloc  () : memref<2xf32>
// CHECK: gpu.memcpy  %[[D]], %[[H]]
// CHECK: gpu.memcpy  %arg0, %[[D]]
// CHECK: gpu.dealloc  %[[D]]
// CHECK-LABEL: func @returned_constant
// CHECK: %[[D:.*]] = gpu.alloc
// CHECK-NOT: gpu.dealloc
// CHECK: return %[[D]]
func.func @constant(%out: memref<2xf32>) {
  %w = memref.get_global @weights : memref<2xf32>
  memref.copy %w, %out : memref<2xf32> to memref<2xf32>
  return
}
func.func @returned_constant() -> memref<2xf32> {
  %w = memref.get_global @weights : memref<2xf32>
  return %w : memref<2xf32>
}

// Encoding a tensor map needs no memory, so it does not cut the stream in two.
// ASYNC-LABEL: func @map
// ASYNC: gpu.memcpy async
// ASYNC-NEXT: moss.encode_tensor_map
// ASYNC-NEXT: gpu.memcpy async
func.func @map(%a: memref<64x128xf8E4M3FN>, %b: memref<64x128xf8E4M3FN>) -> !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128> {
  memref.copy %a, %b : memref<64x128xf8E4M3FN> to memref<64x128xf8E4M3FN>
  %map = moss.encode_tensor_map %a : memref<64x128xf8E4M3FN> -> !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>
  memref.copy %b, %a : memref<64x128xf8E4M3FN> to memref<64x128xf8E4M3FN>
  return %map : !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>
}

// CHECK-LABEL: func @driver
// CHECK: memref.alloc
// CHECK: memref.store
func.func @driver(%x: f32) attributes {moss.host} {
  %m = memref.alloc() : memref<f32>
  memref.store %x, %m[] : memref<f32>
  return
}
