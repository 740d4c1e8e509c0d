//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of scheduled kernels: channels between thread roles, and the roles.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_IR_MOSSKERNELOPS_TD
#define MOSS_IR_MOSSKERNELOPS_TD

include "moss/IR/MossOps.td"

def Moss_ChannelOp : Moss_Op<"channel"> {
  let summary = "create a ring of slots in shared memory";
  let description = [{
    Creates a channel whose slots are all empty. Its tiles and barriers live in
    the thread block's shared memory.

    ```mlir
    %ch = moss.channel : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    ```
  }];
  let results = (outs Res<Moss_ChannelType, "", [MemAlloc]>:$channel);
  let assemblyFormat = "attr-dict `:` type($channel)";
}

def Moss_PutOp : Moss_Op<"put", [SameVariadicOperandSize]> {
  let summary = "fill a slot of a channel with tiles of global memory";
  let description = [{
    Waits until the slot at `position` is empty, then starts copies of one
    tile per tile type of the channel, from `sources[i]` at row `rows[i]` and
    column `cols[i]`, and makes the slot full when all bytes have arrived, and
    tiles that the channel extends are f32. Elements past the bounds of a source
    read as zero. Tensor maps swizzle operands over whole rows, and scales not.
    `position` must be that of the `get` that receives the tiles: 0
    for the first slots put, and what `moss.advance` makes of the one before for
    every other.

    ```mlir
    moss.put %ch[%i] from(%A, %B : memref<?x?xf8E4M3FN>, memref<?x?xf8E4M3FN>) at(%m, %n), (%k, %k)
        : !moss.channel<4 x (vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>)>
    ```
  }];
  let arguments = (ins
    Arg<Moss_ChannelType, "", [MemWrite]>:$channel, I32:$position,
    Arg<Variadic<AnyTypeOf<[
            MemRefRankOf<[F8E4M3FN, F8E5M2, BF16, F8E8M0FNU, F32], [2]>,
            Moss_TensorMapType]>>, "", [MemRead]>:$sources,
    Variadic<Index>:$rows, Variadic<Index>:$cols);
  let assemblyFormat = [{
    $channel `[` $position `]` `from` `(` $sources `:` type($sources) `)`
    `at` `(` $rows `)` `,` `(` $cols `)` attr-dict `:` type($channel)
  }];
  let hasVerifier = 1;
}

def Moss_ExtendScalesOp : Moss_Op<"extend_scales"> {
  let summary = "make f32 of the E8M0 scales that a slot of a channel holds";
  let description = [{
    Waits until the tiles of the slot at `position` that the channel extends have
    arrived, and writes their scales to the slot as f32: 2^(code - 127), NaN
    for code 255. The slot is not full before. Exactly one of these must follow the
    `put` of each position. Consumers would otherwise extend the scales of columns
    in every thread.

    ```mlir
    moss.extend_scales %ch[%i]
        : !moss.channel<4 x (vector<64x128xf8E4M3FN>, vector<64x128xf8E4M3FN>, vector<1x64xf8E8M0FNU>), extended = [2]>
    ```
  }];
  let arguments = (ins
    Arg<Moss_ChannelType, "", [MemRead, MemWrite]>:$channel, I32:$position);
  let assemblyFormat = "$channel `[` $position `]` attr-dict `:` type($channel)";
  let hasVerifier = 1;
}

def Moss_GetOp : Moss_Op<"get"> {
  let summary = "wait for a slot of a channel and receive its tiles";
  let description = [{
    Waits until the slot at `position` is full and yields its tiles, as f32 those
    that the channel extends. They stay in shared memory, so every use must come
    before the `release` of the same position, which must follow on every path.

    ```mlir
    %a, %b = moss.get %ch[%i] : !moss.channel<4 x (vector<128x128xf8E4M3FN>, vector<256x128xf8E4M3FN>)>
    ```
  }];
  let arguments = (ins
    Arg<Moss_ChannelType, "", [MemRead, MemWrite]>:$channel, I32:$position);
  let results = (outs Variadic<Moss_ChannelTile>:$tiles);
  let assemblyFormat = [{
    $channel `[` $position `]` attr-dict `:` type($channel) `->` type($tiles)
  }];
  let hasVerifier = 1;
}

