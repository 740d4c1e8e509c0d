//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the compiler knows of a target, in one place: the budgets that a
// schedule must fit, and the schedules that suit it.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_TARGET_H
#define MOSS_TRANSFORMS_TARGET_H

#include "moss/IR/Moss.h"

namespace mlir::moss {

enum class TargetKind { CPU, SM90a };

/// Budgets of one thread block, and the size of the machine.
struct TargetInfo {
  TargetKind kind;
  StringRef name;
  /// Dynamic shared memory that one block may use, in bytes.
  int64_t sharedMemory;
  /// Registers of a multiprocessor, all held by the one resident block.
  int64_t registers;
  /// Multiprocessors: the size of a persistent grid.
  int64_t multiprocessors;
  /// Threads of a warpgroup, the unit that multiplies.
  int64_t warpgroupSize;
  /// Bytes of the cache that all multiprocessors share.
  int64_t cacheBytes;
};

/// The target named `name`, or failure if there is none. Names: `cpu`,
/// `sm_90a`.
FailureOr<TargetInfo> lookupTarget(StringRef name);

/// The names that lookupTarget knows, for diagnostics.
StringRef getTargetNames();

/// Threads of a warp, of which a warpgroup has four.
inline constexpr int64_t kWarpSize = 32;

/// One box of the output that a warpgroup stores at a time: 64 rows of 128
/// bytes, and how many of them each warpgroup buffers.
inline constexpr int64_t kStoreBoxRows = 64;
inline constexpr int64_t kStoreBoxRowBytes = 128;
inline constexpr int64_t kStoreBuffers = 2;

/// Columns of a box of the given element type.
inline int64_t getStoreBoxCols(Type elementType) {
  return kStoreBoxRowBytes * 8 / elementType.getIntOrFloatBitWidth();
}

/// Alignment of a tile of scales, as the copy engine wants it.
inline constexpr int64_t kScaleTileAlignment = 128;

/// The tiles of micro scales in a slot of a ring, of which some are extended to
/// f32 there.
struct ScaleTiles {
  SmallVector<VectorType> extended, others;

  void add(VectorType tile, bool isExtended) {
    (isExtended ? extended : others).push_back(tile);
  }
};

/// The tiles of scales of a channel.
ScaleTiles getScaleTiles(ChannelType channel);

/// Where everything lies in the shared memory of a kernel, in bytes from its
/// base, which is aligned to 1024: the operand tiles of the ring, then the
/// output boxes of each consumer, the scales of the ring, and per stage a full
/// barrier, an empty one, and one for scales that are extended.
///
/// The scales of a stage are tiles that are extended, their f32 image, which
/// has four bytes for each of theirs, gaps included, and the other tiles.
struct SharedMemoryLayout {
  int64_t stageBytes, outputOffset, scaleOffset, extendedBytes, scaleStageBytes;
  int64_t barrierOffset, totalBytes;
};

/// The layout for a ring of \p stages slots of \p stageBytes of operands and \p
/// scales each.
SharedMemoryLayout getSharedMemoryLayout(int64_t stages, int64_t stageBytes,
                                         const ScaleTiles &scales,
                                         int64_t consumers);

/// The layout for the ring of a channel.
SharedMemoryLayout getSharedMemoryLayout(ChannelType channel,
                                         int64_t consumers);

/// Where tile \p index of the first slot of a channel of that layout begins, as
/// it arrives, in bytes.
int64_t getTileOffset(ChannelType channel, const SharedMemoryLayout &layout,
                      unsigned index);

/// The same of the tile that consumers receive, f32 if it is extended.
int64_t getReceivedTileOffset(ChannelType channel,
                              const SharedMemoryLayout &layout, unsigned index);

/// What a kernel takes of a multiprocessor, all derived from the schedule.
struct KernelBudget {
  int64_t threads;
  SharedMemoryLayout shared;
  /// Registers per thread of the producer and of a consumer.
  int64_t producerRegisters, consumerRegisters;
  /// FP32 accumulators a consumer thread holds.
  int64_t accumulatorRegisters;
};

/// F32 sums that a kernel holds at a time: whole tiles, and whether a wave of
/// products besides, before they are added.
struct TileSums {
  int64_t tiles = 1;
  bool hasPartial = false;
};

/// How many elements of K `op` sums by moss.mma, with tiles of \p tileK, before
/// their sum is rescaled and added.
int64_t getChainLength(ScaledMatmulOp op, int64_t tileK);

/// How many elements of K a moss.mma of `op` multiplies: all of a tile of \p
/// tileK, or those on which every micro scale is constant.
int64_t getProductK(ScaledMatmulOp op, int64_t tileK);

/// The sums that the hoisted loops of `op` hold with tiles of \p tileK.
TileSums getTileSums(ScaledMatmulOp op, int64_t tileK);

/// The tiles of micro scales that a kernel for \p op on tiles of \p tileM x \p
/// tileN x \p tileK reads through its ring: those that change from one tile
/// along K to the next.
ScaleTiles getScaleTiles(ScaledMatmulOp op, int64_t tileM, int64_t tileN,
                         int64_t tileK);

/// The tile of a ring, 1 x R, that holds the micro scales of one step along K
/// for
/// \p positions rows or columns of a product, from \p source, of a scheme with
/// \p groupOuter rows a group; nothing if there can be none. Scales of single
/// rows must be adjacent, and are as many as the rows, at most 256. If all
/// positions share one, the tile holds it among its neighbors along K, a whole
/// unit of 16 bytes, the least that the copy engine moves: these must be
/// adjacent, in rows of whole units.
std::optional<VectorType> getScaleTile(ShapedType source, int64_t groupOuter,
                                       int64_t positions);

/// The tile for \p groups groups along K, where \p tile, by getScaleTile, is
/// that for one: scales of single rows get a row for each group, and a unit of
/// others holds more than tiles of operands need.
VectorType getGroupsTile(VectorType tile, int64_t groupOuter, int64_t groups);

/// Whether scales of columns, of type \p elementType and of a scheme with \p
/// groupOuter columns a group, are extended to f32 in the ring: E8M0 scales of
/// single columns, of which each thread would extend a quarter of the tile's.
/// It has two rows, and columns that share a scale have one; these cost less
/// than what the ring takes.
bool areExtended(Type elementType, int64_t groupOuter);

/// The budget of a kernel on operands of \p elementType, whose ring holds \p
/// scales, or failure after an error that says which limit of the target the
/// schedule exceeds, or which tile shape the matrix unit lacks.
FailureOr<KernelBudget>
computeKernelBudget(function_ref<InFlightDiagnostic()> emitError,
                    const TargetInfo &target, ScheduleAttr schedule,
                    Type elementType, const ScaleTiles &scales, TileSums sums);

/// Overrides of single schedule fields; absent fields are chosen.
struct ScheduleOverrides {
  std::optional<int64_t> tileM, tileN, tileK, stages, consumers, raster, blocks;
};

/// The schedule of a scaled matmul on a target, with `overrides` applied.
/// Deterministic in the op's shape, schemes and accumulation.
ScheduleAttr chooseSchedule(const TargetInfo &target, ScaledMatmulOp op,
                            const ScheduleOverrides &overrides);

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_TARGET_H
