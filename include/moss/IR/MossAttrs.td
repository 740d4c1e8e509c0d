//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enums and attributes of the moss dialect.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_IR_MOSSATTRS_TD
#define MOSS_IR_MOSSATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "moss/IR/MossDialect.td"

class Moss_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Moss_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

def Moss_GlobalScale : I32Enum<"GlobalScale",
    "where a tensor's global FP32 scale comes from", [
      I32EnumCase<"JIT", 0, "jit">,
      I32EnumCase<"Delayed", 1, "delayed">,
      I32EnumCase<"Unit", 2, "unit">,
      I32EnumCase<"Given", 3, "given">]> {
  let cppNamespace = "::mlir::moss";
}

def Moss_ExponentRounding : I32Enum<"ExponentRounding",
    "how the exact micro exponent is rounded to an integer", [
      I32EnumCase<"Ceil", 0, "ceil">,
      I32EnumCase<"Nearest", 1, "nearest">,
      I32EnumCase<"Floor", 2, "floor">]> {
  let cppNamespace = "::mlir::moss";
}

def Moss_AccumulateMode : I32Enum<"AccumulateMode",
    "where the sum over K is kept", [
      I32EnumCase<"Fast", 0, "fast">,
      I32EnumCase<"Promoted", 1, "promoted">]> {
  let cppNamespace = "::mlir::moss";
}

def Moss_OptimizerKind : I32Enum<"OptimizerKind",
    "the rule by which an optimizer moves weights", [
      I32EnumCase<"SGD", 0, "sgd">,
      I32EnumCase<"Momentum", 1, "momentum">,
      I32EnumCase<"Adam", 2, "adam">,
      I32EnumCase<"AdamW", 3, "adamw">,
      I32EnumCase<"AdamPaper", 4, "adam_paper">]> {
  let cppNamespace = "::mlir::moss";
}

def Moss_ScaleState : I32Enum<"ScaleState",
    "where the predicted scales of weights are kept", [
      I32EnumCase<"Arguments", 0, "arguments">,
      I32EnumCase<"Globals", 1, "globals">]> {
  let cppNamespace = "::mlir::moss";
}

def Moss_AmaxAlgorithm : I32Enum<"AmaxAlgorithm",
    "which amax of a history a delayed scale follows from", [
      I32EnumCase<"Max", 0, "max">,
      I32EnumCase<"MostRecent", 1, "most_recent">]> {
  let cppNamespace = "::mlir::moss";
}

//===----------------------------------------------------------------------===//
// Scaling scheme
//===----------------------------------------------------------------------===//

