//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers moss.mma to loops. The operand tiles are decoded once, into f32
// values and, for the emulation, exponents; the loops then run over vectors of
// one step of the matrix unit along K.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/CPU/Passes.h"
#include "moss/CPU/Scratch.h"

namespace mlir::moss {
#define GEN_PASS_DEF_MOSSMMATOLOOPS
#include "moss/CPU/Passes.h.inc"
} // namespace mlir::moss

using namespace mlir;
using namespace mlir::moss;

using arith::CmpIPredicate;

/// Fraction bits that the matrix unit keeps of aligned terms and of sums.
static constexpr int kFractionBits = 13;
/// Clears the fraction bits of an f32 that the matrix unit does not keep.
static constexpr uint32_t kKeptBits = ~0u << (23 - kFractionBits);
/// Exponent of a zero; below that of any product even when the other factor
/// has the largest exponent, and a sum of two fits i8.
static constexpr int kZeroExponent = -64;
/// The smallest exponent of a non-zero product: two subnormal f8E5M2.
static constexpr int kMinProductExponent = -28;
/// The NaN that the matrix unit returns.
static constexpr uint32_t kCanonicalNaN = 0x7fffffff;

namespace {
/// An operand tile in scratch memory.
struct DecodedTile {
  /// M x K f32: the values.
  Value values;
  /// M x K i8: the exponents of the codes, not normalized for subnormals.
  Value exponents;
  /// M x K/32 i1: whether a step has a NaN or an infinity.
  Value specials;
};

/// Scratch memory of a function. Steps of one mma never overlap those of
/// another, so that all share what has the same shape and purpose.
class ScratchPool {
public:
  explicit ScratchPool(FunctionOpInterface function) : function(function) {}

  Value get(OpBuilder &b, StringRef purpose, ArrayRef<int64_t> shape,
            Type elementType) {
    auto key = std::pair(purpose, MemRefType::get(shape, elementType));
    Value &slot = slots[key];
    if (!slot)
      slot = allocateScratch(b, function, shape, elementType);
    return slot;
  }

private:
  FunctionOpInterface function;
  DenseMap<std::pair<StringRef, MemRefType>, Value> slots;
};

/// Lowers one moss.mma.
class MmaLowering {
public:
  MmaLowering(MmaOp op, ScratchPool &pool, MmaArithmetic arithmetic)
      : op(op), pool(pool), arithmetic(arithmetic), b(op.getLoc(), op) {}

  void run();

private:
  DecodedTile decode(Value tile, StringRef name);
  Value decodeExponents(Value codes, Type format);
  Value isSpecial(Value codes, Type format);

  void multiplyFp32(DecodedTile lhs, DecodedTile rhs, Value acc);
  void multiplyEmulated(DecodedTile lhs, DecodedTile rhs, Value acc);
  Value stepSpecial(Value products, Value acc);
  Value stepFinite(Value products, Value exponents, Value acc);

