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
    `stages` slots, at most 65535, each of which holds one tile of every type in
    `tiles` (the two-dimensional vector types that `get` yields): operands of FP8 or
    BF16, and f32 or f8E8M0FNU micro scales, a row for each group along K. A slot is
    either empty, being filled, or full; `put`, `get` and `release` take it around.

    `extended` are the positions among `tiles`, in ascending order, of f8E8M0FNU
    scales that `extend_scales` makes f32 before the slot is full. Slots have room
    for both, and `get` yields the f32.

    ```mlir
    !moss.channel<4 x (vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>)>
    !moss.channel<4 x (vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf8E8M0FNU>), extended = [2]>
    ```
  }];
  let parameters = (ins "int64_t":$stages,
                        ArrayRefParameter<"::mlir::VectorType">:$tiles,
                        OptionalArrayRefParameter<"int64_t">:$extended);
  let assemblyFormat = [{
    `<` $stages `x` ` ` `(` $tiles `)`
    (`,` `extended` `=` `[` $extended^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// More than shared memory has room for.
    static constexpr int64_t kMaxStages = 65535;

    /// Whether tile `index` is extended to f32.
    bool isExtended(unsigned index) const;

    /// The f32 tile that tile `index` is extended to.
    ::mlir::VectorType getExtendedTile(unsigned index) const;

    /// The tiles that `get` yields.
    ::llvm::SmallVector<::mlir::VectorType> getReceivedTiles() const;
  }];
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
