//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers channels to rings in shared memory that mbarriers guard and the tensor
// copy engine fills, and roles to branches on the warpgroup. Stage s has a full
// barrier, on which one arrival and the bytes of a slot are expected, and an
// empty barrier, on which every consumer arrives: one thread for all of them,
// or for each warp if threads themselves read the slot.
//
//===----------------------------------------------------------------------===//

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

/// The bits of a position that say which slot it is.
static constexpr int64_t kSlotMask = 0x7FFFFFFF;

/// Warps of a consumer.
static constexpr int64_t kWarpsPerWarpgroup = 4;

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
  // A position is a slot and, in its sign, the parity of its turn.
  Value getSlot(Value position) {
    return arith::AndIOp::create(b, position, i32(kSlotMask));
  }
  Value getPhase(Value position) {
    return arith::ShRUIOp::create(b, position, i32(31));
  }
  /// The full (0) or empty (1) barrier of a slot.
  Value getBarrier(Value slot, int64_t kind) {
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

  /// Where tile `index` of the first slot begins, and how far the slots are
  /// apart.
  int64_t getTileOffset(unsigned index);
  int64_t getSlotBytes(unsigned index) {
    return isScaleTile(type.getTiles()[index])
               ? getScaleStageBytes(type.getTiles())
               : layout.stageBytes;
  }
  /// How far a slot is from the first, for the kind of tile `index`.
  Value getSlotOffset(Value slot, unsigned index) {
    return arith::MulIOp::create(b, slot, i32(getSlotBytes(index)));
  }

  void initialize();
  void copyBox(PutOp put, unsigned index, int64_t row, Value target,
               Value full);
  LogicalResult lowerPut(PutOp put);
  void lowerGet(GetOp get);
  LogicalResult lowerDescriptor(TileDescriptorOp op);
  LogicalResult lowerAddress(TileAddressOp op);
  void lowerRelease(ReleaseOp release);
  void lowerAdvance(AdvanceOp advance);
  void lowerRoles();

  gpu::GPUFuncOp func;
  ChannelOp channel;
  WarpSpecializeOp roles;
  ChannelType type;
  SharedMemoryLayout layout;
  bool hasScales;
  ImplicitLocOpBuilder b;
};
} // namespace

int64_t KernelLowering::getTileOffset(unsigned index) {
  ArrayRef<VectorType> tiles = type.getTiles();
  if (isScaleTile(tiles[index]))
    return layout.scaleOffset + getScaleStageBytes(tiles.take_front(index));
  int64_t offset = 0;
  for (VectorType tile : tiles.take_front(index))
    if (!isScaleTile(tile))
      offset += getTileBytes(tile);
  return offset;
}

/// One thread initializes the barriers; then all may use them.
void KernelLowering::initialize() {
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value isFirst = compare(arith::CmpIPredicate::eq, thread, 0);
  auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    for (int64_t stage = 0; stage < type.getStages(); ++stage) {
      NVVM::MBarrierInitOp::create(b, getBarrier(i32(stage), 0), i32(1),
                                   Value());
      NVVM::MBarrierInitOp::create(
          b, getBarrier(i32(stage), 1),
          i32(roles.getNumConsumers() * (hasScales ? kWarpsPerWarpgroup : 1)),
          Value());
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

/// Start the copy of the box at row `row` of tile `index`, which `full` counts.
void KernelLowering::copyBox(PutOp put, unsigned index, int64_t row,
                             Value target, Value full) {
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
      ValueRange{toI32(put.getCols()[index]), firstRow}, full, ValueRange{},
      Value(), Value(), NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false,
      NVVM::CTAGroupKindAttr(), Value());
}

LogicalResult KernelLowering::lowerPut(PutOp put) {
  b.setInsertionPoint(put);
  Value slot = getSlot(put.getPosition());
  Value full = getBarrier(slot, 0);
  // The phase before the first is complete, so the first turn does not wait.
  Value phase = arith::XOrIOp::create(b, getPhase(put.getPosition()), i32(1));
  wait(getBarrier(slot, 1), phase);
  int64_t bytes = 0;
  for (VectorType tile : type.getTiles())
    bytes += getTileBytes(tile);
  NVVM::MBarrierArriveExpectTxOp::create(b, Type(), full, i32(bytes),
                                         NVVM::MemScopeKind::CTA,
                                         /*relaxed=*/false, Value());

  for (auto [index, tile] : llvm::enumerate(type.getTiles())) {
    Value source = put.getSources()[index];
    if (!isa<TensorMapType>(source.getType()))
      return put.emitOpError("copies from a memref; run "
                             "moss-create-tensor-maps to describe it");
    int64_t boxRows = cast<TensorMapType>(source.getType()).getBoxRows();
    if (tile.getDimSize(0) % boxRows != 0)
      return put.emitOpError("copies the tile ")
             << tile << " in boxes of " << boxRows
             << " rows, which do not fill it";
    Value base =
        offsetPointer(b, getSharedMemoryBase(b), getSlotOffset(slot, index));
    for (int64_t row = 0; row < tile.getDimSize(0); row += boxRows)
      copyBox(put, index, row,
              offsetPointer(b, base,
                            getTileOffset(index) + row * getTileRowBytes(tile)),
              full);
  }
  put.erase();
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
  wait(getBarrier(getSlot(get.getPosition()), 0), getPhase(get.getPosition()));
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
  op.replaceAllUsesWith(
      arith::AddIOp::create(b, slot, i32(getTileOffset(index))).getResult());
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
          i32(getTileOffset(index))));
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
  Value empty = getBarrier(getSlot(release.getPosition()), 1);
  NVVM::InlinePtxOp::create(b, TypeRange(), ValueRange{empty}, ValueRange(),
                            "mbarrier.arrive.shared::cta.b64 _, [$0];",
                            isLeader);
  release.erase();
}

