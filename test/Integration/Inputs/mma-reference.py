"""What the CPU twin must give, to the bit, in exact integer arithmetic.

Prints the f32 bits (as signed 32-bit integers, a line each) of A B^T for codes
A [M, K] and B [N, K] that are hashes of their position and a seed, under the
rule of Hopper's matrix unit: in steps of 32 along K (16 for BF16), the products
and the accumulator are aligned to the largest exponent among them, cut toward
zero at 13 (25) fraction bits and added; the normalized sum is cut to 13 (23)
fraction bits.

With --scale, every element is then rescaled as moss.rescale says: by scalars,
and by E8M0 codes of rows and columns that are hashes, too.
"""

import argparse
import math
import struct

# Numbers are integers, in units of 2^-UNIT for codes and of their square for
# products and sums.
UNIT = 140
# fraction bits, exponent bias, first code without sign that is not finite, sign
FORMATS = {"e4m3": (3, 7, 0x7F, 0x80), "e5m2": (2, 15, 0x7C, 0x80), "bf16": (7, 127, 0x7F80, 0x8000)}
# terms of a step along K, fraction bits of aligned terms, and of a sum
FP8_UNIT, BF16_UNIT = (32, 13, 13), (16, 25, 23)
# The smallest exponent of an f32, and the smallest that terms are aligned to.
MIN_EXPONENT, MIN_TOP = -126, -133
NAN, INF = float("nan"), float("inf")


def decode(code, name):
    """The value of a code, and its exponent (None for a zero)."""
    fraction_bits, bias, first_special, sign_bit = FORMATS[name]
    magnitude, sign = code & sign_bit - 1, -1 if code & sign_bit else 1
    if magnitude >= first_special:
        is_infinity = name != "e4m3" and magnitude == first_special
        return (sign * INF if is_infinity else NAN), None
    field, fraction = magnitude >> fraction_bits, magnitude % (1 << fraction_bits)
    exponent = max(field, 1) - bias
    significand = fraction + ((1 << fraction_bits) if field else 0)
    value = sign * significand << (exponent - fraction_bits + UNIT)
    return value, (exponent if significand else None)


def cut(value, exponent, bits):
    """Cut toward zero at `bits` fraction bits of 2^exponent."""
    shift = exponent - bits + 2 * UNIT
    magnitude = abs(value) >> shift << shift
    return magnitude if value > 0 else -magnitude


def exponent_of(value):
    """The exponent of a number as an f32."""
    return max(abs(value).bit_length() - 1 - 2 * UNIT, MIN_EXPONENT)


def to_float(value):
    return value if is_special(value) else value / (1 << 2 * UNIT)


def f32(value):
    """Round to the nearest f32."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return INF if value > 0 else -INF


def is_special(value):
    return isinstance(value, float) and (value != value or abs(value) == INF)


def step(acc, pairs, unit):
    """One step: pairs of decoded (value, exponent)."""
    specials = [v for pair in pairs for v, _ in pair if is_special(v)]
    if specials or is_special(acc):
        total = to_float(acc)
        for (a, _), (b, _) in pairs:
            total += float(a) * float(b)
        return total
    _, term_bits, sum_bits = unit
    terms = [(a * b, ea + eb) for (a, ea), (b, eb) in pairs if a and b]
    if acc:
        terms.append((acc, exponent_of(acc)))
    top = max([MIN_TOP, *(exponent for _, exponent in terms)])
    total = sum(cut(value, top, term_bits) for value, _ in terms)
    total = cut(total, exponent_of(total), sum_bits)
    if exponent_of(total) > 127:
        return INF if total > 0 else -INF
    return total


def dot(row, col, promote, unit):
    """Sum over K; `promote` > 0 adds partial sums into f32 so often."""
    zero, width = (0, None), unit[0]
    padding = [zero] * (-len(row) % width)
    pairs = list(zip(row + padding, col + padding))
    total, acc = 0.0, 0
    for k in range(0, len(pairs), width):
        acc = step(acc, pairs[k : k + width], unit)
        if promote and (k + width) % promote == 0:
            total, acc = f32(total + to_float(acc)), 0
    return f32(total + to_float(acc)) if promote else to_float(acc)


def hashed(position):
    return position * 2654435761 % 2**32 >> 13


def rescale(value, scalars, row, col):
    """`row` and `col` are E8M0 codes, or None."""
    significand, exponent = 1.0, 0
    for scalar in scalars:
        if scalar:
            fraction, e = math.frexp(f32(scalar))
            significand, exponent = f32(significand * 2 * fraction), exponent + e - 1
        else:
            significand *= scalar
    for code in (row, col):
        if code is not None:
            significand *= NAN if code == 255 else 1.0
            exponent += code - 127
    first = min(max(exponent, -126), 125)
    second = min(max(exponent - first, -126), 126)
    return f32(f32(value * (significand * 2.0**first)) * 2.0**second)


def scale_code(position, seed, low, count):
    """An E8M0 code from `low` on."""
    return low + hashed(position + seed) % count


def codes(rows, columns, seed, name, keep_specials):
    """Decoded codes, made of one byte, or of two of which neither is a NaN of E4M3."""
    width = FORMATS[name][3].bit_length() // 8
    first_special = FORMATS[name][2] >> 8 * (width - 1)

    def one(position):
        code = hashed(position + seed) & 0xFF
        return 0 if not keep_specials and code & 0x7F >= first_special else code

    result = []
    for i in range(rows):
        data = bytes(one(position) for position in range(i * columns * width, (i + 1) * columns * width))
        result.append([decode(int.from_bytes(data[j : j + width], "little"), name)
                       for j in range(0, len(data), width)])
    return result


def bits(value):
    if value != value:
        return str(0x7FFFFFFF)
    return str(struct.unpack("i", struct.pack("f", value))[0])


def main():
    parser = argparse.ArgumentParser()
    for name in ("M", "N", "K"):
        parser.add_argument(name, type=int)
    parser.add_argument("--lhs", choices=FORMATS, default="e4m3")
    parser.add_argument("--rhs", choices=FORMATS, default="e4m3")
    parser.add_argument("--promote", type=int, default=0)
    parser.add_argument("--specials", action="store_true")
    parser.add_argument("--scale", type=lambda s: [float(x) for x in s.split(",")])
    parser.add_argument("--rows", nargs=2, type=int, metavar=("LOW", "COUNT"))
    parser.add_argument("--cols", nargs=2, type=int, metavar=("LOW", "COUNT"))
    args = parser.parse_args()
    unit = BF16_UNIT if args.lhs == "bf16" else FP8_UNIT
    lhs = codes(args.M, args.K, 0, args.lhs, args.specials)
    rhs = codes(args.N, args.K, 100000, args.rhs, args.specials)
    for i, row in enumerate(lhs):
        row_code = scale_code(i, 11, *args.rows) if args.rows else None
        for j, col in enumerate(rhs):
            col_code = scale_code(j, 13, *args.cols) if args.cols else None
            value = dot(row, col, args.promote, unit)
            if args.scale is not None:
                value = rescale(value, args.scale, row_code, col_code)
            print(bits(value))


if __name__ == "__main__":
    main()
