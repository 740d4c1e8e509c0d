// REQUIRES: ptxas
// The assembler neither spills registers nor serializes products (C7510 and its
// neighbors), for either accumulation, all operand types and both result types.
// RUN: sed -e 's/@ACCUMULATE@/fast/; s/@LHS@/f8E4M3FN/; s/@RHS@/f8E4M3FN/; s/@OUT@/bf16/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@ACCUMULATE@/fast/; s/@LHS@/f8E5M2/; s/@RHS@/f8E5M2/; s/@OUT@/f32/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@ACCUMULATE@/fast/; s/@LHS@/f8E4M3FN/; s/@RHS@/f8E5M2/; s/@OUT@/f32/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@ACCUMULATE@/fast/; s/@LHS@/f8E5M2/; s/@RHS@/f8E4M3FN/; s/@OUT@/bf16/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@ACCUMULATE@/promoted(128)/; s/@LHS@/f8E4M3FN/; s/@RHS@/f8E4M3FN/; s/@OUT@/bf16/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@ACCUMULATE@/promoted(128)/; s/@LHS@/f8E5M2/; s/@RHS@/f8E5M2/; s/@OUT@/f32/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@ACCUMULATE@/promoted(128)/; s/@LHS@/f8E4M3FN/; s/@RHS@/f8E5M2/; s/@OUT@/f32/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@ACCUMULATE@/promoted(128)/; s/@LHS@/f8E5M2/; s/@RHS@/f8E4M3FN/; s/@OUT@/bf16/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// Small tiles, of which the assembler would not know the registers at entry, and
// promotion over several tiles.
// RUN: sed -e 's/@ACCUMULATE@/promoted(256)/; s/@LHS@/f8E4M3FN/; s/@RHS@/f8E4M3FN/; s/@OUT@/bf16/' %s \
// RUN:   | moss-opt --moss-fp8-lower="tile=256,64,128" | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// A rest of two steps in front of the fours, for three consumers.
// RUN: sed -e 's/@ACCUMULATE@/promoted(128)/; s/@LHS@/f8E4M3FN/; s/@RHS@/f8E4M3FN/; s/@OUT@/bf16/; s/x4096x!\([lr]\)/x1280x!\1/g' %s \
// RUN:   | moss-opt --moss-fp8-lower='tile=192,128,128 consumers=3' | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=REST --implicit-check-not=C75 --implicit-check-not=warning
// REST: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads

// CHECK: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
// CHECK: Used 168 registers

!lhs = @LHS@
!rhs = @RHS@
!out = @OUT@
#row = #moss.scheme<@LHS@, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
#tensor = #moss.scheme<@RHS@, global = jit>

func.func @matmul(%a: memref<?x4096x!lhs>, %am: memref<?x1xf8E8M0FNU>, %ag: memref<f32>,
                  %b: memref<4096x4096x!rhs>, %bg: memref<f32>, %c: memref<?x4096x!out>) {
  moss.scaled_matmul #moss.accumulate<@ACCUMULATE@>
    lhs(#row, %a : memref<?x4096x!lhs>) micro(%am : memref<?x1xf8E8M0FNU>) global(%ag : memref<f32>)
    rhs(#tensor, %b : memref<4096x4096x!rhs>) global(%bg : memref<f32>)
    outs(%c : memref<?x4096x!out>)
  return
}
