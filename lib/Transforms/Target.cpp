//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/Target.h"
#include <numeric>

using namespace mlir;
using namespace mlir::moss;

FailureOr<TargetInfo> moss::lookupTarget(StringRef name) {
  if (name == "cpu")
    return TargetInfo{TargetKind::CPU, "cpu", 0, 0, 1, 1, 0};
  // CUDA programming guide, compute capability 9.0: 227 KB of shared memory a
  // block, 64 K registers; 132 multiprocessors and 50 MiB of L2 on H100 SXM and
  // H200.
  if (name == "sm_90a")
    return TargetInfo{TargetKind::SM90a, "sm_90a", 232448, 65536, 132, 128,
                      50 << 20};
  return failure();
}

StringRef moss::getTargetNames() { return "'sm_90a' or 'cpu'"; }

/// Bytes of an f32, four for each of an E8M0 scale that is extended to it.
static constexpr int64_t kF32Bytes = 4;

//===----------------------------------------------------------------------===//
// Budgets
//===----------------------------------------------------------------------===//

static int64_t getScaleBytes(ArrayRef<VectorType> tiles) {
  int64_t bytes = 0;
  for (VectorType tile : tiles)
    bytes += llvm::alignTo(getTileBytes(tile), kScaleTileAlignment);
  return bytes;
}

SharedMemoryLayout moss::getSharedMemoryLayout(int64_t stages,
                                               int64_t stageBytes,
                                               const ScaleTiles &scales,
                                               int64_t consumers) {
  SharedMemoryLayout layout;
  layout.stageBytes = stageBytes;
  layout.outputOffset = stages * stageBytes;
  layout.scaleOffset = layout.outputOffset + consumers * kStoreBuffers *
                                                 kStoreBoxRows *
                                                 kStoreBoxRowBytes;
  layout.extendedBytes = getScaleBytes(scales.extended);
  layout.scaleStageBytes =
      layout.extendedBytes * (1 + kF32Bytes) + getScaleBytes(scales.others);
  layout.barrierOffset = layout.scaleOffset + stages * layout.scaleStageBytes;
  int64_t barriers = layout.extendedBytes == 0 ? 2 : 3;
  layout.totalBytes = layout.barrierOffset + 8 * barriers * stages;
  return layout;
}

/// The scales among the first \p count tiles of a channel.
static ScaleTiles getScaleTiles(ChannelType channel, unsigned count) {
  ScaleTiles scales;
  for (auto [index, tile] :
       llvm::enumerate(channel.getTiles().take_front(count)))
    if (isScaleTile(tile))
      scales.add(tile, channel.isExtended(index));
  return scales;
}

ScaleTiles moss::getScaleTiles(ChannelType channel) {
  return ::getScaleTiles(channel, channel.getTiles().size());
}

/// Bytes of the operands among the first \p count tiles of a channel.
static int64_t getOperandBytes(ChannelType channel, unsigned count) {
  int64_t bytes = 0;
  for (VectorType tile : channel.getTiles().take_front(count))
    if (!isScaleTile(tile))
      bytes += getTileBytes(tile);
  return bytes;
}

SharedMemoryLayout moss::getSharedMemoryLayout(ChannelType channel,
                                               int64_t consumers) {
  unsigned count = channel.getTiles().size();
  return getSharedMemoryLayout(channel.getStages(),
                               getOperandBytes(channel, count),
                               getScaleTiles(channel), consumers);
}

int64_t moss::getTileOffset(ChannelType channel,
                            const SharedMemoryLayout &layout, unsigned index) {
  if (!isScaleTile(channel.getTiles()[index]))
    return getOperandBytes(channel, index);
  ScaleTiles before = ::getScaleTiles(channel, index);
  if (channel.isExtended(index))
    return layout.scaleOffset + getScaleBytes(before.extended);
  return layout.scaleOffset + layout.extendedBytes * (1 + kF32Bytes) +
         getScaleBytes(before.others);
}

int64_t moss::getReceivedTileOffset(ChannelType channel,
                                    const SharedMemoryLayout &layout,
                                    unsigned index) {
  int64_t offset = getTileOffset(channel, layout, index);
  if (!channel.isExtended(index))
    return offset;
  return layout.scaleOffset + layout.extendedBytes +
         (offset - layout.scaleOffset) * kF32Bytes;
}

