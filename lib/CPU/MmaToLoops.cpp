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

/// Exponent of a zero; below that of any product even when the other factor
/// has the largest exponent.
static constexpr int kZeroExponent = -512;
/// The smallest exponent that terms are aligned to, that of the smallest bf16.
static constexpr int kMinTop = -133;
/// The smallest exponent of an f32.
static constexpr int kMinExponent = -126;
/// Fraction bits of f32 and f64, and the exponent of f32's last bit.
static constexpr int kF32FractionBits = 23, kF64FractionBits = 52;
static constexpr int kF32LastBit = kMinExponent - kF32FractionBits;
/// The NaN that the matrix unit returns.
static constexpr uint32_t kCanonicalNaN = 0x7fffffff;

namespace {
/// How the matrix unit adds products of operands of a type: the fraction bits
/// that it keeps of aligned terms, and of sums.
struct UnitPrecision {
  int termBits, sumBits;
};

/// The codes of a format of operands.
struct Format {
  int fractionBits, bias;
  /// The first code without sign that is an infinity or a NaN.
  int firstSpecial;
};

/// An operand tile in scratch memory.
struct DecodedTile {
  /// M x K: the values, f32 or (for the emulation, where their products must be
  /// exact and in range) f64.
  Value values;
  /// M x K i16: the exponents of the codes, not normalized for subnormals.
  Value exponents;
  /// M x steps i1: whether a step has a NaN or an infinity.
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
      : op(op), pool(pool), arithmetic(arithmetic), b(op.getLoc(), op),
        stepK(std::min(getMmaStepK(op.getLhs().getType().getElementType()),
                       op.getLhs().getType().getDimSize(1))) {}

  void run();

private:
  DecodedTile decode(Value tile, StringRef name);
  Value decodeExponents(Value magnitude, Format format);
  Value isSpecial(Value magnitude, Format format);

  void multiplyFp32(DecodedTile lhs, DecodedTile rhs, Value acc);
  void multiplyEmulated(DecodedTile lhs, DecodedTile rhs, Value acc);
  Value stepSpecial(Value products, Value acc);
  Value findTop(Value exponents, Value acc);
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
  /// A code, or a number for arithmetic with codes, in all lanes.
  Value splat(Value like, int64_t value) {
    auto type = cast<VectorType>(like.getType());
    return arith::ConstantOp::create(
        b,
        DenseElementsAttr::get(type, APInt(type.getElementTypeBitWidth(), value,
                                           /*isSigned=*/true)));
  }
  /// The f64 number 2^exponent, normal, of an i32.
  Value powerOfTwo(Value exponent) {
    Value field = arith::ExtSIOp::create(
        b, b.getI64Type(), arith::AddIOp::create(b, exponent, constI32(1023)));
    Value bits = arith::ShLIOp::create(b, field, constI64(kF64FractionBits));
    return arith::BitcastOp::create(b, b.getF64Type(), bits);
  }
  Value constI64(uint64_t value) {
    return arith::ConstantOp::create(
        b, b.getI64IntegerAttr(static_cast<int64_t>(value)));
  }
  Value asF32(Value bits) {
    return arith::BitcastOp::create(b, b.getF32Type(), bits);
  }
  Value toF64(Value value) {
    return arith::ExtFOp::create(b, b.getF64Type(), value);
  }
  /// The integer part of an f64 that fits 64 bits, as an f64.
  Value truncate(Value value) {
    return arith::SIToFPOp::create(
        b, b.getF64Type(), arith::FPToSIOp::create(b, b.getI64Type(), value));
  }
  Type getValueType() {
    return arithmetic == MmaArithmetic::Emulate ? Type(b.getF64Type())
                                                : Type(b.getF32Type());
  }
  VectorType stepOf(Type element) { return VectorType::get(stepK, element); }

