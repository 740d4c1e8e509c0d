//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"
#include "moss/Transforms/ScaleArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moss;

/// Elements of a vector: 16 bytes of payload.
static constexpr int64_t kWidth = 16;
/// Vectors of a group that a thread holds at most.
static constexpr int64_t kMaxDepth = 4;
/// Bytes up to which a thread holds several groups: enough in flight, and 32
/// registers.
static constexpr int64_t kHeldBytes = 128;
/// The bytes by which a thread's accesses are aligned.
static constexpr int64_t kAlignment = 16;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void moss::createWhenZero(ImplicitLocOpBuilder &b, Value number,
                          function_ref<void()> body) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value isZero =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, zero);
  auto branch = scf::IfOp::create(b, isZero);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value moss::createWarpMax(ImplicitLocOpBuilder &b, Value bits) {
  // gpu.subgroup_reduce has a lowering to this instruction for the signed
  // maximum only, and only by an option of the conversion.
  Value allLanes = createConstant(b, b.getI32Type(), int64_t(-1));
  return NVVM::ReduxOp::create(b, bits.getType(), bits, NVVM::ReduxKind::UMAX,
                               allLanes);
}

Type moss::getBlockMaxType(OpBuilder &b) {
  return getSharedType(b, {kBlockSize / kWarpSize}, b.getI32Type());
}

Value moss::createBlockMax(ImplicitLocOpBuilder &b, const Kernel &kernel,
                           Value bits) {
  Value max = createWarpMax(b, bits);
  Value shared = kernel.shared.back();
  createWhenZero(b, kernel.lane,
                 [&] { memref::StoreOp::create(b, max, shared, kernel.warp); });
  gpu::BarrierOp::create(b);
  for (int64_t warp = 0; warp < kBlockSize / kWarpSize; ++warp) {
    Value number = arith::ConstantIndexOp::create(b, warp);
    Value other = memref::LoadOp::create(b, shared, number);
    max = arith::MaxUIOp::create(b, max, other);
  }
  // The next maximum is taken in the same words.
  gpu::BarrierOp::create(b);
  return max;
}

Value RegisterGroups::createTeamMax(Value bits) {
  if (isBlockTeam())
    return createBlockMax(b, kernel, bits);
  if (lanes == kWarpSize)
    return createWarpMax(b, bits);
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    auto other = gpu::ShuffleOp::create(b, bits, distance, kWarpSize,
                                        gpu::ShuffleMode::XOR);
    bits = arith::MaxUIOp::create(b, bits, other.getShuffleResult());
  }
  return bits;
}

/// `x` of the thread with the number `from` in the team.
Value RegisterGroups::broadcast(Value x, int64_t from) {
  Value first = arith::SubIOp::create(b, kernel.lane, lane);
  Value number = arith::IndexCastOp::create(
      b, b.getI32Type(), arith::AddIOp::create(b, first, index(from)));
  Value width = createConstant(b, b.getI32Type(), kWarpSize);
  return gpu::ShuffleOp::create(b, x, number, width, gpu::ShuffleMode::IDX)
      .getShuffleResult();
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

std::unique_ptr<RegisterGroups> RegisterGroups::get(ImplicitLocOpBuilder &b,
                                                    SchemeAttr scheme,
                                                    Value source, Value payload,
                                                    Value micro) {
  if (!micro || getVectorWidth({source, payload}) == 1)
    return nullptr;
  std::unique_ptr<RegisterGroups> result(
      new RegisterGroups(b, scheme, source, payload, micro));
  if (!result->mapThreads())
    return nullptr;
  result->createExtents();
  return result;
}

/// As few threads as can hold a group: they all compute its scale.
bool RegisterGroups::mapThreads() {
  int64_t groupK = scheme.getGroupK();
  if (groupK % kWidth != 0)
    return false;
  vectors = scheme.getGroupOuter() * (groupK / kWidth);
  if (vectors == 0 || vectors > kBlockSize * kMaxDepth)
    return false;
  lanes = vectors > kWarpSize * kMaxDepth
              ? kBlockSize
              : std::min<int64_t>(llvm::PowerOf2Ceil(vectors), kWarpSize);
  depth = llvm::divideCeil(vectors, lanes);
  Type type = getElementTypeOrSelf(source.getType());
  int64_t bytes = depth * kWidth * type.getIntOrFloatBitWidth() / 8;
  groups =
      isBlockTeam() ? 1 : std::clamp<int64_t>(kHeldBytes / bytes, 1, lanes);
  return true;
}

void RegisterGroups::createExtents() {
  auto dim = [&](Value memref, int64_t d) {
    return b.createOrFold<memref::DimOp>(memref, d);
  };
  Value extentK = dim(payload, 1);
  rows = dim(micro, 0);
  columns = dim(micro, 1);
  sets = createCeilDiv(b, columns, groups);
  units = arith::MulIOp::create(b, rows, sets);
  blocks = createCeilDiv(b, units, kBlockSize / lanes);
  lastRow = arith::SubIOp::create(b, dim(payload, 0), index(1));
  lastVector = arith::SubIOp::create(b, extentK, index(kWidth));
  Value rest = arith::RemUIOp::create(b, extentK, index(kWidth));
  isUsable = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, index(0));
  for (Value memref : {source, payload}) {
    Type type = getElementTypeOrSelf(memref.getType());
    int64_t width = kAlignment * 8 / type.getIntOrFloatBitWidth();
    Value isAligned = createIsAligned(b, memref, width);
    isUsable = arith::AndIOp::create(b, isUsable, isAligned);
  }
}