def Moss_SchemeAttr : Moss_Attr<"Scheme", "scheme"> {
  let summary = "how one operand is scaled and quantized";
  let description = [{
    An element `t` of the operand is represented as `s * m[group] * q`:

    - `q`, the payload, of `elementType`: `f8E4M3FN` or `f8E5M2`, rounded to
      nearest even, saturating (`bf16` see below);
    - `m`, the micro scale, one per micro group, of `microType`:
      `f8E8M0FNU` (a power of two, `2^(code - 127)`), `f32`, or absent;
    - `s`, the global scale, one FP32 number per tensor.

    `group` is the shape of a micro group in the operand's canonical layout
    `[outer, K]`, K being the dimension that is summed over; `full` (stored as
    0) stands for the whole extent. So `[1, full]` is a row of the left operand
    (or a column of C for the right one), `[1, 32]` the OCP MX layout.

    `global` says where `s` comes from: `jit` (the largest finite magnitude of
    the tensor, or of its finite groups, divided by the largest finite
    `elementType` value, rounded up), `unit` (`s = 1`), `given` (an SSA value)
    or `delayed` (an SSA value that follows from the amax of earlier steps, see
    `next_delayed_scale`; quantization measures the amax for later ones).

    `rounding` chooses the micro exponent `e`, for `fmax` the largest finite
    value of `elementType` (448 or 57344) and `emax` its exponent (8 or 15):
    `ceil` is the smallest e with `amax <= s * 2^e * fmax`, so that a group
    never saturates; `nearest` rounds `log2(amax / (s * fmax))` to the nearest
    integer; `floor` is `floor(log2(amax / s)) - emax`, the OCP MX rule. The
    last two may saturate and exist for comparison.

    A scheme of `bf16` has no scales, and `unit` as its global one: the operand
    stays as it is, and is only multiplied in the same way as others.

    ```mlir
    #moss.scheme<bf16, global = unit>
    #moss.scheme<f8E4M3FN, global = jit>
    #moss.scheme<f8E4M3FN, micro = f8E8M0FNU, group = [1, full], global = jit, rounding = ceil>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$elementType,
    "::mlir::Type":$microType,
    "int64_t":$groupOuter,
    "int64_t":$groupK,
    "::mlir::moss::GlobalScale":$global,
    "::mlir::moss::ExponentRounding":$rounding);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether the operand is quantized at all, to FP8.
    bool isQuantized() const { return !getElementType().isBF16(); }
    /// Whether there is a micro scale per group.
    bool hasMicro() const { return static_cast<bool>(getMicroType()); }
    /// Whether every scale of the scheme that is not global is a power of two.
    bool isMicroPowerOfTwo() const;
    /// Whether one micro group spans all of K (or there are none).
    bool isConstantAlongK() const { return !hasMicro() || getGroupK() == 0; }
    /// Whether the op needs an SSA value for the global scale.
    bool needsGlobalOperand() const {
      return getGlobal() == GlobalScale::Given ||
             getGlobal() == GlobalScale::Delayed;
    }
    /// Whether quantizing yields an FP32 scalar besides payload and micro
    /// scales: the global scale itself (jit) or this tensor's amax (delayed).
    bool yieldsGlobal() const {
      return getGlobal() == GlobalScale::JIT ||
             getGlobal() == GlobalScale::Delayed;
    }
    /// The largest finite value of the element type: 448 or 57344, which both
    /// are 7 * 2^getMaxShift().
    double getMaxFinite() const;
    int getMaxShift() const;
    /// The number of micro groups along an extent; kDynamic if unknown.
    static int64_t getNumGroups(int64_t extent, int64_t group);
    /// The type of the micro scales of an operand of the given [outer, K] shape.
    SmallVector<int64_t> getMicroShape(ArrayRef<int64_t> shape) const;
  }];
}

def Moss_AccumulateAttr : Moss_Attr<"Accumulate", "accumulate"> {
  let summary = "where the sum over K is kept";
  let description = [{
    `fast` keeps the whole sum in the accumulator of the matrix unit, which on
    Hopper holds 13 fraction bits. `promoted(k)` starts a new partial sum every
    `k` elements of K and adds it into an FP32 register; `k` is a positive
    multiple of 32. For bf16 operands that accumulator is a whole f32, and `fast`
    is what one wants.

    ```mlir
    #moss.accumulate<fast>
    #moss.accumulate<promoted(128)>
    ```
  }];
  let parameters = (ins "::mlir::moss::AccumulateMode":$mode,
                        "int64_t":$interval);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isFast() const { return getMode() == AccumulateMode::Fast; }
  }];
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

def Moss_OptimizerAttr : Moss_Attr<"Optimizer", "optimizer"> {
  let summary = "an optimizer and its hyper-parameters";
  let description = [{
    Says how far one step can move a weight `w`, for `moss.next_scale`. With
    gradient g, learning rate lr and step number t = 1, 2, ...:

    | kind | step | keys |
    |---|---|---|
    | `sgd` | `w = w - lr * (g + weight_decay * w)` | `weight_decay` |
    | `momentum` | `b = momentum * b + g + weight_decay * w; w = w - lr * b` | `momentum`, `weight_decay` |
    | `adam` | `w = w - lr * mhat / (sqrt(vhat) + eps)` | `beta1`, `beta2`, `eps` |
    | `adamw` | the same, after `w = (1 - lr * weight_decay) * w` | the same, and `weight_decay` |
    | `adam_paper` | as `adamw`, whose step is taken to be at most lr | none |

    where `m = beta1 * m + (1 - beta1) * g`, `v = beta2 * v + (1 - beta2) * g^2`,
    `mhat = m / (1 - beta1^t)` and `vhat = v / (1 - beta2^t)`, with m = v = 0
    before the first step. `adam` also stands for Adam with coupled weight
    decay, which is part of g. `adam_paper` is no bound, and exists for
    comparison.

    Keys may be left out: momentum 0.9, beta1 0.9, beta2 0.999, eps 1e-8,
    weight_decay 0. `0 <= momentum < 1`, `0 <= beta1 < 1`, `0 < beta2 < 1`,
    `eps >= 1e-15` (below, an underflow of v makes a step unbounded) and
    `weight_decay >= 0` are required.

    ```mlir
    #moss.optimizer<adamw, beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1>
    ```
  }];
  let parameters = (ins
    "::mlir::moss::OptimizerKind":$kind,
    APFloatParameter<"share of the old momentum">:$momentumValue,
    APFloatParameter<"decay of the first moment">:$beta1Value,
    APFloatParameter<"decay of the second moment">:$beta2Value,
    APFloatParameter<"added to the root of the second moment">:$epsValue,
    APFloatParameter<"share of the weight that is taken off, over lr">:$weightDecayValue);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    double getMomentum() const { return getMomentumValue().convertToDouble(); }
    double getBeta1() const { return getBeta1Value().convertToDouble(); }
    double getBeta2() const { return getBeta2Value().convertToDouble(); }
    double getEps() const { return getEpsValue().convertToDouble(); }
    double getWeightDecay() const { return getWeightDecayValue().convertToDouble(); }
    /// Whether a step is bounded by the gradient and not by its own history.
    bool isBoundedByGradient() const {
      return getKind() == OptimizerKind::SGD ||
             getKind() == OptimizerKind::Momentum;
    }
    /// Whether the old weight is multiplied by 1 - lr * weight_decay.
    bool shrinksWeights() const {
      return getWeightDecay() != 0 && getKind() != OptimizerKind::Momentum;
    }
  }];
}

def Moss_WeightAttr : Moss_Attr<"Weight", "weight"> {
  let summary = "marks a weight whose scale is predicted";
  let description = [{
    Put as `moss.weight` on an argument of a function (a 2-D tensor or memref of
    bf16 or f32) or on an `ml_program.global`, it lets `moss-auto-scale` predict
    the weight's scale instead of taking the maximum at each step.

    - `optimizer` bounds what a step changes;
    - `interval`: the true maximum is taken at every step that is a multiple of it;
    - `state`: scales are `arguments` of the functions (the default), or
      `globals` of the module;
    - `master`: the type in which the optimizer keeps the weight, `f32` (also
      where the program only sees a bf16 copy) or `bf16`, rounded to nearest at
      each step;
    - `name`: equal names mark one weight, in several functions. By default each
      mark is a weight of its own.

    ```mlir
    func.func @layer(%w: tensor<64x32xbf16> {moss.weight = #moss.weight<
        #moss.optimizer<adamw, beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1>, interval = 500>}, ...)
    ```
  }];
  let parameters = (ins
    "::mlir::moss::OptimizerAttr":$optimizer,
    "int64_t":$interval,
    "::mlir::moss::ScaleState":$state,
    "::mlir::Type":$master,
    OptionalParameter<"::mlir::StringAttr">:$name);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr StringLiteral kMarkName = "moss.weight";
    /// Marks the i64 argument that counts the finished optimizer steps.
    static constexpr StringLiteral kStepName = "moss.step";
    /// Marks a result of a function as the updated value of the argument with
    /// this number, a weight or another tensor.
    static constexpr StringLiteral kUpdateName = "moss.updates";
    /// Marks the argument that is the learning rate of such a function.
    static constexpr StringLiteral kRateName = "moss.learning_rate";
    static constexpr int64_t kDefaultInterval = 500;
  }];
}

def Moss_ScaleRuleAttr : Moss_Attr<"ScaleRule", "scale_rule"> {
  let summary = "how the predicted scale of a weight follows an optimizer step";
  let description = [{
    The optimizer, the type of the payload, whose largest value a scale refers
    to, and the type in which the optimizer keeps the weight.

    ```mlir
    #moss.scale_rule<#moss.optimizer<sgd, weight_decay = 0.0>, f8E4M3FN, master = f32>
    ```
  }];
  let parameters = (ins
    "::mlir::moss::OptimizerAttr":$optimizer,
    "::mlir::Type":$payloadType,
    "::mlir::Type":$master);
  let assemblyFormat = "`<` $optimizer `,` $payloadType `,` `master` `=` $master `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Delayed scales
//===----------------------------------------------------------------------===//

def Moss_AmaxRuleAttr : Moss_Attr<"AmaxRule", "amax_rule"> {
  let summary = "how a delayed scale follows from a history of amax values";
  let description = [{
    For `moss.next_delayed_scale`: the type of the payload, whose largest value a
    scale refers to; the amax that counts, the largest of the history (`max`)
    or the last one (`most_recent`); and the powers of two that are left free
    above it, `margin`, between 0 and 100.

    ```mlir
    #moss.amax_rule<f8E4M3FN, max, margin = 0>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$payloadType,
    "::mlir::moss::AmaxAlgorithm":$algorithm,
    "int64_t":$margin);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The payload's largest value over 2^margin; exact in f32.
    double getTarget() const;
  }];
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def Moss_ScheduleAttr : Moss_Attr<"Schedule", "schedule"> {
  let summary = "how a scaled matmul is cut into tiles and mapped to a machine";
  let description = [{
    - `tile`: the M, N and K extents of the block of work of one kernel
      iteration, at most 4096 each; a tile whose micro scales change along its K
      is multiplied in parts;
    - `stages`: slots of the ring of shared memory between the producer and
      the consumers (ignored on a CPU);
    - `consumers`: warpgroups that multiply, each with an equal share of the
      tile's rows (ignored on a CPU);
    - `raster`: how many tiles along M are visited before the next column of
      tiles, for reuse in L2;
    - `blocks`: the most thread blocks of the persistent grid.

    ```mlir
    #moss.schedule<tile = [128, 256, 128], stages = 4, consumers = 2, raster = 8, blocks = 132>
    ```
  }];
  let parameters = (ins
    "int64_t":$tileM, "int64_t":$tileN, "int64_t":$tileK,
    "int64_t":$stages, "int64_t":$consumers, "int64_t":$raster,
    "int64_t":$blocks);
  let assemblyFormat = [{
    `<` `tile` `=` `[` $tileM `,` $tileN `,` $tileK `]`
    `,` `stages` `=` $stages `,` `consumers` `=` $consumers
    `,` `raster` `=` $raster `,` `blocks` `=` $blocks `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// More than any machine's tiles, and few enough that a tile of them can be
    /// a vector.
    static constexpr int64_t kMaxTileExtent = 4096;
  }];
}

#endif // MOSS_IR_MOSSATTRS_TD