  MmaOp op;
  ScratchPool &pool;
  MmaArithmetic arithmetic;
  ImplicitLocOpBuilder b;
  /// Elements of K that the matrix unit takes in one step. Half a step is one
  /// whose other half is zeros, which add nothing.
  int64_t stepK;
};

struct MmaToLoopsPass : moss::impl::MossMmaToLoopsBase<MmaToLoopsPass> {
  using MossMmaToLoopsBase::MossMmaToLoopsBase;
  void runOnOperation() override;
};
} // namespace

/// MMA-Sim (arXiv 2511.10909), for wgmma with an f32 accumulator.
static UnitPrecision getUnitPrecision(Type elementType) {
  if (elementType.isBF16())
    return {25, 23};
  return {13, 13};
}

static Format getFormat(Type elementType) {
  if (elementType.isBF16())
    return {7, 127, 0x7f80};
  return isa<Float8E4M3FNType>(elementType) ? Format{3, 7, 0x7f}
                                            : Format{2, 15, 0x7c};
}

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
  Type elementType = type.getElementType();
  Format format = getFormat(elementType);
  bool emulate = arithmetic == MmaArithmetic::Emulate;

  Value codes = pool.get(b, name, shape, elementType);
  DecodedTile decoded;
  decoded.values = pool.get(b, name, shape, getValueType());
  if (emulate) {
    decoded.exponents = pool.get(b, name, shape, b.getI16Type());
    decoded.specials =
        pool.get(b, name, {shape[0], shape[1] / stepK}, b.getI1Type());
  }
  storeTile(b, tile, codes);

  OpBuilder::InsertionGuard guard(b);
  Value row = beginLoop(shape[0]);
  Value step = beginLoop(shape[1] / stepK);
  Value k = arith::MulIOp::create(b, step, index(stepK));
  Value code = loadStep(codes, row, k);
  Value value = arith::ExtFOp::create(b, stepOf(b.getF32Type()), code);
  if (emulate)
    value = arith::ExtFOp::create(b, stepOf(b.getF64Type()), value);
  vector::StoreOp::create(b, value, decoded.values, ValueRange{row, k});
  if (!emulate)
    return decoded;
  unsigned width = elementType.getIntOrFloatBitWidth();
  Value bits =
      arith::BitcastOp::create(b, stepOf(b.getIntegerType(width)), code);
  Value magnitude =
      arith::AndIOp::create(b, bits, splat(bits, llvm::maxIntN(width)));
  vector::StoreOp::create(b, decodeExponents(magnitude, format),
                          decoded.exponents, ValueRange{row, k});
  memref::StoreOp::create(b, isSpecial(magnitude, format), decoded.specials,
                          ValueRange{row, step});
  return decoded;
}

Value MmaLowering::decodeExponents(Value magnitude, Format format) {
  VectorType type = stepOf(b.getI16Type());
  if (magnitude.getType() != type)
    magnitude = arith::ExtUIOp::create(b, type, magnitude);
  Value field = arith::ShRUIOp::create(b, magnitude,
                                       splat(magnitude, format.fractionBits));
  // Subnormal numbers have the exponent of the smallest normal ones.
  Value atLeastOne = arith::MaxSIOp::create(b, field, splat(field, 1));
  Value exponent =
      arith::SubIOp::create(b, atLeastOne, splat(field, format.bias));
  Value isZero = arith::CmpIOp::create(b, CmpIPredicate::eq, magnitude,
                                       splat(magnitude, 0));
  return arith::SelectOp::create(b, isZero, splat(field, kZeroExponent),
                                 exponent);
}

Value MmaLowering::isSpecial(Value magnitude, Format format) {
  Value largest =
      vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, magnitude);
  Value limit = arith::ConstantOp::create(
      b, b.getIntegerAttr(largest.getType(), format.firstSpecial));
  return arith::CmpIOp::create(b, CmpIPredicate::sge, largest, limit);
}

//===----------------------------------------------------------------------===//
// Plain f32
//===----------------------------------------------------------------------===//

