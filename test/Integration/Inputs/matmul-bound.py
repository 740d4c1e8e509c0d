#!/usr/bin/env python3
#
# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of random data, and the error that their formats allow.

    matmul-bound.py program CASE  prints an MLIR program that multiplies data of
                                  every kind, and prints the results' bits
    matmul-bound.py check CASE    compares such output, on stdin, with sums in
                                  double precision

CASE is a list of options, the same for both. The bound is that of the two-level
scheme with 'ceil' rounding: operands in E4M3, under one scale for each row of
the left operand and one for the right operand. Smaller groups keep it too. With
--operands=bf16 there is no quantization.
"""

import argparse
import math
import random
import struct
import sys

M, N = 5, 7
KS = (1, 31, 33, 129, 1040)
KINDS = ("normal", "magnitudes", "outliers", "positive")

HALF_ULP = 2.0**-4  # of an E4M3 number with 3 fraction bits, relative
HALF_SUBNORMAL = 2.0**-10  # of a subnormal E4M3 number, absolute
GREATEST = 448.0
SLACK = 1 + 2.0**-18  # of scales and quotients in f32

# The matrix unit aligns the products of a step and the sum so far to the greatest
# of them, and cuts each of them, and their sum, after 13 fraction bits: 32
# products of FP8. Of bf16 they are 16, cut after 25, and their sum after 23.
STEPS = {"e4m3": (32, 34 * 2.0**-13), "bf16": (16, 21 * 2.0**-25)}


def bf16(value):
    """The bf16 at or below a number in magnitude."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0] & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def draw(rng, kind, rows, columns):
    if kind == "positive":
        one = rng.random
    elif kind == "outliers":
        one = lambda: rng.gauss(0, 1) * (1e4 if rng.random() < 0.02 else 1)
    else:
        one = lambda: rng.gauss(0, 1)
    scales = [2.0 ** rng.randint(-40, 40) if kind == "magnitudes" else 1.0 for _ in range(rows)]
    return [[bf16(one() * scale) for _ in range(columns)] for scale in scales]


def inputs():
    """(name, left operand [M, K], right operand [K, N]) of each matmul."""
    rng = random.Random(22)
    for kind in KINDS:
        for k in KS:
            right_kind = "normal" if kind == "magnitudes" else kind
            yield f"{kind} K={k}", draw(rng, kind, M, k), draw(rng, right_kind, k, N)


# Program ---------------------------------------------------------------------


def constant(name, matrix):
    words = (struct.unpack("<I", struct.pack("<f", x))[0] >> 16 for row in matrix for x in row)
    data = "".join(struct.pack("<H", word).hex() for word in words)
    kind = f"tensor<{len(matrix)}x{len(matrix[0])}xbf16>"
    return (f'  %{name}s = arith.constant dense<"0x{data}"> : {kind}\n'
            f"  %{name} = tensor.cast %{name}s : {kind} to tensor<?x?xbf16>\n")


def program(case):
    result = f"tensor<?x?x{case.result}>"
    widen = "%wide = arith.extf %value : bf16 to f32" if case.result == "bf16" else "%wide = arith.addf %value, %none : f32"
    main = ""
    for i, (_, left, right) in enumerate(inputs()):
        main += constant(f"x{i}", left) + constant(f"w{i}", right)
        main += (f"  %y{i} = call @matmul(%x{i}, %w{i}) : (tensor<?x?xbf16>, tensor<?x?xbf16>) -> {result}\n"
                 f"  call @print(%y{i}) : ({result}) -> ()\n")
    print(f"""func.func @matmul(%x: tensor<?x?xbf16>, %w: tensor<?x?xbf16>) -> {result} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : {case.result}
  %m = tensor.dim %x, %c0 : tensor<?x?xbf16>
  %n = tensor.dim %w, %c1 : tensor<?x?xbf16>
  %empty = tensor.empty(%m, %n) : {result}
  %init = linalg.fill ins(%zero : {case.result}) outs(%empty : {result}) -> {result}
  %y = linalg.matmul ins(%x, %w : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(%init : {result}) -> {result}
  return %y : {result}
}}
func.func @print(%y: {result}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant -0.0 : f32
  %m = tensor.dim %y, %c0 : {result}
  %n = tensor.dim %y, %c1 : {result}
  scf.for %i = %c0 to %m step %c1 {{
    scf.for %j = %c0 to %n step %c1 {{
      %value = tensor.extract %y[%i, %j] : {result}
      {widen}
      %bits = arith.bitcast %wide : f32 to i32
      vector.print %bits : i32
    }}
  }}
  return
}}
func.func @main() {{
{main}  return
}}""")


# Check -----------------------------------------------------------------------


def operand_error(case, x, scale):
    if case.operands == "bf16":
        return 0.0
    return max(HALF_ULP * abs(x), HALF_SUBNORMAL * scale) * SLACK


def sum_error(case, magnitudes):
    """Of adding products of these magnitudes."""
    if case.arithmetic == "fp32":
        return (len(magnitudes) + 2) * 2.0**-23 * sum(magnitudes)
    chain = case.interval if case.accumulate == "promoted" else max(len(magnitudes), 1)
    step, step_error = STEPS[case.operands]
    error = 0.0
    for begin in range(0, len(magnitudes), chain):
        part = magnitudes[begin:begin + chain]
        error += math.ceil(len(part) / step) * step_error * sum(part)
    return error + (len(magnitudes) // chain + 2) * 2.0**-23 * sum(magnitudes)


def bound(case, row, column, row_scale, column_scale):
    """The greatest error of an element."""
    magnitudes, error = [], 0.0
    for a, b in zip(row, column):
        quantized = ((abs(a) + operand_error(case, a, row_scale))
                     * (abs(b) + operand_error(case, b, column_scale)))
        magnitudes.append(quantized)
        error += quantized - abs(a * b)
    return error + sum_error(case, magnitudes)


def check(case, values):
    worst = 0.0
    for name, left, right in inputs():
        columns = list(zip(*right))
        column_scale = max(abs(b) for row in right for b in row) / GREATEST * SLACK
        for i, row in enumerate(left):
            # A power of two times the global scale, up to twice what is needed.
            row_scale = 2 * max(map(abs, row)) / GREATEST * SLACK
            for j, column in enumerate(columns):
                exact = math.fsum(a * b for a, b in zip(row, column))
                allowed = bound(case, row, column, row_scale, column_scale)
                allowed += (abs(exact) + allowed) * (2.0**-8 if case.result == "bf16" else 2.0**-23)
                error = abs(next(values) - exact)
                if not error <= allowed:
                    sys.exit(f"{name}: element ({i}, {j}) is off by {error}, more than {allowed}")
                worst = max(worst, error / allowed if allowed else 0.0)
    if next(values, None) is not None:
        sys.exit("there are more results than matmuls")
    print(f"all results are within their bounds; the worst uses {worst:.2f} of it")


def read_values(lines):
    for line in lines:
        yield struct.unpack("<f", struct.pack("<i", int(line)))[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["program", "check"])
    parser.add_argument("--result", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--operands", choices=["e4m3", "bf16"], default="e4m3")
    parser.add_argument("--arithmetic", choices=["fp32", "emulate"], default="fp32")
    parser.add_argument("--accumulate", choices=["promoted", "fast"], default="promoted")
    parser.add_argument("--interval", type=int, default=128)
    case = parser.parse_args()
    if case.command == "program":
        program(case)
    else:
        check(case, read_values(sys.stdin))


if __name__ == "__main__":
    main()