  /// A loop from 0 to `extent`, by `step`; the builder is left inside.
  Value beginLoop(int64_t extent, int64_t step = 1);
  Value loadStep(Value memory, Value row, Value k);
  Value sum(Value vector);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value constI32(uint32_t value) {
    return arith::ConstantOp::create(
        b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value splatI8(int value) {
    auto type = VectorType::get(kMmaStepK, b.getI8Type());
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(type, APInt(8, value, /*isSigned=*/true)));
  }
  /// The f32 number 2^exponent, normal.
  Value powerOfTwo(Value exponent) {
    Value field = arith::AddIOp::create(b, exponent, constI32(127));
    return asF32(arith::ShLIOp::create(b, field, constI32(23)));
  }
  Value asF32(Value bits) {
    return arith::BitcastOp::create(b, b.getF32Type(), bits);
  }
  VectorType stepOf(Type element) {
    return VectorType::get(kMmaStepK, element);
  }

  MmaOp op;
  ScratchPool &pool;
  MmaArithmetic arithmetic;
  ImplicitLocOpBuilder b;
};

struct MmaToLoopsPass : moss::impl::MossMmaToLoopsBase<MmaToLoopsPass> {
  using MossMmaToLoopsBase::MossMmaToLoopsBase;
  void runOnOperation() override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Loops and memory
//===----------------------------------------------------------------------===//

Value MmaLowering::beginLoop(int64_t extent, int64_t step) {
  auto loop = scf::ForOp::create(b, index(0), index(extent), index(step));
  b.setInsertionPointToStart(loop.getBody());
  return loop.getInductionVar();
}

Value MmaLowering::loadStep(Value memory, Value row, Value k) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  return vector::LoadOp::create(b, stepOf(element), memory, ValueRange{row, k});
}

/// Copy a tile value to scratch memory.
static void storeTile(ImplicitLocOpBuilder &b, Value tile, Value memory) {
  Value zero = arith::ConstantIndexOp::create(b, 0);
  vector::TransferWriteOp::create(b, tile, memory, ValueRange{zero, zero},
                                  ArrayRef<bool>{true, true});
}

void MmaLowering::run() {
  VectorType accType = op.getAcc().getType();
  Value acc = pool.get(b, "acc", accType.getShape(), b.getF32Type());
  storeTile(b, op.getAcc(), acc);
  DecodedTile lhs = decode(op.getLhs(), "lhs");
  DecodedTile rhs = decode(op.getRhs(), "rhs");
  if (arithmetic == MmaArithmetic::Emulate)
    multiplyEmulated(lhs, rhs, acc);
  else
    multiplyFp32(lhs, rhs, acc);

  b.setInsertionPointAfter(op);
  Value zero = index(0);
  Value padding = arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f));
  Value result =
      vector::TransferReadOp::create(b, accType, acc, ValueRange{zero, zero},
                                     padding, ArrayRef<bool>{true, true});
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

DecodedTile MmaLowering::decode(Value tile, StringRef name) {
  auto type = cast<VectorType>(tile.getType());
  ArrayRef<int64_t> shape = type.getShape();
  Type format = type.getElementType();
  bool emulate = arithmetic == MmaArithmetic::Emulate;

  Value codes = pool.get(b, name, shape, format);
  DecodedTile decoded;
  decoded.values = pool.get(b, name, shape, b.getF32Type());
  if (emulate) {
    decoded.exponents = pool.get(b, name, shape, b.getI8Type());
    decoded.specials =
        pool.get(b, name, {shape[0], shape[1] / kMmaStepK}, b.getI1Type());
  }
  storeTile(b, tile, codes);

  OpBuilder::InsertionGuard guard(b);
  Value row = beginLoop(shape[0]);
  Value step = beginLoop(shape[1] / kMmaStepK);
  Value k = arith::MulIOp::create(b, step, index(kMmaStepK));
  Value code = loadStep(codes, row, k);
  Value value = arith::ExtFOp::create(b, stepOf(b.getF32Type()), code);
  vector::StoreOp::create(b, value, decoded.values, ValueRange{row, k});
  if (!emulate)
    return decoded;
  Value bits = arith::BitcastOp::create(b, stepOf(b.getI8Type()), code);
  Value magnitude = arith::AndIOp::create(b, bits, splatI8(0x7f));
  vector::StoreOp::create(b, decodeExponents(magnitude, format),
                          decoded.exponents, ValueRange{row, k});
  memref::StoreOp::create(b, isSpecial(magnitude, format), decoded.specials,
                          ValueRange{row, step});
  return decoded;
}

Value MmaLowering::decodeExponents(Value magnitude, Type format) {
  bool isE4M3 = isa<Float8E4M3FNType>(format);
  Value field = arith::ShRUIOp::create(b, magnitude, splatI8(isE4M3 ? 3 : 2));
  // Subnormal numbers have the exponent of the smallest normal ones.
  Value atLeastOne = arith::MaxSIOp::create(b, field, splatI8(1));
  Value exponent =
      arith::SubIOp::create(b, atLeastOne, splatI8(isE4M3 ? 7 : 15));
  Value isZero =
      arith::CmpIOp::create(b, CmpIPredicate::eq, magnitude, splatI8(0));
  return arith::SelectOp::create(b, isZero, splatI8(kZeroExponent), exponent);
}

Value MmaLowering::isSpecial(Value magnitude, Type format) {
  int firstSpecial = isa<Float8E4M3FNType>(format) ? 0x7f : 0x7c;
  Value largest =
      vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, magnitude);
  Value limit = arith::ConstantOp::create(b, b.getI8IntegerAttr(firstSpecial));
  return arith::CmpIOp::create(b, CmpIPredicate::sge, largest, limit);
}

//===----------------------------------------------------------------------===//
// Plain f32
//===----------------------------------------------------------------------===//

/// Add the elements pairwise, in an order that does not depend on the machine
/// (a reduction that may be reassociated would).
Value MmaLowering::sum(Value vector) {
  for (int64_t width = kMmaStepK / 2; width >= 1; width /= 2) {
    auto half = [&](int64_t offset) {
      return vector::ExtractStridedSliceOp::create(
          b, vector, ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{width},
          ArrayRef<int64_t>{1});
    };
    vector = arith::AddFOp::create(b, half(0), half(width));
  }
  return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
}

void MmaLowering::multiplyFp32(DecodedTile lhs, DecodedTile rhs, Value acc) {
  ArrayRef<int64_t> shape = op.getAcc().getType().getShape();
  int64_t extentK = op.getLhs().getType().getDimSize(1);
  VectorType vectorType = stepOf(b.getF32Type());
  Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));

  Value m = beginLoop(shape[0]);
  Value n = beginLoop(shape[1]);
  auto loop = scf::ForOp::create(
      b, index(0), index(extentK), index(kMmaStepK), ValueRange{zeros},
      [&](OpBuilder &, Location, Value k, ValueRange sums) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToEnd(k.getParentBlock());
        Value product = arith::MulFOp::create(b, loadStep(lhs.values, m, k),
                                              loadStep(rhs.values, n, k));
        Value partial = arith::AddFOp::create(b, sums[0], product);
        scf::YieldOp::create(b, partial);
      });
  Value old = memref::LoadOp::create(b, acc, ValueRange{m, n});
  Value result = arith::AddFOp::create(b, old, sum(loop.getResult(0)));
  memref::StoreOp::create(b, result, acc, ValueRange{m, n});
}

