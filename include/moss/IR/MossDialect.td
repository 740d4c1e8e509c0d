//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The moss dialect.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_IR_MOSSDIALECT_TD
#define MOSS_IR_MOSSDIALECT_TD

include "mlir/IR/OpBase.td"

def Moss_Dialect : Dialect {
  let name = "moss";
  let cppNamespace = "::mlir::moss";
  let summary = "FP8 matrix multiplication with two-level scaling";
  let description = [{
    The ops of this dialect live on three levels, each executable:

    - *quantized tensors*: `quantize`, `dequantize` and `scaled_matmul` on
      tensors or memrefs say which values are FP8, at which granularity and
      under which scales; `next_scale` predicts the scales of weights, and
      `next_delayed_scale` takes those of other tensors from earlier calls;
    - *tiled loops*: `mma`, `rescale` and `load_scales` on tile values
      (two-dimensional vectors) say in which order the products are summed and
      where the scales are applied;
    - *scheduled kernel*: `channel`, `put`, `get`, `read_scales`, `release` and
      `warp_specialize` say who loads, who multiplies and who waits for whom.

    See docs/Rationale.md for why each op exists and what is left out.
  }];
  // Affine and memref ops come from tiling.
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Add the attributes and types defined in MossAttrs.td and MossTypes.td.
    void registerAttributes();
    void registerTypes();
  }];
}

#endif // MOSS_IR_MOSSDIALECT_TD
