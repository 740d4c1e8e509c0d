//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers channels to rings in shared memory that mbarriers guard and the tensor
// copy engine fills. Stage s has a full barrier, on which one arrival and the
// bytes of a slot are expected, and an empty barrier, on which every consumer
// arrives: one thread for all of them, or for each warp if threads themselves
// read the slot. If scales are extended, a third barrier expects their bytes,
// and the full barrier another arrival, of the warp that extends them:
// consumers still wait for one barrier.
//
//===----------------------------------------------------------------------===//

#include "RolesToNVVM.h"
#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/Target.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSCHANNELSTONVVM
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

/// How long try_wait sleeps at most before it looks again, in nanoseconds; it
/// is woken earlier when the barrier completes.
static constexpr int64_t kWaitNanoseconds = 10000000;

/// The bits of a position that say which slot it is: few, so that LLVM knows
/// how far addresses reach. The sign is the parity of its turn.
static constexpr int64_t kSlotMask = 0xFFFF;
static_assert(ChannelType::kMaxStages <= kSlotMask);

/// Scales that a thread extends at once: a word of them to 16 bytes, the most
/// that it can store.
static constexpr int64_t kScalesPerWord = 4;

namespace {
/// Lowers the channel and the roles of one kernel.
class KernelLowering {
public:
  KernelLowering(gpu::GPUFuncOp func, ChannelOp channel, WarpSpecializeOp roles)
      : func(func), channel(channel), roles(roles),
        type(channel.getChannel().getType()),
        layout(getSharedMemoryLayout(type, roles.getNumConsumers())),
        hasScales(llvm::any_of(type.getTiles(), isScaleTile)),
        b(channel.getLoc(), channel) {}

  LogicalResult run();

private:
  Value i32(int64_t value) { return i32Constant(b, value); }
  Value getSlot(Value position) {
    return arith::AndIOp::create(b, position, i32(kSlotMask));
  }
  Value getPhase(Value position) {
    return arith::ShRUIOp::create(b, position, i32(31));
  }
  enum BarrierKind { Full, Empty, Scales };
  /// The full or empty barrier of a slot, or that of scales to extend.
  Value getBarrier(Value slot, BarrierKind kind) {
    Value base =
        offsetPointer(b, getSharedMemoryBase(b),
                      layout.barrierOffset + 8 * kind * type.getStages());
    return offsetPointer(b, base, arith::MulIOp::create(b, slot, i32(8)));
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, int64_t rhs) {
    return arith::CmpIOp::create(b, predicate, lhs, i32(rhs));
  }
  Value getSharedMemoryAddress() {
    return LLVM::PtrToIntOp::create(b, b.getI32Type(), getSharedMemoryBase(b));
  }
  void wait(Value barrier, Value phase) {
    NVVM::MBarrierTryWaitParityOp::create(b, barrier, phase,
                                          i32(kWaitNanoseconds));
  }
  Value toPointer(Value map) {
    return UnrealizedConversionCastOp::create(
               b, LLVM::LLVMPointerType::get(b.getContext()), ValueRange{map})
        .getResult(0);
  }

  /// How far the slots are apart, for the kind of tile `index`.
  int64_t getSlotBytes(unsigned index) {
    return isScaleTile(type.getTiles()[index]) ? layout.scaleStageBytes
                                               : layout.stageBytes;
  }
  bool hasExtended() const { return !type.getExtended().empty(); }
  /// How far a slot is from the first, for the kind of tile `index`.
  Value getSlotOffset(Value slot, unsigned index) {
    return arith::MulIOp::create(b, slot, i32(getSlotBytes(index)));
  }

  void initialize();
  void copyBox(PutOp put, unsigned index, int64_t row, Value target,
               Value barrier);
  LogicalResult copyTile(PutOp put, unsigned index, Value slot, Value barrier);
  LogicalResult lowerPut(PutOp put);
  Value createIsSpecial(Value word);
  Value extendWord(Value word);
  LogicalResult lowerExtend(ExtendScalesOp op);
  void lowerGet(GetOp get);
  LogicalResult lowerDescriptor(TileDescriptorOp op);
  LogicalResult lowerAddress(TileAddressOp op);
  void arrive(Value barrier, Value predicate);
  void lowerRelease(ReleaseOp release);
  void lowerAdvance(AdvanceOp advance);

