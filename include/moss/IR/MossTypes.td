//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types of the moss dialect.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_IR_MOSSTYPES_TD
#define MOSS_IR_MOSSTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "moss/IR/MossDialect.td"

class Moss_Type<string name, string typeMnemonic>
    : TypeDef<Moss_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Moss_ChannelType : Moss_Type<"Channel", "channel"> {
  let summary = "a ring of slots in shared memory between thread roles";
  let description = [{
    `stages` slots, each of which holds one tile of every type in `tiles` (the
    two-dimensional vector types that `get` yields): operands of FP8 or BF16, and
    f32 or f8E8M0FNU micro scales, a row for each group along K. A slot is either empty, being
    filled, or full; `put`, `get` and `release` take it around.

    ```mlir
    !moss.channel<4 x (vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>)>
    ```
  }];
  let parameters = (ins "int64_t":$stages,
                        ArrayRefParameter<"::mlir::VectorType">:$tiles);
  let assemblyFormat = "`<` $stages `x` ` ` `(` $tiles `)` `>`";
  let genVerifyDecl = 1;
}

def Moss_TensorMapType : Moss_Type<"TensorMap", "tensor_map"> {
  let summary = "a descriptor for the tensor copy engine";
  let description = [{
    The 128-byte descriptor (`CUtensorMap`) of a two-dimensional array in
    global memory, with the box that one copy moves. `elementType` is the
    element type in memory (FP8 is encoded as UINT8); `box` counts elements,
    rows first; `swizzle` is the shared-memory swizzle in bytes (0, 32, 64 or
    128).

    ```mlir
    !moss.tensor_map<128x128xf8E4M3FN, swizzle = 128>
    ```
  }];
  let parameters = (ins "int64_t":$boxRows, "int64_t":$boxCols,
                        "::mlir::Type":$elementType, "int64_t":$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // MOSS_IR_MOSSTYPES_TD
