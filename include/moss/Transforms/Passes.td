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

def MossExpandRescale : Pass<"moss-expand-rescale"> {
  let summary = "Expand moss.rescale into arithmetic on tile values";
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

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

#endif // MOSS_TRANSFORMS_PASSES_TD