std::optional<VectorType>
moss::getScaleTile(ShapedType source, int64_t groupOuter, int64_t positions) {
  Type elementType = source.getElementType();
  bool isShared = groupOuter > 1 && groupOuter % positions == 0;
  int64_t unit = 16 / getElementBytes(elementType);
  if (!isShared && (groupOuter != 1 || positions > 256))
    return std::nullopt;
  if (auto type = dyn_cast<MemRefType>(source)) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)) ||
        strides[isShared ? 1 : 0] != 1)
      return std::nullopt;
    bool isAligned =
        ShapedType::isDynamic(strides[0]) || strides[0] % unit == 0;
    if (isShared && !isAligned)
      return std::nullopt;
  }
  return VectorType::get({1, isShared ? unit : positions}, elementType);
}

VectorType moss::getGroupsTile(VectorType tile, int64_t groupOuter,
                               int64_t groups) {
  if (groupOuter != 1)
    return tile;
  return VectorType::get({std::max<int64_t>(groups, 1), tile.getDimSize(1)},
                         tile.getElementType());
}

bool moss::areExtended(Type elementType, int64_t groupOuter) {
  return isa_and_present<Float8E8M0FNUType>(elementType) && groupOuter == 1;
}

/// Registers per thread of the two roles: multiples of 8 that exhaust the
/// register file, as setmaxnreg wants them.
static std::pair<int64_t, int64_t> splitRegisters(const TargetInfo &target,
                                                  int64_t consumers) {
  const int64_t producer = consumers == 2 ? 40 : 24;
  int64_t perThread = target.registers / target.warpgroupSize;
  int64_t consumer = (perThread - producer) / consumers / 8 * 8;
  return {producer, std::min<int64_t>(consumer, consumers == 2 ? 232 : 240)};
}

