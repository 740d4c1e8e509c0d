//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers moss.quantize and moss.dequantize to kernels.
//
// A team of threads, a warp or a whole block, takes one micro group (or one
// row, if there are no groups) after another, unless groups fit into registers.
// Reductions stay within the team; what concerns the whole tensor goes through
// an atomic maximum. A transposed source goes through tiles in shared memory,
// so that reads and writes are both coalesced.
//
//===----------------------------------------------------------------------===//

#include "QuantizeGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "moss/GPU/Passes.h"
#include "moss/Transforms/QuantizeEmitter.h"
#include "moss/Transforms/ScaleArithmetic.h"
#include "moss/Transforms/SharedOps.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSQUANTIZETOGPU
#include "moss/GPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

namespace {

/// Groups of at most this many elements along K are reduced by a warp.
constexpr int64_t kMaxWarpGroup = 1024;

/// Emits kernels whose teams visit the groups of a matrix, on top of an
/// emitter of the loops within a group.
template <typename Base> class TeamEmitter : public Base {
protected:
  using Base::b, Base::micro, Base::payload, Base::scheme, Base::strips;
  using Base::Base;
  using Base::index, Base::dim, Base::loop, Base::getGroupBox;

  /// A unit of work of a team: a micro group, with its index, or a row.
  struct Unit {
    Box box;
    SmallVector<Value> group;
  };

  /// Choose teams and strips for accesses along K to the given memrefs.
  void mapStrips(ArrayRef<Value> memrefs);
  /// The blocks whose teams visit all units of a matrix at once: every group of
  /// the payload, or else every row of `matrix`.
  Value countBlocks(Value matrix);
  /// Launch a kernel of teams that work on the whole payload.
  void launchTeams(StringRef name, Value blocks, function_ref<void()> body);
  /// Visit every unit, in a kernel of teams. `body` takes the carried values
  /// and returns the next ones.
  SmallVector<Value>
  forEachUnit(Value matrix, ValueRange inits,
              function_ref<SmallVector<Value>(Unit, ValueRange)> body);
  /// The name of a kernel that works on the whole payload. Profilers show it.
  std::string addShape(StringRef name) {
    ArrayRef<int64_t> shape = cast<MemRefType>(payload.getType()).getShape();
    return (name + "_" + getShapeName(shape) + "_kernel").str();
  }
  /// Launch a kernel of one thread.
  void launchSingle(StringRef name, function_ref<void()> body);

  /// The maximum over the team, known to all of its threads.
  Value emitTeamMax(Value bits);
  /// Run `body` on one thread of the team.
  void onLeader(function_ref<void()> body) {
    createWhenZero(b, strips.lane, body);
  }
  bool isWarpTeam() const { return strips.lanes == kWarpSize; }

  Kernel kernel;
  /// The groups that threads hold in registers where these are usable. Null if
  /// they never are.
  std::unique_ptr<RegisterGroups> registers;

private:
  Value countUnits(Value matrix) {
    Value rows = dim(micro ? micro : matrix, 0);
    return arith::MulIOp::create(b, rows, micro ? dim(micro, 1) : index(1));
  }
  Box getRowBox(Value row, Value matrix) {
    Value end = arith::AddIOp::create(b, row, index(1));
    return {row, end, index(0), dim(matrix, 1)};
  }
};

class QuantizeToGpu : public TeamEmitter<QuantizeEmitter> {
public:
  explicit QuantizeToGpu(QuantizeOp op) : TeamEmitter(op) {}

  void emit();

private:
  void makeContiguousAlongK();
  void createScratch();
  void emitAmaxKernel();
  void emitConvertKernel();
  void emitTransposeKernel();
  Value emitGlobalScale();
  Value emitUnitAmax(const Unit &unit);
  Value emitGroupScale(const Unit &unit, Value global);
  SmallVector<Value> raise(ValueRange carried, Value amax);
  void emitAtomicMax(Value bits);
  void emitRaise(Value amax, Value x);
  /// What `held` emits for groups in registers, where these are usable, and
  /// what `streamed` emits for all units otherwise.
  SmallVector<Value> emitWork(ValueRange inits, RegisterGroups::Body held,
                              RegisterGroups::Body streamed) {
    return registers ? registers->forEach(kernel, inits, held, streamed)
                     : streamed(inits);
  }

  bool isJit() { return scheme.getGlobal() == GlobalScale::JIT; }

