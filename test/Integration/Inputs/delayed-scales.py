# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Call delayed-scales.mlir, compiled for C, and compare with delayed scaling as
Transformer Engine defines it, written down anew.

    delayed-scales.py LIBRARY [--history N] [--algorithm max|most_recent]
                      [--margin N] [--steps N] [--device]

Scales and histories must be the same to the bit after each call. The results must
be products of what the scales from before the call make of the operands, up to the
rounding of sums.
"""

import argparse
import ctypes
import math
import os
import random
import struct
import sys

from exact import FORMATS, encode, f32, f32_bits, f32_from_bits, finite_values, multiply, reciprocal

K, N, MAX_ROWS = 64, 32, 9
# The rows of the tables: the operand and its format.
OPERANDS = [("x", "f8E4M3FN"), ("w", "f8E5M2"), ("g", "f8E5M2")]
NAN, INFINITY = 0x7FC0, 0x7F80


# The recipe ------------------------------------------------------------------


class Recipe:
    """The state of one tensor in Transformer Engine's DelayedScaling, whose
    scale is what elements are multiplied by."""

    def __init__(self, name, history, algorithm, margin):
        self.target = f32(finite_values(name)[-1] * 2.0**-margin)
        self.most_recent = algorithm == "most_recent"
        self.scale, self.scale_inv = 1.0, 1.0
        self.history = [0.0] * history

    def update(self, values):
        # The cast records the amax in slot 0, and its maximum drops NaN.
        self.history[0] = max((abs(v) for v in values if v == v), default=0.0)
        newest = self.history[0]
        rolled = self.history[1:] + [newest]
        amax = newest if self.most_recent else max(rolled)
        self.history = [0.0] + rolled[1:]
        if amax > 0 and math.isfinite(amax):
            # Moss keeps the quotient between normal numbers with a reciprocal.
            self.scale = min(max(f32(self.target / amax), 2.0**-126), 2.0**126)
            self.scale_inv = reciprocal(self.scale)


# The data --------------------------------------------------------------------


def to_float(bits):
    return f32_from_bits(bits << 16)


def draw(rng, count):
    """The bits of `count` BF16 numbers, and now and then something special."""
    kind = rng.choice(["plain"] * 24 + ["spike", "zeros", "inf", "nan", "tiny", "huge"])
    size = 2.0 ** rng.uniform(-12, 12)
    bits = [f32_bits(rng.gauss(0, 1) * size) >> 16 for _ in range(count)]
    if kind == "zeros":
        return [0x8000 * (i % 2) for i in range(count)]
    if kind == "tiny":
        return [rng.randrange(0x20) for _ in range(count)]  # subnormal
    special = {"spike": f32_bits(2.0**20) >> 16, "inf": INFINITY | 0x8000, "nan": NAN,
               "huge": 0x7F7F}.get(kind)
    if special is not None:
        bits[rng.randrange(count)] = special
    return bits


# The library -----------------------------------------------------------------


class Host:
    """Arrays of the library in this program's memory."""

    def put(self, data):
        self.kept = getattr(self, "kept", []) + [ctypes.create_string_buffer(data, len(data))]
        return ctypes.addressof(self.kept[-1])

    def get(self, pointer, size):
        return ctypes.string_at(pointer, size)

    def set(self, pointer, data):
        ctypes.memmove(pointer, data, len(data))


class OnDevice:
    """The same in the memory of a GPU."""

    def __init__(self, folder):
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                        "..", "GPU", "Inputs"))
        from host import Device  # noqa: E402
        self.device = Device(folder)

    def put(self, data):
        return self.device.upload(data)

    def get(self, pointer, size):
        return self.device.download(pointer, size)

    def set(self, pointer, data):
        self.device.runtime.mossCopyToDevice(pointer, data, len(data))


class Layer:
    """The compiled functions, with memory for all they take."""

    def __init__(self, path, memory, history):
        self.library, self.memory, self.history = ctypes.CDLL(path), memory, history
        self.library.mossGetLastError.restype = ctypes.c_char_p
        sizes = {"x": 2 * MAX_ROWS * K, "w": 2 * N * K, "g": 2 * MAX_ROWS * N,
                 "scales": 4 * len(OPERANDS), "history": 4 * len(OPERANDS) * history,
                 "y": 4 * MAX_ROWS * N, "gw": 4 * K * N}
        self.pointers = {name: memory.put(b"\xa5" * size) for name, size in sizes.items()}
        self.call("step_init_delayed_scales", self.state())

    def array(self, name, shape, dynamic=0):
        strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
        return [ctypes.c_void_p(self.pointers[name]), *map(ctypes.c_int64, shape[:dynamic]),
                *map(ctypes.c_int64, strides)]

    def state(self):
        return [*self.array("scales", [len(OPERANDS)]),
                *self.array("history", [len(OPERANDS), self.history])]

    def call(self, name, arguments):
        if getattr(self.library, name)(*arguments, None) != 0:
            sys.exit(self.library.mossGetLastError().decode())

    def run(self, operands, rows):
        for name, bits in operands.items():
            self.memory.set(self.pointers[name], struct.pack(f"<{len(bits)}H", *bits))
        self.call("step", [*self.array("x", [rows, K], 1), *self.array("w", [N, K]),
                           *self.array("g", [rows, N], 1), *self.state(),
                           *self.array("y", [rows, N], 1), *self.array("gw", [K, N])])

    def floats(self, name, count):
        data = self.memory.get(self.pointers[name], 4 * count)
        return struct.unpack(f"<{count}f", data)