Value RegisterGroups::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value RegisterGroups::atMost(Value x, Value limit) {
  return arith::MinUIOp::create(b, x, limit);
}

/// Whether scales of neighboring rows are adjacent in memory.
static bool areRowsAdjacent(Value micro) {
  auto [strides, offset] =
      cast<MemRefType>(micro.getType()).getStridesAndOffset();
  return strides[0] == 1 && strides[1] != 1;
}

SmallVector<Value> RegisterGroups::forEach(const Kernel &kernel,
                                           ValueRange inits, Body body,
                                           Body otherwise) {
  this->kernel = kernel;
  auto branch = scf::IfOp::create(b, inits.getTypes(), isUsable,
                                  /*withElseRegion=*/true);
  auto fill = [&](Block *block, function_ref<SmallVector<Value>()> emit) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> results = emit();
    // A branch that yields nothing is created with its terminator.
    if (!inits.empty())
      scf::YieldOp::create(b, results);
  };
  fill(branch.thenBlock(), [&] { return emitLoop(inits, body); });
  fill(branch.elseBlock(), [&] { return otherwise(inits); });
  return SmallVector<Value>(branch.getResults());
}

SmallVector<Value> RegisterGroups::emitLoop(ValueRange inits, Body body) {
  Value teams = index(kBlockSize / lanes);
  Value team = arith::DivUIOp::create(b, kernel.thread, index(lanes));
  lane = arith::RemUIOp::create(b, kernel.thread, index(lanes));
  Value begin = arith::MulIOp::create(b, kernel.block, teams);
  Value step = arith::MulIOp::create(b, kernel.blocks, teams);
  // All teams of a block go through the loop equally often, as reductions need.
  auto loop = scf::ForOp::create(b, begin, units, step, inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value unit = arith::AddIOp::create(b, loop.getInductionVar(), team);
  Value lastUnit = arith::SubIOp::create(b, units, index(1));
  hold(atMost(unit, lastUnit));
  SmallVector<Value> next = body(loop.getRegionIterArgs());
  // A loop that carries nothing is created with its terminator.
  if (!inits.empty())
    scf::YieldOp::create(b, next);
  return SmallVector<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The column of a group of the team.
Value RegisterGroups::getColumn(Value number) {
  Value column = arith::AddIOp::create(b, firstColumn, number);
  Value last = arith::SubIOp::create(b, columns, index(1));
  return atMost(column, last);
}

/// Load the groups of this team. Neighboring teams take groups whose scales
/// are adjacent.
void RegisterGroups::hold(Value unit) {
  bool isAlongRows = areRowsAdjacent(micro);
  Value extent = isAlongRows ? rows : sets;
  Value major = arith::DivUIOp::create(b, unit, extent);
  Value minor = arith::RemUIOp::create(b, unit, extent);
  row = isAlongRows ? minor : major;
  firstColumn =
      arith::MulIOp::create(b, isAlongRows ? major : minor, index(groups));
  held.assign(groups, {});
  for (int64_t group = 0; group < groups; ++group) {
    Value column = getColumn(index(group));
    for (int64_t number = 0; number < depth; ++number)
      held[group].push_back(load(column, number));
  }
}

/// Load the vector with the given number, among this thread's, of the group in
/// `column`.
RegisterGroups::Held RegisterGroups::load(Value column, int64_t number) {
  Value vector = arith::AddIOp::create(b, lane, index(number * lanes));
  vector = atMost(vector, index(vectors - 1));
  Value perRow = index(scheme.getGroupK() / kWidth);
  auto position = [&](Value group, int64_t size, Value offset, Value last) {
    Value begin = arith::MulIOp::create(b, group, index(size));
    return atMost(arith::AddIOp::create(b, begin, offset), last);
  };
  Value offset = arith::RemUIOp::create(b, vector, perRow);
  offset = arith::MulIOp::create(b, offset, index(kWidth));
  Value i = position(row, scheme.getGroupOuter(),
                     arith::DivUIOp::create(b, vector, perRow), lastRow);
  Value k = position(column, scheme.getGroupK(), offset, lastVector);
  auto type = VectorType::get(kWidth, getElementTypeOrSelf(source.getType()));
  Value elements =
      vector::LoadOp::create(b, type, source, ValueRange{i, k},
                             /*nontemporal=*/false, llvm::Align(kAlignment));
  return {elements, i, k};
}

/// The largest element of a vector of integers.
static Value createLargest(ImplicitLocOpBuilder &b, Value x) {
  return vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, x);
}

SmallVector<Value> RegisterGroups::createAmax() {
  SmallVector<Value> amax;
  for (ArrayRef<Held> group : held) {
    Value max;
    for (const Held &part : group) {
      Value bits = createNarrowMagnitude(b, part.elements);
      max = max ? arith::MaxUIOp::create(b, max, bits).getResult() : bits;
    }
    amax.push_back(createTeamMax(widenMagnitude(b, createLargest(b, max))));
  }
  return amax;
}

Value RegisterGroups::createMeasuredMax() {
  Value max;
  for (ArrayRef<Held> group : held)
    for (const Held &part : group) {
      Value bits = createNumberOrZero(b, createMagnitude(b, part.elements));
      max = max ? arith::MaxUIOp::create(b, max, bits).getResult() : bits;
    }
  return createLargest(b, max);
}

/// Compute and store the scales of the team's groups, one in each of its first
/// threads, and return this thread's.
Value RegisterGroups::createScales(ArrayRef<Value> amax, Value global) {
  Value number = arith::RemUIOp::create(b, lane, index(groups));
  Value mine = amax.front();
  for (int64_t group = 1; group < groups; ++group) {
    Value isMine = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number,
                                         index(group));
    mine = arith::SelectOp::create(b, isMine, amax[group], mine);
  }
  Value scale = createMicroScale(b, scheme, mine, global);
  Value turn = arith::DivUIOp::create(b, lane, index(groups));
  createWhenZero(b, turn, [&] {
    memref::StoreOp::create(b, scale, micro,
                            ValueRange{row, getColumn(number)});
  });
  return scale;
}

void RegisterGroups::convert(ArrayRef<Value> amax, Value global,
                             Value inverseGlobal) {
  Value inverse = createMicroInverse(b, createScales(amax, global));
  for (auto [number, group] : llvm::enumerate(held)) {
    Value factor = groups == 1 ? inverse : broadcast(inverse, number);
    for (const Held &part : group) {
      Value q = createPayload(b, scheme, part.elements, inverseGlobal, factor);
      vector::StoreOp::create(b, q, payload, ValueRange{part.row, part.k},
                              /*nontemporal=*/false, llvm::Align(kAlignment));
    }
  }
}
