//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a tile is spread over the threads of its consumers: the one description
// of the accumulator layout of wgmma (PTX ISA, "Register fragments and shared
// memory matrix layouts", D fragment of m64nNk32).
//
// A consumer warpgroup owns an equal share of the tile's rows, cut into waves
// of 64. Of a wave, thread t of the warpgroup (warp w = t / 32, lane l = t %
// 32) holds N / 2 elements; element i is at
//
//   row = 16 w + l / 4 + 8 ((i / 2) % 2)
//   col = 8 (i / 4) + 2 (l % 4) + i % 2
//
// So rows of a thread are two, and its columns N / 4. Tiles of M x 1 (a value
// per row) are spread as 2 elements per wave, tiles of 1 x N as N / 4 elements.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_GPU_FRAGMENTLAYOUT_H
#define MOSS_LIB_GPU_FRAGMENTLAYOUT_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/VectorInterfaces.h"
#include "mlir/Transforms/DialectConversion.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// Rows of one wgmma instruction, and the columns that it has at most, a
/// multiple of 8 (PTX ISA, "Matrix shape").
inline constexpr int64_t kWaveRows = 64;
inline constexpr int64_t kMaxWaveCols = 256;

/// Where a fragment of one wave lives in a tile, and how large it is.
class FragmentLayout {
public:
  FragmentLayout(VectorType tile, int64_t consumers)
      : tile(tile), consumers(consumers) {}

  bool isPerRow() const { return tile.getDimSize(1) == 1; }
  bool isPerCol() const { return tile.getDimSize(0) == 1; }
  /// Rows of the tile that one consumer owns.
  int64_t getConsumerRows() const { return tile.getDimSize(0) / consumers; }
  int64_t getNumWaves() const {
    return isPerCol() ? 1 : getConsumerRows() / kWaveRows;
  }
  /// Elements of one wave per thread.
  int64_t getFragmentSize() const {
    if (isPerRow())
      return 2;
    return tile.getDimSize(1) / (isPerCol() ? 4 : 2);
  }
  VectorType getFragmentType() const {
    return VectorType::get({getFragmentSize()}, tile.getElementType());
  }
  /// `values`, the fragment of an M x 1 or 1 x N tile (`isPerRow`), as that of
  /// a whole tile: each is repeated at the elements of its row or column.
  Value spread(OpBuilder &b, Location loc, Value values, bool isPerRow) const;
  /// Whether the consumers divide the tile into whole waves.
  bool isValid() const {
    bool rows = isPerCol() || (tile.getDimSize(0) % consumers == 0 &&
                               getConsumerRows() % kWaveRows == 0);
    return rows && (isPerRow() || tile.getDimSize(1) % 8 == 0);
  }

private:
  VectorType tile;
  int64_t consumers;
};

/// The position of the current thread in its consumer warpgroup, as i32, made
/// once at the start of the consumers' region.
struct ThreadPosition {
  /// Thread of the warpgroup, lane of the warp.
  Value thread, lane;
  /// Consumer's number.
  Value consumer;
  /// Row 16 w + l / 4 and column 2 (l % 4) of the thread's first element.
  Value row, col;

  static ThreadPosition create(ImplicitLocOpBuilder &b, Value consumerIndex);
};

/// What the patterns of moss-distribute-tiles share.
struct DistributionContext {
  int64_t consumers;
  /// Waves of a product, each of which is waited for.
  int64_t productWaves;
  /// Whether the copy engine stores a tile, of this kernel.
  bool storesTiles;
  ThreadPosition position;

  FragmentLayout getLayout(Type tile) const {
    return FragmentLayout(cast<VectorType>(tile), consumers);
  }
  /// First row of wave `wave` of this consumer, in the tile; an i32.
  Value getWaveRow(ImplicitLocOpBuilder &b, FragmentLayout layout,
                   int64_t wave) const;
  /// Tile row of a thread's element `r` (0 or 1) in a wave; an i32.
  Value getElementRow(ImplicitLocOpBuilder &b, FragmentLayout layout,
                      int64_t wave, int64_t r) const;
  /// A barrier of this warpgroup alone: ids from 1, one per consumer.
  void emitBarrier(ImplicitLocOpBuilder &b) const;
  /// Tile column of a thread's column element `c` (0 to N / 4); an i32.
  Value getElementCol(ImplicitLocOpBuilder &b, int64_t c) const;
};

/// Insert after the last definition among `operands`, if all of them are in
/// `op`'s block. Emitting each wave's part as early as possible lets the
/// registers of one wave die before the products of the next begin.
void setInsertionPointEarly(OpBuilder &builder, Operation *op,
                            ValueRange operands);

/// Whether `op` transfers a tile from or to a two-dimensional memref as it is:
/// neither permuted nor masked.
bool isPlainTransfer(VectorTransferOpInterface op);

/// A pattern of moss-distribute-tiles that needs to know the thread.
template <typename OpT> struct DistributePattern : OpConversionPattern<OpT> {
  DistributePattern(const TypeConverter &converter, MLIRContext *context,
                    const DistributionContext &distribution,
                    PatternBenefit benefit = 1)
      : OpConversionPattern<OpT>(converter, context, benefit),
        distribution(distribution) {}

  const DistributionContext &distribution;
};

/// Whether the matrix unit multiplies tiles of such extents, and reads the
/// operands where they are: in a slot, from its first row and at whole steps
/// along K on; emits an error if not.
LogicalResult checkProduct(MmaOp op);

/// Patterns for products, rescaled sums, loads, and stores of tiles.
void populateDistributeMmaPatterns(const TypeConverter &converter,
                                   const DistributionContext &context,
                                   RewritePatternSet &patterns);
void populateDistributeRescalePatterns(const TypeConverter &converter,
                                       const DistributionContext &context,
                                       RewritePatternSet &patterns);
void populateDistributeScalesPatterns(const TypeConverter &converter,
                                      const DistributionContext &context,
                                      RewritePatternSet &patterns);
void populateDistributeMemoryPatterns(const TypeConverter &converter,
                                      const DistributionContext &context,
                                      RewritePatternSet &patterns);
void populateDistributeStorePatterns(const TypeConverter &converter,
                                     const DistributionContext &context,
                                     RewritePatternSet &patterns);

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_FRAGMENTLAYOUT_H
