//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_PASSES_TD
#define MOSS_TRANSFORMS_PASSES_TD

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
// moss-assert-to-llvm
//===----------------------------------------------------------------------===//

def MossAssertToLLVM : Pass<"moss-assert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower cf.assert so that its message is always seen";
  let description = [{
    Upstream prints the message of a failed assertion with `puts` and aborts,
    which loses it unless standard output is a terminal. Here it is written to
    standard error, unbuffered, by the C library's `write`. Assertions in kernels
    are left alone.

    ```mlir
    cf.assert %ok, "extents differ"
    // becomes
    scf.if %failed {
      llvm.call @write(%stderr, %message, %length) : (i32, !llvm.ptr, i64) -> i64
      llvm.call @abort() : () -> ()
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
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
      schedule(<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>)
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
// moss-drop-returned-arguments
//===----------------------------------------------------------------------===//

def MossDropReturnedArguments : Pass<"moss-drop-returned-arguments", "::mlir::ModuleOp"> {
  let summary = "Drop results of functions that are their memref arguments";
  let description = [{
    After bufferization a function that computes in place returns the buffer it
    was given. The caller has it already, and the deallocation passes would copy
    it, so that the caller may own the result. Upstream's
    drop-equivalent-buffer-results leaves public functions alone, which are
    those that Moss's users call.

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) -> memref<8xf32> { ... return %y : memref<8xf32> }
    // becomes
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) { ... return }
    ```
  }];
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
  }];
  let options = [
    Option<"expandSums", "expand-sums", "bool", "true",
           "Also expand moss.add_rescaled, which moss-distribute-tiles lowers by "
           "itself">,
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
// moss-pad-operands
//===----------------------------------------------------------------------===//

def MossPadOperands : Pass<"moss-pad-operands"> {
  let summary = "Copy payloads whose rows the copy engine cannot reach";
  let description = [{
    Hopper's copy engine reads rows that begin at multiples of 16 bytes. A payload
    of `moss.scaled_matmul` (on memrefs) that is not known to have such rows is
    copied into a buffer that has, with a missed remark. `moss-quantize` makes
    payloads that need no copy, so this is for payloads from elsewhere.

    ```mlir
    moss.scaled_matmul ... lhs(#s, %a : memref<8x40xf8E4M3FN>) ...
    // becomes
    %buffer = memref.alloc() : memref<8x48xf8E4M3FN>
    %view = memref.subview %buffer[0, 0] [8, 40] [1, 1] : ...
    linalg.copy ins(%a : memref<8x40xf8E4M3FN>) outs(%view : memref<8x40xf8E4M3FN, strided<[48, 1]>>)
    moss.scaled_matmul ... lhs(#s, %view : memref<8x40xf8E4M3FN, strided<[48, 1]>>) ...
    memref.dealloc %buffer : memref<8x48xf8E4M3FN>
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect"];
}

//===----------------------------------------------------------------------===//
// moss-quantize
//===----------------------------------------------------------------------===//

def MossQuantize : Pass<"moss-quantize"> {
  let summary = "Quantize the operands of BF16 matmuls to FP8";
  let description = [{
    Rewrites every two-dimensional matmul of BF16 tensors into `moss.quantize`
    of both operands and `moss.scaled_matmul`, so that the later passes see
    which tensors are FP8, at which granularity and under which scales.

    ```mlir
    %0 = linalg.fill ins(%zero : f32) outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
    %1 = linalg.matmul ins(%x, %w : tensor<8x64xbf16>, tensor<64x16xbf16>)
                       outs(%0 : tensor<8x16xf32>) -> tensor<8x16xf32>
    ```

    becomes

    ```mlir
    %x8:3 = moss.quantize #rows ins(%x : tensor<8x64xbf16>) payload(...) micro(...) global(...)
      -> tensor<8x64xf8E4M3FN>, tensor<8x1xf8E8M0FNU>, tensor<f32>
    %w8:2 = moss.quantize #tensor transpose ins(%w : tensor<64x16xbf16>) payload(...) global(...)
      -> tensor<16x64xf8E4M3FN>, tensor<f32>
    %1 = moss.scaled_matmul #moss.accumulate<promoted(128)>
      lhs(#rows, %x8#0 : tensor<8x64xf8E4M3FN>) micro(%x8#1 : tensor<8x1xf8E8M0FNU>) global(%x8#2 : tensor<f32>)
      rhs(#tensor, %w8#0 : tensor<16x64xf8E4M3FN>) global(%w8#1 : tensor<f32>)
      outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
    ```

    - What counts is the indexing maps and the body, not the name of the op:
      `linalg.matmul`, `linalg.contract` and `linalg.generic` are all matched.
      Both operands of the result are stored with K innermost, so an operand
      that is not gets `transpose`.
    - An accumulator that is a fill of zeros is only a destination; any other
      value is added to (`accumulates`).
    - An operand of several matmuls is quantized once for each scheme and
      orientation, as far as dominance allows.
    - Where K is not known to be a multiple of 16, the payload is a slice of a
      buffer with rows of the next multiple of 16 elements, since the copy
      engine needs rows that begin at multiples of 16 bytes.

    Everything else is left alone, and a matmul that is gets a missed remark
    with the reason: element types other than BF16, results other than F32 or
    BF16, batches, bodies that are not a multiplication and an addition,
    memrefs. A micro group that is larger than the extent which it divides is
    an error.
  }];
  let options = [
    Option<"scheme", "scheme", "std::string", /*default=*/"\"two-level\"",
           "'two-level': micro scales for the rows of the left operand, one "
           "scale for the right; 'per-tensor': one scale for each">,
    Option<"lhsScheme", "lhs-scheme", "std::string", /*default=*/"",
           "Scheme of the left operand instead: 'rows' (a micro scale per "
           "row), 'mx' (per 32 elements of a row), 'tensor' (none), or a "
           "#moss.scheme attribute in quotes">,
    Option<"rhsScheme", "rhs-scheme", "std::string", /*default=*/"",
           "Scheme of the right operand instead, likewise">,
    Option<"lhsGroup", "lhs-group", "std::string", /*default=*/"",
           "Micro group of the left operand [M, K] as 'outer,k', each a "
           "positive integer or 'full'; k must be a multiple of 32">,
    Option<"rhsGroup", "rhs-group", "std::string", /*default=*/"",
           "Micro group of the right operand [N, K], likewise">,
    Option<"global", "global", "std::string", /*default=*/"\"jit\"",
           "Global scale of schemes that are not attributes: 'jit' (from the "
           "tensor's largest magnitude) or 'unit' (1)">,
    Option<"rounding", "rounding", "std::string", /*default=*/"\"ceil\"",
           "Rounding of micro exponents in schemes that are not attributes: "
           "'ceil', 'nearest' or 'floor'; only 'ceil' never saturates">,
    Option<"accumulate", "accumulate", "std::string",
           /*default=*/"\"promoted\"",
           "'promoted': add partial sums into FP32 registers; 'fast': keep the "
           "whole sum in the matrix unit, which holds 13 fraction bits">,
    Option<"promoteInterval", "promote-interval", "int64_t", /*default=*/"128",
           "Elements of K in a partial sum, a multiple of 32">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::moss::MossDialect",
                           "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-quantize-to-loops
//===----------------------------------------------------------------------===//

def MossQuantizeToLoops : Pass<"moss-quantize-to-loops"> {
  let summary = "Lower moss.quantize and moss.dequantize to loops";
  let description = [{
    Expands `moss.quantize` and `moss.dequantize` on memrefs into loops over
    micro groups, the rows of a group, and strips of K. This is the form for a
    CPU, and with it the reference for every other target: the scales come from
    integer arithmetic that is exact, and the saturation that an `arith.truncf`
    to FP8 lacks is spelled out in front of it.

    A strip is a vector of 16 elements if source and payload are contiguous
    along K, and an element otherwise (as with `transpose`). A `jit` scale takes
    one more pass over the source, and so does the amax of a `delayed` one.

    ```mlir
    moss.quantize #scheme ins(%x : memref<8x?xbf16>) payload(%p : memref<8x?xf8E4M3FN>)
        micro(%m : memref<8x1xf8E8M0FNU>)
    // becomes, in outline
    scf.for %group = %c0 to %c8 step %c1 {
      %amax = scf.for %k = ... iter_args(%max = %zero) -> (vector<16xi32>) {
        %v = vector.load %x[%group, %k] : memref<8x?xbf16>, vector<16xbf16>
        ... arith.maxui ...
      }
      memref.store %scale, %m[%group, %c0] : memref<8x1xf8E8M0FNU>
      scf.for %k = ... {
        ... arith.mulf, arith.minimumf, arith.maximumf ...
        %q = arith.truncf %y : vector<16xf32> to vector<16xf8E4M3FN>
        vector.store %q, %p[%group, %k] : memref<8x?xf8E4M3FN>, vector<16xf8E4M3FN>
      }
    }
    ```

    Ops on tensors are rejected: bufferize first.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-request-c-wrappers
//===----------------------------------------------------------------------===//

def MossRequestCWrappers : Pass<"moss-request-c-wrappers", "::mlir::func::FuncOp"> {
  let summary = "Ask for a C wrapper of every public function with a body";
  let description = [{
    The function can then be called from C as `_mlir_ciface_<name>`, with a
    pointer to a descriptor for each memref. Upstream's llvm-request-c-wrappers
    marks declarations too, so that calls of a library function go to a wrapper
    of it, which the library may not have.

    ```mlir
    func.func @f(%x: memref<8xf32>) { ... }
    // becomes
    func.func @f(%x: memref<8xf32>) attributes {llvm.emit_c_interface} { ... }
    ```
  }];
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
    tile's K extent, an inner loop chains `moss.mma` over the interval. Ops
    without schedule, and tiles on which a micro scale is not constant, are
    errors.

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

//===----------------------------------------------------------------------===//
// moss-verify-lowered
//===----------------------------------------------------------------------===//

def MossVerifyLowered : Pass<"moss-verify-lowered"> {
  let summary = "Report what a lowering left behind";
  let description = [{
    Upstream conversions leave what they do not know in the module, without a
    word, and the program fails later or not at all. At the end of a pipeline
    this pass emits an error at

    - each op of the moss dialect,
    - each `arith` or `math` op on FP8 values,
    - each `builtin.unrealized_conversion_cast`,

    which names the op and what could be done about it. It changes nothing.
  }];
}

#endif // MOSS_TRANSFORMS_PASSES_TD
