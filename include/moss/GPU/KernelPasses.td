//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From loops over tiles to kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_GPU_KERNELPASSES_TD
#define MOSS_GPU_KERNELPASSES_TD

include "mlir/Pass/PassBase.td"

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

    Micro scales that change at every iteration travel in the same slots, if the copy
    engine can reach them (`moss-arrange-scales`): `moss.load_scales` becomes a tile
    of the channel and a `moss.read_scales` of it after the product. Several products
    of slices of the same tiles (`moss-merge-steps`) share a slot, and the scales of
    each are a row of the tile. If those of columns are in it, the slot is released
    after they were used. E8M0 scales of single columns that only `moss.add_rescaled`
    reads are extended to f32 in the slot, by `moss.extend_scales`: each thread would
    extend a quarter of them.

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
// moss-merge-steps
//===----------------------------------------------------------------------===//

def MossMergeSteps : Pass<"moss-merge-steps"> {
  let summary = "Read the operands of several products as one tile";
  let description = [{
    Products whose scales change along K, every 32 elements for instance, are
    narrower than the tiles of their schedule. A slot of a ring for each of them
    would cost as many waits and copies as there are products. This pass lets a
    step of the loop be a tile of the schedule, of which every product takes a
    slice:

    ```mlir
    %sum = scf.for %k = %c0 to %K step %c32 iter_args(%c = %zero) -> (vector<192x128xf32>) {
      %rows = moss.load_scales %e[%m, %k] bound(%M) group [1, 32] : ... -> vector<192x1xf8E8M0FNU>
      %a = vector.transfer_read %A[%m, %k], %pad : ..., vector<192x32xf8E4M3FN>
      %b = vector.transfer_read %B[%n, %k], %pad : ..., vector<128x32xf8E4M3FN>
      %p = moss.mma %a, %b, %zero : ...
      %s = moss.add_rescaled %c, %p rows(%rows : vector<192x1xf8E8M0FNU>) : vector<192x128xf32>
      scf.yield %s : vector<192x128xf32>
    }
    // becomes, for tiles of K = 64
    %sum = scf.for %k = %c0 to %K step %c64 iter_args(%c = %zero) -> (vector<192x128xf32>) {
      %a = vector.transfer_read %A[%m, %k], %pad : ..., vector<192x64xf8E4M3FN>
      %b = vector.transfer_read %B[%n, %k], %pad : ..., vector<128x64xf8E4M3FN>
      %a0 = vector.extract_strided_slice %a {offsets = [0, 0], sizes = [192, 32], strides = [1, 1]} : ...
      %b0 = vector.extract_strided_slice %b {offsets = [0, 0], sizes = [128, 32], strides = [1, 1]} : ...
      %rows0 = moss.load_scales %e[%m, %k] ...
      %p0 = moss.mma %a0, %b0, %zero : ...
      %s0 = moss.add_rescaled %c, %p0 rows(%rows0 : ...) : vector<192x128xf32>
      %a1 = vector.extract_strided_slice %a {offsets = [0, 32], sizes = [192, 32], strides = [1, 1]} : ...
      %b1 = vector.extract_strided_slice %b {offsets = [0, 32], sizes = [128, 32], strides = [1, 1]} : ...
      %k1 = arith.addi %k, %c32 : index
      %rows1 = moss.load_scales %e[%m, %k1] ...
      %p1 = moss.mma %a1, %b1, %zero : ...
      %s1 = moss.add_rescaled %s0, %p1 rows(%rows1 : ...) : vector<192x128xf32>
      scf.yield %s1 : vector<192x128xf32>
    }
    ```

    Every product keeps its partial sum, and these are added in the same order, so
    that no bit changes. If the tiles do not divide K, the last steps multiply zeros,
    and add zero to the sum: a sum that underflowed to -0 becomes 0. Their scales are
    past the end, where the copy engine reads zeros; scales that threads load
    themselves are the last there are.

    Only loops over K from 0 that add `moss.add_rescaled` products to one sum are
    merged. A remark says why others, whose products are narrower than their
    schedule's tiles, are not.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
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
    assembler serializes everything if they are. So are loops over a ring of one
    slot, which the next iteration waits for.

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
// moss-specialize-warps
//===----------------------------------------------------------------------===//

def MossSpecializeWarps : Pass<"moss-specialize-warps", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Slice a kernel with a channel into producer and consumers";
  let description = [{
    The loop nest after `moss.channel` is cloned into the roles of
    `moss.warp_specialize`. The producer keeps what feeds `put`, the consumers
    what follows `get`, and if the channel extends scales, a converter keeps
    `extend_scales`; dead code elimination removes the rest, sums that loops
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

#endif // MOSS_GPU_KERNELPASSES_TD