  gpu::GPUFuncOp func;
  ChannelOp channel;
  WarpSpecializeOp roles;
  ChannelType type;
  SharedMemoryLayout layout;
  bool hasScales;
  ImplicitLocOpBuilder b;
};
} // namespace

/// One thread initializes the barriers; then all may use them.
void KernelLowering::initialize() {
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value isFirst = compare(arith::CmpIPredicate::eq, thread, 0);
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    for (int64_t stage = 0; stage < type.getStages(); ++stage) {
      auto create = [&](BarrierKind kind, int64_t arrivals) {
        NVVM::MBarrierInitOp::create(b, getBarrier(i32(stage), kind),
                                     i32(arrivals), Value());
      };
      create(Full, hasExtended() ? 2 : 1);
      create(Empty,
             roles.getNumConsumers() * (hasScales ? kWarpsPerWarpgroup : 1));
      if (hasExtended())
        create(Scales, 1);
    }
    NVVM::FenceMbarrierInitOp::create(b);
    for (BlockArgument argument : func.getArguments())
      if (isa<TensorMapType>(argument.getType()))
        NVVM::PrefetchOp::create(b, NVVM::PrefetchCacheLevelAttr(),
                                 NVVM::CacheEvictionPriorityAttr(),
                                 toPointer(argument), Value(),
                                 /*tensormap=*/b.getUnitAttr());
  }
  NVVM::BarrierOp::create(b);
}

/// Start the copy of the box at row `row` of tile `index`, which `barrier`
/// counts.
void KernelLowering::copyBox(PutOp put, unsigned index, int64_t row,
                             Value target, Value barrier) {
  auto toI32 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getI32Type(), value);
  };
  Value firstRow = toI32(put.getRows()[index]);
  if (row != 0)
    firstRow = arith::AddIOp::create(b, firstRow, i32(row));
  target = LLVM::AddrSpaceCastOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 7), target);
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      b, target, toPointer(put.getSources()[index]),
      ValueRange{toI32(put.getCols()[index]), firstRow}, barrier, ValueRange{},
      Value(), Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      NVVM::CTAGroupKindAttr(), Value());
}

/// Start the copy of tile `index`, which `barrier` counts.
LogicalResult KernelLowering::copyTile(PutOp put, unsigned index, Value slot,
                                       Value barrier) {
  VectorType tile = type.getTiles()[index];
  auto map = dyn_cast<TensorMapType>(put.getSources()[index].getType());
  if (!map)
    return put.emitOpError("copies from a memref; run moss-create-tensor-maps "
                           "to describe it");
  int64_t boxRows = map.getBoxRows();
  if (tile.getDimSize(0) % boxRows != 0)
    return put.emitOpError("copies the tile ")
           << tile << " in boxes of " << boxRows
           << " rows, which do not fill it";
  Value base =
      offsetPointer(b, getSharedMemoryBase(b), getSlotOffset(slot, index));
  for (int64_t row = 0; row < tile.getDimSize(0); row += boxRows)
    copyBox(put, index, row,
            offsetPointer(b, base,
                          getTileOffset(type, layout, index) +
                              row * getTileRowBytes(tile)),
            barrier);
  return success();
}

/// Scales that are extended go first, as there is work to do before they can be
/// used.
LogicalResult KernelLowering::lowerPut(PutOp put) {
  if (roles.getConverter().isAncestor(put->getParentRegion()))
    return put.emitOpError("is in the converter of moss.warp_specialize, but "
                           "one thread of its producer starts copies");
  b.setInsertionPoint(put);
  Value slot = getSlot(put.getPosition());
  // The phase before the first is complete, so the first turn does not wait.
  Value phase = arith::XOrIOp::create(b, getPhase(put.getPosition()), i32(1));
  wait(getBarrier(slot, Empty), phase);
  auto copyTiles = [&](BarrierKind kind) {
    SmallVector<unsigned> indices;
    int64_t bytes = 0;
    for (auto [index, tile] : llvm::enumerate(type.getTiles())) {
      if (type.isExtended(index) != (kind == Scales))
        continue;
      indices.push_back(index);
      bytes += getTileBytes(tile);
    }
    Value barrier = getBarrier(slot, kind);
    NVVM::MBarrierArriveExpectTxOp::create(b, Type(), barrier, i32(bytes),
                                           NVVM::MemScopeKind::CTA,
                                           /*relaxed=*/false, Value());
    return success(llvm::all_of(indices, [&](unsigned index) {
      return succeeded(copyTile(put, index, slot, barrier));
    }));
  };
  if ((hasExtended() && failed(copyTiles(Scales))) || failed(copyTiles(Full)))
    return failure();
  put.erase();
  return success();
}