def Moss_ReleaseOp : Moss_Op<"release"> {
  let summary = "mark a slot of a channel as empty again";
  let description = [{
    Says that this consumer has read the slot at `position`. The slot is
    empty when every consumer has said so.

    ```mlir
    moss.release %ch[%i] : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    ```
  }];
  let arguments = (ins
    Arg<Moss_ChannelType, "", [MemRead, MemWrite]>:$channel, I32:$position);
  let assemblyFormat = "$channel `[` $position `]` attr-dict `:` type($channel)";
}

def Moss_AdvanceOp : Moss_Op<"advance", [Pure]> {
  let summary = "the position in a channel's ring after another";
  let description = [{
    Positions say which slot of the ring it is, and the parity of how often the ring
    has come around. The first is 0, and others have no meaning as numbers: slots and
    turns would have to be divided out of a count, at the head of each step, by
    operations that wait for each other.

    ```mlir
    %next = moss.advance %ch[%i] : !moss.channel<4 x (vector<128x128xf8E4M3FN>)>
    ```
  }];
  let arguments = (ins Moss_ChannelType:$channel, I32:$position);
  let results = (outs I32:$next);
  let assemblyFormat = "$channel `[` $position `]` attr-dict `:` type($channel)";
}

def Moss_TileDescriptorOp : Moss_Op<"tile_descriptor", [Pure]> {
  let summary = "the matrix descriptor of a tile in shared memory";
  let description = [{
    The 64-bit shared-memory matrix descriptor (PTX ISA, "Asynchronous warpgroup
    level matrix shared memory layout") of a tile that `get` has yielded, K-major
    and swizzled by its row size, beginning at row `row`, a multiple of 8.

    ```mlir
    %d = moss.tile_descriptor %a row(%r) : vector<128x128xf8E4M3FN>
    ```
  }];
  let arguments = (ins Moss_TileFactor:$tile, I32:$row);
  let results = (outs I64:$descriptor);
  let assemblyFormat = "$tile `row` `(` $row `)` attr-dict `:` type($tile)";
}

def Moss_ReadScalesOp : Moss_Op<"read_scales", [Pure]> {
  let summary = "read the micro scales that a slot of a channel holds";
  let description = [{
    The micro scales of R rows (R x 1) or columns (1 x R) of a product, from row
    `row`, the first if not given, of the G x R tile of scales that `get` has
    yielded. With an index, all of them are the scale at this position of a row of
    any size. The read must come before the `release` of the tile's slot.

    ```mlir
    %e = moss.read_scales %s : vector<1x192xf32> -> vector<192x1xf32>
    %e2 = moss.read_scales %s2 row(2) : vector<4x192xf8E8M0FNU> -> vector<192x1xf8E8M0FNU>
    %f = moss.read_scales %t[%i] : vector<1x4xf32> -> vector<1x128xf32>
    ```
  }];
  let arguments = (ins Moss_TileScale:$tile, Optional<I32>:$index,
      DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$row);
  let results = (outs Moss_TileScale:$scales);
  let assemblyFormat = [{
    $tile (`[` $index^ `]`)? (`row` `(` $row^ `)`)? attr-dict
    `:` type($tile) `->` type($scales)
  }];
  let hasVerifier = 1;
}

def Moss_ApplyPowersOp : Moss_Op<"apply_powers", [
    Pure, AllTypesMatch<["tile", "result"]>]> {
  let summary = "multiply a tile by powers of two that are mostly 1";
  let description = [{
    `result[m, n] = tile[m, n] * powers`, rounded to f32, where `powers` is one
    f32, or M x 1 of which each belongs to a row, or 1 x N of which each belongs to
    a column. It is the second multiplication of `moss.rescale`, by 1 unless the
    scales' product leaves the range of f32's normal numbers. So threads whose
    powers are all 1 skip it, which changes no bit: the result of another
    multiplication is no signaling NaN.

    ```mlir
    %r = moss.apply_powers %t by %p : vector<128x256xf32>, vector<128x1xf32>
    ```
  }];
  let arguments = (ins Moss_TileF32:$tile,
                       AnyTypeOf<[F32, Moss_TileF32]>:$powers);
  let results = (outs Moss_TileF32:$result);
  let assemblyFormat = [{
    $tile `by` $powers attr-dict `:` type($tile) `,` type($powers)
  }];
  let hasVerifier = 1;
}

def Moss_TileAddressOp : Moss_Op<"tile_address", [Pure]> {
  let summary = "the address of a tile of scales in shared memory";
  let description = [{
    The shared-memory address, in bytes, of the first element of a tile of scales
    that `get` has yielded. Its elements lie side by side, row after row.

    ```mlir
    %a = moss.tile_address %s : vector<1x192xf32>
    ```
  }];
  let arguments = (ins Moss_TileScale:$tile);
  let results = (outs I32:$address);
  let assemblyFormat = "$tile attr-dict `:` type($tile)";
}

def Moss_StoreTileOp : Moss_Op<"store_tile"> {
  let summary = "store a tile through the tensor copy engine";
  let description = [{
    Writes the f32 or bf16 tile to the array that `map` describes, at row `row`
    and column `col`. Elements past its bounds are dropped. The op is the form of
    `vector.transfer_write` for destinations that the copy engine can reach.

    ```mlir
    moss.store_tile %t, %map[%m, %n] : vector<128x256xbf16>, !moss.tensor_map<64x64xbf16, swizzle = 128>
    ```
  }];
  let arguments = (ins FixedVectorOfRankAndType<[2], [BF16, F32]>:$tile,
                       Arg<Moss_TensorMapType, "", [MemWrite]>:$map,
                       Index:$row, Index:$col);
  let assemblyFormat = [{
    $tile `,` $map `[` $row `,` $col `]` attr-dict `:` type($tile) `,` type($map)
  }];
  let hasVerifier = 1;
}

def Moss_WarpSpecializeOp : Moss_Op<"warp_specialize", [
    NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "run regions as different roles of a thread block's warpgroups";
  let description = [{
    Warpgroup 0 of the thread block runs `producer`, in which one thread starts
    copies, and `converter`, if there is one, in which one warp extends the scales
    that have arrived; warpgroups 1 to `numConsumers` run `consumer`, whose argument
    is the consumer's number from 0. There are at most seven consumers, since a
    thread block has at most 1024 threads. Each role is given its budget of
    registers per thread. Channels are the only bridge between the roles. The op
    ends when all roles have.

    ```mlir
    moss.warp_specialize producer registers(40) {
      ...
    } consumers(2) registers(232) (%wg) {
      ...
    }
    moss.warp_specialize producer registers(24) {
      ...
    } converter {
      ...
    } consumers(3) registers(160) (%wg) {
      ...
    }
    ```
  }];
  let arguments = (ins
    ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<7>]>:$numConsumers,
    ConfinedAttr<I64Attr, [IntPositive]>:$producerRegisters,
    ConfinedAttr<I64Attr, [IntPositive]>:$consumerRegisters);
  let regions = (region SizedRegion<1>:$producer, MaxSizedRegion<1>:$converter,
                        SizedRegion<1>:$consumer);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Moss_EncodeTensorMapOp : Moss_Op<"encode_tensor_map", [Pure]> {
  let summary = "describe a memref to the tensor copy engine (on the host)";
  let description = [{
    Encodes base address, sizes and row stride of a memref whose innermost
    stride is 1, with the box and swizzle of the result type. The base must be
    aligned to 16 bytes and the row stride a multiple of 16 bytes; the runtime
    reports an error otherwise. A memref with an empty dimension is allowed,
    and must not be read through the map. The op reads no memory, only the
    memref's address and shape.

    ```mlir
    %map = moss.encode_tensor_map %A : memref<?x?xf8E4M3FN> -> !moss.tensor_map<128x128xf8E4M3FN, swizzle = 128>
    ```
  }];
  let arguments = (ins MemRefRankOf<[AnyType], [2]>:$source);
  let results = (outs Moss_TensorMapType:$map);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($map)";
  let hasVerifier = 1;
}

#endif // MOSS_IR_MOSSKERNELOPS_TD
