// A matrix that kernels cannot count is an error before anything is launched.
// RUN: not mlir-runner %s -e main --entry-point-result=void \
// RUN:   --shared-libs=%moss_lib_dir/libmoss_runtime.so 2>&1 | FileCheck %s

// CHECK: moss: error: mossTensorMapEncode2D: the matrix has 2147483647 rows or columns, but kernels count to 2147418111; split it

module {
  llvm.func @mossTensorMapEncode2D(!llvm.ptr, !llvm.ptr, i64, i64, i64, i32, i32, i32, i32)
  llvm.func @main() {
    %one = llvm.mlir.constant(1 : i64) : i64
    %map = llvm.alloca %one x !llvm.array<128 x i8> {alignment = 64 : i64} : (i64) -> !llvm.ptr
    %cols = llvm.mlir.constant(2147483647 : i64) : i64
    %stride = llvm.mlir.constant(2147483648 : i64) : i64
    %one_byte = llvm.mlir.constant(1 : i32) : i32
    %box = llvm.mlir.constant(128 : i32) : i32
    llvm.call @mossTensorMapEncode2D(%map, %map, %one, %cols, %stride, %one_byte, %box, %box, %box)
        : (!llvm.ptr, !llvm.ptr, i64, i64, i64, i32, i32, i32, i32) -> ()
    llvm.return
  }
}