/// Whether a byte of a word is 0 or 255. The top bit of a byte tells: it is set
/// by taking 1 from 0, and cleared by adding 1 to 255. A borrow or carry
/// between bytes comes from such a byte only.
Value KernelLowering::createIsSpecial(Value word) {
  Value ones = i32(0x01010101), all = i32(-1);
  auto invert = [&](Value value) -> Value {
    return arith::XOrIOp::create(b, value, all);
  };
  Value less = arith::SubIOp::create(b, word, ones);
  Value more = arith::AddIOp::create(b, word, ones);
  Value bits =
      arith::OrIOp::create(b, arith::AndIOp::create(b, less, invert(word)),
                           arith::AndIOp::create(b, word, invert(more)));
  Value topBits = i32(static_cast<int32_t>(0x80808080));
  return compare(arith::CmpIPredicate::ne,
                 arith::AndIOp::create(b, bits, topBits), 0);
}

/// Extend a word of E8M0 scales. All but the codes 0 and 255 are the exponent
/// field of their f32, so that a branch around these saves half of the
/// instructions, which take the consumers' time.
Value KernelLowering::extendWord(Value word) {
  auto type = VectorType::get({kScalesPerWord}, b.getI8Type());
  auto floats = type.clone(b.getF32Type()), ints = type.clone(b.getI32Type());
  Value codes = LLVM::BitcastOp::create(b, type, word);
  auto branch = scf::IfOp::create(b, TypeRange(floats), createIsSpecial(word),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value scales = arith::BitcastOp::create(
      b, type.clone(Float8E8M0FNUType::get(b.getContext())), codes);
  scf::YieldOp::create(b, ValueRange{arith::ExtFOp::create(b, floats, scales)});
  b.setInsertionPointToStart(branch.elseBlock());
  Value shift = arith::ConstantOp::create(
      b, DenseElementsAttr::get(ints, b.getI32IntegerAttr(23)));
  Value bits =
      arith::ShLIOp::create(b, arith::ExtUIOp::create(b, ints, codes), shift);
  scf::YieldOp::create(b,
                       ValueRange{arith::BitcastOp::create(b, floats, bits)});
  return branch.getResult(0);
}

/// Each lane of the warp takes a word at a time. Nobody reads what it
/// overwrites, since the slot was empty. One lane arrives for all.
LogicalResult KernelLowering::lowerExtend(ExtendScalesOp op) {
  if (!roles.getConverter().isAncestor(op->getParentRegion()))
    return op.emitOpError("is not in the converter of moss.warp_specialize, "
                          "whose warp extends scales");
  b.setInsertionPoint(op);
  Value slot = getSlot(op.getPosition());
  wait(getBarrier(slot, Scales), getPhase(op.getPosition()));
  Value lane = arith::AndIOp::create(
      b, NVVM::ThreadIdXOp::create(b, b.getI32Type()), i32(kWarpSize - 1));
  Value stage = offsetPointer(
      b, offsetPointer(b, getSharedMemoryBase(b), layout.scaleOffset),
      arith::MulIOp::create(b, slot, i32(layout.scaleStageBytes)));
  auto getAddress = [&](int64_t offset, int64_t bytes) {
    return offsetPointer(b, offsetPointer(b, stage, offset),
                         arith::MulIOp::create(b, lane, i32(bytes)));
  };
  const int64_t wordBytes = kScalesPerWord, floatBytes = 4 * kScalesPerWord;
  // Tiles are aligned to what a warp takes at a time.
  for (int64_t word = 0; word < layout.extendedBytes / wordBytes;
       word += kWarpSize) {
    Value loaded = LLVM::LoadOp::create(
        b, b.getI32Type(), getAddress(word * wordBytes, wordBytes), wordBytes);
    Value floats = extendWord(loaded);
    LLVM::StoreOp::create(
        b, floats,
        getAddress(layout.extendedBytes + word * floatBytes, floatBytes),
        floatBytes);
  }
  NVVM::SyncWarpOp::create(b, i32(-1));
  arrive(getBarrier(slot, Full), compare(arith::CmpIPredicate::eq, lane, 0));
  op.erase();
  return success();
}

/// The wait comes last before memory is touched: addresses and descriptors of
/// the tiles take a consumer's time when others multiply, and not after the
/// wait.
void KernelLowering::lowerGet(GetOp get) {
  Operation *reader = get->getNextNode();
  while (isMemoryEffectFree(reader) &&
         !reader->hasTrait<OpTrait::IsTerminator>())
    reader = reader->getNextNode();
  b.setInsertionPoint(reader);
  wait(getBarrier(getSlot(get.getPosition()), Full),
       getPhase(get.getPosition()));
  get.erase();
}

static LogicalResult emitNotShared(Operation *op) {
  return op->emitOpError("describes a tile that is not in shared memory: it "
                         "must come from moss.get");
}

LogicalResult KernelLowering::lowerAddress(TileAddressOp op) {
  auto get = op.getTile().getDefiningOp<GetOp>();
  if (!get)
    return emitNotShared(op);
  b.setInsertionPoint(op);
  unsigned index = cast<OpResult>(op.getTile()).getResultNumber();
  Value slot =
      arith::AddIOp::create(b, getSharedMemoryAddress(),
                            getSlotOffset(getSlot(get.getPosition()), index));
  int64_t offset = getReceivedTileOffset(type, layout, index);
  op.replaceAllUsesWith(
      arith::AddIOp::create(b, slot, i32(offset)).getResult());
  op.erase();
  return success();
}

/// PTX ISA, "Matrix descriptor": address / 16 in bits 0-13, stride between
/// groups of 8 rows / 16 in bits 32-45, swizzle in bits 62-63 (1: 128 bytes, 2:
/// 64, 3: 32). The leading dimension's offset is unused with swizzles; 1 by
/// convention.
LogicalResult KernelLowering::lowerDescriptor(TileDescriptorOp op) {
  auto get = op.getTile().getDefiningOp<GetOp>();
  if (!get)
    return emitNotShared(op);
  int64_t rowBytes = getTileRowBytes(cast<VectorType>(op.getTile().getType()));
  if (rowBytes != 32 && rowBytes != 64 && rowBytes != 128)
    return op.emitOpError("describes a tile with rows of ")
           << rowBytes
           << " bytes, but shared-memory swizzles know rows of 32, 64 and 128";

  // What does not change with the slot, and how far the slot is. Shared memory
  // ends before 2^18, so that the sum stays in its field.
  b.setInsertionPoint(op);
  unsigned index = cast<OpResult>(op.getTile()).getResultNumber();
  Value first = arith::AddIOp::create(
      b, getSharedMemoryAddress(),
      arith::AddIOp::create(
          b, arith::MulIOp::create(b, op.getRow(), i32(rowBytes)),
          i32(getTileOffset(type, layout, index))));
  Value encoded = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, first, i32(4)), i32(0x3FFF));
  encoded = arith::AddIOp::create(
      b, encoded,
      arith::MulIOp::create(b, getSlot(get.getPosition()),
                            i32(getSlotBytes(index) / 16)));
  encoded = arith::ExtUIOp::create(b, b.getI64Type(), encoded);
  uint64_t swizzle = rowBytes == 128 ? 1 : rowBytes == 64 ? 2 : 3;
  uint64_t fields = (swizzle << 62) |
                    (static_cast<uint64_t>(8 * rowBytes / 16) << 32) |
                    (uint64_t{1} << 16);
  Value constant = arith::ConstantOp::create(
      b, b.getIntegerAttr(b.getI64Type(), static_cast<int64_t>(fields)));
  op.replaceAllUsesWith(arith::OrIOp::create(b, encoded, constant).getResult());
  op.erase();
  return success();
}

