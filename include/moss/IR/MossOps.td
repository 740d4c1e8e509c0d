//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of the moss dialect on tensors and memrefs (quantized tensors) and on
// tile values (tiled loops). The ops of scheduled kernels are in
// MossKernelOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_IR_MOSSOPS_TD
#define MOSS_IR_MOSSOPS_TD

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/TilingInterface.td"
include "moss/IR/MossAttrs.td"
include "moss/IR/MossTypes.td"

class Moss_Op<string mnemonic, list<Trait> traits = []>
    : Op<Moss_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Type constraints
//===----------------------------------------------------------------------===//

def Moss_F8 : AnyTypeOf<[F8E4M3FN, F8E5M2], "f8E4M3FN or f8E5M2">;
def Moss_MicroType : AnyTypeOf<[F8E8M0FNU, F32], "f8E8M0FNU or f32">;

class Moss_Shaped<list<Type> elements, list<int> ranks, string what>
    : AnyTypeOf<[TensorRankOf<elements, ranks>, MemRefRankOf<elements, ranks>],
                what>;

def Moss_Source : Moss_Shaped<[BF16, F32], [2],
    "2-D tensor or memref of bf16 or f32">;
def Moss_Payload : Moss_Shaped<[F8E4M3FN, F8E5M2], [2],
    "2-D tensor or memref of f8E4M3FN or f8E5M2">;
def Moss_Factor : Moss_Shaped<[F8E4M3FN, F8E5M2, BF16], [2],
    "2-D tensor or memref of f8E4M3FN, f8E5M2 or bf16">;
def Moss_Micro : Moss_Shaped<[F8E8M0FNU, F32], [2],
    "2-D tensor or memref of f8E8M0FNU or f32">;
def Moss_Scalar : Moss_Shaped<[F32], [0], "0-D tensor or memref of f32">;

def Moss_TileFactor
    : FixedVectorOfRankAndType<[2], [F8E4M3FN, F8E5M2, BF16]>;
def Moss_ChannelTile
    : FixedVectorOfRankAndType<[2], [F8E4M3FN, F8E5M2, BF16, F8E8M0FNU, F32]>;
def Moss_TileF32 : FixedVectorOfRankAndType<[2], [F32]>;
def Moss_TileScale : FixedVectorOfRankAndType<[2], [F8E8M0FNU, F32]>;

//===----------------------------------------------------------------------===//
// Quantized tensors
//===----------------------------------------------------------------------===//

class Moss_TensorOp<string mnemonic, list<Trait> traits = []>
    : Moss_Op<mnemonic, !listconcat([
        AttrSizedOperandSegments, DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ConditionallySpeculatable>,
        DeclareOpInterfaceMethods<TilingInterface, [
            "getLoopIteratorTypes", "getIterationDomain",
            "getTiledImplementation", "getResultTilePosition",
            "getIterationDomainTileFromResultTile",
            "generateResultTileValue"]>], traits)> {
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let hasFolder = 1;
}