/// The slot after the last one is the first again, at the next turn.
void KernelLowering::lowerAdvance(AdvanceOp advance) {
  b.setInsertionPoint(advance);
  Value position = advance.getPosition();
  Value isLast = compare(arith::CmpIPredicate::eq, getSlot(position),
                         type.getStages() - 1);
  Value first = arith::AndIOp::create(
      b, arith::XOrIOp::create(b, position, i32(-1)), i32(~kSlotMask));
  Value next = arith::AddIOp::create(b, position, i32(1));
  advance.replaceAllUsesWith(
      arith::SelectOp::create(b, isLast, first, next).getResult());
  advance.erase();
}

/// Branch on the warpgroup, which a shuffle makes uniform for the assembler.
void KernelLowering::lowerRoles() {
  // Without it the assembler may not know how many registers a thread begins
  // with, and then ignores setmaxregister.
  func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                b.getI32IntegerAttr(1));
  b.setInsertionPoint(roles);
  Type i32Type = b.getI32Type();
  Value thread = NVVM::ThreadIdXOp::create(b, i32Type);
  auto broadcast = [&](Value value) -> Value {
    return NVVM::ShflOp::create(b, i32Type, i32(-1), value, i32(0), i32(31),
                                NVVM::ShflKind::idx, UnitAttr());
  };
  Value group = broadcast(arith::ShRUIOp::create(b, thread, i32(7)));
  Value isProducer = compare(arith::CmpIPredicate::eq, group, 0);
  auto branch = scf::IfOp::create(b, isProducer, /*withElseRegion=*/true);

  b.setInsertionPointToStart(branch.thenBlock());
  NVVM::SetMaxRegisterOp::create(b, roles.getProducerRegisters(),
                                 NVVM::SetMaxRegisterAction::decrease);
  Value warp = broadcast(arith::ShRUIOp::create(b, thread, i32(5)));
  auto firstWarp =
      scf::IfOp::create(b, compare(arith::CmpIPredicate::eq, warp, 0),
                        /*withElseRegion=*/false);
  b.setInsertionPointToStart(firstWarp.thenBlock());
  auto elected =
      scf::IfOp::create(b, NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()),
                        /*withElseRegion=*/false);
  Block *producer = elected.thenBlock();
  producer->getOperations().splice(producer->begin(),
                                   roles.getProducer().front().getOperations());

  b.setInsertionPointToStart(branch.elseBlock());
  NVVM::SetMaxRegisterOp::create(b, roles.getConsumerRegisters(),
                                 NVVM::SetMaxRegisterAction::increase);
  Value consumer = arith::IndexCastOp::create(
      b, b.getIndexType(), arith::SubIOp::create(b, group, i32(1)));
  Block &body = roles.getConsumer().front();
  body.getArgument(0).replaceAllUsesWith(consumer);
  Block *consumers = branch.elseBlock();
  consumers->getOperations().splice(std::prev(consumers->end()),
                                    body.getOperations());
  roles.erase();
}

LogicalResult KernelLowering::run() {
  initialize();
  SmallVector<Operation *> users;
  func.walk([&](Operation *op) {
    if (isa<PutOp, GetOp, ReleaseOp, AdvanceOp, TileDescriptorOp,
            TileAddressOp>(op))
      users.push_back(op);
  });
  // Descriptors and addresses go before the gets that define their tiles.
  for (Operation *op : users) {
    if (auto descriptor = dyn_cast<TileDescriptorOp>(op)) {
      if (failed(lowerDescriptor(descriptor)))
        return failure();
    } else if (auto address = dyn_cast<TileAddressOp>(op)) {
      if (failed(lowerAddress(address)))
        return failure();
    }
  }
  for (Operation *op : users) {
    if (auto put = dyn_cast<PutOp>(op)) {
      if (failed(lowerPut(put)))
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
  lowerRoles();
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