  /// Device buffers of the pass itself: the tensor's amax and the groups' (i32
  /// bits), and a transposed copy of the source. Null if not needed.
  Value tensorAmax, groupAmax, copy;
};

class DequantizeToGpu : public TeamEmitter<DequantizeEmitter> {
public:
  explicit DequantizeToGpu(DequantizeOp op) : TeamEmitter(op) {}

  void emit();
};

struct QuantizeToGpuPass
    : moss::impl::MossQuantizeToGpuBase<QuantizeToGpuPass> {
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Teams
//===----------------------------------------------------------------------===//

template <typename Base>
void TeamEmitter<Base>::mapStrips(ArrayRef<Value> memrefs) {
  int64_t groupK = scheme.getGroupK();
  bool isWarp = micro && groupK != 0 && groupK <= kMaxWarpGroup;
  strips.lanes = isWarp ? kWarpSize : kBlockSize;
  // What registers do not hold is not worth the code of vectors.
  strips.width = registers ? 1 : getVectorWidth(memrefs);
  // Vectors must not leave lanes idle, nor straddle groups.
  while (strips.width > 1 && groupK != 0 &&
         (groupK % strips.width != 0 || groupK < strips.width * strips.lanes))
    strips.width /= 2;
  strips.isAligned = true;
  strips.isVectorizable =
      strips.width > 1 ? createIsAligned(b, memrefs, strips.width) : Value();
}

template <typename Base> Value TeamEmitter<Base>::countBlocks(Value matrix) {
  return createCeilDiv(b, countUnits(matrix), kBlockSize / strips.lanes);
}

template <typename Base>
void TeamEmitter<Base>::launchTeams(StringRef name, Value blocks,
                                    function_ref<void()> body) {
  SmallVector<Type> shared;
  if (!isWarpTeam() || scheme.yieldsGlobal() ||
      (registers && registers->isBlockTeam()))
    shared.push_back(getBlockMaxType(b));
  createKernel(b, addShape(name), blocks, shared, [&](Kernel k) {
    kernel = k;
    strips.lane = isWarpTeam() ? k.lane : k.thread;
    body();
  });
  strips.lane = {};
}

template <typename Base>
SmallVector<Value> TeamEmitter<Base>::forEachUnit(
    Value matrix, ValueRange inits,
    function_ref<SmallVector<Value>(Unit, ValueRange)> body) {
  Value teams = index(kBlockSize / strips.lanes);
  Value first = arith::MulIOp::create(b, kernel.block, teams);
  if (isWarpTeam())
    first = arith::AddIOp::create(b, first, kernel.warp);
  Value step = arith::MulIOp::create(b, kernel.blocks, teams);
  return loop(first, countUnits(matrix), step, inits,
              [&](Value unit, ValueRange c) {
                if (!micro)
                  return body({getRowBox(unit, matrix), {}}, c);
                Value columns = dim(micro, 1);
                Value i = arith::DivUIOp::create(b, unit, columns);
                Value k = arith::RemUIOp::create(b, unit, columns);
                return body({getGroupBox(i, k), {i, k}}, c);
              });
}

template <typename Base>
void TeamEmitter<Base>::launchSingle(StringRef name,
                                     function_ref<void()> body) {
  createKernel(b, name, index(1), {},
               [&](Kernel k) { createWhenZero(b, k.thread, body); });
}

template <typename Base> Value TeamEmitter<Base>::emitTeamMax(Value bits) {
  return isWarpTeam() ? createWarpMax(b, bits)
                      : createBlockMax(b, kernel, bits);
}

//===----------------------------------------------------------------------===//
// Quantize
//===----------------------------------------------------------------------===//

/// Micro groups need threads that walk along K. A transposed source is copied
/// for them; without groups no thread needs to know which row it is in.
void QuantizeToGpu::makeContiguousAlongK() {
  if (!isTransposed || !micro)
    return;
  auto type = cast<MemRefType>(payload.getType());
  Type elementType = getElementTypeOrSelf(source.getType());
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < 2; ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(dim(payload, d));
  copy = memref::AllocOp::create(
      b, MemRefType::get(type.getShape(), elementType), sizes);
  createTransposeKernel(b, addShape("moss_transpose"), source, copy,
                        [](Value x) { return x; });
  source = copy;
  isTransposed = false;
  remark::missed(op.getLoc(), remark::RemarkOpts::name("transposed-copy")
                                  .category("moss-quantize-to-gpu"))
      << "copies the transposed source, because its micro groups lie across "
         "its rows";
}

void QuantizeToGpu::createScratch() {
  if (!scheme.yieldsGlobal())
    return;
  Type i32 = b.getI32Type();
  tensorAmax = memref::AllocOp::create(b, MemRefType::get({}, i32));
  launchSingle("moss_quantize_init", [&] {
    memref::StoreOp::create(b, createConstant(b, i32, int64_t(0)), tensorAmax,
                            ValueRange());
  });
  // Groups in registers are reduced once more, in less time than memory takes.
  if (!isJit() || !micro || registers)
    return;
  auto type = cast<MemRefType>(micro.getType());
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < 2; ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(dim(micro, d));
  groupAmax =
      memref::AllocOp::create(b, MemRefType::get(type.getShape(), i32), sizes);
}

/// One atomic per block, as they take turns: one per warp costs 7 us more on an
/// H200. `bits` may differ between threads.
void QuantizeToGpu::emitAtomicMax(Value bits) {
  Value max = createBlockMax(b, kernel, bits);
  createWhenZero(b, kernel.thread, [&] {
    memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::maxu, max, tensorAmax,
                                ValueRange());
  });
}

/// The amax of a unit, with respect to the tensor's; a group's is stored.
Value QuantizeToGpu::emitUnitAmax(const Unit &unit) {
  Value amax = emitAmax(unit.box);
  if (!micro)
    return amax;
  amax = emitTeamMax(amax);
  if (groupAmax)
    onLeader([&] { memref::StoreOp::create(b, amax, groupAmax, unit.group); });
  return createFiniteOrZero(b, amax);
}

/// Reduce the source as it lies in memory, whether it is transposed or not, to
/// the amax of groups and tensor.
void QuantizeToGpu::emitAmaxKernel() {
  bool wasTransposed = std::exchange(isTransposed, false);
  mapStrips({source});
  Value blocks = registers ? registers->getBlocks() : countBlocks(source);
  launchTeams("moss_quantize_amax", blocks, [&] {
    Value zero = createConstant(b, b.getI32Type(), int64_t(0));
    auto held = [&](ValueRange carried) {
      Value max = carried.front();
      for (Value amax : registers->createAmax())
        max = arith::MaxUIOp::create(b, max, createFiniteOrZero(b, amax));
      return SmallVector<Value>{max};
    };
    auto streamed = [&](ValueRange inits) {
      return forEachUnit(source, inits, [&](Unit unit, ValueRange carried) {
        Value max =
            arith::MaxUIOp::create(b, carried.front(), emitUnitAmax(unit));
        return SmallVector<Value>{max};
      });
    };
    emitAtomicMax(emitWork(zero, held, streamed).front());
  });
  isTransposed = wasTransposed;
}

/// The global scale, within a kernel; one thread of the grid stores a jit one.
Value QuantizeToGpu::emitGlobalScale() {
  if (!isJit())
    return createKnownGlobalScale(b, op);
  Value amax = memref::LoadOp::create(b, tensorAmax, ValueRange());
  Value global = createGlobalScale(b, scheme, amax);
  Value number = arith::AddIOp::create(b, kernel.block, kernel.thread);
  createWhenZero(b, number, [&] {
    memref::StoreOp::create(b, global, op.getGlobal(), ValueRange());
  });
  return global;
}

/// The inverse of a group's micro scale, which is stored; null without groups.
Value QuantizeToGpu::emitGroupScale(const Unit &unit, Value global) {
  if (!micro)
    return {};
  Value amax =
      groupAmax ? memref::LoadOp::create(b, groupAmax, unit.group).getResult()
                : emitTeamMax(emitAmax(unit.box));
  Value scale = createMicroScale(b, scheme, amax, global);
  onLeader([&] { memref::StoreOp::create(b, scale, micro, unit.group); });
  return createMicroInverse(b, scale);
}

/// What a kernel carries on: the largest amax that it has measured, if it does.
SmallVector<Value> QuantizeToGpu::raise(ValueRange carried, Value amax) {
  SmallVector<Value> next;
  if (isMeasuring())
    next.push_back(arith::MaxUIOp::create(b, carried.front(), amax));
  return next;
}

void QuantizeToGpu::emitConvertKernel() {
  mapStrips({source, payload});
  Value blocks = registers ? registers->getBlocks() : countBlocks(payload);
  launchTeams("moss_quantize", blocks, [&] {
    Value global = emitGlobalScale(), inverseGlobal = emitReciprocal(global);
    SmallVector<Value> inits;
    if (isMeasuring())
      inits.push_back(createConstant(b, b.getI32Type(), int64_t(0)));
    auto held = [&](ValueRange carried) {
      registers->convert(registers->createAmax(), global, inverseGlobal);
      return raise(carried,
                   isMeasuring() ? registers->createMeasuredMax() : Value());
    };
    auto streamed = [&](ValueRange inits) {
      return forEachUnit(payload, inits, [&](Unit unit, ValueRange carried) {
        Value inverseMicro = emitGroupScale(unit, global);
        return raise(carried,
                     emitConversion(unit.box, inverseGlobal, inverseMicro));
      });
    };
    SmallVector<Value> results = emitWork(inits, held, streamed);
    if (isMeasuring())
      emitAtomicMax(results.front());
  });
}

/// Raise this thread's amax, in memory of its own that becomes a register, by
/// an element or a vector.
void QuantizeToGpu::emitRaise(Value amax, Value x) {
  Value bits = createMeasured(x);
  if (isa<VectorType>(bits.getType()))
    bits = vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, bits);
  Value old = memref::LoadOp::create(b, amax, ValueRange());
  memref::StoreOp::create(b, arith::MaxUIOp::create(b, old, bits), amax,
                          ValueRange());
}

