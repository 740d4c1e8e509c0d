//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_GPU_PASSES_TD
#define MOSS_GPU_PASSES_TD

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
    the empty one, once per consumer; a tile's descriptor is computed from its
    slot. `moss.warp_specialize` becomes a branch on the warpgroup with
    `setmaxregister`. The pass is one of the module, where the symbol of shared
    memory is.

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
// moss-convert-tensor-maps-to-llvm
//===----------------------------------------------------------------------===//

def MossConvertTensorMapsToLLVM : Pass<"moss-convert-tensor-maps-to-llvm",
                                       "::mlir::ModuleOp"> {
  let summary = "Encode tensor maps on the host by calls of the runtime";
  let description = [{
    Lowers `moss.encode_tensor_map` to a call of `mossTensorMapEncode2D`, and
    gives launches the encoded 128 bytes as a value, of which the translation of
    `gpu.launch_func` passes the address:

    ```mlir
    %map = moss.encode_tensor_map %A : memref<?x?xf8E4M3FN>
        -> !moss.tensor_map<64x128xf8E4M3FN, swizzle = 128>
    %arg = builtin.unrealized_conversion_cast %map : ... to !llvm.ptr
    gpu.launch_func @m::@kernel ... args(%arg : !llvm.ptr)
    ```
    becomes
    ```mlir
    %slot = llvm.alloca %c1 x !llvm.array<16 x i64> {alignment = 64}
    llvm.call @mossTensorMapEncode2D(%slot, %base, %rows, %cols, ...)
    %arg = llvm.load %slot : !llvm.ptr -> !llvm.array<16 x i64>
    gpu.launch_func @m::@kernel ... args(%arg : !llvm.array<16 x i64>)
    ```

    Runs after the kernels have become `llvm.func` (whose parameter is a
    pointer; a `gpu.func` would no longer match the launch) and before
    `gpu-to-llvm`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect"];
}

//===----------------------------------------------------------------------===//
// moss-create-channels
//===----------------------------------------------------------------------===//

def MossCreateChannels : Pass<"moss-create-channels", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Join the loads of tiles and their product by a channel";
  let description = [{
    The loads that feed a `moss.mma` become a `put` into a channel of as many
    stages as the schedule of the loop around says, and a `get` from it; the slot
    is released after the product. The position in the ring counts iterations
    over all enclosing loops, in an i32 that they carry. Still one sequence of
    instructions; `moss-specialize-warps` separates the sides.

    ```mlir
    %a = vector.transfer_read %A[%m, %k], %pad : ...
    %b = vector.transfer_read %B[%n, %k], %pad : ...
    %p = moss.mma %a, %b, %c : ...
    // becomes
    moss.put %ch[%i] from(%A, %B : ...) at(%m, %n), (%k, %k) : !moss.channel<...>
    %a, %b = moss.get %ch[%i] : !moss.channel<...> -> ...
    %p = moss.mma %a, %b, %c : ...
    moss.release %ch[%i] : !moss.channel<...>
    %next = arith.addi %i, %c1 : i32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

//===----------------------------------------------------------------------===//
// moss-create-tensor-maps
//===----------------------------------------------------------------------===//

def MossCreateTensorMaps : Pass<"moss-create-tensor-maps", "::mlir::ModuleOp"> {
  let summary = "Let the host describe what kernels copy";
  let description = [{
    In kernels with channels, every source of a `put`, and every destination of a
    `vector.transfer_write` that the copy engine can reach, becomes a tensor map:
    an argument of the kernel that each launch fills by `moss.encode_tensor_map`.
    Such writes become `moss.store_tile`. A destination whose row stride is not
    known to be a multiple of 16 bytes keeps its `vector.transfer_write`, which
    the threads do themselves; a remark says so.

    ```mlir
    gpu.launch_func @m::@k ... args(%A : memref<64x64xf8E4M3FN>)
    // becomes
    %map = moss.encode_tensor_map %A : memref<64x64xf8E4M3FN> -> !moss.tensor_map<64x64xf8E4M3FN, swizzle = 64>
    gpu.launch_func @m::@k ... args(%A : memref<64x64xf8E4M3FN>, %map : !moss.tensor_map<...>)
    ```
  }];
}

//===----------------------------------------------------------------------===//
// moss-describe-kernels
//===----------------------------------------------------------------------===//

def MossDescribeKernels : Pass<"moss-describe-kernels", "::mlir::ModuleOp"> {
  let summary = "Write down what is known of kernels";
  let description = [{
    Launches and arguments of kernels are easy to read before they are lowered,
    and hard after. This pass puts a description of each launch into the
    attribute `moss.kernels` of the module, which is kept to the end, for the
    JSON that moss-compile writes. Extents that are known at run time only are
    -9223372036854775808, as in attributes of dynamic shapes. Kernels are called
    as their modules, so that no two of a program have the same name.

    ```mlir
    module attributes {moss.kernels = [{
      arguments = [{dtype = "f32", kind = "memref", parameter = "x", shape = array<i64: 8>} ],
      block = array<i64: 256, 1, 1>, function = "f", grid = array<i64: 1, 1, 1>,
      name = "f_kernel", shared = 1024 : i64} ]} {
    ```
  }];
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
    `moss.add_rescaled` becomes fused multiply-adds after each wave's products;
    scales and old results are loaded, and results stored, by element; and
    `moss.store_tile` goes through swizzled shared memory.

    Scales that change along K, in the loop of the products, are read 8 groups at a
    time into windows in shared memory, if it has room for them: a thread that read
    one scale in each iteration would take a sector of 32 bytes from L2 for it. The
    windows are each consumer's own, for its rows and for all columns. E8M0 scales
    of rows alone, of up to 64 groups along K, stay in L1 and are loaded by element.

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
// moss-host-to-device
//===----------------------------------------------------------------------===//

def MossHostToDevice : Pass<"moss-host-to-device", "::mlir::func::FuncOp"> {
  let summary = "Make host functions work on device memory";
  let description = [{
    In a program compiled for a GPU every memref of a host function is in device
    memory: arguments are device pointers by contract, and this pass makes
    allocations and copies follow:

    ```mlir
    %m = memref.alloc(%n) : memref<?xf32>
    memref.copy %a, %m : memref<?xf32> to memref<?xf32>
    memref.dealloc %m : memref<?xf32>
    ```
    becomes
    ```mlir
    %m = gpu.alloc (%n) : memref<?xf32>
    gpu.memcpy %m, %a : memref<?xf32>, memref<?xf32>
    gpu.dealloc %m : memref<?xf32>
    ```

    A constant (`memref.get_global`) lies in the host's memory, so it is copied
    into a device buffer that lives until the end of its block. A global that the
    program may change is an error: each call would start from the same copy.

    Any other access of the host to a memref, such as `memref.load`, is an
    error: it would read a device pointer. Bodies of `gpu.launch` are left
    alone, and so are functions marked `moss.host`, whose memrefs are in host
    memory (drivers of tests, for example).
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

//===----------------------------------------------------------------------===//
// moss-linalg-to-device-loops
//===----------------------------------------------------------------------===//

def MossLinalgToDeviceLoops : Pass<"moss-linalg-to-device-loops",
                                   "::mlir::func::FuncOp"> {
  let summary = "Turn the linalg ops around the kernels into loops on a grid";
  let description = [{
    What surrounds the matmuls of a program (fills, copies, elementwise ops)
    must run on the GPU too, since the data is there. This pass turns every
    linalg op on memrefs, every `memref.copy` of a strided memref, and every
    top-level `scf.parallel` into an `scf.parallel` that is mapped to blocks and
    threads, for `convert-parallel-loops-to-gpu`.

    The innermost dimension is cut into blocks of `block-size` threads, so that
    neighboring threads touch neighboring elements; all other dimensions are
    collapsed into the x dimension of the grid, the only one that may exceed
    65535. An op without parallel dimensions runs on one thread.

    ```mlir
    linalg.fill ins(%x : f32) outs(%m : memref<?x?xf32>)
    ```
    becomes
    ```mlir
    scf.parallel (%i, %b) = (%c0, %c0) to (%rows, %cols) step (%c1, %c256) {
      scf.parallel (%o, %t) = (%c0, %c0) to (%c1, %c256) step (%c1, %c1) {
        %inside = ...
        scf.if %inside { memref.store %x, %m[%i, %b + %t] }
      } {mapping = [sequential, thread_x]}
    } {mapping = [block_x, block_y]}
    ```

    Reduction dimensions become loops within a thread. Bodies of `gpu.launch`
    are left alone, and so are functions marked `moss.host`.
  }];
  let options = [
    Option<"blockSize", "block-size", "int64_t", "256",
           "Threads of a block, at most 1024">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
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
// moss-map-to-grid
//===----------------------------------------------------------------------===//

def MossMapToGrid : Pass<"moss-map-to-grid"> {
  let summary = "Map loops over tiles to a persistent grid of thread blocks";
  let description = [{
    Every `scf.forall` with a schedule becomes a launch of at most as many thread
    blocks as the schedule says; each walks over tiles in steps of the grid, in
    groups of `raster` tiles along M. Grid, block and shared memory are sized
    from the schedule, which is checked against the target's budgets.

    ```mlir
    scf.forall (%m, %n) = (0, 0) to (%M, %N) step (128, 256) { ... } {moss.schedule = #s}
    // becomes
    gpu.launch blocks(%b, ...) in (%blocks, ...) threads(...) in (%c384, ...) dynamic_shared_memory_size %bytes {
      scf.for %t = %b to %tiles step %blocks { ... } {moss.schedule = #s}
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// moss-mark-tensor-maps
//===----------------------------------------------------------------------===//

def MossMarkTensorMaps : Pass<"moss-mark-tensor-maps",
                              "::mlir::gpu::GPUModuleOp"> {
  let summary = "Make the tensor maps of marked kernels parameters by value";
  let description = [{
    ```mlir
    llvm.func @kernel(%map: !llvm.ptr {llvm.align = 64}) attributes {moss.tensor_maps}
    ```
    becomes
    ```mlir
    llvm.func @kernel(%map: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>,
                                       llvm.align = 64, nvvm.grid_constant})
    ```

    A pass of its own, after `convert-gpu-to-nvvm`, because `gpu.func` may not
    carry `nvvm.grid_constant` and that conversion drops `llvm.byval`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect"];
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
// moss-overlap-mma
//===----------------------------------------------------------------------===//

def MossOverlapMma : Pass<"moss-overlap-mma", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Keep products in flight over the back edge of a loop";
  let description = [{
    In a loop that does nothing with the sums of its `wgmma` but carry them on,
    an iteration waits for the products of the iteration before instead of its
    own, and releases the slot that those have read. The last iteration is
    settled after the loop. Loops that read the sums (promotion, rescaling) are
    left alone: registers of products in flight must not be read, and the
    assembler serializes everything if they are.

    ```mlir
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 0
    moss.release %ch[%i] : ...
    // becomes
    nvvm.wgmma.commit.group.sync.aligned
    nvvm.wgmma.wait.group.sync.aligned 1
    scf.if %notFirst { moss.release %ch[%previous] : ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// moss-quantize-to-gpu
//===----------------------------------------------------------------------===//

def MossQuantizeToGpu : Pass<"moss-quantize-to-gpu"> {
  let summary = "Lower moss.quantize and moss.dequantize to kernels";
  let description = [{
    Turns `moss.quantize` and `moss.dequantize` on memrefs into `gpu.launch`
    ops.

    Micro groups of up to 16384 elements, whose extent along K is a multiple of
    16, stay in registers between their amax and their payload, so that memory is
    read once. A few threads hold a group each, as 1 x 128 takes 8, or a block
    does, as for 128 x 128. A team of threads holds several small groups along K at
    a time: enough bytes are on their way, and each thread computes the scale of
    another group. If `micro` is laid out with neighboring rows adjacent, as
    `strided<[1, M]>`, neighboring threads take rows. All this needs a base and
    row stride that are multiples of 16 bytes, and an extent along K that is a
    multiple of 16, which is looked up at run time.

    Otherwise a block of threads takes one micro group after another, or one row
    if there are none; a warp does if groups are short along K. Threads stream
    them from memory for each purpose: 16 bytes of rows at once where base and row
    stride are aligned, single elements at the end of a row and otherwise.

    A known global scale takes one kernel. A `jit` one takes two, of which the
    first leaves the amax of the tensor by an atomic maximum, and that of each
    group that registers do not hold, in buffers that are allocated beside the
    launches. A `transpose`d source goes through a tile in shared memory; with
    micro scales it is copied that way first (a remark says so), since a group
    needs neighboring elements along K.

    ```mlir
    moss.quantize #scheme ins(%x : memref<?x?xbf16>) payload(%p : memref<?x?xf8E4M3FN>)
        micro(%m : memref<?x1xf8E8M0FNU>)
    // becomes, in outline
    gpu.launch function(@moss_quantize_dynxdyn_kernel) blocks(%b, ...) in (%grid = ...)
        threads(%t, ...) in (%threads = %c256, ...) {
      scf.for %row = %b to %rows step %grid {
        %amax = ... nvvm.redux.sync umax ... gpu.barrier ...
        memref.store %scale, %m[%row, %c0] : memref<?x1xf8E8M0FNU>
        scf.for %k = ... {
          %q = arith.truncf %y : vector<8xf32> to vector<8xf8E4M3FN>
          vector.store %q, %p[%row, %k] : memref<?x?xf8E4M3FN>, vector<8xf8E4M3FN>
        }
      }
    }
    ```

    The arithmetic is that of `moss-quantize-to-loops`, to the bit. Ops on
    tensors are rejected: bufferize first.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-share-launches
//===----------------------------------------------------------------------===//

def MossShareLaunches : Pass<"moss-share-launches", "::mlir::ModuleOp"> {
  let summary = "Launch a kernel from one place of the program";
  let description = [{
    A launch becomes a store of each parameter, of which a memref alone has five
    or seven. In a program of many layers that is most of the host code, in one
    function, on which LLVM spends minutes. Launches of one kernel become calls
    of one function. Operands that are the same constants in all of them are
    constants in it. Run it on host code in the LLVM dialect, before kernels
    are compiled.

    ```mlir
    gpu.launch_func <%stream : !llvm.ptr> @k::@k blocks in (%c4, %c1, %c1) ... args(%a : !llvm.ptr, %c8 : i64)
    gpu.launch_func <%stream : !llvm.ptr> @k::@k blocks in (%c4, %c1, %c1) ... args(%b : !llvm.ptr, %c8 : i64)
    // becomes
    llvm.call @k_launch(%a, %stream) : (!llvm.ptr, !llvm.ptr) -> ()
    llvm.call @k_launch(%b, %stream) : (!llvm.ptr, !llvm.ptr) -> ()

    llvm.func internal @k_launch(%a: !llvm.ptr, %stream: !llvm.ptr) attributes {no_inline} {
      ...
      gpu.launch_func <%stream : !llvm.ptr> @k::@k blocks in (%c4, %c1, %c1) ... args(%a : !llvm.ptr, %c8 : i64)
      llvm.return
    }
    ```

    A kernel that is launched once, and launches that are not on a stream, stay
    as they are.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// moss-specialize-warps
//===----------------------------------------------------------------------===//

def MossSpecializeWarps : Pass<"moss-specialize-warps", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Slice a kernel with a channel into producer and consumers";
  let description = [{
    The loop nest after `moss.channel` is cloned into the two roles of
    `moss.warp_specialize`. The producer keeps what feeds `put`, the consumers
    what follows `get`; dead code elimination removes the rest, sums that loops
    carry included. Register budgets come from the schedule.

    ```mlir
    scf.for ... { moss.put ...; %a, %b = moss.get ...; %p = moss.mma ...; moss.release ... }
    // becomes
    moss.warp_specialize producer registers(40) {
      scf.for ... { moss.put ... }
    } consumers(2) registers(232) (%wg) {
      scf.for ... { %a, %b = moss.get ...; %p = moss.mma ...; moss.release ... }
    }
    ```
  }];
  let dependentDialects = ["::mlir::ub::UBDialect"];
}

//===----------------------------------------------------------------------===//
// moss-strip-timings
//===----------------------------------------------------------------------===//

def MossStripTimings : Pass<"moss-strip-timings", "::mlir::ModuleOp"> {
  let summary = "Drop the compile times from gpu.binary";
  let description = [{
    gpu-module-to-binary records in each object how long its compilation took, so
    that no two runs give the same output. This pass drops these properties.

    ```mlir
    gpu.binary @k [#gpu.object<#nvvm.target, properties = {LLVMIRToISATimeInMs = 9 : i64, O = 3 : i32}, assembly = "...">]
    // becomes
    gpu.binary @k [#gpu.object<#nvvm.target, properties = {O = 3 : i32}, assembly = "...">]
    ```
  }];
}

#endif // MOSS_GPU_PASSES_TD