def Moss_QuantizeOp : Moss_TensorOp<"quantize"> {
  let summary = "quantize a matrix under a two-level scaling scheme";
  let description = [{
    Quantizes the matrix `source` (bf16 or f32) as its `scheme` says, into

    - `payload`, `[outer, K]` of the scheme's element type. With `transpose` the
      source is `[K, outer]`, and payload element (i, k) comes from source
      element (k, i);
    - `micro`, `[ceil(outer / groupOuter), ceil(K / groupK)]`, present when the
      scheme has micro scales;
    - `global`, an f32 scalar, present when the scheme's global scale is `jit`
      (the scale) or `delayed` (the amax of `source`: its largest magnitude,
      infinities included and NaN left out, from which the scale of a later step
      may follow).

    The operand `scale` is the global scale (`given` and `delayed`), and absent
    otherwise.

    With `r = 1 / s` in IEEE f32, a payload element is
    `saturate(round_to_nearest_even((x * r) * 2^-e))`, each product rounded to
    f32, subnormals kept. The exponent e is exact (see the scheme attribute) and
    clamped to [-127, 127]. Its special cases:

    - a group of zeros has `e = -127` and zeros (signs kept) as payload;
    - a group with a NaN or an infinity has micro code 255 (NaN), and NaN (0x7f)
      as every payload element. Other groups are unaffected. Without micro
      scales the group is the tensor, and a jit scale is NaN; under another
      global scale, which is known before, only the NaN or infinity itself
      becomes NaN;
    - a jit scale of a tensor without finite non-zero elements is 1; it is never
      below 2^-126, so that its reciprocal is finite and normal.

    An f32 micro scale is `amax / (s * fmax)` rounded up to f32, at least 2^-126,
    1 for a group of zeros and NaN for one with a NaN or an infinity; its
    reciprocal in f32 takes the place of `2^-e`.

    ```mlir
    %q:3 = moss.quantize #scheme ins(%x : tensor<8x64xbf16>)
        payload(%p : tensor<8x64xf8E4M3FN>) micro(%m : tensor<8x1xf8E8M0FNU>) global(%g : tensor<f32>)
        -> tensor<8x64xf8E4M3FN>, tensor<8x1xf8E8M0FNU>, tensor<f32>
    ```
  }];
  let arguments = (ins
    Moss_SchemeAttr:$scheme,
    UnitAttr:$transpose,
    Moss_Source:$source,
    Optional<Moss_Scalar>:$scale,
    Moss_Payload:$payload,
    Optional<Moss_Micro>:$micro,
    Optional<Moss_Scalar>:$global);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $scheme (`transpose` $transpose^)? `ins` `(` $source `:` type($source) `)`
    (`scale` `(` $scale^ `:` type($scale) `)`)?
    `payload` `(` $payload `:` type($payload) `)`
    (`micro` `(` $micro^ `:` type($micro) `)`)?
    (`global` `(` $global^ `:` type($global) `)`)?
    attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable();
    /// The result that belongs to an init operand; null on memrefs.
    Value getPayloadResult();
    Value getMicroResult();
    Value getGlobalResult();
    /// The global scale that belongs to the results, on tensors; null for 1.
    Value getResultScale();
  }];
}

