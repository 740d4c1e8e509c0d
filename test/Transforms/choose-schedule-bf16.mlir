// RUN: moss-opt %s --moss-choose-schedule | FileCheck %s
// RUN: moss-opt %s --moss-choose-schedule="target=cpu" | FileCheck %s --check-prefix=CPU
// RUN: moss-opt %s --moss-choose-schedule="tile=256,64,32" | FileCheck %s --check-prefix=NARROW

#bf16 = #moss.scheme<bf16, global = unit>

// Rows of 128 bytes are 64 elements.
// CHECK-LABEL: func @bf16(
// CHECK: schedule(<tile = [128, 256, 64], stages = 4, consumers = 2, raster = 16, blocks = 132>)
// CPU-LABEL: func @bf16(
// CPU: schedule(<tile = [32, 32, 64],
// NARROW-LABEL: func @bf16(
// NARROW: schedule(<tile = [256, 64, 32], stages = 8,
func.func @bf16(%a: memref<?x512xbf16>, %b: memref<256x512xbf16>, %c: memref<?x256xbf16>) {
  moss.scaled_matmul #moss.accumulate<fast> lhs(#bf16, %a : memref<?x512xbf16>)
    rhs(#bf16, %b : memref<256x512xbf16>) outs(%c : memref<?x256xbf16>)
  return
}
