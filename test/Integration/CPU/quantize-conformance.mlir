// Rows of zeros, negative zeros, subnormals, the largest BF16 number, NaNs,
// infinities, ties around the largest FP8 number and on its subnormal grid: a
// special group must not affect others, and no scale may be unusable.

// DEFINE: %{reference} = %python %S/../Inputs/quantize-reference.py
// DEFINE: %{lower} = moss-opt --moss-quantize-to-loops --moss-expand-fp8 \
// DEFINE:   --arith-expand="include-bf16=true" --convert-scf-to-cf --convert-vector-to-llvm \
// DEFINE:   --expand-strided-metadata --finalize-memref-to-llvm --convert-arith-to-llvm \
// DEFINE:   --convert-func-to-llvm --convert-cf-to-llvm --convert-index-to-llvm --reconcile-unrealized-casts
// DEFINE: %{execute} = mlir-runner -O2 -e main -entry-point-result=void \
// DEFINE:   -shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so,%llvm_lib_dir/libmlir_runner_utils.so
// DEFINE: %{case} =
// DEFINE: %{check} = %{reference} program %{case} | %{lower} | %{execute} | %{reference} check %{case}

// f8E4M3FN.
// REDEFINE: %{case} = --element f8E4M3FN --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global jit --rounding ceil
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global jit --rounding nearest
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global jit --rounding floor
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global unit --rounding ceil
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global delayed --scale 6.7e35
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data conformance --shape 13,8 --micro f32 --group 1,0 --global jit
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data conformance --shape 13,8 --global jit
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data conformance --shape 13,8 --global unit
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data conformance --shape 13,8 --global delayed --scale 1 --transpose
// RUN: %{check}

// f8E5M2.
// REDEFINE: %{case} = --element f8E5M2 --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global jit --rounding ceil
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global jit --rounding nearest
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global jit --rounding floor
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global unit --rounding ceil
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global delayed --scale 6.7e35
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data conformance --shape 13,8 --micro f32 --group 1,0 --global jit
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data conformance --shape 13,8 --global jit
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data conformance --shape 13,8 --global unit
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data conformance --shape 13,8 --global delayed --scale 1 --transpose
// RUN: %{check}
