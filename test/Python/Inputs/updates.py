# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train the layer of auto-scale-update.mlir, compiled for C: weight, moments, scales,
payloads and state stay in the caller's memory, and are updated there.

    updates.py train.so
"""

import ctypes
import random
import struct
import sys

import moss

E4M3_MAX = 448
STEPS = 250
BETA1, BETA2 = 0.9, 0.95


class Array:
    """What NumPy's arrays say of themselves, without NumPy."""

    def __init__(self, typestr, shape, values, read_only=False):
        code = {"<f4": "f", "<f8": "d", "<u2": "H", "|u1": "B"}[typestr]
        self.buffer = ctypes.create_string_buffer(struct.pack(f"{len(values)}{code}", *values))
        self.code = f"{len(values)}{code}"
        self.__array_interface__ = {
            "version": 3, "typestr": typestr, "shape": shape, "strides": None,
            "data": (ctypes.addressof(self.buffer), read_only)}

    def values(self):
        return struct.unpack_from(self.code, self.buffer)


def matrix(typestr, rows, cols, value=lambda: 0):
    return Array(typestr, (rows, cols), [value() for _ in range(rows * cols)])


library = moss.load(sys.argv[1])
print(library.train)
random.seed(7)
x, gy = matrix("<u2", 8, 64, lambda: 0x3f80), matrix("<u2", 8, 32, lambda: 0x3f80)
w = matrix("<f4", 64, 32, lambda: random.uniform(-1, 1))
m, v = matrix("<f4", 64, 32), matrix("<f4", 64, 32)
y, gx = matrix("<f4", 8, 32), matrix("<f4", 8, 64)
scales, state = Array("<f4", (1,), [0.0]), matrix("<f8", 1, 3)
payloads = [matrix("|u1", 32, 64), matrix("|u1", 64, 32)]
assert library.moss_init_scales(scales, state) is None
assert scales.values()[0] != scales.values()[0]  # NaN: never measured

different = exceeded = shrank = 0
for t in range(STEPS):
    g = matrix("<f4", 64, 32, lambda: random.gauss(0, 1))
    before = scales.values()[0]
    outs = library.train(x, gy, g, w, m, v, 0.01 * (1 + t % 5), 1 - BETA1**(t + 1),
                         1 - BETA2**(t + 1), y, gx, t, scales, *payloads, state)
    assert len(outs) == 2
    shrank += scales.values()[0] < before or t == 0
    # What the payloads must be.
    expected = library.reference(w, scales, *payloads,
                                 out=(matrix("|u1", 32, 64), matrix("|u1", 64, 32)))
    different += any(a.values() != b.values() for a, b in zip(payloads, expected))
    exceeded += max(map(abs, w.values())) > scales.values()[0] * E4M3_MAX
print(f"payloads that differ: {different}, scales exceeded: {exceeded}, "
      f"scales that shrank: {shrank}")

try:
    library.moss_init_scales(Array("<f4", (1,), [0.0], read_only=True), state)
except ValueError as error:
    print(error)
