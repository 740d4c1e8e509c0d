//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From matmuls to loops over tiles.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_LOOPPASSES_TD
#define MOSS_TRANSFORMS_LOOPPASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// moss-assert-shapes
//===----------------------------------------------------------------------===//

def MossAssertShapes : Pass<"moss-assert-shapes"> {
  let summary = "Check at run time that dynamic shapes of matmuls agree";
  let description = [{
    Before each `moss.scaled_matmul` on memrefs, every pair of dimensions that
    must be equal and is not known to be is compared, and the program stops with
    a message if they differ. Otherwise a kernel would read past a buffer.

    ```mlir
    %k0 = memref.dim %lhs, %c1 : memref<?x?xf8E4M3FN>
    %k1 = memref.dim %rhs, %c1 : memref<?x?xf8E4M3FN>
    %equal = arith.cmpi eq, %k0, %k1 : index
    cf.assert %equal, "layer.mlir:7:3: moss.scaled_matmul: K of the left operand and K of the right operand differ"
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect"];
}

//===----------------------------------------------------------------------===//
// moss-choose-schedule
//===----------------------------------------------------------------------===//

def MossChooseSchedule : Pass<"moss-choose-schedule"> {
  let summary = "Attach a schedule to every moss.scaled_matmul";
  let description = [{
    Fills the `schedule` of each `moss.scaled_matmul` that has none, from its
    shape, its schemes, its accumulation and the target, and checks that it fits
    the target's shared memory and registers. Ops that have a schedule keep it,
    and it is checked too. Single fields can be overridden by options.

    ```mlir
    moss.scaled_matmul #moss.accumulate<fast> lhs(...) rhs(...) outs(%c : memref<?x?xbf16>)
    // becomes, for target=sm_90a
    moss.scaled_matmul #moss.accumulate<fast> lhs(...) rhs(...) outs(%c : memref<?x?xbf16>)
      schedule(<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 16, blocks = 132>)
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_90a\"",
           "Machine to schedule for: sm_90a or cpu">,
    ListOption<"tile", "tile", "int64_t", "Tile extents M,N,K">,
    Option<"stages", "stages", "int64_t", "0",
           "Slots of the shared-memory ring (0: as many as fit, up to 8)">,
    Option<"consumers", "consumers", "int64_t", "0",
           "Consumer warpgroups (0: chosen)">,
    Option<"raster", "raster", "int64_t", "0",
           "Tiles along M visited before the next column (0: chosen)">,
    Option<"blocks", "blocks", "int64_t", "0",
           "Most thread blocks of the grid (0: one a multiprocessor)">,
  ];
}

//===----------------------------------------------------------------------===//
// moss-expand-rescale
//===----------------------------------------------------------------------===//

def MossExpandRescale : Pass<"moss-expand-rescale"> {
  let summary = "Expand moss.rescale into arithmetic on tile values";
  let description = [{
    Splits every scale into a significand and an exponent, multiplies the
    former, adds the latter as integers, and applies the result in the two
    multiplications that the op's description states. Scalars stay scalars, row
    scales M x 1 and column scales 1 x N vectors until an op needs the whole
    tile: with scales of rows only, an element costs two multiplications, and
    with both, integer additions besides.

    Only elementwise `arith` ops, splat constants and `vector.broadcast` are
    created, because the GPU distributes tile values over threads by a type
    conversion of elementwise ops.

    ```mlir
    %r = moss.rescale %t rows(%e : vector<32x1xf8E8M0FNU>) : vector<32x64xf32>
    ```

    becomes, with the splitting of `%e` left out,

    ```mlir
    %first = arith.mulf %significand, %pow1 : vector<32x1xf32>
    %b1 = vector.broadcast %first : vector<32x1xf32> to vector<32x64xf32>
    %m = arith.mulf %t, %b1 : vector<32x64xf32>
    %b2 = vector.broadcast %pow2 : vector<32x1xf32> to vector<32x64xf32>
    %r = arith.mulf %m, %b2 : vector<32x64xf32>
    ```

    `moss.add_rescaled` becomes a `math.fma` with the product of the scales.

    The second multiplication is by 1 unless the scales' product leaves the range of
    f32's normal numbers. `for-threads` makes it `moss.apply_powers`, which a thread
    skips then, unless there are powers for each element.
  }];
  let options = [
    Option<"forThreads", "for-threads", "bool", "false",
           "Leave to moss-distribute-tiles what it lowers by itself: "
           "moss.add_rescaled, and moss.apply_powers for a second multiplication">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-fuse-accumulator
//===----------------------------------------------------------------------===//

def MossFuseAccumulator : Pass<"moss-fuse-accumulator"> {
  let summary = "Fuse the addition to the sum of a loop into what it adds";
  let description = [{
    Loops with a `moss.accumulate` attribute say how their sum is to be kept, so
    the rounding of its additions may change.

    In loops that ask for `#moss.accumulate<fast>` and whose sum is not rescaled
    inside, the addition after `moss.mma` is fused into it, so that the matrix
    unit keeps the whole sum. This changes rounding; a remark states the bound
    on the error for the loop's K. Loops that ask for promotion are left alone.

    ```mlir
    %p = moss.mma %a, %b, %zero : ...
    %s = arith.addf %c, %p : vector<128x256xf32>
    // becomes
    %s = moss.mma %a, %b, %c : ...
    ```

    Sums of partial sums that are rescaled inside the loop, whichever way is asked
    for, are rounded once instead of twice, which costs one instruction instead
    of two or three for every element.

    ```mlir
    %r = moss.rescale %p rows(%e : vector<128x1xf32>) : vector<128x256xf32>
    %s = arith.addf %c, %r : vector<128x256xf32>
    // becomes
    %s = moss.add_rescaled %c, %p rows(%e : vector<128x1xf32>) : vector<128x256xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// moss-hoist-dequant
//===----------------------------------------------------------------------===//

def MossHoistDequant : Pass<"moss-hoist-dequant"> {
  let summary = "Move dequantization out of the loop over K";
  let description = [{
    A loop that adds rescaled partial sums,

    ```mlir
    %acc = scf.for %k = ... iter_args(%c = %zero) -> (vector<128x256xf32>) {
      %p = ...
      %r = moss.rescale %p rows(%e : vector<128x1xf8E8M0FNU>) : vector<128x256xf32>
      %s = arith.addf %c, %r : vector<128x256xf32>
      scf.yield %s : vector<128x256xf32>
    }
    ```

    becomes, when the scales do not depend on the loop,

    ```mlir
    %sum = scf.for %k = ... iter_args(%c = %zero) -> (vector<128x256xf32>) {
      %p = ...
      %s = arith.addf %c, %p : vector<128x256xf32>
      scf.yield %s : vector<128x256xf32>
    }
    %acc = moss.rescale %sum rows(%e : vector<128x1xf8E8M0FNU>) : vector<128x256xf32>
    ```

    Theorem. Let every scale be a power of two that is constant over the loop.
    Multiplying by it commutes with IEEE addition wherever no operation
    overflows or yields a subnormal, since it only adds to exponents and leaves
    significands and their rounding alone. So there the two forms are equal bit
    for bit. In the hoisted form no operation inside the loop overflows or
    yields a subnormal: products of FP8 values lie between 2^-32 and 2^32, and
    their sums below 2^32 K; so elsewhere the hoisted form is the more accurate.
    Hence the move needs no fast-math flag.

    Scales that are not powers of two (f32 micro scales) change the rounding;
    they are moved only if the `arith.addf` carries the fast-math flag `reassoc`
    or `allow-reassociation` is set. A scale that changes every G elements of K
    is moved to the boundary of a strip-mined loop of G elements and no further.
    Two rescales in a row, of which one has only powers of two, are merged.

    Every decision is a remark of category `moss-hoist-dequant`, with its reason.
  }];
  let options = [
    Option<"allowReassociation", "allow-reassociation", "bool", "false",
           "Also move scales that are not powers of two, which changes rounding">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// moss-inline-shared-ops
//===----------------------------------------------------------------------===//

def MossInlineSharedOps : Pass<"moss-inline-shared-ops", "::mlir::ModuleOp"> {
  let summary = "Inline the functions of moss-share-ops";
  let description = [{
    On a GPU a function launches its kernels on one stream and waits for them at
    its end. A function of `moss-share-ops` would wait too, after each op. So
    once kernels are outlined, what is left of these functions, the host code
    around the launches, goes back to where it is called.

    ```mlir
    func.func @f(...) {
      call @moss_matmul_64x64x64(%a, %b, ...) : ...
    }
    func.func private @moss_matmul_64x64x64(...) attributes {moss.shared} {
      ...
      gpu.launch_func @moss_matmul_64x64x64_kernel::@moss_matmul_64x64x64_kernel ...
      return
    }
    // becomes
    func.func @f(...) {
      ...
      gpu.launch_func @moss_matmul_64x64x64_kernel::@moss_matmul_64x64x64_kernel ...
    }
    ```

    Functions that are not marked `moss.shared` are left alone, which upstream's
    `inline` would not do.
  }];
}

//===----------------------------------------------------------------------===//
// moss-share-ops
//===----------------------------------------------------------------------===//

def MossShareOps : Pass<"moss-share-ops", "::mlir::ModuleOp"> {
  let summary = "Outline ops that would become the same kernel";
  let description = [{
    A model has many layers of few shapes. Ops on memrefs that are equal but for
    their locations and the values of their operands (`moss.quantize`,
    `moss.dequantize`, `moss.scaled_matmul` and linalg ops) are replaced by calls
    of one private function, so that all later passes work once for each
    distinct op. An op that occurs only once stays where it is.

    ```mlir
    linalg.fill ins(%zero : f32) outs(%a : memref<8x16xf32>)
    linalg.fill ins(%zero : f32) outs(%b : memref<8x16xf32>)
    // becomes
    call @moss_linalg_fill_8x16(%a) : (memref<8x16xf32>) -> ()
    call @moss_linalg_fill_8x16(%b) : (memref<8x16xf32>) -> ()

    func.func private @moss_linalg_fill_8x16(%m: memref<8x16xf32>)
        attributes {llvm.linkage = #llvm.linkage<internal>, moss.shared} {
      %zero = arith.constant 0.0 : f32
      linalg.fill ins(%zero : f32) outs(%m : memref<8x16xf32>)
      return
    }
    ```

    - Equal are ops with equal attributes, regions and operand types, layouts
      included, whose operands are the same constants, and the same value twice
      in the same places. A scalar in a table is passed as one at any offset, so
      that ops with scales in different rows are equal.
    - Ops in parallel loops and kernels stay, since they become part of these.
      So do ops in functions marked `moss.host`.
    - A passed remark names each function and the number of ops that share it.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
}

//===----------------------------------------------------------------------===//
// moss-tile-to-loops
//===----------------------------------------------------------------------===//

def MossTileToLoops : Pass<"moss-tile-to-loops"> {
  let summary = "Lower moss.scaled_matmul to loops over tiles";
  let description = [{
    Lowers each `moss.scaled_matmul` on memrefs, by its schedule, to a parallel
    loop over tiles of the result around a loop over K on tile values. The loop
    is naive: micro scales are applied to the partial sum of every iteration, as
    the scheme says, and global scales after the loop. `moss-hoist-dequant`
    improves on it.

    Tiles at the edge of an operand read zeros past its bounds, and writes past
    the bounds of the result are dropped. If the promotion interval exceeds the
    tile's K extent, an inner loop chains `moss.mma` over the interval. If a tile
    holds several micro groups along K, the loop steps by the extent on which all
    micro scales are constant, and `moss-merge-steps` makes tiles of its steps. Ops
    without schedule, and tiles that hold parts of groups, are errors. The attributes `moss.schedule` and `moss.matmul` of the loop keep the
    schedule and what is computed, for later passes and descriptions.

    ```mlir
    scf.forall (%m, %n) = (0, 0) to (%M, %N) step (128, 256) {
      %rows = moss.load_scales %am[%m, %c0] bound(%M) group [1, 0] : ...
      %acc = scf.for %k = %c0 to %K step %c128 iter_args(%c = %zero) -> (vector<128x256xf32>) {
        %a = vector.transfer_read %A[%m, %k], %pad : ...
        %b = vector.transfer_read %B[%n, %k], %pad : ...
        %p = moss.mma %a, %b, %zero : ...
        %r = moss.rescale %p rows(%rows : vector<128x1xf8E8M0FNU>) : vector<128x256xf32>
        %s = arith.addf %c, %r : vector<128x256xf32>
        scf.yield %s : vector<128x256xf32>
      }
      %scaled = moss.rescale %acc by(%sa, %sb) : vector<128x256xf32>
      %t = arith.truncf %scaled : vector<128x256xf32> to vector<128x256xbf16>
      vector.transfer_write %t, %C[%m, %n] : ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::ub::UBDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // MOSS_TRANSFORMS_LOOPPASSES_TD
