// REQUIRES: gpu, clang
// Kernels give the bits of the independent reference, and so of the CPU.

// DEFINE: %{reference} = %python %S/../Inputs/quantize-reference.py
// DEFINE: %{lower} = moss-opt --pass-pipeline='builtin.module(moss-quantize-to-gpu,moss-linalg-to-gpu,moss-gpu-to-llvm)'
// DEFINE: %{build} = env MOSS_BUILD_DIR=%moss_build_dir %moss_src_dir/utils/moss-build-shared.sh - %t.dir/case.so
// DEFINE: %{case} =
// DEFINE: %{check} = %{reference} function %{case} | %{lower} | %{build} && %{reference} run --library %t.dir/case.so %{case}

// All BF16 numbers.
// REDEFINE: %{case} = --element f8E4M3FN --data all --global given --scale 0.0371
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data all --micro f8E8M0FNU --group 1,1 --global unit --rounding nearest
// RUN: %{check}
// REDEFINE: %{case} = --element f8E4M3FN --data all --micro f8E8M0FNU --group 1,0 --global jit
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --global given --scale 0.0371
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,1 --global unit --rounding nearest
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f8E8M0FNU --group 1,0 --global jit
// RUN: %{check}

// Special rows.
// REDEFINE: %{case} = --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global delayed --scale 1
// RUN: %{check}
// REDEFINE: %{case} = --data conformance --shape 13,8 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --data conformance --shape 13,8 --global unit
// RUN: %{check}
// REDEFINE: %{case} = --data conformance --shape 13,8 --micro f8E8M0FNU --group 1,0 --global unit --transpose
// RUN: %{check}

// Ragged and empty shapes, aligned and not, for each kernel.
// REDEFINE: %{case} = --shape 0,5 --micro f8E8M0FNU --group 1,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 0,5 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 0,5 --micro f8E8M0FNU --group 5,32 --global delayed --scale 3.7
// RUN: %{check}
// REDEFINE: %{case} = --shape 0,5 --micro f32 --group 3,256 --global given --scale 1.7e-12
// RUN: %{check}
// REDEFINE: %{case} = --shape 0,5 --micro f8E8M0FNU --group 4,0 --source f32
// RUN: %{check}
// REDEFINE: %{case} = --shape 17,130 --micro f8E8M0FNU --group 1,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 17,130 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 17,130 --micro f8E8M0FNU --group 5,32 --global delayed --scale 3.7
// RUN: %{check}
// REDEFINE: %{case} = --shape 17,130 --micro f32 --group 3,256 --global given --scale 1.7e-12
// RUN: %{check}
// REDEFINE: %{case} = --shape 17,130 --micro f8E8M0FNU --group 4,0 --source f32
// RUN: %{check}
// REDEFINE: %{case} = --shape 300,520 --micro f8E8M0FNU --group 1,0
// RUN: %{check}
// REDEFINE: %{case} = --shape 300,520 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 300,520 --micro f8E8M0FNU --group 5,32 --global delayed --scale 3.7
// RUN: %{check}
// REDEFINE: %{case} = --shape 300,520 --micro f32 --group 3,256 --global given --scale 1.7e-12
// RUN: %{check}
// REDEFINE: %{case} = --shape 300,520 --micro f8E8M0FNU --group 4,0 --source f32
// RUN: %{check}

// Groups that registers hold, in a lane, a part of a warp, a warp and a block.
// REDEFINE: %{case} = --element f8E4M3FN --data all --micro f8E8M0FNU --group 1,32 --global jit
// RUN: %{check}
// REDEFINE: %{case} = --element f8E5M2 --data all --micro f32 --group 2,128 --global delayed --scale 448
// RUN: %{check}
// REDEFINE: %{case} = --shape 130,528 --micro f32 --group 1,128 --global unit
// RUN: %{check}
// REDEFINE: %{case} = --shape 130,528 --micro f8E8M0FNU --group 1,32 --global jit --static
// RUN: %{check}
// REDEFINE: %{case} = --shape 130,528 --micro f8E8M0FNU --group 5,32 --global delayed --scale 3.7
// RUN: %{check}
// REDEFINE: %{case} = --shape 130,528 --micro f32 --group 3,256 --global given --scale 1.7e-12
// RUN: %{check}
// REDEFINE: %{case} = --shape 130,528 --micro f8E8M0FNU --group 1,128 --source f32
// RUN: %{check}
// REDEFINE: %{case} = --shape 130,528 --micro f32 --group 128,128 --global unit
// RUN: %{check}
// REDEFINE: %{case} = --shape 130,528 --micro f32 --group 64,64 --global jit --transpose
// RUN: %{check}
// REDEFINE: %{case} = --shape 130,528 --micro f8E8M0FNU --group 2,1024 --global jit
// RUN: %{check}
// REDEFINE: %{case} = --shape 0,32 --micro f32 --group 1,128 --global jit
// RUN: %{check}
