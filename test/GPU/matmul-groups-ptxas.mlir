// REQUIRES: ptxas
// With scales along K the assembler neither spills registers nor serializes
// products: 1 x 128 by 128 x 128 and both 1 x 128 in FP32; in E8M0, 1 x 128 of the rows,
// of both and of the columns, and 1 x 32 of both and of the rows, the last in tiles for
// three consumers and for two; for an unknown number of rows, with scales of neighbors
// adjacent.
// RUN: sed -e 's/@LT@/f32/g; s/@LG@/128/; s/@RG@/128, 128/; s/@RM@/32x32x@RT@/; s/@RT@/f32/g' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@LT@/f32/g; s/@LG@/128/; s/@RG@/1, 128/; s/@RM@/4096x32x@RT@, strided<[1, 4096]>/; s/@RT@/f32/g' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@LT@/f8E8M0FNU/g; s/@LG@/128/; s/@RG@/1, full/; s/@RM@/4096x1x@RT@/; s/@RT@/f8E8M0FNU/g' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/@LT@/f8E8M0FNU/g; s/@LG@/128/; s/@RG@/1, 128/; s/@RM@/4096x32x@RT@, strided<[1, 4096]>/; s/@RT@/f8E8M0FNU/g' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/?x32x@/?x128x@/; s/@LT@/f8E8M0FNU/g; s/@LG@/32/; s/@RG@/1, 32/; s/@RM@/4096x128x@RT@, strided<[1, 4096]>/; s/@RT@/f8E8M0FNU/g' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/?x32x@/?x128x@/; s/@LT@/f8E8M0FNU/g; s/@LG@/32/; s/@RG@/1, full/; s/@RM@/4096x1x@RT@/; s/@RT@/f8E8M0FNU/g' %s > %t.mlir
// RUN: moss-opt %t.mlir --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: moss-opt %t.mlir --moss-fp8-lower=tile=256,128,128 | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning
// RUN: sed -e 's/?x32x@/?x1x@/; s/@LT@/f8E8M0FNU/g; s/@LG@/full/; s/@RG@/1, 128/; s/@RM@/4096x32x@RT@, strided<[1, 4096]>/; s/@RT@/f8E8M0FNU/g' %s \
// RUN:   | moss-opt --moss-fp8-lower | moss-translate --moss-gpu-binary-to-ptx -o %t.ptx
// RUN: %ptxas -v -arch=sm_90a %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=C75 --implicit-check-not=warning

// CHECK: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads

!lm = memref<?x32x@LT@, strided<[1, 65536]>>
!rm = memref<@RM@>
#lhs = #moss.scheme<f8E4M3FN, micro = @LT@, group = [1, @LG@], global = unit, rounding = ceil>
#rhs = #moss.scheme<f8E4M3FN, micro = @RT@, group = [@RG@], global = unit, rounding = ceil>

func.func @matmul(%a: memref<?x4096xf8E4M3FN>, %am: !lm, %b: memref<4096x4096xf8E4M3FN>, %bm: !rm,
                  %c: memref<?x4096xbf16>) {
  moss.scaled_matmul #moss.accumulate<promoted(128)>
    lhs(#lhs, %a : memref<?x4096xf8E4M3FN>) micro(%am : !lm)
    rhs(#rhs, %b : memref<4096x4096xf8E4M3FN>) micro(%bm : !rm)
    outs(%c : memref<?x4096xbf16>)
  return
}