void KernelLowering::arrive(Value barrier, Value predicate) {
  NVVM::InlinePtxOp::create(b, TypeRange(), ValueRange{barrier}, ValueRange(),
                            "mbarrier.arrive.shared::cta.b64 _, [$0];",
                            predicate);
}

/// One thread speaks for its warpgroup, since wgmma's wait is collective, or
/// for its warp, whose threads have read scales at once. The arrival is
/// predicated, since after a branch at the end of the loop LLVM would sink the
/// additions of all waves there, away from the products they follow.
void KernelLowering::lowerRelease(ReleaseOp release) {
  b.setInsertionPoint(release);
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  int64_t threads = hasScales ? kWarpSize : kWarpSize * kWarpsPerWarpgroup;
  Value inGroup = arith::AndIOp::create(b, thread, i32(threads - 1));
  Value isLeader = compare(arith::CmpIPredicate::eq, inGroup, 0);
  arrive(getBarrier(getSlot(release.getPosition()), Empty), isLeader);
  release.erase();
}

/// The slot after the last one is the first again, at the next turn.
void KernelLowering::lowerAdvance(AdvanceOp advance) {
  b.setInsertionPoint(advance);
  Value position = advance.getPosition(), sign = i32(INT32_MIN);
  Value next = arith::AddIOp::create(b, position, i32(1));
  Value isPastLast =
      compare(arith::CmpIPredicate::eq, getSlot(next), type.getStages());
  Value first =
      arith::XOrIOp::create(b, arith::AndIOp::create(b, position, sign), sign);
  advance.replaceAllUsesWith(
      arith::SelectOp::create(b, isPastLast, first, next).getResult());
  advance.erase();
}

