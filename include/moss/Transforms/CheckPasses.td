//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What programs mean, and what cannot be lowered.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_CHECKPASSES_TD
#define MOSS_TRANSFORMS_CHECKPASSES_TD

include "mlir/Pass/PassBase.td"

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

    With `estimate`, an estimate of the error of each result follows the bounds,
    in f32 and in its shape too. It follows the same rules, except in matmuls,
    where errors of ordinary data are not all of one direction. As a norm over a
    result it is what to expect, and it keeps its size for long K, where a bound
    becomes larger than the result.

    It runs after `moss-quantize`, which decides on the schemes, and on
    functions that call no other. The sums over K of a quantized matmul are one
    `linalg.generic` with the attribute `library_call = "moss_reference_matmul"`,
    which may be lowered like any other or be replaced by that call.
  }];
  let options = [
    Option<"matrixUnit", "matrix-unit", "bool", "false",
           "Quantized matmuls are summed by Hopper's matrix unit, or as it "
           "does, and not in FP32">,
    Option<"estimate", "estimate", "bool", "false",
           "Return an estimate of the error beside each bound">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// moss-verify-bufferizable
//===----------------------------------------------------------------------===//

def MossVerifyBufferizable : Pass<"moss-verify-bufferizable"> {
  let summary = "Report ops on tensors that cannot be bufferized";
  let description = [{
    Bufferization says of an op that it does not know no more than `op was not
    bufferized`. This pass, ahead of it, emits an error at each op on tensors
    without a `BufferizableOpInterface`, which names the op and what could be
    done about it. It changes nothing.

    ```mlir
    // error: 'tosa.abs' on tensors has no lowering: ...
    %0 = tosa.abs %x : (tensor<8xbf16>) -> tensor<8xbf16>
    ```
  }];
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

#endif // MOSS_TRANSFORMS_CHECKPASSES_TD
