# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Predict the scale of a weight through the C interface, in arrays of the caller.

    scales.py layer.so
"""

import ctypes
import math
import struct
import sys

import moss


class Array:
    """What NumPy's arrays say of themselves, without NumPy."""

    def __init__(self, typestr, code, shape, value):
        self.code = code
        self.data = ctypes.create_string_buffer(struct.pack(code, value) * math.prod(shape))
        self.__array_interface__ = {"version": 3, "typestr": typestr, "shape": shape,
                                    "data": (ctypes.addressof(self.data), False)}

    def first(self):
        return struct.unpack_from(self.code, self.data)[0]


def bf16(shape, value):
    return Array("<u2", "H", shape, struct.unpack("<I", struct.pack("<f", value))[0] >> 16)


library = moss.load(sys.argv[1])
x, w = bf16((4, 16), 1.0), bf16((16, 8), 1.0)
y, scales = Array("<f4", "f", (4, 8), 0.0), Array("<f4", "f", (1,), 0.0)
amax, state = Array("<f4", "f", (1,), 448.0), Array("<f8", "d", (1, 3), 5.0)

library.moss_init_scales(scales, state)
assert math.isnan(scales.first()) and state.first() == 0.0

# Measured at step 0: 1 / 448.
library.layer(x, w, 0, scales, out=y)
assert math.isclose(y.first(), 16.0, rel_tol=1e-6)
assert math.isclose(scales.first(), 1 / 448, rel_tol=1e-6)

# A step of 1/2 with gradients up to 448 moves the weight by up to 224.
library.moss_update_scales(0.5, 1, amax, scales, state)
assert math.isclose(scales.first(), 225 / 448, rel_tol=1e-2), scales.first()
library.layer(x, w, 1, scales, out=y)
assert math.isclose(y.first(), 16.0, rel_tol=1 / 16), y.first()

for rate, step, text in [(math.nan, 2, "learning rate"), (-1.0, 2, "learning rate"),
                         (math.inf, 2, "learning rate"), (0.0, 0, "step number")]:
    before = scales.first()
    try:
        library.moss_update_scales(rate, step, amax, scales, state)
    except ValueError as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no error for rate {rate} and step {step}")
    assert scales.first() == before

library.layer_reset_scales(w, scales)
assert math.isclose(scales.first(), 1 / 448, rel_tol=1e-6)
print("PASSED")