def Moss_DequantizeOp : Moss_TensorOp<"dequantize"> {
  let summary = "the values that a quantized matrix stands for";
  let description = [{
    `init[i, k] = payload[i, k] * micro[i / groupOuter, k / groupK] * global`,
    rounded to f32, and from there to the element type of `init` (bf16 or f32).
    Scales are combined as in `rescale`, so that no intermediate overflows or
    flushes when the result is representable. The operands have the
    shapes of the results of `quantize`; `global` is absent when it is 1.
    Unlike `quantize` it never transposes.

    ```mlir
    %y = moss.dequantize #scheme payload(%p : tensor<8x64xf8E4M3FN>)
        micro(%m : tensor<8x1xf8E8M0FNU>) global(%g : tensor<f32>)
        outs(%init : tensor<8x64xbf16>) -> tensor<8x64xbf16>
    ```
  }];
  let arguments = (ins
    Moss_SchemeAttr:$scheme,
    Moss_Payload:$payload,
    Optional<Moss_Micro>:$micro,
    Optional<Moss_Scalar>:$global,
    Moss_Source:$init);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $scheme `payload` `(` $payload `:` type($payload) `)`
    (`micro` `(` $micro^ `:` type($micro) `)`)?
    (`global` `(` $global^ `:` type($global) `)`)?
    `outs` `(` $init `:` type($init) `)` attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def Moss_ScaledMatmulOp : Moss_TensorOp<"scaled_matmul"> {
  let summary = "multiply two matrices, quantized or in BF16";
  let description = [{
    For `lhs` `[M, K]` and `rhs` `[N, K]`, both with K innermost,

        init[m, n] = [init[m, n] +] sum over k of A[m, k] * B[n, k]

    where A and B are the values that `lhs` and `rhs` stand for (see
    `dequantize`). The old value is added when `accumulates` is set; otherwise
    `init` is only a destination. `init` is f32 or bf16; a sum is rounded to
    bf16 once, at the end. `accumulate` says where the sum over K is kept, and
    `schedule`, when present, how the op is tiled and mapped.

    The micro operands are present when their scheme has micro scales. A global
    operand that is absent is 1. Under a scheme of bf16 the operand is no payload
    but the matrix itself; since the matrix unit has no product of bf16 and FP8,
    that holds for both operands or for neither.

    ```mlir
    %c = moss.scaled_matmul #moss.accumulate<promoted(128)>
        lhs(#a, %a : tensor<8x64xf8E4M3FN>) micro(%am : tensor<8x1xf8E8M0FNU>) global(%ag : tensor<f32>)
        rhs(#b, %b : tensor<16x64xf8E4M3FN>) global(%bg : tensor<f32>)
        outs(%init : tensor<8x16xf32>) -> tensor<8x16xf32>
    ```
  }];
  let arguments = (ins
    Moss_AccumulateAttr:$accumulate,
    UnitAttr:$accumulates,
    Moss_SchemeAttr:$lhs_scheme,
    Moss_Factor:$lhs,
    Optional<Moss_Micro>:$lhs_micro,
    Optional<Moss_Scalar>:$lhs_global,
    Moss_SchemeAttr:$rhs_scheme,
    Moss_Factor:$rhs,
    Optional<Moss_Micro>:$rhs_micro,
    Optional<Moss_Scalar>:$rhs_global,
    Moss_Source:$init,
    OptionalAttr<Moss_ScheduleAttr>:$schedule);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $accumulate (`accumulates` $accumulates^)?
    `lhs` `(` $lhs_scheme `,` $lhs `:` type($lhs) `)`
    (`micro` `(` $lhs_micro^ `:` type($lhs_micro) `)`)?
    (`global` `(` $lhs_global^ `:` type($lhs_global) `)`)?
    `rhs` `(` $rhs_scheme `,` $rhs `:` type($rhs) `)`
    (`micro` `(` $rhs_micro^ `:` type($rhs_micro) `)`)?
    (`global` `(` $rhs_global^ `:` type($rhs_global) `)`)?
    `outs` `(` $init `:` type($init) `)`
    (`schedule` `(` $schedule^ `)`)? attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def Moss_NextScaleOp : Moss_Op<"next_scale", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "predict the scales of weights after an optimizer step";
  let description = [{
    For n weights with one global scale each. After a weight's true maximum was
    taken, its scale s in `scales` is the jit scale of `quantize`. Each optimizer
    step then updates, in the f64 `state` of n x 3,

    - `[i, 0]`, B: a bound on the magnitude of every element of weight i,
    - `[i, 1]`, M: for `momentum`, one on the momentum buffer's elements,
    - `[i, 2]`: the scale that belongs to B,

    as follows. If `[i, 2]` is not s, then somebody has measured the weight since
    (or loaded another), and B is `s * fmax * p`, where `p = 1 + 2^-8` covers an
    f32 master copy of measured bf16 weights and is 1 for a master of bf16. The
    step number t = `step` counts from 1 since the optimizer's start, `lr` is
    the rate of this step, G = `amax[i]` is any bound on the gradient's
    magnitude (its maximum, or what it was clipped to), d the weight decay:

    | kind | B after the step, before `(1 + 2^-21)` | |
    |---|---|---|
    | `sgd` | `(1 - lr d) B + lr G` | |
    | `momentum` | `B + lr M` | `M = (momentum M + G + d B) (1 + 2^-21)` |
    | `adam` | `B + lr c_t` | |
    | `adamw` | `(1 - lr d) B + lr c_t` | |
    | `adam_paper` | `B + lr` | not a bound |

    with, for `r = beta1^2 / beta2`,

        c_t = (1 - beta1) / (1 - beta1^t) * sqrt((1 - beta2^t) / (1 - beta2) * S_t)
        S_t = sum of r^i for i < t = (1 - r^t) / (1 - r), and t for r = 1,

    the tight bound on `mhat / sqrt(vhat)` by Cauchy and Schwarz
    (docs/AutoScale.md has the proof; r > 1 is allowed, but then c_t grows
    without bound). Last, with a master of bf16, B is rounded to bf16, half up: as
    rounding is monotone, the rounded bound bounds the rounded weights. The new
    scale is the f32 above `B * p / fmax`, at least 2^-126.

    Rounding. All is computed in f64. The factor `1 + 2^-21` covers up to eight
    roundings of the optimizer's own f32 arithmetic. In c_t, r is taken
    `1 + 2^-20` larger, and c_t
    `1 + 2^-22 (8 + 1 / (1 - beta1) + 1 / (1 - beta2))`, which covers an
    optimizer that keeps m and v in f32 and has rounded betas. As beta^t comes
    from `pow` in f64, c_t depends on t alone, and there are no sums that could
    drift. The rates that were actually used are summed, as B.

    It is checked at run time that t >= 1, lr is finite and not negative, and,
    where weights shrink, lr d <= 1. A NaN in a scale stays. Weight i has rule
    `rules[k]` for the k of which `rows` counts i: the first `rows[0]` weights have
    the first, and so on. `amax` is there if a rule is `sgd` or `momentum`.

    ```mlir
    %s, %b = moss.next_scale [#rule] rows [200] lr(%lr : f32) step(%t)
        outs(%scales, %state : tensor<200xf32>, tensor<200x3xf64>) -> tensor<200xf32>, tensor<200x3xf64>
    ```
  }];
  let arguments = (ins
    TypedArrayAttrBase<Moss_ScaleRuleAttr, "array of scale rules">:$rules,
    DenseI64ArrayAttr:$rows,
    AnyTypeOf<[F32, F64]>:$lr,
    I64:$step,
    Optional<Moss_Shaped<[F32], [1], "1-D tensor or memref of f32">>:$amax,
    Moss_Shaped<[F32], [1], "1-D tensor or memref of f32">:$scales,
    Moss_Shaped<[F64], [2], "2-D tensor or memref of f64">:$state);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $rules `rows` $rows `lr` `(` $lr `:` type($lr) `)` `step` `(` $step `)`
    (`amax` `(` $amax^ `:` type($amax) `)`)?
    `outs` `(` $scales `,` $state `:` type($scales) `,` type($state) `)`
    attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Values per weight in `state`.
    static constexpr int64_t kNumFields = 3;
    MutableOperandRange getDpsInitsMutable();
    auto getRuleAttrs() { return getRules().getAsRange<ScaleRuleAttr>(); }
  }];
}