//===----------------------------------------------------------------------===//
// The matrix unit's arithmetic
//===----------------------------------------------------------------------===//

void MmaLowering::multiplyEmulated(DecodedTile lhs, DecodedTile rhs,
                                   Value acc) {
  ArrayRef<int64_t> shape = op.getAcc().getType().getShape();
  int64_t extentK = op.getLhs().getType().getDimSize(1);
  Value step = beginLoop(extentK / kMmaStepK);
  Value k = arith::MulIOp::create(b, step, index(kMmaStepK));
  Value m = beginLoop(shape[0]);
  Value n = beginLoop(shape[1]);

  Value old = memref::LoadOp::create(b, acc, ValueRange{m, n});
  Value products = arith::MulFOp::create(b, loadStep(lhs.values, m, k),
                                         loadStep(rhs.values, n, k));
  Value lhsSpecial =
      memref::LoadOp::create(b, lhs.specials, ValueRange{m, step});
  Value rhsSpecial =
      memref::LoadOp::create(b, rhs.specials, ValueRange{n, step});
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), old);
  Value accSpecial = arith::CmpIOp::create(
      b, CmpIPredicate::uge,
      arith::AndIOp::create(b, bits, constI32(0x7fffffff)),
      constI32(0x7f800000));
  Value special = arith::OrIOp::create(
      b, arith::OrIOp::create(b, lhsSpecial, rhsSpecial), accSpecial);

  auto branch = scf::IfOp::create(b, b.getF32Type(), special,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertPoint after = b.saveInsertionPoint();
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, stepSpecial(products, old));
  b.setInsertionPointToStart(branch.elseBlock());
  Value exponents = arith::AddIOp::create(b, loadStep(lhs.exponents, m, k),
                                          loadStep(rhs.exponents, n, k));
  scf::YieldOp::create(b, stepFinite(products, exponents, old));
  b.restoreInsertionPoint(after);
  memref::StoreOp::create(b, branch.getResult(0), acc, ValueRange{m, n});
}

/// A step with a NaN or an infinity among its terms yields one of them, as the
/// f32 sum does, because finite products cannot overflow f32.
Value MmaLowering::stepSpecial(Value products, Value acc) {
  Value total = arith::AddFOp::create(b, sum(products), acc);
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, total, total);
  return arith::SelectOp::create(b, isNaN, asF32(constI32(kCanonicalNaN)),
                                 total);
}

/// Scaled by 2^(13 - top), every term has its kept bits left of the binary
/// point, and the conversion to an integer truncates it toward zero.
Value MmaLowering::stepFinite(Value products, Value exponents, Value acc) {
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  Value topProduct = arith::ExtSIOp::create(
      b, i32,
      vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, exponents));
  Value accBits = arith::BitcastOp::create(b, i32, acc);
  Value field = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, accBits, constI32(23)), constI32(255));
  Value accExponent = arith::SubIOp::create(b, field, constI32(127));
  Value minTop = constI32(kMinProductExponent);
  Value top = arith::MaxSIOp::create(
      b, arith::MaxSIOp::create(b, topProduct, accExponent), minTop);

  Value up = powerOfTwo(arith::SubIOp::create(b, constI32(kFractionBits), top));
  Value aligned = arith::FPToSIOp::create(
      b, stepOf(i32),
      arith::MulFOp::create(b, products,
                            vector::BroadcastOp::create(b, stepOf(f32), up)));
  Value alignedAcc =
      arith::FPToSIOp::create(b, i32, arith::MulFOp::create(b, acc, up));
  Value total = arith::AddIOp::create(
      b, vector::ReductionOp::create(b, vector::CombiningKind::ADD, aligned),
      alignedAcc);

  // The total is below 2^24, so f32 normalizes it exactly.
  auto truncated = [&](Value value) {
    Value bits = arith::BitcastOp::create(b, i32, value);
    return asF32(arith::AndIOp::create(b, bits, constI32(kKeptBits)));
  };
  Value down =
      powerOfTwo(arith::SubIOp::create(b, top, constI32(kFractionBits)));
  Value result = arith::MulFOp::create(
      b, truncated(arith::SIToFPOp::create(b, f32, total)), down);

  // Without a non-zero product the accumulator alone sets the exponent, which
  // can be too small for the multiplications above. Adding +0 makes -0 +0.
  Value hasProduct =
      arith::CmpIOp::create(b, CmpIPredicate::sge, topProduct, minTop);
  Value alone = arith::AddFOp::create(
      b, truncated(acc), arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f)));
  return arith::SelectOp::create(b, hasProduct, result, alone);
}

void MmaToLoopsPass::runOnOperation() {
  getOperation()->walk([&](FunctionOpInterface function) {
    if (function.isExternal())
      return;
    SmallVector<MmaOp> ops;
    function.walk([&](MmaOp op) { ops.push_back(op); });
    ScratchPool pool(function);
    for (MmaOp op : ops)
      MmaLowering(op, pool, arithmetic).run();
  });
}
