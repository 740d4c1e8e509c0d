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
// moss-expand-next-scale
//===----------------------------------------------------------------------===//

def MossExpandNextScale : Pass<"moss-expand-next-scale"> {
  let summary = "Expand moss.next_scale into arithmetic and one loop";
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
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // MOSS_TRANSFORMS_AUTOSCALEPASSES_TD
