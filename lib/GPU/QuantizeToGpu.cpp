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
// row, if there are no groups) after another. Reductions stay within the team;
// what concerns the whole tensor goes through an atomic maximum. A transposed
// source goes through tiles in shared memory, so that reads and writes are both
// coalesced.
//
//===----------------------------------------------------------------------===//

#include "TransposeTiles.h"
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
  /// Launch a kernel whose teams visit every group of the payload, or else
  /// every row of `matrix`. `prologue` runs once per thread and returns the
  /// initial carried values, `body` per unit, `epilogue` once at the end.
  void launchTeams(
      StringRef name, Value matrix, function_ref<SmallVector<Value>()> prologue,
      function_ref<SmallVector<Value>(Unit, ValueRange)> body,
      function_ref<void(ValueRange)> epilogue = [](ValueRange) {});
  /// The name of a kernel that works on the whole payload. Profilers show it.
  std::string addShape(StringRef name) {
    ArrayRef<int64_t> shape = cast<MemRefType>(payload.getType()).getShape();
    return (name + "_" + getShapeName(shape) + "_kernel").str();
  }
  /// Launch a kernel of one thread.
  void launchSingle(StringRef name, function_ref<void()> body);

  Value emitWarpMax(Value bits) {
    // gpu.subgroup_reduce has a lowering to this instruction for the signed
    // maximum only, and only by an option of the conversion.
    Value allLanes = createConstant(b, b.getI32Type(), int64_t(-1));
    return NVVM::ReduxOp::create(b, bits.getType(), bits, NVVM::ReduxKind::UMAX,
                                 allLanes);
  }
  /// The maximum over the team, known to all of its threads.
  Value emitTeamMax(Value bits);
  /// Run `body` on one thread of the team.
  void onLeader(function_ref<void()> body) { onLane(strips.lane, body); }
  void onLane(Value lane, function_ref<void()> body);
  bool isWarpTeam() const { return strips.lanes == kWarpSize; }

  Kernel kernel;

private:
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
  Value emitGroupScale(const Unit &unit, Value global);
  void emitAtomicMax(Value bits);
  void emitRaise(Value amax, Value x);

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
  strips.width = getVectorWidth(memrefs);
  // Vectors must not leave lanes idle, nor straddle groups.
  while (strips.width > 1 && groupK != 0 &&
         (groupK % strips.width != 0 || groupK < strips.width * strips.lanes))
    strips.width /= 2;
  strips.isAligned = true;
  strips.isVectorizable =
      strips.width > 1 ? createIsAligned(b, memrefs, strips.width) : Value();
}

template <typename Base>
void TeamEmitter<Base>::launchTeams(
    StringRef name, Value matrix, function_ref<SmallVector<Value>()> prologue,
    function_ref<SmallVector<Value>(Unit, ValueRange)> body,
    function_ref<void(ValueRange)> epilogue) {
  Value rows = dim(micro ? micro : matrix, 0);
  Value columns = micro ? dim(micro, 1) : index(1);
  Value units = arith::MulIOp::create(b, rows, columns);
  int64_t teams = kBlockSize / strips.lanes;
  SmallVector<Type> shared;
  if (!isWarpTeam())
    shared.push_back(
        getSharedType(b, {kBlockSize / kWarpSize}, b.getI32Type()));
  createKernel(
      b, addShape(name), createCeilDiv(b, units, teams), shared, [&](Kernel k) {
        kernel = k;
        strips.lane = isWarpTeam() ? k.lane : k.thread;
        Value first = arith::MulIOp::create(b, k.block, index(teams));
        if (isWarpTeam())
          first = arith::AddIOp::create(b, first, k.warp);
        Value step = arith::MulIOp::create(b, k.blocks, index(teams));
        SmallVector<Value> carried =
            loop(first, units, step, prologue(), [&](Value unit, ValueRange c) {
              if (!micro)
                return body({getRowBox(unit, matrix), {}}, c);
              Value i = arith::DivUIOp::create(b, unit, columns);
              Value k = arith::RemUIOp::create(b, unit, columns);
              return body({getGroupBox(i, k), {i, k}}, c);
            });
        epilogue(carried);
      });
  strips.lane = {};
}

template <typename Base>
void TeamEmitter<Base>::launchSingle(StringRef name,
                                     function_ref<void()> body) {
  createKernel(b, name, index(1), {},
               [&](Kernel k) { onLane(k.thread, body); });
}

