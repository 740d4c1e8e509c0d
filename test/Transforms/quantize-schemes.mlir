// Every scheme of both operands by its name, and what it stands for. A name of one
// operand stands for the same.
// RUN: moss-opt --moss-quantize=scheme=two-level %s | FileCheck %s --check-prefix=TWO-LEVEL
// RUN: moss-opt --moss-quantize="scheme=two-level rhs-group=1,128" %s | FileCheck %s --check-prefix=TWO-LEVEL-GROUPS
// RUN: moss-opt --moss-quantize=scheme=per-tensor %s | FileCheck %s --check-prefix=PER-TENSOR
// RUN: moss-opt --moss-quantize=scheme=per-tensor-delayed %s | FileCheck %s --check-prefix=DELAYED
// RUN: moss-opt --moss-quantize='scheme=two-level lhs-scheme="#moss.scheme<f8E5M2, global = delayed>"' %s | FileCheck %s --check-prefix=DELAYED-LHS
// RUN: moss-opt --moss-quantize="scheme=two-level global=delayed" %s | FileCheck %s --check-prefix=DELAYED-ROWS
// RUN: moss-opt --moss-quantize=scheme=per-group %s | FileCheck %s --check-prefix=PER-GROUP
// RUN: moss-opt --moss-quantize="scheme=per-group lhs-group=1,64" %s | FileCheck %s --check-prefix=PER-GROUP-64
// RUN: moss-opt --moss-quantize=scheme=per-group-1x128 %s | FileCheck %s --check-prefix=PER-GROUP-1X128
// RUN: moss-opt --moss-quantize=scheme=mx %s | FileCheck %s --check-prefix=MX
// RUN: moss-opt --moss-quantize="lhs-scheme=mx rhs-scheme=mx" %s | FileCheck %s --check-prefix=MX
// RUN: moss-opt --moss-quantize="lhs-scheme=mx" %s | FileCheck %s --check-prefix=MX-TENSOR
// RUN: moss-opt --moss-quantize="scheme=mx rhs-scheme=tensor" %s | FileCheck %s --check-prefix=MX-TENSOR
// RUN: moss-opt --moss-quantize="scheme=per-tensor-delayed lhs-scheme=mx" %s | FileCheck %s --check-prefix=MX-DELAYED
// RUN: moss-opt --moss-quantize="lhs-scheme=mx rhs-scheme=mx global=jit rounding=floor" %s | FileCheck %s --check-prefix=MX-JIT
// RUN: moss-opt --moss-quantize="scheme=mx global=jit rounding=floor" %s | FileCheck %s --check-prefix=MX-JIT
// RUN: moss-opt --moss-quantize="scheme=per-tensor lhs-format=e5m2" %s | FileCheck %s --check-prefix=GRADIENT
// RUN: moss-opt --moss-quantize="rhs-format=e5m2" %s | FileCheck %s --check-prefix=RHS-E5M2
// RUN: moss-opt --moss-quantize=scheme=bf16 %s | FileCheck %s --check-prefix=BF16

// TWO-LEVEL:        moss.scaled_matmul <promoted(128)> accumulates lhs(<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>,
// TWO-LEVEL-SAME:     rhs(<f8E4M3FN, global = jit>,
// TWO-LEVEL-GROUPS: moss.scaled_matmul {{.*}} rhs(<f8E4M3FN, micro = f8E8M0FNU, group = [1, 128], global = jit, rounding = ceil>,
// PER-TENSOR:       moss.scaled_matmul <promoted(128)> accumulates lhs(<f8E4M3FN, global = jit>, {{.*}} rhs(<f8E4M3FN, global = jit>,
// DELAYED:          %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<f32>
// DELAYED:          moss.quantize <f8E4M3FN, global = delayed> ins({{.*}}) scale(%[[ONE]] : tensor<f32>) payload({{.*}}) global(%{{.*}} : tensor<f32>) -> tensor<256x512xf8E4M3FN>, tensor<f32>
// DELAYED:          moss.scaled_matmul <promoted(128)> accumulates lhs(<f8E4M3FN, global = delayed>, {{.*}} global(%[[ONE]] : tensor<f32>) rhs(<f8E4M3FN, global = delayed>, {{.*}} global(%{{.*}} : tensor<f32>)
// DELAYED-LHS:      moss.scaled_matmul {{.*}} lhs(<f8E5M2, global = delayed>, {{.*}} rhs(<f8E4M3FN, global = jit>,
// DELAYED-ROWS:     moss.scaled_matmul {{.*}} lhs(<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = delayed, rounding = ceil>, {{.*}} rhs(<f8E4M3FN, global = delayed>,
// PER-GROUP:        moss.scaled_matmul <promoted(128)> accumulates lhs(<f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>,
// PER-GROUP-SAME:     micro(%{{.*}} : tensor<256x4xf32>)
// PER-GROUP-SAME:     rhs(<f8E4M3FN, micro = f32, group = [128, 128], global = unit, rounding = ceil>,
// PER-GROUP-SAME:     micro(%{{.*}} : tensor<2x4xf32>)
// PER-GROUP-64:     moss.scaled_matmul {{.*}} lhs(<f8E4M3FN, micro = f32, group = [1, 64], global = unit, rounding = ceil>, {{.*}} rhs(<f8E4M3FN, micro = f32, group = [128, 128],
// PER-GROUP-1X128:  moss.scaled_matmul {{.*}} lhs(<f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>, {{.*}} rhs(<f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>,
// MX:               moss.scaled_matmul {{.*}} lhs(<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>, {{.*}} rhs(<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit,
// MX-TENSOR:        moss.scaled_matmul {{.*}} lhs(<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>, {{.*}} rhs(<f8E4M3FN, global = jit>,
// MX-DELAYED:       moss.scaled_matmul {{.*}} lhs(<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = unit, rounding = ceil>, {{.*}} rhs(<f8E4M3FN, global = delayed>,
// MX-JIT:           moss.scaled_matmul {{.*}} lhs(<f8E4M3FN, micro = f8E8M0FNU, group = [1, 32], global = jit, rounding = floor>,
// GRADIENT:         moss.scaled_matmul {{.*}} lhs(<f8E5M2, global = jit>, {{.*}} rhs(<f8E4M3FN, global = jit>,
// RHS-E5M2:         moss.scaled_matmul {{.*}} lhs(<f8E4M3FN, micro = f8E8M0FNU, {{.*}} rhs(<f8E5M2, global = jit>,
// BF16:             moss.scaled_matmul <fast> accumulates lhs(<bf16, global = unit>, {{.*}} rhs(<bf16, global = unit>,
func.func @matmul(%x: tensor<256x512xbf16>, %w: tensor<512x256xbf16>, %c: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = linalg.matmul ins(%x, %w : tensor<256x512xbf16>, tensor<512x256xbf16>) outs(%c : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}