# The check -------------------------------------------------------------------


def represented(name, values, scale):
    """What the payloads of `values` under a scale stand for, and nothing else
    becomes a number."""
    inverse = reciprocal(scale)
    magnitudes = finite_values(name)

    def one(value):
        if not math.isfinite(value):
            return float("nan")
        code = encode(name, multiply(value, inverse))
        return math.copysign(magnitudes[code & 0x7F], value) * scale

    return [one(value) for value in values]


def differs(actual, lhs, rhs, least, tolerance):
    """Whether a number is not the sum of products, of which those of subnormal
    payloads count as `least` of each operand."""
    products = [a * b for a, b in zip(lhs, rhs)]
    wanted = math.fsum(products) if all(p == p for p in products) else float("nan")
    if wanted != wanted:
        return actual == actual
    if not math.isfinite(f32(wanted)):
        return actual != f32(wanted)
    total = sum(max(abs(a), least[0]) * max(abs(b), least[1])
                for a, b in zip(lhs, rhs) if a and b)
    return not abs(actual - wanted) <= tolerance * total + 2.0**-120


def count_wrong(layer, values, scales, rows, tolerance):
    """How many elements of both results are wrong."""
    q = {name: represented(element, values[name], scale)
         for (name, element), scale in zip(OPERANDS, scales)}
    least = {name: 2.0 ** (1 - FORMATS[element][1]) * scale
             for (name, element), scale in zip(OPERANDS, scales)}
    y, gw = layer.floats("y", rows * N), layer.floats("gw", K * N)
    row = lambda name, i, n: q[name][i * n:(i + 1) * n]
    wrong = sum(differs(y[i * N + j], row("x", i, K), row("w", j, K),
                        (least["x"], least["w"]), tolerance)
                for i in range(rows) for j in range(N))
    columns = {name: [q[name][j::n] for j in range(n)] for name, n in (("x", K), ("g", N))}
    return wrong + sum(differs(gw[k * N + j], columns["x"][k], columns["g"][j],
                               (least["x"], least["g"]), tolerance)
                       for k in range(K) for j in range(N))


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--history", type=int, default=16)
    parser.add_argument("--algorithm", default="max")
    parser.add_argument("--margin", type=int, default=0)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--device", action="store_true")
    return parser.parse_args()


def main():
    options = parse()
    path = os.path.abspath(options.library)
    memory = OnDevice(os.path.dirname(path)) if options.device else Host()
    layer = Layer(path, memory, options.history)
    recipes = [Recipe(element, options.history, options.algorithm, options.margin)
               for _, element in OPERANDS]
    rng = random.Random(5)
    # The matrix unit sums with 13 fraction bits, in at most two steps here.
    tolerance = 1e-2 if options.device else 1e-5
    scales_off = histories_off = results_off = kept = moved = 0
    for step in range(options.steps):
        rows = rng.randrange(1, MAX_ROWS + 1)
        counts = {"x": rows * K, "w": N * K, "g": rows * N}
        operands = {name: draw(rng, count) for name, count in counts.items()}
        values = {name: [to_float(b) for b in bits] for name, bits in operands.items()}
        before = [recipe.scale_inv for recipe in recipes]
        layer.run(operands, rows)
        if step % 5 == 0:
            results_off += count_wrong(layer, values, before, rows, tolerance)
        for recipe, (name, _) in zip(recipes, OPERANDS):
            recipe.update(values[name])
        wanted = [recipe.scale_inv for recipe in recipes]
        scales = layer.floats("scales", len(OPERANDS))
        history = layer.floats("history", len(OPERANDS) * options.history)
        scales_off += list(map(f32_bits, scales)) != list(map(f32_bits, wanted))
        histories_off += list(history) != [a for recipe in recipes for a in recipe.history]
        moved += sum(a != b for a, b in zip(before, wanted))
        kept += sum(a == b for a, b in zip(before, wanted))
    print(f"some scales moved: {moved > options.steps // 10}, some stayed: {kept > 0}")
    print(f"steps whose scales differ: {scales_off}, whose histories differ: {histories_off}, "
          f"elements of results that differ: {results_off}")


main()
