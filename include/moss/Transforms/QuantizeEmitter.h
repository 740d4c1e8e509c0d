//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emitters of the loops over the groups and elements of a matrix, shared by the
// lowerings of moss.quantize and moss.dequantize to loops and to kernels.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_QUANTIZEEMITTER_H
#define MOSS_TRANSFORMS_QUANTIZEEMITTER_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moss/IR/Moss.h"

namespace mlir::moss {

/// A box of a matrix [outer, K].
struct Box {
  Value rowBegin, rowEnd, kBegin, kEnd;
};

/// How the elements of a row are shared out: in vectors of `width`, as far as
/// there are full ones, then one at a time, to `lanes` threads in turn.
struct StripMapping {
  int64_t width = 1;
  /// Whether vectors are aligned to their size.
  bool isAligned = false;
  /// Whether vectors may be used at all (i1), if only known at run time.
  Value isVectorizable;
  /// The number of threads and the number of this one; null for one thread.
  int64_t lanes = 1;
  Value lane;
};

/// Emits loops over the groups and elements of one matrix.
class LoopEmitter {
public:
  LoopEmitter(Operation *op, SchemeAttr scheme, Value payload, Value micro);

protected:
  /// The body of a loop: takes the induction variable and the carried values,
  /// returns the next ones.
  using LoopBody = function_ref<SmallVector<Value>(Value, ValueRange)>;
  /// The body of a loop over strips: takes the row, the position along K, the
  /// number of elements (1 for a scalar) and the carried values.
  using StripBody =
      function_ref<SmallVector<Value>(Value, Value, int64_t, ValueRange)>;

  Value index(int64_t value);
  Value dim(Value memref, int64_t d);
  SmallVector<Value> loop(Value begin, Value end, Value step, ValueRange inits,
                          LoopBody body);
  /// The elements of the micro group with the given index.
  Box getGroupBox(Value i, Value k);
  SmallVector<Value> forEachStrip(Box box, ValueRange inits, StripBody body);
  Value load(Value memref, ValueRange indices, int64_t width);
  void store(Value value, Value memref, ValueRange indices, int64_t width);

  ImplicitLocOpBuilder b;
  SchemeAttr scheme;
  Value payload, micro;
  StripMapping strips;

private:
  std::pair<Value, Value> getRange(Value group, int64_t size, Value extent);
  /// Loads and stores vectors aligned to their size if the strips are.
  llvm::MaybeAlign getAlignment(Value memref, int64_t width);
};

/// Emits the parts of a quantization.
class QuantizeEmitter : public LoopEmitter {
public:
  explicit QuantizeEmitter(QuantizeOp op);

protected:
  /// Whether the amax of what is converted is measured on the way.
  bool isMeasuring() { return scheme.getGlobal() == GlobalScale::Delayed; }
  Value loadSource(Value row, Value k, int64_t width);
  /// The bits (i32) of the largest magnitude in this thread's part of a box.
  Value emitAmax(Box box);
  /// Convert this thread's part of a box. Returns the bits of its amax as
  /// `createMeasured` counts it, or null if the op does not measure.
  Value emitConversion(Box box, Value inverseGlobal, Value inverseMicro);
  /// The bits of an element's magnitude as an amax that is measured counts it:
  /// a NaN as zero.
  Value createMeasured(Value x);
  Value emitReciprocal(Value x);

  QuantizeOp op;
  Value source;
  /// Whether the source is [K, outer].
  bool isTransposed;

private:
  /// An amax that a loop over strips carries is a scalar and, where strips are
  /// vectors, a vector.
  SmallVector<Value> createAmaxInits();
  SmallVector<Value> raiseAmax(ValueRange carried, Value bits, int64_t width);
  Value reduceAmax(ValueRange carried);
};

/// Emits the parts of a dequantization.
class DequantizeEmitter : public LoopEmitter {
public:
  explicit DequantizeEmitter(DequantizeOp op);

protected:
  /// The global scale; null if it is 1.
  Value loadGlobal();
  /// Convert this thread's part of a box under a micro scale, if not null.
  void emitConversion(Box box, Value scale, Value global);

  DequantizeOp op;
};

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_QUANTIZEEMITTER_H
