// REQUIRES: ptxas
// With scales along K the assembler neither spills registers nor serializes
// products: 1 x 128 by 128 x 128 and both 1 x 128 in FP32, 1 x 128 and 1 x 32 in
// E8M0, for an unknown number of rows.
// RUN: sed -e 's/@LT@/f32/; s/@LG@/128/; s/@RT@/f32/; s/@RG@/128, 128/; s/@RM@/32x32/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@LT@/f32/; s/@LG@/128/; s/@RT@/f32/; s/@RG@/1, 128/; s/@RM@/4096x32/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@LT@/f8E8M0FNU/; s/@LG@/128/; s/@RT@/f8E8M0FNU/; s/@RG@/1, full/; s/@RM@/4096x1/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@LT@/f8E8M0FNU/; s/@LG@/128/; s/@RT@/f8E8M0FNU/; s/@RG@/1, 128/; s/@RM@/4096x32/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@LT@/f8E8M0FNU/; s/@LG@/32/; s/?x32x!/?x128x!/g; s/@RT@/f8E8M0FNU/; s/@RG@/1, 32/; s/@RM@/4096x128/' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning

// CHECK: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads

!lm = @LT@
!rm = memref<@RM@x@RT@>
#lhs = #moss.scheme<f8E4M3FN, micro = @LT@, group = [1, @LG@], global = unit, rounding = ceil>
#rhs = #moss.scheme<f8E4M3FN, micro = @RT@, group = [@RG@], global = unit, rounding = ceil>

func.func @matmul(%a: memref<?x4096xf8E4M3FN>, %am: memref<?x32x!lm>, %b: memref<4096x4096xf8E4M3FN>, %bm: !rm,
                  %c: memref<?x4096xbf16>) {
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#lhs, %a : memref<?x4096xf8E4M3FN>) micro(%am : memref<?x32x!lm>)
    rhs(#rhs, %b : memref<4096x4096xf8E4M3FN>) micro(%bm : !rm)
    outs(%c : memref<?x4096xbf16>)
  return
}
