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
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

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