def Moss_NextDelayedScaleOp : Moss_Op<"next_delayed_scale", [
    DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the delayed scales of the next step, from histories of amax";
  let description = [{
    The update of delayed scaling, as Transformer Engine defines it, for n tensors
    with a scale in `scales` and a row of L amax values in `history` each. The
    amax of this step is the operand `amax[i]`, or without these operands already
    in `history[i, 0]`. The others are from the oldest, `[i, 1]`, to the newest.
    With h the row before the op, and the amax of this step in h[0],

        amax = the largest of h (max) or h[0] (most_recent)
        f = (fmax / 2^margin) / amax
        scales[i] = 1 / min(max(f, 2^-126), 2^126)
        history[i] = [0, h[2], ..., h[L-1], h[0]]

    in f32, each division rounded to nearest. Where the amax is 0, an infinity or
    NaN, the scale stays; `max` passes over a NaN. So a scale is what Transformer
    Engine calls `scale_inv`, to the bit, except that f is kept between normal
    numbers that have a reciprocal. Tensor i has rule `rules[k]` for the k of
    which `rows` counts i: the first `rows[0]` tensors have the first, and so on.

    ```mlir
    %s, %h = moss.next_delayed_scale [#moss.amax_rule<f8E4M3FN, max, margin = 0>] rows [2]
        amax(%x_amax, %w_amax : tensor<f32>, tensor<f32>)
        outs(%scales, %history : tensor<2xf32>, tensor<2x16xf32>) -> tensor<2xf32>, tensor<2x16xf32>
    ```
  }];
  let arguments = (ins
    TypedArrayAttrBase<Moss_AmaxRuleAttr, "array of amax rules">:$rules,
    DenseI64ArrayAttr:$rows,
    Variadic<Moss_Scalar>:$amax,
    Moss_Shaped<[F32], [1], "1-D tensor or memref of f32">:$scales,
    Moss_Shaped<[F32], [2], "2-D tensor or memref of f32">:$history);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $rules `rows` $rows (`amax` `(` $amax^ `:` type($amax) `)`)?
    `outs` `(` $scales `,` $history `:` type($scales) `,` type($history) `)`
    attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    MutableOperandRange getDpsInitsMutable();
    auto getRuleAttrs() { return getRules().getAsRange<AmaxRuleAttr>(); }
    int64_t getHistoryLength() {
      return cast<ShapedType>(getHistory().getType()).getDimSize(1);
    }
  }];
}

