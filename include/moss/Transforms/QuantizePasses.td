//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What becomes FP8, and under which scales.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_QUANTIZEPASSES_TD
#define MOSS_TRANSFORMS_QUANTIZEPASSES_TD

include "mlir/Pass/PassBase.td"

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
    memrefs. With `warn-unquantized`, there is a warning too if the scheme asks
    for FP8, and all matmuls are left alone. A micro group that is larger than
    the extent which it divides is an error.
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
           "tensor's largest magnitude; the default for 'rows' and 'tensor'), "
           "'delayed' (from those of earlier calls; their default under "
           "'per-tensor-delayed') or 'unit' (1; the default for 'mx', 'group' "
           "and 'block')">,
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
    Option<"warnUnquantized", "warn-unquantized", "bool", /*default=*/"false",
           "Warn if there are matmuls, and none becomes FP8">,
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

#endif // MOSS_TRANSFORMS_QUANTIZEPASSES_TD