/// Without micro scales an element needs nothing but the global scale.
void QuantizeToGpu::emitTransposeKernel() {
  Value inverseGlobal, amax;
  SmallVector<Type> shared;
  if (isMeasuring())
    shared.push_back(getBlockMaxType(b));
  createTransposeKernel(
      b, addShape("moss_quantize_transpose"), source, payload,
      [&](Value x) {
        if (amax)
          emitRaise(amax, x);
        return createPayload(b, scheme, x, inverseGlobal, Value());
      },
      [&](Kernel k) {
        kernel = k;
        inverseGlobal = emitReciprocal(emitGlobalScale());
        if (!isMeasuring())
          return;
        Type i32 = b.getI32Type();
        amax = memref::AllocaOp::create(b, MemRefType::get({}, i32));
        memref::StoreOp::create(b, createConstant(b, i32, int64_t(0)), amax,
                                ValueRange());
      },
      [&] {
        if (amax)
          emitAtomicMax(memref::LoadOp::create(b, amax, ValueRange()));
      },
      shared);
}

void QuantizeToGpu::emit() {
  makeContiguousAlongK();
  registers = RegisterGroups::get(b, scheme, source, payload, micro);
  createScratch();
  if (isJit())
    emitAmaxKernel();
  if (isTransposed)
    emitTransposeKernel();
  else
    emitConvertKernel();
  // Only now, since the scale operand may share the buffer.
  if (isMeasuring())
    launchSingle("moss_quantize_finish", [&] {
      Value bits = memref::LoadOp::create(b, tensorAmax, ValueRange());
      Value amax = arith::BitcastOp::create(b, b.getF32Type(), bits);
      memref::StoreOp::create(b, amax, op.getGlobal(), ValueRange());
    });
  for (Value buffer : {tensorAmax, groupAmax, copy})
    if (buffer)
      memref::DeallocOp::create(b, buffer);
}