//===----------------------------------------------------------------------===//
// Tiled loops
//===----------------------------------------------------------------------===//

def Moss_MmaOp : Moss_Op<"mma", [Pure, AllTypesMatch<["acc", "result"]>]> {
  let summary = "multiply two FP8 or BF16 tiles and add to an f32 tile";
  let description = [{
    `result[m, n] = acc[m, n] + sum over k of lhs[m, k] * rhs[n, k]` for `lhs` of
    M x K, `rhs` of N x K and `acc` of M x N. K is a multiple of 32,
    or 16, which is half a step of FP8 and for a CPU only. Both operands are FP8, in either format, or both are bf16. The order and precision
    of the sum are the target's: exact products summed in f32 in any order, or
    the arithmetic of the matrix unit, in steps of 32 along K (16 for bf16) in
    ascending order.

    ```mlir
    %d = moss.mma %a, %b, %c : vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>, vector<128x256xf32>
    ```
  }];
  let arguments = (ins Moss_TileFactor:$lhs, Moss_TileFactor:$rhs,
                       Moss_TileF32:$acc);
  let results = (outs Moss_TileF32:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc attr-dict
    `:` type($lhs) `,` type($rhs) `,` type($acc)
  }];
  let hasVerifier = 1;
}

def Moss_RescaleOp : Moss_Op<"rescale", [
    Pure, AttrSizedOperandSegments, AllTypesMatch<["tile", "result"]>]> {
  let summary = "apply scales to the rows and columns of an f32 tile";
  let description = [{
    `result[m, n] = tile[m, n] * rows[m] * cols[n] * product(scalars)` for `rows`
    of M x 1 and `cols` of 1 x N, each f8E8M0FNU or f32 or absent, and at most
    two f32 `scalars`.

    Powers of two (E8M0 scales and the exponents of the scalars) are added as
    integers, and applied so that no intermediate overflows or flushes when the
    result is representable. With `c` the product of the scalars' significands,
    each in [1, 2), and x the sum of all exponents, the result is
    `(tile * (c * 2^x1)) * 2^x2`, each multiplication rounded to f32, where x1 is
    x clamped to [-126, 125], or to [-126, 123] when more than two scales have
    significands (so that `c * 2^x1` is exact and finite), and x2 is
    `x - x1` clamped to [-126, 126]. An f32 row or column scale takes part like
    a scalar, after the scalars, rows first. E8M0 code 255 makes the result NaN.

    ```mlir
    %r = moss.rescale %t rows(%e : vector<128x1xf8E8M0FNU>) by(%sa, %sb) : vector<128x256xf32>
    ```
  }];
  let arguments = (ins Moss_TileF32:$tile, Optional<Moss_TileScale>:$rows,
                       Optional<Moss_TileScale>:$cols, Variadic<F32>:$scalars);
  let results = (outs Moss_TileF32:$result);
  let assemblyFormat = [{
    $tile (`rows` `(` $rows^ `:` type($rows) `)`)?
    (`cols` `(` $cols^ `:` type($cols) `)`)? (`by` `(` $scalars^ `)`)?
    attr-dict `:` type($tile)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Whether every row and column scale is a power of two by its type.
    bool hasOnlyPowerOfTwoTiles();
  }];
}