FailureOr<KernelBudget>
moss::computeKernelBudget(function_ref<InFlightDiagnostic()> emitError,
                          const TargetInfo &target, ScheduleAttr schedule,
                          Type elementType, const ScaleTiles &scales,
                          TileSums sums) {
  int64_t m = schedule.getTileM(), n = schedule.getTileN();
  int64_t k = schedule.getTileK(), consumers = schedule.getConsumers();
  if (consumers > 3)
    return emitError() << consumers
                       << " consumers do not fit a thread block: at most 3";
  if (m % (64 * consumers) != 0)
    return emitError() << "tile M = " << m << " must be a multiple of 64 rows "
                       << "for each of the " << consumers << " consumers";
  if (n % 64 != 0 || n > 256)
    return emitError() << "tile N = " << n
                       << " must be a multiple of 64 and at most 256";
  int64_t rowBytes = k * getElementBytes(elementType);
  if (rowBytes != 32 && rowBytes != 64 && rowBytes != 128)
    return emitError() << "tile K = " << k << " gives rows of " << rowBytes
                       << " bytes of " << elementType
                       << ", but shared-memory swizzles know rows of 32, 64 "
                          "and 128";
  if (m / consumers > 256)
    return emitError() << "tile M = " << m << " gives each consumer more than "
                       << "256 rows";

  KernelBudget budget;
  budget.threads = (consumers + 1) * target.warpgroupSize;
  // One stage a byte is too much already, and its total does not overflow.
  int64_t stages = std::min(schedule.getStages(), target.sharedMemory);
  budget.shared =
      getSharedMemoryLayout(stages, (m + n) * rowBytes, scales, consumers);
  if (budget.shared.totalBytes > target.sharedMemory)
    return emitError() << "the schedule needs " << budget.shared.totalBytes
                       << " bytes of shared memory, but " << target.name
                       << " has " << target.sharedMemory
                       << "; use fewer stages or a smaller tile";

  std::tie(budget.producerRegisters, budget.consumerRegisters) =
      splitRegisters(target, consumers);
  int64_t perWave = n / 2, waves = m / (64 * consumers);
  // Partial sums are added one wave at a time.
  budget.accumulatorRegisters =
      perWave * (waves * sums.tiles + (sums.hasPartial ? 1 : 0));
  // Addresses, descriptors, scales and the epilogue need the rest.
  const int64_t overhead = 32;
  // The assembler wants a single product to fit what a thread begins with.
  int64_t initialRegisters = target.registers / budget.threads / 8 * 8;
  if (perWave + overhead > initialRegisters)
    return emitError() << "tile N = " << n << " needs " << perWave
                       << " registers a thread for one product, but "
                       << consumers << " consumers begin with "
                       << initialRegisters - overhead
                       << "; use fewer columns or fewer consumers";
  if (budget.accumulatorRegisters + overhead > budget.consumerRegisters)
    return emitError() << "the schedule needs " << budget.accumulatorRegisters
                       << " accumulator registers a thread"
                       << (sums.tiles > 1 || sums.hasPartial
                               ? " (partial sums included)"
                               : "")
                       << ", but " << budget.consumerRegisters - overhead
                       << " are left; use a smaller tile or more consumers";
  return budget;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

int64_t moss::getChainLength(ScaledMatmulOp op, int64_t tileK) {
  int64_t length =
      op.getAccumulate().isFast() ? tileK : op.getAccumulate().getInterval();
  for (SchemeAttr scheme : {op.getLhsScheme(), op.getRhsScheme()})
    if (!scheme.isConstantAlongK())
      length = std::gcd(length, scheme.getGroupK());
  return length;
}

TileSums moss::getTileSums(ScaledMatmulOp op, int64_t tileK) {
  int64_t chain = getChainLength(op, tileK), group = 0;
  bool isExact = true;
  for (SchemeAttr scheme : {op.getLhsScheme(), op.getRhsScheme()}) {
    isExact &= scheme.isMicroPowerOfTwo();
    if (!scheme.isConstantAlongK())
      group = std::gcd(group, scheme.getGroupK());
  }
  TileSums sums;
  // Scales that move to the boundary of a group leave a sum on either side.
  if (isExact && group > chain)
    ++sums.tiles;
  bool isFused =
      op.getAccumulate().isFast() && isExact && (group == 0 || group > chain);
  if (chain > tileK)
    ++sums.tiles;
  else
    sums.hasPartial = !isFused;
  return sums;
}

int64_t moss::getProductK(ScaledMatmulOp op, int64_t tileK) {
  for (SchemeAttr scheme : {op.getLhsScheme(), op.getRhsScheme()})
    if (!scheme.isConstantAlongK())
      tileK = std::gcd(tileK, scheme.getGroupK());
  return tileK;
}

/// Bytes along K of the tiles that suit every target: the widest rows that
/// Hopper's shared-memory swizzles know.
static constexpr int64_t kTileRowBytes = 128;

/// The largest K extent of a tile, up to `preferred`, which divides the
/// promotion interval, and on which every micro scale is constant or, if it
/// `holdsGroups`, has whole groups of several. One such tile for all of K would
/// leave no loop, without which the assembler serializes products.
static int64_t chooseTileK(ScaledMatmulOp op, int64_t preferred,
                           bool holdsGroups) {
  int64_t tileK = preferred;
  if (!op.getAccumulate().isFast())
    tileK = std::gcd(tileK, op.getAccumulate().getInterval());
  int64_t extent = cast<ShapedType>(op.getLhs().getType()).getDimSize(1);
  holdsGroups &= ShapedType::isDynamic(extent) || extent > tileK;
  for (SchemeAttr scheme : {op.getLhsScheme(), op.getRhsScheme()})
    if (!scheme.isConstantAlongK() &&
        !(holdsGroups && tileK % scheme.getGroupK() == 0))
      tileK = std::gcd(tileK, scheme.getGroupK());
  return std::max(tileK, kMinTileK);
}

ScaleTiles moss::getScaleTiles(ScaledMatmulOp op, int64_t tileM, int64_t tileN,
                               int64_t tileK) {
  ScaleTiles tiles;
  auto add = [&](SchemeAttr scheme, Value micro, int64_t positions,
                 bool isExtended) {
    if (scheme.isConstantAlongK() || getTileSums(op, tileK).tiles != 1)
      return;
    if (std::optional<VectorType> tile =
            getScaleTile(cast<ShapedType>(micro.getType()),
                         scheme.getGroupOuter(), positions))
      tiles.add(getGroupsTile(*tile, scheme.getGroupOuter(),
                              tileK / scheme.getGroupK()),
                isExtended);
  };
  SchemeAttr rhs = op.getRhsScheme();
  add(op.getLhsScheme(), op.getLhsMicro(), tileM, /*isExtended=*/false);
  add(rhs, op.getRhsMicro(), tileN,
      areExtended(rhs.getMicroType(), rhs.getGroupOuter()));
  return tiles;
}

namespace {
/// A tile of the result and the warpgroups that share its rows.
struct TileShape {
  int64_t m, n, consumers;
};
} // namespace

/// The time of \p op's tiles in units of one element of a tile, as the busiest
/// multiprocessor sees it, for a kernel that reaches \p speed of the fastest.
static double estimateTime(const TargetInfo &target, ScaledMatmulOp op,
                           TileShape tile, double speed) {
  auto shape = cast<ShapedType>(op.getInit().getType()).getShape();
  int64_t tiles =
      llvm::divideCeil(shape[0], tile.m) * llvm::divideCeil(shape[1], tile.n);
  int64_t rounds = llvm::divideCeil(tiles, target.multiprocessors);
  return static_cast<double>(rounds * tile.m * tile.n) / speed;
}

/// The tile that suits an op on Hopper. A single sum has registers for a wide
/// tile, which moves the fewest bytes. Partial sums are added while others
/// multiply: either two waves of each of two consumers alternate, or three
/// consumers do. The latter measured 2 % faster where both fill the machine
/// equally well, and 4 % where scales are read in the loop; its smaller tile
/// fills the machine better or worse. Scales of rows and columns take twice the
/// arithmetic, and registers that two waves do not leave.
static TileShape chooseTile(const TargetInfo &target, ScaledMatmulOp op,
                            TileSums sums) {
  if (sums.tiles > 1)
    return {128, 128, 2};
  if (!sums.hasPartial)
    return {128, 256, 2};
  TileShape twoWaves{256, 128, 2}, threeConsumers{192, 128, 3};
  auto varies = [](SchemeAttr scheme) { return !scheme.isConstantAlongK(); };
  SchemeAttr lhs = op.getLhsScheme(), rhs = op.getRhsScheme();
  if (varies(rhs) && rhs.getGroupOuter() == 1)
    return threeConsumers;
  bool readsScales = varies(lhs) || varies(rhs);
  if (!cast<ShapedType>(op.getInit().getType()).hasStaticShape())
    return readsScales ? threeConsumers : twoWaves;
  bool isFaster =
      estimateTime(target, op, threeConsumers, 1.0) <
      estimateTime(target, op, twoWaves, 1.0 / (readsScales ? 1.04 : 1.02));
  return isFaster ? threeConsumers : twoWaves;
}

/// Tiles along M that are visited before the next along N. Measured on an H200:
/// longer columns gain up to 1 % for the wide tiles of fast accumulation. For
/// others they gain 2 % if the right operand does not stay in L2, so that each
/// column reads it anew, and what the running blocks read does.
static int64_t chooseRaster(const TargetInfo &target, ScaledMatmulOp op,
                            int64_t tileM, int64_t tileN) {
  const int64_t shorter = 8, longer = 16;
  if (tileN > tileM)
    return longer;
  auto rhs = cast<ShapedType>(op.getRhs().getType());
  if (!rhs.hasStaticShape())
    return shorter;
  int64_t rowBytes = rhs.getDimSize(1) * getElementBytes(rhs.getElementType());
  int64_t running = longer * tileM + target.multiprocessors / longer * tileN;
  bool staysInCache = rhs.getDimSize(0) * rowBytes <= target.cacheBytes;
  return !staysInCache && running * rowBytes <= target.cacheBytes / 2 ? longer
                                                                      : shorter;
}

/// A tile like `tile` for a given number of consumers: as many waves of 64 rows
/// for each, but three have registers for one, of fewer columns. More than
/// three are refused with any tile.
static TileShape fitToConsumers(TileShape tile, int64_t consumers) {
  if (consumers >= 3)
    return {64 * 3, std::min<int64_t>(tile.n, 192), consumers};
  return {tile.m / tile.consumers * consumers, tile.n, consumers};
}

ScheduleAttr moss::chooseSchedule(const TargetInfo &target, ScaledMatmulOp op,
                                  const ScheduleOverrides &overrides) {
  bool isCPU = target.kind == TargetKind::CPU;
  int64_t elementBytes = getElementBytes(op.getLhsScheme().getElementType());
  int64_t tileK =
      overrides.tileK.value_or(chooseTileK(op, kTileRowBytes / elementBytes,
                                           /*holdsGroups=*/!isCPU));
  TileShape tile = isCPU ? TileShape{32, 32, 1}
                         : chooseTile(target, op, getTileSums(op, tileK));
  // Consumers suit a tile, so an override of the tile gets the usual two.
  if (overrides.tileM && !isCPU)
    tile.consumers = 2;
  else if (overrides.consumers && !isCPU)
    tile = fitToConsumers(tile, *overrides.consumers);
  int64_t tileM = overrides.tileM.value_or(tile.m);
  int64_t tileN = overrides.tileN.value_or(tile.n);
  int64_t consumers = overrides.consumers.value_or(tile.consumers);
  int64_t raster = chooseRaster(target, op, tileM, tileN);
  int64_t stages = 1;
  if (!isCPU) {
    // As many stages as fit beside the output boxes.
    auto getBytes = [&](int64_t stages) {
      return getSharedMemoryLayout(
                 stages, (tileM + tileN) * tileK * elementBytes,
                 getScaleTiles(op, tileM, tileN, tileK), consumers)
          .totalBytes;
    };
    int64_t fixed = getBytes(0), perStage = getBytes(1) - fixed;
    stages =
        std::clamp<int64_t>((target.sharedMemory - fixed) / perStage, 1, 8);
  }
  return ScheduleAttr::get(op.getContext(), tileM, tileN, tileK,
                           overrides.stages.value_or(stages), consumers,
                           overrides.raster.value_or(raster),
                           overrides.blocks.value_or(target.multiprocessors));
}
