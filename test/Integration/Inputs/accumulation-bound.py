#!/usr/bin/env python3
#
# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The accumulation bound of docs/Numerics.md, on what compiled matmuls give.

    accumulation-bound.py program CASE  prints an MLIR program that multiplies
                                        FP8 numbers and prints the results' bits
    accumulation-bound.py check CASE    compares such output, on stdin, with the
                                        exact sums

The operands are FP8 numbers and their scale is 1, so that quantization is exact
and every error comes from the sum. CASE is a list of options, the same for both;
--bound checks against the bound of another interval than the data is made for.
"""

import argparse
import bisect
import math
import os
import random
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from exact import FORMATS, encode, f32, finite_values

ROWS = 3
STEP = 32  # products that the matrix unit adds at once
LOST = 33 * 2.0**-13  # of the prefix sum, at most, in one step
F32_ROUNDING = 2.0**-24 * (1 + 2.0**-12)

# Data -------------------------------------------------------------------------
#
# Each kind gives pairs of FP8 numbers whose products are summed; `interval` is
# the number of products in a partial sum.


def nearest(name, x):
    code = encode(name, f32(x))
    return math.copysign(finite_values(name)[code & 0x7F], x)


def positive(rng, case, interval, position):
    return tuple(nearest(name, rng.random()) for name in (case.lhs, case.rhs))


def normal(rng, case, interval, position):
    return tuple(nearest(name, rng.gauss(0, 1)) for name in (case.lhs, case.rhs))


def below(name, limit):
    """The greatest number of a format that is less than a power of two."""
    values = finite_values(name)
    return values[bisect.bisect_left(values, limit) - 1]


def leading(rng, case, interval, position):
    """A product of 2^16, and then products that are just below 2^3: beside the
    first they are cut to nothing, for as long as the partial sum goes on."""
    if position % interval == 0:
        return 256.0, 256.0
    return below(case.lhs, 4.0), 2.0


def cancelling(rng, case, interval, position):
    """The same, but the partial sum ends with the negative of the first."""
    last = position % interval == interval - 1
    return (-256.0, 256.0) if last else leading(rng, case, interval, position)


def subnormal(rng, case, interval, position):
    """In each step the product of a subnormal number, which is aligned as if it
    were normal, and products that are cut to nothing because of that."""
    _, bias, _ = FORMATS[case.lhs]
    least_normal = 2.0 ** (1 - bias)
    if position % STEP == 0:
        return finite_values(case.lhs)[1], 256.0
    limit = least_normal * 256.0 * 2.0**-13
    factor = 2.0 ** math.ceil(math.log2(limit / least_normal) - 1)
    return below(case.lhs, limit / factor), factor


KINDS = (positive, normal, leading, cancelling, subnormal)


def inputs(case):
    """(name, rows of pairs) of each matmul."""
    rng = random.Random(13)
    for kind in KINDS:
        for k in case.extents:
            interval = case.interval or k
            yield (f"{kind.__name__} K={k}",
                   [[kind(rng, case, interval, p) for p in range(k)] for _ in range(ROWS)])


# Program ----------------------------------------------------------------------


def constant(name, matrix):
    """A BF16 constant; FP8 numbers are BF16 numbers."""
    data = b"".join(struct.pack("<f", x)[2:] for row in matrix for x in row).hex()
    kind = f"tensor<{len(matrix)}x{len(matrix[0])}xbf16>"
    return (f'  %{name}s = arith.constant dense<"0x{data}"> : {kind}\n'
            f"  %{name} = tensor.cast %{name}s : {kind} to tensor<?x?xbf16>\n")


def program(case):
    main = ""
    for i, (_, rows) in enumerate(inputs(case)):
        main += constant(f"a{i}", [[a for a, _ in row] for row in rows])
        main += constant(f"b{i}", [[b for _, b in row] for row in rows])
        main += f"  call @product(%a{i}, %b{i}) : (tensor<?x?xbf16>, tensor<?x?xbf16>) -> ()\n"
    print(f"""#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