def Moss_AddRescaledOp : Moss_Op<"add_rescaled", [
    Pure, AllTypesMatch<["acc", "tile", "result"]>, AttrSizedOperandSegments]> {
  let summary = "add a tile with scaled rows and columns to a sum";
  let description = [{
    `result[m, n] = acc[m, n] + tile[m, n] * (rows[m] * cols[n])` for `rows` of
    M x 1 and `cols` of 1 x N, each f8E8M0FNU or f32, at least one of them
    present.

    The product of two scales is rounded to f32, and is exact if one of them is a
    power of two. Its product with the tile's element and the addition are rounded
    once, to f32. Scales whose product leaves the range of f32 (2^-149 to 2^128)
    count as zero or infinity: unlike in `rescale`, exponents are not added as
    integers, which would cost more than the product itself. E8M0 code 255 makes
    the result NaN.

    ```mlir
    %s = moss.add_rescaled %c, %p rows(%a : vector<128x1xf32>) cols(%b : vector<1x128xf32>) : vector<128x128xf32>
    ```
  }];
  let arguments = (ins Moss_TileF32:$acc, Moss_TileF32:$tile,
                       Optional<Moss_TileScale>:$rows,
                       Optional<Moss_TileScale>:$cols);
  let results = (outs Moss_TileF32:$result);
  let assemblyFormat = [{
    $acc `,` $tile (`rows` `(` $rows^ `:` type($rows) `)`)?
    (`cols` `(` $cols^ `:` type($cols) `)`)? attr-dict `:` type($tile)
  }];
  let hasVerifier = 1;
}

def Moss_LoadScalesOp : Moss_Op<"load_scales", [
    MemoryEffects<[MemRead]>]> {
  let summary = "read the micro scales of a tile's rows or columns";
  let description = [{
    Reads the micro scales that belong to R consecutive positions along an
    operand's outer dimension, starting at `outer`, and to position `k` of K:
    element r of the result is `source[(outer + r) / groupOuter, k / groupK]`,
    where a group of 0 spans the whole extent (index 0). `bound` is the outer
    extent of the operand; positions at or past it yield 1, or the scale of a
    position before it. The result is R x 1 (scales of rows) or 1 x R (of
    columns).

    ```mlir
    %e = moss.load_scales %micro[%m, %k] bound(%M) group [1, 0]
        : memref<?x1xf8E8M0FNU> -> vector<128x1xf8E8M0FNU>
    ```
  }];
  let arguments = (ins
    Arg<MemRefRankOf<[F8E8M0FNU, F32], [2]>, "the micro scales", [MemRead]>:$source,
    Index:$outer, Index:$k, Index:$bound,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$groupOuter,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$groupK);
  let results = (outs Moss_TileScale:$result);
  let assemblyFormat = [{
    $source `[` $outer `,` $k `]` `bound` `(` $bound `)`
    `group` ` ` `[` $groupOuter `,` $groupK `]` attr-dict
    `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // MOSS_IR_MOSSOPS_TD
