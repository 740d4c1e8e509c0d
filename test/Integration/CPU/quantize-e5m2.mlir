// All 65,536 BF16 numbers, quantized to f8E5M2 and back, give the very bits of an
// independent reference: payload, micro scales, global scale, and values.

// DEFINE: %{reference} = %python %S/../Inputs/quantize-reference.py
// DEFINE: %{lower} = moss-opt --moss-quantize-to-loops --moss-expand-fp8 \
// DEFINE:   --arith-expand="include-bf16=true" --convert-scf-to-cf --convert-vector-to-llvm \
// DEFINE:   --expand-strided-metadata --finalize-memref-to-llvm --convert-arith-to-llvm \
// DEFINE:   --convert-func-to-llvm --convert-cf-to-llvm --convert-index-to-llvm --reconcile-unrealized-casts
// DEFINE: %{execute} = mlir-runner -O2 -e main -entry-point-result=void \
// DEFINE:   -shared-libs=%llvm_lib_dir/libmlir_c_runner_utils.so,%llvm_lib_dir/libmlir_runner_utils.so
// DEFINE: %{case} =
// DEFINE: %{check} = %{reference} program %{case} | %{lower} | %{execute} | %{reference} check %{case}

// Payload conversion: each number under a scale of one and another one.
// REDEFINE: %{case} = --element f8E5M2 --data all --global unit
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --global given --scale 0.0371
// RUN: %{check}

// Micro scales: each number is a group of its own.
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,1 --global unit --rounding ceil
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,1 --global unit --rounding nearest
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,1 --global unit --rounding floor
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,1 --global given --scale 0.0371 --rounding ceil
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,1 --global given --scale 0.0371 --rounding nearest
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,1 --global given --scale 0.0371 --rounding floor
// RUN: %{check}

// Both levels: 256 rows, whose largest magnitudes are far apart.
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,0 --global jit --rounding ceil
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,0 --global jit --rounding nearest
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,0 --global jit --rounding floor
// RUN: %{check}

// FP32 micro scales.
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f32 --group 1,1 --global unit
// RUN: %{check}
