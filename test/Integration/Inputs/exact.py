# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact arithmetic on FP8, BF16 and FP32 numbers, and the scales of moss.quantize.

Everything is integers and fractions, and FP8 numbers are found by searching the
list of all of them, so nothing here shares a method with the compiler.
"""

import bisect
import functools
import math
import struct
from fractions import Fraction

FORMATS = {
    # name: mantissa bits, bias, greatest finite code
    "f8E4M3FN": (3, 7, 0x7E),
    "f8E5M2": (2, 15, 0x7B),
}
NAN8 = 0x7F


# Floating-point numbers ------------------------------------------------------


def f32_from_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def f32_bits(x):
    """The bits of a double rounded to f32, ties to even."""
    try:
        return struct.unpack("<I", struct.pack("<f", x))[0]
    except OverflowError:
        return 0x7F800000 if x > 0 else 0xFF800000


def f32(x):
    return f32_from_bits(f32_bits(x))


def is_finite(x):
    return x - x == 0


def multiply(x, y):
    """The f32 product. A product of two f32 numbers is exact as a double."""
    return f32(x * y)


def reciprocal(x):
    """1 / x in f32. The double in between has more than twice the digits plus
    two, so rounding twice is harmless."""
    if x != x:
        return x
    return f32(1.0 / x) if x else float("inf")


def round_fraction(x, digits, least_exponent):
    """A rational rounded to a binary format, ties to even."""
    if x == 0:
        return Fraction(0)
    exponent = floor_log2(abs(x))
    ulp = Fraction(2) ** (max(exponent, least_exponent) - digits + 1)
    return round(x / ulp) * ulp


def floor_log2(x):
    n = x.numerator.bit_length() - x.denominator.bit_length()
    return n if Fraction(2) ** n <= x else n - 1


@functools.lru_cache(None)
def finite_values(name):
    """All magnitudes of an FP8 format in ascending order; the index is the
    code."""
    mantissa_bits, bias, last = FORMATS[name]
    values = []
    for code in range(last + 1):
        exponent, mantissa = code >> mantissa_bits, code % (1 << mantissa_bits)
        if exponent == 0:
            exponent = 1
        else:
            mantissa += 1 << mantissa_bits
        values.append(mantissa * 2.0 ** (exponent - bias - mantissa_bits))
    return values


def encode(name, x):
    """The FP8 code of an f32 number: nearest, ties to even, saturating."""
    if x != x:
        return NAN8
    sign = 0x80 if math.copysign(1.0, x) < 0 else 0
    return sign | encode_magnitude(name, abs(x))


@functools.lru_cache(None)
def encode_magnitude(name, x):
    values = finite_values(name)
    x = min(x, values[-1])
    above = bisect.bisect_left(values, x)
    if values[above] == x:
        return above
    low, high = x - values[above - 1], values[above] - x
    if low != high:
        return above - 1 if low < high else above
    return above - 1 if above % 2 else above


# Scales ----------------------------------------------------------------------


def round_up_f32(x):
    """The smallest normal f32 number that is not below the rational x."""
    ulp = Fraction(2) ** (max(floor_log2(x), -126) - 23)
    up = -(-x // ulp) * ulp
    return float(min(max(up, Fraction(2) ** -126), Fraction(f32_from_bits(0x7F7FFFFF))))


def global_from_amax(amax, fmax):
    if not is_finite(amax):
        return float("nan")
    return round_up_f32(Fraction(amax) / fmax) if amax else 1.0


@functools.lru_cache(None)
def micro_exponent(amax, s, name, rounding):
    fmax = Fraction(finite_values(name)[-1])
    amax, s = Fraction(amax), Fraction(s)
    if rounding == "ceil":
        ratio = amax / (s * fmax)
        e = floor_log2(ratio)
        return e if Fraction(2) ** e == ratio else e + 1
    if rounding == "nearest":
        ratio = amax / (s * fmax)
        e = floor_log2(ratio)
        # log2(ratio) < e + 1/2, squared.
        return e if ratio**2 < Fraction(2) ** (2 * e + 1) else e + 1
    return floor_log2(amax / s) - floor_log2(fmax)


def micro_scale(case, amax, s):
    """The stored micro scale and its value."""
    if not is_finite(amax):
        return (255, float("nan")) if case.micro == "f8E8M0FNU" else (None, float("nan"))
    if case.micro == "f32":
        fmax = Fraction(finite_values(case.element)[-1])
        m = round_up_f32(Fraction(amax) / (Fraction(s) * fmax)) if amax else 1.0
        return f32_bits(m), m
    e = micro_exponent(amax, s, case.element, case.rounding) if amax else -127
    e = max(-127, min(127, e))
    return e + 127, 2.0**e
