//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicted scales of weights.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_AUTOSCALEPASSES_TD
#define MOSS_TRANSFORMS_AUTOSCALEPASSES_TD

include "mlir/Pass/PassBase.td"

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

#endif // MOSS_TRANSFORMS_AUTOSCALEPASSES_TD