/// Add the elements pairwise, in an order that does not depend on the machine
/// (a reduction that may be reassociated would).
Value MmaLowering::sum(Value vector) {
  for (int64_t width = stepK / 2; width >= 1; width /= 2) {
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
      b, index(0), index(extentK), index(stepK), ValueRange{zeros},
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
  Value step = beginLoop(extentK / stepK);
  Value k = arith::MulIOp::create(b, step, index(stepK));
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
/// f64 sum does, because finite products cannot overflow f64.
Value MmaLowering::stepSpecial(Value products, Value acc) {
  Value total = arith::AddFOp::create(b, sum(products), toF64(acc));
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, total, total);
  return arith::SelectOp::create(
      b, isNaN, asF32(constI32(kCanonicalNaN)),
      arith::TruncFOp::create(b, b.getF32Type(), total));
}

/// The exponent that the terms are aligned to, an i32: the largest of the
/// products and the accumulator, but at least kMinTop. Zeros do not count,
/// whatever the other factor. Both were measured; MMA-Sim has -126 for the
/// least, and counts zeros.
Value MmaLowering::findTop(Value exponents, Value acc) {
  Type i32 = b.getI32Type();
  Value topProduct = arith::ExtSIOp::create(
      b, i32,
      vector::ReductionOp::create(b, vector::CombiningKind::MAXSI, exponents));
  Value bits = arith::BitcastOp::create(b, i32, acc);
  Value field = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, bits, constI32(kF32FractionBits)),
      constI32(255));
  // Subnormal numbers have the exponent of the smallest normal ones.
  Value accExponent = arith::SubIOp::create(
      b, arith::MaxSIOp::create(b, field, constI32(1)), constI32(127));
  Value isZero = arith::CmpFOp::create(
      b, arith::CmpFPredicate::OEQ, acc,
      arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f)));
  accExponent =
      arith::SelectOp::create(b, isZero, constI32(kZeroExponent), accExponent);
  return arith::MaxSIOp::create(
      b, arith::MaxSIOp::create(b, topProduct, accExponent), constI32(kMinTop));
}

/// Scaled by 2^(termBits - top), every term has its kept bits left of the
/// binary point, and the conversion to an integer truncates it toward zero. The
/// products' integers sum to less than 2^31: 16 products of significands below
/// 255/128 with 25 fraction bits.
Value MmaLowering::stepFinite(Value products, Value exponents, Value acc) {
  Type i32 = b.getI32Type(), f64 = b.getF64Type();
  UnitPrecision precision =
      getUnitPrecision(op.getLhs().getType().getElementType());
  Value top = findTop(exponents, acc);
  Value termBits = constI32(precision.termBits);
  Value up = powerOfTwo(arith::SubIOp::create(b, termBits, top));
  Value aligned = arith::FPToSIOp::create(
      b, stepOf(i32),
      arith::MulFOp::create(b, products,
                            vector::BroadcastOp::create(b, stepOf(f64), up)));
  Value ofProducts = arith::SIToFPOp::create(
      b, f64,
      vector::ReductionOp::create(b, vector::CombiningKind::ADD, aligned));
  Value ofAcc = truncate(arith::MulFOp::create(b, toF64(acc), up));
  Value total = arith::AddFOp::create(b, ofProducts, ofAcc);

  // What is below the last bit of an f32 is cut, then what the sum does not
  // keep. The rest is exact in f32, or overflows.
  Value unit = arith::SubIOp::create(b, top, termBits);
  Value kept = arith::MaxSIOp::create(b, unit, constI32(kF32LastBit));
  total = truncate(arith::MulFOp::create(
      b, total, powerOfTwo(arith::SubIOp::create(b, unit, kept))));
  Value bits = arith::AndIOp::create(
      b, arith::BitcastOp::create(b, b.getI64Type(), total),
      constI64(~uint64_t{0} << (kF64FractionBits - precision.sumBits)));
  Value significand = arith::BitcastOp::create(b, f64, bits);
  return arith::TruncFOp::create(
      b, b.getF32Type(),
      arith::MulFOp::create(b, significand, powerOfTwo(kept)));
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