template <typename Base>
void TeamEmitter<Base>::onLane(Value lane, function_ref<void()> body) {
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, index(0));
  auto branch = scf::IfOp::create(b, isFirst);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

template <typename Base> Value TeamEmitter<Base>::emitTeamMax(Value bits) {
  Value max = emitWarpMax(bits);
  if (isWarpTeam())
    return max;
  Value shared = kernel.shared.front();
  onLane(kernel.lane,
         [&] { memref::StoreOp::create(b, max, shared, kernel.warp); });
  gpu::BarrierOp::create(b);
  for (int64_t warp = 0; warp < kBlockSize / kWarpSize; ++warp) {
    Value other = memref::LoadOp::create(b, shared, index(warp));
    max = arith::MaxUIOp::create(b, max, other);
  }
  // The next unit writes the same words.
  gpu::BarrierOp::create(b);
  return max;
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
  if (!isJit() || !micro)
    return;
  auto type = cast<MemRefType>(micro.getType());
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < 2; ++d)
    if (type.isDynamicDim(d))
      sizes.push_back(dim(micro, d));
  groupAmax =
      memref::AllocOp::create(b, MemRefType::get(type.getShape(), i32), sizes);
}

/// One atomic per warp; `bits` may differ between its lanes.
void QuantizeToGpu::emitAtomicMax(Value bits) {
  Value max = emitWarpMax(bits);
  onLane(kernel.lane, [&] {
    memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::maxu, max, tensorAmax,
                                ValueRange());
  });
}

/// Reduce the source as it lies in memory, whether it is transposed or not, to
/// the amax of groups and tensor.
void QuantizeToGpu::emitAmaxKernel() {
  bool wasTransposed = std::exchange(isTransposed, false);
  mapStrips({source});
  launchTeams(
      "moss_quantize_amax", source,
      [&] {
        return SmallVector<Value>{
            createConstant(b, b.getI32Type(), int64_t(0))};
      },
      [&](Unit unit, ValueRange carried) {
        Value amax = emitAmax(unit.box);
        if (micro) {
          amax = emitTeamMax(amax);
          onLeader(
              [&] { memref::StoreOp::create(b, amax, groupAmax, unit.group); });
          amax = createFiniteOrZero(b, amax);
        }
        Value max = arith::MaxUIOp::create(b, carried.front(), amax);
        return SmallVector<Value>{max};
      },
      [&](ValueRange carried) { emitAtomicMax(carried.front()); });
  isTransposed = wasTransposed;
}

/// The global scale, within a kernel; one thread of the grid stores a jit one.
Value QuantizeToGpu::emitGlobalScale() {
  if (!isJit())
    return createKnownGlobalScale(b, op);
  Value amax = memref::LoadOp::create(b, tensorAmax, ValueRange());
  Value global = createGlobalScale(b, scheme, amax);
  Value number = arith::AddIOp::create(b, kernel.block, kernel.thread);
  onLane(number, [&] {
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

void QuantizeToGpu::emitConvertKernel() {
  mapStrips({source, payload});
  Value global, inverseGlobal;
  launchTeams(
      "moss_quantize", payload,
      [&] {
        global = emitGlobalScale();
        inverseGlobal = emitReciprocal(global);
        SmallVector<Value> carried;
        if (isMeasuring())
          carried.push_back(createConstant(b, b.getI32Type(), int64_t(0)));
        return carried;
      },
      [&](Unit unit, ValueRange carried) {
        Value inverseMicro = emitGroupScale(unit, global);
        Value amax = emitConversion(unit.box, inverseGlobal, inverseMicro);
        SmallVector<Value> next;
        if (amax)
          next.push_back(arith::MaxUIOp::create(b, carried.front(), amax));
        return next;
      },
      [&](ValueRange carried) {
        if (isMeasuring())
          emitAtomicMax(carried.front());
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
      });
}

void QuantizeToGpu::emit() {
  makeContiguousAlongK();
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
  Value global;
  launchTeams(
      "moss_dequantize", payload,
      [&] {
        global = loadGlobal();
        return SmallVector<Value>();
      },
      [&](Unit unit, ValueRange) {
        Value scale;
        if (micro)
          scale = memref::LoadOp::create(b, micro, unit.group);
        emitConversion(unit.box, scale, global);
        return SmallVector<Value>();
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
