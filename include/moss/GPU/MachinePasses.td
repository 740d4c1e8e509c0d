//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From kernels to threads and machine code.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_GPU_MACHINEPASSES_TD
#define MOSS_GPU_MACHINEPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// moss-channels-to-nvvm
//===----------------------------------------------------------------------===//

def MossChannelsToNVVM : Pass<"moss-channels-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower channels and roles to barriers, copies and branches";
  let description = [{
    The last step from a scheduled kernel to instructions. A channel becomes a
    ring in dynamic shared memory with a full and an empty mbarrier per stage;
    `put` waits for the empty barrier, arms the full one with the slot's bytes
    and starts the copies; `get` waits for the full barrier; `release` arrives on
    the empty one, once per consumer, or once per warp of it if slots hold scales,
    which threads read themselves; a tile's descriptor is computed from its slot.
    `moss.warp_specialize` becomes a branch on the warpgroup with `setmaxregister`.

    Scales that the channel extends arrive on a third barrier. For these
    `extend_scales` waits, in the second warp of the producer's warpgroup, and
    arrives on the full barrier when it has written their f32 to the slot. The
    empty barrier serves for both: a slot that is being filled is read by nobody.

    The pass is one of the module, where the symbol of shared memory is.

    ```mlir
    moss.put %ch[%i] from(%a : !moss.tensor_map<...>) at(%m), (%k) : !moss.channel<...>
    // becomes
    nvvm.mbarrier.try_wait.parity %empty, %phase, %ticks : !llvm.ptr<3>, i32, i32
    nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %slot, %map, %full, box[%k, %m] : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// moss-convert-fp8-to-nvvm
//===----------------------------------------------------------------------===//

def MossConvertFp8ToNVVM : Pass<"moss-convert-fp8-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Convert to and from FP8 with the GPU's instructions";
  let description = [{
    Lowers `arith.truncf` from f32 to FP8 and `arith.extf` from FP8 and
    f8E8M0FNU, on scalars and one-dimensional vectors, within `gpu.module`.
    `convert-gpu-to-nvvm` would leave them behind without an error.

    The instruction converts two f32 numbers at once, to nearest even, and
    saturates, which `arith.truncf` does not: beyond the range it yields NaN
    (f8E4M3FN) or infinity (f8E5M2). So operands are compared with the range,
    unless they are clamped to it, when the clamp is dropped instead, as the
    instruction implies it. NaN becomes 0x7f in either case, as on a CPU.

    ```mlir
    %low = arith.minimumf %x, %c448 : vector<2xf32>
    %y = arith.maximumf %low, %cm448 : vector<2xf32>
    %q = arith.truncf %y : vector<2xf32> to vector<2xf8E4M3FN>
    // becomes
    %bytes = nvvm.convert.f32x2.to.f8x2 %x1, %x0 {rnd = #nvvm.fp_rnd_mode<rn>,
      sat = #nvvm.sat_mode<satfinite>} : vector<2xi8> (f8E4M3FN)
    %q = arith.bitcast %bytes : vector<2xi8> to vector<2xf8E4M3FN>
    ```

    E8M0 scales become f32 by integer arithmetic. A conversion that is left
    (from f64, or with another rounding mode) is an error.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-distribute-tiles
//===----------------------------------------------------------------------===//

def MossDistributeTiles : Pass<"moss-distribute-tiles", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Spread tile values over the threads of the consumers";
  let description = [{
    In the consumers' region of `moss.warp_specialize`, a tile becomes one vector
    per wave of 64 rows that the consumer owns, holding the elements that the
    accumulator layout of `wgmma` gives to one thread. `moss.mma` becomes chains
    of `wgmma`, one per wave, each waited for (`moss-overlap-mma` relaxes that);
    elementwise ops, constants and broadcasts become the same ops on fragments;
    `moss.add_rescaled` becomes fused multiply-adds after each wave's products, and
    `moss.apply_powers` a branch around a multiplication of each wave;
    scales and old results are loaded, and results stored, by element; and
    `moss.store_tile` goes through swizzled shared memory. `moss.read_scales` becomes
    loads from shared memory, of rows while the products of their wave run, and of
    columns, which are many, where they are used.

    A `moss.mma` must have operands in a slot, from its first row on, whole steps
    along K (32 elements of FP8, 16 of BF16), and a multiple of 8 columns, at most
    256. Anything else is an error, as is a tile without whole waves.

    ```mlir
    %s = arith.addf %c, %p : vector<256x128xf32>
    // becomes, for two consumers with two waves each
    %s0 = arith.addf %c0, %p0 : vector<64xf32>
    %s1 = arith.addf %c1, %p1 : vector<64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-expand-device-math
//===----------------------------------------------------------------------===//

def MossExpandDeviceMath : Pass<"moss-expand-device-math",
                                "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lower math ops of kernels without a device library";
  let description = [{
    `convert-gpu-to-nvvm` lowers `math.exp` and its like to calls of CUDA's
    libdevice. On a machine without CUDA these stay unresolved, and the PTX is
    refused when it is loaded. This pass lowers floating-point math ops first:
    bf16 and f16 are computed in f32, square roots, rounding and fma become
    intrinsics that the PTX backend has instructions for, compound functions are
    expanded, and the rest becomes polynomial approximations.

    A floating-point math op that is left is an error (f64, or a function that
    has no approximation).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-lower-kernel-tensor-maps
//===----------------------------------------------------------------------===//

def MossLowerKernelTensorMaps : Pass<"moss-lower-kernel-tensor-maps",
                                     "::mlir::ModuleOp"> {
  let summary = "Pass tensor maps to kernels by value";
  let description = [{
    The copy engine reads a tensor map from constant or parameter space, so a
    kernel takes it as a 128-byte parameter, by value, and uses the address of
    that parameter. The pass gives each kernel argument of type
    `!moss.tensor_map` the type `!llvm.ptr`, and marks the kernel for
    `moss-mark-tensor-maps`:

    ```mlir
    gpu.func @kernel(%map: !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>)
    ```
    becomes
    ```mlir
    gpu.func @kernel(%map: !llvm.ptr {llvm.align = 64}) attributes {moss.tensor_maps}
    ```

    Launches keep type-checking through a cast of the operand to `!llvm.ptr`,
    which `moss-convert-tensor-maps-to-llvm` replaces. Within the kernel, other
    uses than casts to `!llvm.ptr` get the pointer cast back to the tensor map.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// moss-merge-kernels
//===----------------------------------------------------------------------===//

def MossMergeKernels : Pass<"moss-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "Keep one of several equal kernels";
  let description = [{
    Compares kernels, each in a `gpu.module` of its own, without their names and
    locations. Of those that are equal the first stays, and is launched instead
    of the others. What is done to kernels after that, and the compilation to
    machine code foremost, is done once. Run it right after outlining.

    ```mlir
    gpu.launch_func @moss_quantize_init::@moss_quantize_init ...
    gpu.launch_func @moss_quantize_init_0::@moss_quantize_init ...
    // becomes
    gpu.launch_func @moss_quantize_init::@moss_quantize_init ...
    gpu.launch_func @moss_quantize_init::@moss_quantize_init ...
    ```

    A kernel that anything but `gpu.launch_func` refers to stays. A passed
    remark names each kernel that was dropped.
  }];
}

//===----------------------------------------------------------------------===//
// moss-hoist-scalars
//===----------------------------------------------------------------------===//

def MossHoistScalars : Pass<"moss-hoist-scalars", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Load the scalars of a kernel once";
  let description = [{
    A loop over tiles loads the global scales of its operands for each tile, and what
    is computed from them, forty operations that wait for each other, stands
    between the last product of a tile and its store. This pass moves loads of
    scalars (memrefs of rank 0) that are arguments of the kernel, and that it only
    loads, in front of the loops of its roles; the arithmetic follows, by LLVM's
    loop-invariant code motion. The matrices that the kernel writes must not overlap
    its scalars. Upstream's `loop-invariant-code-motion` moves no loads.

    ```mlir
    scf.for %tile = %b to %tiles step %grid {
      %a = memref.load %global[] : memref<f32>
      ...
    // becomes
    %a = memref.load %global[] : memref<f32>
    scf.for %tile = %b to %tiles step %grid {
      ...
    ```
  }];
  let statistics = [Statistic<"numHoisted", "hoisted",
                              "Number of times that a load left a loop">];
}

//===----------------------------------------------------------------------===//
// moss-narrow-loops
//===----------------------------------------------------------------------===//

def MossNarrowLoops : Pass<"moss-narrow-loops", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Count the loops of kernels in 32 bits";
  let description = [{
    A GPU adds and compares 64-bit numbers in two instructions each. The copy engine
    takes coordinates of 32 bits, so the loops over tiles and over K of a kernel that
    it feeds need no more; the runtime refuses matrices that do. Loops with steps of
    more than 2^16, as of long promotion intervals, could count past 2^31, and stay as
    they are: they have few iterations. Kernels without `moss.warp_specialize` are left alone:
    they may walk over more elements. Upstream's `arith-int-range-narrowing` narrows
    the arithmetic on counts that it knows to be small, but not the loops.

    ```mlir
    scf.for %k = %c0 to %K step %c128 { ... }
    // becomes
    scf.for %k32 = %c0_i32 to %K32 step %c128_i32 : i32 {
      %k = arith.index_castui %k32 : i32 to index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// moss-unroll-steps
//===----------------------------------------------------------------------===//

def MossUnrollSteps : Pass<"moss-unroll-steps", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Unroll loops over K whose steps wait for their products";
  let description = [{
    Where partial sums leave the matrix unit, each step along K ends with
    additions. Between them and the next product, a consumer waits for a slot and
    computes where its tiles are. Of steps in one block, the assembler moves this
    ahead of the additions. So four steps become one iteration, or two if scales
    of columns are read, which take more registers, or if there are fewer than eight
    steps, or nine. Where consumers of one wave scale rows, two steps measured slower
    than one, and stay apart. A rest is a loop in front: behind, it keeps registers
    that the assembler then spills. It does so in front, too, of steps that read
    scales of columns and load those of rows from global memory, of which an odd
    number stays apart. The number of steps must be known. All loops have two
    iterations at least, since the assembler serializes the products of the loop
    over tiles otherwise; LLVM is told not to unroll a rest, of two for instance.
    Loops whose products stay in flight (`moss-overlap-mma`) have nothing to gain, and
    are left alone, as those are that hold several products already.

    ```mlir
    scf.for %k = %c0 to %c4096 step %c128 iter_args(%sum = %zero, %i = %i0) {
      %t:2 = moss.get %ch[%i] : ...
      %p = moss.mma %t#0, %t#1, %zero : ...
      moss.release %ch[%i] : ...
      %next = arith.addf %sum, %p : vector<192x128xf32>
      %j = moss.advance %ch[%i] : ...
      scf.yield %next, %j : ...
    }
    // becomes
    scf.for %k = %c0 to %c4096 step %c512 iter_args(%sum = %zero, %i = %i0) {
      %t:2 = moss.get %ch[%i] : ...
      ...
      %j = moss.advance %ch[%i] : ...
      %u:2 = moss.get %ch[%j] : ...
      ...
    }
    ```
  }];
  let statistics = [Statistic<"numUnrolled", "unrolled", "Number of loops">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// moss-verify-launches
//===----------------------------------------------------------------------===//

def MossVerifyLaunches : Pass<"moss-verify-launches", "::mlir::ModuleOp"> {
  let summary = "Check that launches give kernels what their roles need";
  let description = [{
    Nothing on the GPU checks that a ring fits into the dynamic shared memory of a
    launch, or that there is a warpgroup for every role: a kernel would write past
    its memory, or wait forever. So it is an error

    - if a channel needs more shared memory than the target has,
    - if a launch's `dynamic_shared_memory_size` is less than its kernel's channel
      needs, or more than the target has,
    - if a launch's threads are not those of the kernel's `moss.warp_specialize`: 128
      for each consumer and 128 for the producer.

    Sizes that are no constants cannot be checked. Kernels without a channel or
    without roles are left alone. The pass changes nothing.

    ```mlir
    // error: gives its kernel 57391 bytes of dynamic shared memory, but the kernel's
    // channel needs 57392; a size of 57392 to 232448, which sm_90a has, works
    gpu.launch_func @m::@f ... dynamic_shared_memory_size %c57391_i32
    ```
  }];
}

#endif // MOSS_GPU_MACHINEPASSES_TD
