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
  let options = [
    Option<"handler", "handler", "std::string", /*default=*/"",
           "Function to call with the message, which does not return, instead "
           "of writing it and aborting; mossFailAssertion of Moss's runtime "
           "makes the function that was called return an error">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

//===----------------------------------------------------------------------===//
// moss-auto-scale
//===----------------------------------------------------------------------===//

def MossAutoScale : Pass<"moss-auto-scale", "::mlir::ModuleOp"> {
  let summary = "Predict the scales of weights instead of measuring them";
  let description = [{
    A `jit` scale costs one more pass over the matrix at each step. How far an
    optimizer moves a weight in one step is bounded, so the scale of a weight
    marked `moss.weight` can follow from an earlier one
    (`moss.next_scale` has the rule). On the level of quantized tensors, every
    `moss.quantize` of a marked weight under a jit scale, without micro scales,

    ```mlir
    func.func @layer(%w: tensor<32x64xbf16> {moss.weight = #weight}, ...) -> tensor<8x32xf32> {
      %q:2 = moss.quantize #jit ins(%w : tensor<32x64xbf16>) payload(...) global(%g : tensor<f32>) -> ...
    ```

    becomes

    ```mlir
    func.func @layer(%w: tensor<32x64xbf16>, ..., %step: i64, %scales: tensor<1xf32>)
        -> (tensor<8x32xf32>, tensor<1xf32> {moss.updates = ...}) {
      %now = scf.if %is_reset_step -> tensor<1xf32> { ... measured ... } else { scf.yield %scales }
      %s = tensor.extract_slice %now[0] [1] [1] : tensor<1xf32> to tensor<f32>
      %q = moss.quantize #given ins(%w : tensor<32x64xbf16>) scale(%s : tensor<f32>) payload(...) -> ...
    ```

    All payloads of a weight, in either orientation, share its scale. Added to the
    module are

    - `@moss_update_scales`, one `moss.next_scale` over all weights, to be called
      once after each optimizer step with that step's rate and number;
    - `@<f>_reset_scales` for each such function `f`, which measures its weights,
      whatever the step: for loaded checkpoints and other changes from outside;
    - `@moss_init_scales`, which sets scales to NaN, so that weights which were
      never measured are noticed;
    - `@moss_get_scales` with `state = globals`, which returns a copy of the scales.

    Where the program declares one of these, to call it, the declaration gets the
    body instead. Its type must be that of the function, but a rate may be f32.
    If no scale is predicted, as under `scheme=bf16`, declared functions return
    their last arguments as they are.

    Results that replace arguments are marked `moss.updates`, for
    `moss-results-to-arguments`.

    Steps count from 0: at step 0 and at every multiple of the weight's interval,
    `f` measures. Where the bound grows loose (beta1^2 > beta2), it measures at
    every step from the one on at which a step moves a weight by over 256
    learning rates. The step is the i64 argument marked `moss.step`, or is
    added.

    Where a result of `f` is marked `moss.updates = <number>`, it is the updated
    value of the weight that is the argument with this number, and `f` contains
    the optimizer step. Then `f` predicts the scales itself, ahead of the update,
    from its argument marked `moss.learning_rate`. It quantizes the updated
    weights for its next call and keeps their payloads as arguments and results,
    so that a weight is read by nothing but its update
    (`moss-fuse-quantize` makes this one pass over memory). There is no
    `@moss_update_scales` then, and `f` must update all marked weights of the
    module.

    With `state = globals` the scales are a `memref.global` of the module,
    and functions take only the step; that is for a CPU, as globals are in host
    memory.

    What is marked but not predicted, or not quantized at all, is a missed remark
    with its reason. Functions whose signature must change must not be called in the module.
  }];
  let options = [
    ListOption<"weights", "weights", "std::string",
               "Weights to mark: '<function>:<argument number>' or '@<global>'">,
    Option<"mark", "mark", "std::string", /*default=*/"",
           "The #moss.weight that 'weights' get, in quotes">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::moss::MossDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
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
// moss-create-c-interface
//===----------------------------------------------------------------------===//

def MossCreateCInterface : Pass<"moss-create-c-interface", "::mlir::ModuleOp"> {
  let summary = "Give functions the C interface of a library";
  let description = [{
    Adds, for each function of the LLVM dialect that `moss-results-to-arguments`
    has prepared, the function that C programs call, and makes everything else
    internal to the library:

    ```c
    int32_t f(const void *x, int64_t x_size0, int64_t x_stride0, int64_t x_stride1,
              void *result, int64_t result_size0, int64_t result_stride0, int64_t result_stride1,
              void *stream);
    ```

    It puts its arguments into memref descriptors and calls `mossInvoke` of the
    runtime, which checks them, copies arrays that are not contiguous, and runs
    the function's `llvm.emit_c_interface` wrapper such that an error becomes a
    return code.

    - An array is a pointer, its extents that are not static, and a stride for
      each dimension, both in elements. It is in device memory, unless the
      function is marked `moss.host` or the target is a CPU.
    - A scalar is passed by value: FP8 as `uint8_t`, BF16 and F16 as `uint16_t`
      with the same bits. A scalar result is a pointer to host memory.
    - What a caller gives as `stream` has no meaning on a CPU.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_90a\"",
           "Machine that the module was lowered for: sm_90a or cpu">,
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

//===----------------------------------------------------------------------===//
// moss-delay-scales
//===----------------------------------------------------------------------===//

def MossDelayScales : Pass<"moss-delay-scales", "::mlir::ModuleOp"> {
  let summary = "Let delayed scales follow from the amax of earlier calls";
  let description = [{
    A `jit` scale costs one more pass over the matrix. A delayed one follows from
    the largest magnitudes that the matrix had in earlier calls of the function,
    and quantization measures the next on its way. That is Transformer Engine's
    delayed scaling; `moss.next_delayed_scale` has the rule.

    On the level of quantized tensors, every `moss.quantize` with a delayed global
    scale that is the constant 1, as `moss-quantize` makes it,

    ```mlir
    func.func @layer(%x: tensor<8x64xbf16>, ...) -> tensor<8x32xf32> {
      %one = arith.constant dense<1.0> : tensor<f32>
      %x8:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%one : tensor<f32>)
        payload(...) global(%unused : tensor<f32>) -> tensor<8x64xf8E4M3FN>, tensor<f32>
      %y = moss.scaled_matmul ... lhs(#delayed, %x8#0 : tensor<8x64xf8E4M3FN>) global(%one : tensor<f32>) ...
    ```

    becomes

    ```mlir
    func.func @layer(%x: tensor<8x64xbf16>, ..., %scales: tensor<2xf32>, %history: tensor<2x16xf32>)
        -> (tensor<8x32xf32>, tensor<2xf32> {moss.updates = ...}, tensor<2x16xf32> {moss.updates = ...}) {
      %s = tensor.extract_slice %scales[0] [1] [1] : tensor<2xf32> to tensor<f32>
      %x8:2 = moss.quantize #delayed ins(%x : tensor<8x64xbf16>) scale(%s : tensor<f32>)
        payload(...) global(...) -> tensor<8x64xf8E4M3FN>, tensor<f32>
      ...
      %next:2 = moss.next_delayed_scale [#rule] rows [2] amax(%x8#1, %w8#1 : tensor<f32>, tensor<f32>)
        outs(%scales, %history : tensor<2xf32>, tensor<2x16xf32>) -> ...
      return %y, %next#0, %next#1 : tensor<8x32xf32>, tensor<2xf32>, tensor<2x16xf32>
    ```

    - Each matrix has a row of the two tables for each format that it is
      quantized to. Rows of E4M3 precede those of E5M2, and follow the order in
      which the function quantizes. The attribute `moss.rows` of the arguments
      says which is which.
    - Several quantizations of one matrix to one format, in both orientations
      say, share its scale. The first measures it; the others become `given`.
    - Each function has tables of its own. `@<f>_init_delayed_scales` is added,
      which makes scales 1 and histories 0. It is to be called before the first
      call of `f`.
    - A quantization in a loop or a branch, or a function with several blocks, is
      an error, as one call has one amax for each row. So is a function that is
      called in the module, since its type changes, and a payload that anything
      but a matmul or `moss.dequantize` uses, where the scale would be unknown.
  }];
  let options = [
    Option<"amaxHistory", "amax-history", "int64_t", /*default=*/"16",
           "Calls of which the amax is kept, 1 to 65536">,
    Option<"amaxAlgorithm", "amax-algorithm", "std::string", /*default=*/"\"max\"",
           "The amax that a scale follows from: 'max', the largest that is kept, "
           "or 'most_recent'">,
    Option<"margin", "margin", "int64_t", /*default=*/"0",
           "Powers of two between that amax and the largest value of the format, "
           "0 to 100">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::moss::MossDialect",
                           "::mlir::tensor::TensorDialect"];
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
    those that Moss's users call. What functions say of such arguments
    (`moss.updates`, `moss.initial`, `moss.rows`) is dropped, too.

    ```mlir
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) -> memref<8xf32> { ... return %y : memref<8xf32> }
    // becomes
    func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) { ... return }
    ```
  }];
}

//===----------------------------------------------------------------------===//
// moss-elementwise-to-linalg
//===----------------------------------------------------------------------===//

def MossElementwiseToLinalg : Pass<"moss-elementwise-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "Lower elementwise ops on tensors to linalg";
  let description = [{
    As upstream's convert-elementwise-to-linalg, but for `arith.select` with one
    condition for whole tensors. Upstream makes of it a loop over the elements
    of both, as if they had one shape. That need not be so: canonicalization makes
    such an op of an `scf.if` that yields one of two tensors. It stays, and
    bufferization takes one of two buffers.

    ```mlir
    %0 = arith.addf %a, %b : tensor<?xf32>                 // becomes a linalg.generic
    %1 = arith.select %p, %a, %b : tensor<?xf32>           // stays
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-error-bound
//===----------------------------------------------------------------------===//

def MossErrorBound : Pass<"moss-error-bound", "::mlir::func::FuncOp"> {
  let summary = "Turn a function into its reference and a bound on its error";
  let description = [{
    Replaces the body of a function on tensors by one that computes what the
    program means without FP8, and beside each value a bound on how far the
    program's value may be from it. Matmuls are summed in f32 from unquantized
    operands, all floats are held in f32, and conversions to a narrower type do
    not round; instead, the bound of a result covers the quantization, the sum
    over K, and every rounding of the program. `docs/Numerics.md` derives the
    rules.

    The new function takes the same arguments. It returns the reference of each
    result, then the bound of each result in f32, in its shape, and then for
    each `moss.quantize` outside of loops a `tensor<2xi64>`: how many elements of
    its source are not zero, and how many of these become zero. The attribute
    `moss.quantized_operands` says which operands these are, in this order.

    An op without a rule is computed on the reference in the program's own
    types, and its results have an infinite bound, which means that nothing is
    known; `moss.unbounded_ops` lists such ops. A bound may also become infinite
    or NaN during computation, as for a division by what may be zero.

    ```mlir
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xbf16> {
      %0 = linalg.generic ... ins(%x, %y : ...) outs(%empty : tensor<8xbf16>) {
      ^bb0(%a: f32, %b: f32, %out: bf16):
        %s = arith.addf %a, %b : f32
        %t = arith.truncf %s : f32 to bf16
        linalg.yield %t : bf16
      } -> tensor<8xbf16>
      return %0 : tensor<8xbf16>
    }
    // becomes, with 2^-23 |s| + 2^-126 for the sum and 2^-8 (|s| + e) for bf16,
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %0:2 = linalg.generic ... ins(%x, %y : ...) outs(%empty, %empty : ...) {
      ^bb0(%a: f32, %b: f32, %out: f32, %out_error: f32):
        %s = arith.addf %a, %b : f32
        ...
        linalg.yield %s, %error : f32, f32
      } -> (tensor<8xf32>, tensor<8xf32>)
      return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
    }
    ```

    It runs after `moss-quantize`, which decides on the schemes, and on
    functions that call no other. The sums over K of a quantized matmul are one
    `linalg.generic` with the attribute `library_call = "moss_reference_matmul"`,
    which may be lowered like any other or be replaced by that call.
  }];
  let options = [
    Option<"matrixUnit", "matrix-unit", "bool", "false",
           "Quantized matmuls are summed by Hopper's matrix unit, or as it "
           "does, and not in FP32">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-expand-next-scale
//===----------------------------------------------------------------------===//

def MossExpandNextScale : Pass<"moss-expand-next-scale"> {
  let summary = "Expand moss.next_scale and moss.next_delayed_scale into one loop";
  let description = [{
    Expands `moss.next_scale` on memrefs. What depends on the learning rate and
    the step alone (powers of beta, c_t) is computed once, in f64, ahead of one
    parallel loop over all weights. So on a GPU it is host code, and the update
    of any number of weights is one kernel.

    ```mlir
    moss.next_scale [#adamw] rows [200] lr(%lr : f64) step(%t)
        outs(%scales, %state : memref<200xf32>, memref<200x3xf64>)
    // becomes, in outline
    %p = math.powf %beta1, %t : f64
    ...
    %gain = arith.mulf %lr, %c : f64
    scf.parallel (%i) = (%c0) to (%c200) step (%c1) {
      %bound = memref.load %state[%i, %c0] : memref<200x3xf64>
      ...
      memref.store %next, %scales[%i] : memref<200xf32>
    }
    ```

    `moss.next_delayed_scale` becomes one parallel loop over its tensors, each of
    which rolls its history where it is, 16 values at a time.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
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
// moss-fuse-quantize
//===----------------------------------------------------------------------===//

def MossFuseQuantize : Pass<"moss-fuse-quantize"> {
  let summary = "Quantize a matrix in the loop that computes it";
  let description = [{
    A `given` or `unit` scale is known before the matrix is, so that the matrix
    can be quantized while it is computed. A `moss.quantize` without micro scales
    whose source is the result of a parallel `linalg.generic` on tensors (also
    rounded to bf16 in between) becomes a further result of it:

    ```mlir
    %new = linalg.generic ... ins(%w, %m, %v : ...) outs(%e : tensor<32x64xf32>) { ... }
    %q = moss.quantize #given ins(%new : tensor<32x64xf32>) scale(%s : tensor<f32>) payload(%p : ...) -> ...
    // becomes
    %new, %q = linalg.generic ... ins(%w, %m, %v, %s : ...)
        outs(%e, %p : tensor<32x64xf32>, tensor<32x64xf8E4M3FN>) { ... }
    ```

    An optimizer step thus reads and writes a weight once, and writes the
    payloads of both orientations in the same pass over memory. That is, with
    b bytes for an element of the weight, 1 byte instead of b + 1 for each
    payload. A chain of loops must be fused before (`linalg-fuse-elementwise-ops`).

    A transposed payload is written column by column. On a GPU that costs a
    memory transaction per byte, more than reading the matrix again, so it is an
    option. What is not fused, but has such a producer, is a missed remark.
  }];
  let options = [
    Option<"transposed", "transposed", "bool", /*default=*/"true",
           "Also fuse quantizations that transpose">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect"];
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
// moss-migrate-scales
//===----------------------------------------------------------------------===//

def MossMigrateScales : Pass<"moss-migrate-scales"> {
  let summary = "Multiply with bytes that were quantized along the other dimension";
  let description = [{
    A layer's gradients need its operands twice, summed over different
    dimensions: activations X [T, K] are summed over K in `Y = X W`, and over the
    tokens T in `dW = X^T dY`. Micro scales of the rows of X change along T, so
    `moss-quantize` quantizes X twice. Here the second matmul takes the payload of
    the first, transposed, and the micro scales go to dY before that is quantized:

    ```mlir
    %x8:3 = moss.quantize #rows ins(%x : tensor<TxKxbf16>) ...
    %xt8:3 = moss.quantize #rows transpose ins(%x : tensor<TxKxbf16>) ...
    %dy8:2 = moss.quantize #tensor transpose ins(%dy : tensor<TxNxbf16>) ...
    %dw = moss.scaled_matmul #acc lhs(#rows, %xt8#0) micro(%xt8#1) global(%xt8#2)
                                  rhs(#tensor, %dy8#0) global(%dy8#1) outs(%init)
    ```

    becomes

    ```mlir
    %x8:3 = moss.quantize #rows ins(%x : tensor<TxKxbf16>) ...
    %xt8 = linalg.transpose ins(%x8#0 : tensor<TxKxf8E4M3FN>) ...
    %scaled = linalg.generic ... // %dy[t, n] * %x8#1[t], in f32
    %dy8:2 = moss.quantize #tensor transpose ins(%scaled : tensor<TxNxf32>) ...
    %dw = moss.scaled_matmul #acc lhs(#tensor, %xt8) global(%x8#2)
                                  rhs(#tensor, %dy8#0) global(%dy8#1) outs(%init)
    ```

    Theorem. Let a value of X be `s * 2^e[t] * q[t, k]`. Then, in real numbers,

        sum over t of (s * 2^e[t] * q[t, k]) * dY[t, n]
          = s * (sum over t of q[t, k] * (2^e[t] * dY[t, n]))

    term by term. The right side's second factor is exact in FP32 wherever it is
    normal or zero: a BF16 number has 8 significant bits and an FP32 number 24, and
    the factor adds to the exponent alone. It is rounded, to a multiple of 2^-149,
    only below 2^-126. It overflows only if some `q * 2^e * dY` does, since a group
    of scheme `ceil` has a payload above 1. A NaN scale makes the row's payload
    and all its products NaN on both sides. So the move itself rounds nothing.
    Proof: multiplication of reals is associative and commutative; powers of two
    leave significands alone.

    The result still differs from that of quantizing X anew, in the choice of what
    is rounded: X has its rows' rounding instead of that of its columns, and dY is
    rounded relative to the largest `2^e[t] * dY[t, n]`, which weighs a token by
    its magnitude in both factors. Where both quantize without loss, and partial
    sums are aligned with equal exponents or exact, the results are equal bit for
    bit. Hence the pass runs on request only.

    The bytes may also come from an earlier quantization of which this program has
    the results: a `moss.dequantize` of them is then the source of the quantization
    that is replaced. Then X is not rounded twice.

    Stored values without micro scales are only transposed, which saves a pass
    over the BF16 values and gives the same bits where the scale is the same.
    If both operands could be replaced, the one with more elements is.

    A factor that is there in the other orientation but cannot be used gets a
    missed remark with the reason: micro scales that are not powers of two
    (moving them would round) or not of single rows, another element type, a
    delayed global scale, or an other operand that has a scale known beforehand
    or is not quantized in the program.
  }];
  let statistics = [
    Statistic<"numMigrated", "num-migrated",
              "Number of matmuls that take stored bytes">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
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
    payloads that need no copy, so this is for payloads from elsewhere, and for
    bf16 operands, which are multiplied where they are.

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
// moss-place-amax
//===----------------------------------------------------------------------===//

def MossPlaceAmax : Pass<"moss-place-amax", "::mlir::func::FuncOp"> {
  let summary = "Let quantizations write their amax to its place in a history";
  let description = [{
    After bufferization, an amax that goes into a `moss.next_delayed_scale` has a
    buffer of its own. Where nothing else uses that buffer, the history takes its
    place; otherwise the amax is copied. On tensors the same would be a chain of as
    many updates of the history as there are quantizations, which takes
    one-shot bufferization a time that grows with their third power.

    ```mlir
    %a = memref.alloc() : memref<f32>
    moss.quantize ... global(%a : memref<f32>)
    moss.next_delayed_scale [#rule] rows [1] amax(%a : memref<f32>) outs(%scales, %history : memref<1xf32>, memref<1x16xf32>)
    // becomes
    %a = memref.subview %history[0, 0] [1, 1] [1, 1] : memref<1x16xf32> to memref<f32, strided<[]>>
    moss.quantize ... global(%a : memref<f32, strided<[]>>)
    moss.next_delayed_scale [#rule] rows [1] outs(%scales, %history : memref<1xf32>, memref<1x16xf32>)
    ```

    Run it before buffers are freed.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
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
    - A `delayed` global scale is the constant 1, until `moss-delay-scales` puts
      one that follows from a history in its place.
    - Under scheme 'bf16' nothing is quantized: the operands of
      `moss.scaled_matmul` are those of the matmul, and one that is not stored
      with K innermost is transposed first, by `linalg.transpose`.
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
           "scale for the right; 'per-tensor': one scale for each; "
           "'per-tensor-delayed': the same from amax values of earlier calls; 'per-group': "
           "FP32 scales for 1 x 128 of the left and 128 x 128 of the right; "
           "'per-group-1x128': for 1 x 128 of both; 'mx': powers of two for 1 x "
           "32 of both; 'bf16': no quantization">,
    Option<"lhsScheme", "lhs-scheme", "std::string", /*default=*/"",
           "Scheme of the left operand instead: 'rows' (a micro scale per "
           "row), 'mx' (per 32 elements of a row), 'group' (an FP32 scale per "
           "128 elements of a row), 'block' (per 128 x 128), 'tensor' (none), "
           "'bf16' (not quantized), or a #moss.scheme attribute in quotes">,
    Option<"rhsScheme", "rhs-scheme", "std::string", /*default=*/"",
           "Scheme of the right operand instead, likewise">,
    Option<"lhsGroup", "lhs-group", "std::string", /*default=*/"",
           "Micro group of the left operand [M, K] as 'outer,k', each a "
           "positive integer or 'full'; k must be a multiple of 16 (sm_90a: 32)">,
    Option<"rhsGroup", "rhs-group", "std::string", /*default=*/"",
           "Micro group of the right operand [N, K], likewise">,
    Option<"lhsFormat", "lhs-format", "std::string", /*default=*/"",
           "Payload of the left operand: 'e4m3' (the default) or 'e5m2', which "
           "has more range and less precision, for gradients">,
    Option<"rhsFormat", "rhs-format", "std::string", /*default=*/"",
           "Payload of the right operand, likewise">,
    Option<"global", "global", "std::string", /*default=*/"",
           "Global scale of schemes that are not attributes: 'jit' (from the "
           "tensor's largest magnitude; the default for 'two-level' and "
           "'per-tensor'), 'delayed' (from those of earlier calls; the default "
           "for 'per-tensor-delayed') or 'unit' (1; the default for others, and "
           "for FP32 micro scales)">,
    Option<"rounding", "rounding", "std::string", /*default=*/"\"ceil\"",
           "Rounding of micro exponents in schemes that are not attributes: "
           "'ceil', 'nearest' or 'floor'; only 'ceil' never saturates">,
    Option<"accumulate", "accumulate", "std::string",
           /*default=*/"",
           "'promoted' (the default for FP8): add partial sums into FP32 "
           "registers; 'fast' (the default for bf16): keep the whole sum in the "
           "matrix unit, which holds 13 fraction bits for FP8">,
    Option<"promoteInterval", "promote-interval", "int64_t", /*default=*/"128",
           "Elements of K in a partial sum, a multiple of 32">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
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
// moss-results-to-arguments
//===----------------------------------------------------------------------===//

def MossResultsToArguments : Pass<"moss-results-to-arguments", "::mlir::ModuleOp"> {
  let summary = "Write results of public functions to memory of the caller";
  let description = [{
    A caller in C owns all memory. For each tensor result of a public function
    with a body, a memref argument is appended in which the result is
    materialized, and upstream's empty-tensor-elimination then computes directly
    in it. Tensor arguments are marked as not writable.

    ```mlir
    func.func @f(%x: tensor<?x8xf32>) -> tensor<?x8xf32> { ... return %r : tensor<?x8xf32> }
    // becomes
    func.func @f(%x: tensor<?x8xf32> {bufferization.writable = false}, %result: memref<?x8xf32>)
        attributes {moss.c_interface = {name = "f", source = "f", parameters = [
          {kind = "tensor", name = "x", type = "tensor<?x8xf32>"},
          {kind = "result", name = "result", type = "tensor<?x8xf32>"} ]}} {
      cf.assert %equal, "f: 'result' has another size in dimension 0 than what is computed"
      ...
      bufferization.materialize_in_destination %r in restrict writable %result
      return
    }
    ```

    - Extents of a result that are not static are compared with the caller's,
      before anything is computed if they follow from those of arguments.
      Otherwise, and where a function returns at several places, the result is
      computed in a buffer of its own, checked, and copied.
    - A tensor argument that is only a place to compute into is replaced by a
      new tensor.
    - A result marked `moss.updates = j` has no argument of its own. Argument j
      becomes a memref that may be written to, of kind `update`, and the result is
      materialized there after all others. Where bufferization computes it in
      place, nothing is copied; a result that may share memory with another such
      argument is copied first.
    - Other results stay results.
    - Calls inside the module go to a private copy of the function.
    - Names of parameters are those in `moss.argument_names`, as far as C allows.

    A function that C cannot call, by its name or the type of an argument or
    result, is an error.
  }];
  let options = [
    Option<"prefix", "prefix", "std::string", /*default=*/"",
           "What to put before the names of C functions">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-separate-empty-tensors
//===----------------------------------------------------------------------===//

def MossSeparateEmptyTensors : Pass<"moss-separate-empty-tensors", "::mlir::func::FuncOp"> {
  let summary = "Give each use of a tensor.empty its own";
  let description = [{
    CSE merges every `tensor.empty` of one type. One-shot bufferization then
    takes all results that are written to it for possible aliases, which it
    compares by pairs, for each write again: with 1,000 matmuls in a function,
    it takes minutes. Run after the last CSE on tensors.

    ```mlir
    %e = tensor.empty() : tensor<8x8xf32>
    %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = linalg.fill ins(%one : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    // becomes
    %e0 = tensor.empty() : tensor<8x8xf32>
    %e1 = tensor.empty() : tensor<8x8xf32>
    %0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = linalg.fill ins(%one : f32) outs(%e1 : tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
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
// moss-split-deallocs
//===----------------------------------------------------------------------===//

def MossSplitDeallocs : Pass<"moss-split-deallocs", "::mlir::func::FuncOp"> {
  let summary = "Free buffers apart that nothing else can refer to";
  let description = [{
    At the end of a block, upstream's ownership-based deallocation puts one
    `bufferization.dealloc` with all of its buffers. Its simplification compares
    them by pairs, over and over, which takes a minute for a few thousand. This
    pass looks at each allocation once: if it is freed in any case, and no other
    operand can be a view of it, it is freed on its own. If it is returned, and
    so kept, it is dropped. Run it between the two.

    ```mlir
    bufferization.dealloc (%a, %b, %view, %r : ...) if (%true, %true, %p, %true) retain (%r : ...)
    // becomes, for allocations %a, %b and %r, and a view of %b
    memref.dealloc %a : memref<8xf32>
    bufferization.dealloc (%b, %view : ...) if (%true, %p)
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
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
    tile's K extent, an inner loop chains `moss.mma` over the interval. Ops
    without schedule, and tiles on which a micro scale is not constant, are
    errors. The attributes `moss.schedule` and `moss.matmul` of the loop keep the
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