func.func @product(%a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant {ROWS} : index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{ROWS}x{ROWS}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<{ROWS}x{ROWS}xf32>) -> tensor<{ROWS}x{ROWS}xf32>
  %x = tensor.cast %a : tensor<?x?xbf16> to tensor<{ROWS}x?xbf16>
  %y = tensor.cast %b : tensor<?x?xbf16> to tensor<{ROWS}x?xbf16>
  %c = linalg.matmul indexing_maps = [#lhs, #rhs, #out]
    ins(%x, %y : tensor<{ROWS}x?xbf16>, tensor<{ROWS}x?xbf16>)
    outs(%init : tensor<{ROWS}x{ROWS}xf32>) -> tensor<{ROWS}x{ROWS}xf32>
  scf.for %i = %c0 to %rows step %c1 {{
    scf.for %j = %c0 to %rows step %c1 {{
      %value = tensor.extract %c[%i, %j] : tensor<{ROWS}x{ROWS}xf32>
      %bits = arith.bitcast %value : f32 to i32
      vector.print %bits : i32
    }}
  }}
  return
}}
func.func @main() {{
{main}  return
}}""")


# Check ------------------------------------------------------------------------


def aligned_magnitude(case, a, b):
    """What the matrix unit takes a product's magnitude for, at most: a subnormal
    factor has the exponent of the least normal number."""
    if a == 0 or b == 0:
        return 0.0
    least = [2.0 ** (1 - FORMATS[name][1]) for name in (case.lhs, case.rhs)]
    return max(abs(a), least[0]) * max(abs(b), least[1])


def accumulation_bound(magnitudes, interval):
    """The bound of docs/Numerics.md, for products of these magnitudes."""
    error = 0.0
    for begin in range(0, len(magnitudes), interval):
        prefix = 0.0
        for step in range(begin, min(begin + interval, len(magnitudes)), STEP):
            prefix += math.fsum(magnitudes[step:min(step + STEP, begin + interval)])
            error += LOST * prefix
    additions = math.ceil(len(magnitudes) / interval) - 1
    return error + additions * F32_ROUNDING * math.fsum(magnitudes)


def check_element(case, where, row, column, got):
    """The share of the bound that is used."""
    pairs = [(a, b) for (a, _), (_, b) in zip(row, column)]
    interval = case.bound or case.interval or len(pairs)
    exact = math.fsum(a * b for a, b in pairs)
    allowed = accumulation_bound([aligned_magnitude(case, a, b) for a, b in pairs], interval)
    if not abs(got - exact) <= allowed:
        sys.exit(f"{where}: {got} is off by {abs(got - exact) / allowed:.3} times the bound")
    # Where all terms have one sign, cutting toward zero cannot add anything; the
    # additions in FP32 can.
    if min(a * b for a, b in pairs) > 0:
        additions = math.ceil(len(pairs) / interval) - 1
        if got > exact * (1 + additions * F32_ROUNDING):
            sys.exit(f"{where}: {got} is more than {exact}")
    return abs(got - exact) / allowed


def check(case, values):
    for name, rows in inputs(case):
        used = [check_element(case, f"{name}: element ({i}, {j})", row, column, next(values))
                for i, row in enumerate(rows) for j, column in enumerate(rows)]
        print(f"{name} uses {max(used):.3f} of its bound")
    if next(values, None) is not None:
        sys.exit("there are more results than matmuls")
    print("all results are within their bounds")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["program", "check"])
    parser.add_argument("--interval", type=int, help="products in a partial sum (default: all)")
    parser.add_argument("--bound", type=int, help="interval of the bound (default: --interval)")
    parser.add_argument("--lhs", choices=FORMATS, default="f8E4M3FN")
    parser.add_argument("--rhs", choices=FORMATS, default="f8E4M3FN")
    parser.add_argument("--extents", type=lambda text: [int(k) for k in text.split(",")],
                        default=[1, 32, 160, 1040, 4096], help="of K")
    case = parser.parse_args()
    if case.command == "program":
        program(case)
    else:
        check(case, (struct.unpack("<f", struct.pack("<i", int(line)))[0] for line in sys.stdin))


if __name__ == "__main__":
    main()