//===----------------------------------------------------------------------===//
// Dequantize
//===----------------------------------------------------------------------===//

void DequantizeToGpu::emit() {
  mapStrips({payload, op.getInit()});
  launchTeams("moss_dequantize", countBlocks(payload), [&] {
    Value global = loadGlobal();
    forEachUnit(payload, {}, [&](Unit unit, ValueRange) {
      Value scale;
      if (micro)
        scale = memref::LoadOp::create(b, micro, unit.group);
      emitConversion(unit.box, scale, global);
      return SmallVector<Value>();
    });
  });
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

void QuantizeToGpuPass::runOnOperation() {
  WalkResult result = getOperation()->walk([](Operation *op) {
    if (!isa<QuantizeOp, DequantizeOp>(op))
      return WalkResult::advance();
    if (!isa<MemRefType>(op->getOperand(0).getType())) {
      op->emitOpError("on tensors cannot become a kernel; bufferize it first");
      return WalkResult::interrupt();
    }
    if (op->getParentOfType<gpu::LaunchOp>() ||
        op->getParentOfType<gpu::GPUFuncOp>()) {
      op->emitOpError("is in a kernel, but becomes kernels itself; move it to "
                      "the host");
      return WalkResult::interrupt();
    }
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      QuantizeToGpu(quantize).emit();
    else
      DequantizeToGpu(cast<DequantizeOp>(op)).emit();
    op->erase();
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    signalPassFailure();
}
