//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of scales, shared by every lowering of moss.quantize and
// moss.dequantize, so that all targets compute the same bits.
//
// Scales are derived with integer arithmetic on the bits of FP32 numbers: the
// results are exact, a NaN or an infinity outlasts every maximum, and nothing
// depends on how a target treats subnormals.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_SCALEARITHMETIC_H
#define MOSS_TRANSFORMS_SCALEARITHMETIC_H

#include "moss/IR/Moss.h"

namespace mlir::moss {

/// The f32 magnitude bits from which on a number is not finite.
inline constexpr int64_t kInfinityBits = 0x7f800000;

/// An i32 or f32 constant of `type`, a scalar or a vector.
Value createConstant(ImplicitLocOpBuilder &b, Type type, int64_t value);
Value createConstant(ImplicitLocOpBuilder &b, Type type, double value);

/// The bits of the f32 number that equals the bf16 or f32 `x` (a scalar or a
/// vector). A bf16 number is moved, not converted, which keeps NaN payloads.
Value createBits(ImplicitLocOpBuilder &b, Value x);

/// The bits of |x| as f32. As integers they order like magnitudes, infinity
/// above every finite number and NaN above infinity.
Value createMagnitude(ImplicitLocOpBuilder &b, Value x);

/// The bits of |x| as an integer of its size (i16 for bf16), which order like
/// those of `createMagnitude` and take half their registers if x is bf16.
Value createNarrowMagnitude(ImplicitLocOpBuilder &b, Value x);

/// The f32 bits (i32) of a result of `createNarrowMagnitude`.
Value widenMagnitude(ImplicitLocOpBuilder &b, Value magnitude);

/// `magnitude` if it is finite, and zero otherwise.
Value createFiniteOrZero(ImplicitLocOpBuilder &b, Value magnitude);

/// `magnitude` unless it is NaN, and zero otherwise.
Value createNumberOrZero(ImplicitLocOpBuilder &b, Value magnitude);

/// The global scale of a tensor whose largest magnitude has the bits `amax`
/// (i32): the smallest f32 s >= 2^-126 with amax <= s * fmax; 1 for zero and
/// NaN for an infinity or a NaN.
Value createGlobalScale(ImplicitLocOpBuilder &b, SchemeAttr scheme, Value amax);

/// The global scale of `op`, a memref op whose scheme is not `jit`: 1, or what
/// its scale operand says.
Value createKnownGlobalScale(ImplicitLocOpBuilder &b, QuantizeOp op);

/// The micro scale, of the scheme's micro type, of a group whose largest
/// magnitude has the bits `amax` (i32), under the f32 `global` scale.
Value createMicroScale(ImplicitLocOpBuilder &b, SchemeAttr scheme, Value amax,
                       Value global);

/// The f32 factor that undoes a micro scale; NaN if the scale is NaN.
Value createMicroInverse(ImplicitLocOpBuilder &b, Value micro);

/// The payload of the bf16 or f32 `x` (a scalar or a vector): scaled, clamped
/// to the range of the element type, because the conversion does not saturate,
/// and converted. `inverseMicro` is null if the scheme has no micro scales.
Value createPayload(ImplicitLocOpBuilder &b, SchemeAttr scheme, Value x,
                    Value inverseGlobal, Value inverseMicro);

/// The two factors that take a payload element to the value it stands for, as
/// `(payload * first) * second`. Two are needed because the product of the
/// scales may leave the range of f32 where the value does not.
std::pair<Value, Value> createDequantFactors(ImplicitLocOpBuilder &b,
                                             Value micro, Value global);

/// The value, of `type` (bf16 or f32), of a payload element or vector of them
/// under the factors from `createDequantFactors`.
Value createDequantizedElement(ImplicitLocOpBuilder &b, Value payload,
                               Value first, Value second, Type type);

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_SCALEARITHMETIC_H
