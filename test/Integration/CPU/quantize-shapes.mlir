// Shapes of matrices and groups, static and dynamic, against an independent
// reference.

// DEFINE: %{reference} = %python %S/../Inputs/quantize-reference.py
// DEFINE: %{lower} = moss-opt --moss-quantize-to-loops --moss-expand-fp8 \
// DEFINE:   --arith-expand="include-bf16=true" --convert-scf-to-cf --convert-vector-to-llvm \
// DEFINE:   --expand-strided-metadata --finalize-memref-to-llvm --convert-arith-to-llvm \
// DEFINE:   --convert-func-to-llvm --convert-cf-to-llvm --convert-index-to-llvm --reconcile-unrealized-casts
// DEFINE: %{execute} = mlir-runner -O2 -e main -entry-point-result=void \
// DEFINE:   -shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so,%llvm_lib_dir/libmlir_runner_utils.so
// DEFINE: %{case} =
// DEFINE: %{check} = %{reference} program %{case} | %{lower} | %{execute} | %{reference} check %{case}

// Empty and one-wide matrices.
// REDEFINE: %{case} = --shape 0,0 --micro f8E8M0FNU --group 1,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 0,0 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 0,5 --micro f8E8M0FNU --group 1,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 0,5 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 5,0 --micro f8E8M0FNU --group 1,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 5,0 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 1,1 --micro f8E8M0FNU --group 1,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 1,1 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 1,33 --micro f8E8M0FNU --group 1,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 1,33 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 33,1 --micro f8E8M0FNU --group 1,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 33,1 --global jit --transpose
// RUN: %{check}

// Groups of every shape, the last of them ragged.
// REDEFINE: %{case} = --shape 33,47 --micro f8E8M0FNU --group 5,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 33,47 --micro f8E8M0FNU --group 0,32
// RUN: %{check}
// REDEFINE: %{case} = --shape 33,130 --micro f8E8M0FNU --group 1,128 --static
// RUN: %{check}
// REDEFINE: %{case} = --shape 33,47 --micro f8E8M0FNU --group 5,32 --global delayed --scale 3.7
// RUN: %{check}
// REDEFINE: %{case} = --shape 31,50 --micro f32 --group 3,7 --global given --scale 1.7e-12
// RUN: %{check}

// Transposed sources.
// REDEFINE: %{case} = --shape 33,47 --micro f8E8M0FNU --group 5,32 --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 127,129 --micro f8E8M0FNU --group 1,0 --global unit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 17,31 --global jit --transpose --static
// RUN: %{check}

// FP32 sources.
// REDEFINE: %{case} = --shape 127,129 --micro f8E8M0FNU --group 1,0 --source f32
// RUN: %{check}
// REDEFINE: %{case} = --shape 13,40 --data tame --source f32
// RUN: %{check}
// REDEFINE: %{case} = --shape 13,40 --micro f8E8M0FNU --group 0,16 --source f32 --element f8E5M2 --rounding nearest
// RUN: %{check}