LogicalResult KernelLowering::run() {
  if (hasExtended() == roles.getConverter().empty())
    return roles.emitOpError("must have a converter exactly if the channel "
                             "extends scales, but its channel is ")
           << type;
  initialize();
  SmallVector<Operation *> users, tiles;
  func.walk([&](Operation *op) {
    if (isa<PutOp, ExtendScalesOp, GetOp, ReleaseOp, AdvanceOp>(op))
      users.push_back(op);
    else if (isa<TileDescriptorOp, TileAddressOp>(op))
      tiles.push_back(op);
  });
  if (hasExtended() && llvm::none_of(users, llvm::IsaPred<ExtendScalesOp>))
    return roles.emitOpError("needs moss.extend_scales in its converter, for "
                             "which consumers wait");
  // Descriptors and addresses go before the gets that define their tiles.
  for (Operation *op : tiles) {
    auto descriptor = dyn_cast<TileDescriptorOp>(op);
    if (failed(descriptor ? lowerDescriptor(descriptor)
                          : lowerAddress(cast<TileAddressOp>(op))))
      return failure();
  }
  for (Operation *op : users) {
    if (auto put = dyn_cast<PutOp>(op)) {
      if (failed(lowerPut(put)))
        return failure();
    } else if (auto extend = dyn_cast<ExtendScalesOp>(op)) {
      if (failed(lowerExtend(extend)))
        return failure();
    } else if (auto get = dyn_cast<GetOp>(op)) {
      if (!get->use_empty())
        return get.emitOpError(
            "has a tile that is used by other than moss.mma and "
            "moss.read_scales, which must be distributed first");
      lowerGet(get);
    } else if (auto release = dyn_cast<ReleaseOp>(op)) {
      lowerRelease(release);
    } else if (auto advance = dyn_cast<AdvanceOp>(op)) {
      lowerAdvance(advance);
    }
  }
  lowerRoles(roles);
  channel.erase();
  return success();
}

namespace {
struct ChannelsToNVVMPass
    : moss::impl::MossChannelsToNVVMBase<ChannelsToNVVMPass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<gpu::GPUFuncOp>())
      if (failed(lower(func)))
        return signalPassFailure();
  }

private:
  static LogicalResult lower(gpu::GPUFuncOp func) {
    SmallVector<ChannelOp> channels;
    SmallVector<WarpSpecializeOp> roles;
    func.walk([&](ChannelOp op) { channels.push_back(op); });
    func.walk([&](WarpSpecializeOp op) { roles.push_back(op); });
    if (channels.empty() && roles.empty())
      return success();
    if (channels.size() != 1 || roles.size() != 1)
      return func.emitOpError("needs one moss.channel and one "
                              "moss.warp_specialize, but has ")
             << channels.size() << " and " << roles.size();
    return KernelLowering(func, channels.front(), roles.front()).run();
  }
};
} // namespace
