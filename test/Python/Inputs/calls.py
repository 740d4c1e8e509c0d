"""Call compiled functions on host arrays, and check results and errors.

    calls.py functions.so
"""

import ctypes
import struct
import sys

import moss


class Array:
    """What NumPy's arrays say of themselves, without NumPy."""

    CODES = {"<f4": "f", "<u2": "H", "<i8": "q"}

    def __init__(self, typestr, shape, values, strides=None, read_only=False):
        self.code = self.CODES[typestr]
        self.buffer = ctypes.create_string_buffer(
            struct.pack(f"{len(values)}{self.code}", *values))
        self.__array_interface__ = {
            "version": 3, "typestr": typestr, "shape": shape, "strides": strides,
            "data": (ctypes.addressof(self.buffer), read_only)}

    def values(self):
        count = (len(self.buffer) - 1) // struct.calcsize(self.code)
        return list(struct.unpack_from(f"{count}{self.code}", self.buffer))


def bf16(value):
    """The bits of a number that BF16 holds."""
    return struct.unpack("<I", struct.pack("<f", value))[0] >> 16


def f32(rows, cols, value=0.0):
    return Array("<f4", (rows, cols), [value] * (rows * cols))


def fails(kind, text, call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except kind as error:
        assert text in str(error), f"'{text}' is not in '{error}'"
    else:
        raise AssertionError(f"no {kind.__name__} with '{text}'")


library = moss.load(sys.argv[1])
print(library.linear)
print(library.scale)

# Powers of two, for which FP8 is exact.
x = Array("<u2", (3, 16), [bf16(2.0 ** (i % 4)) for i in range(48)])
w = Array("<u2", (8, 16), [bf16(1.0)] * 128)
y = f32(3, 8)
assert library.linear(x, w, out=y) is y
assert y.values() == [60.0] * 24, y.values()

# The first 8 of 16 columns, as rows that are apart.
half = Array("<u2", (3, 16), x.values())
half.__array_interface__.update(shape=(3, 8), strides=(32, 2))
thin = Array("<u2", (8, 8), [bf16(1.0)] * 64)
library.linear(half, thin, out=y)
assert y.values() == [30.0] * 24, y.values()

y = f32(3, 8)
assert library.scale(Array("<f4", (3, 8), [1.0] * 24), 2.5, 3, out=y) is y
assert y.values() == [5.5] * 24, y.values()

assert library.sum(Array("<f4", (4,), [1.0, 2.0, 3.0, 4.5])) == 10.5
z = f32(3, 8)
count, same = library.count(y, out=z)
assert count == 24 and same is z and z.values() == y.values()
assert library.product(3.0, 1.0625) == (3.1875, 3.1875)
assert library.product(1.01171875, 1.0) == (1.015625, 1.015625)  # A tie, to even.

a, b = f32(3, 8, 1.0), f32(3, 8, 2.0)
old = f32(3, 8)
assert library.rotate(a, b, out=old) is old
assert (a.values()[5], b.values()[5], old.values()[5]) == (2.0, 3.0, 1.0)
assert library.cross(a, b) is None
assert (a.values()[5], b.values()[5]) == (1.0, -2.0)
fails(ValueError, "another size", library.rotate, f32(3, 8), f32(2, 8), out=old)
fails(ValueError, "shares memory", library.rotate, a, a, out=old)
fails(ValueError, "read-only", library.rotate, a,
      Array("<f4", (3, 8), [0.0] * 24, read_only=True), out=old)

fails(FileNotFoundError, "no shared library", moss.load, "nowhere.so")
fails(AttributeError, "linear", lambda: library.layer)
fails(TypeError, "2 arguments, but got 1", library.linear, x, out=y)
fails(TypeError, "array", library.linear, x, 1.0, out=y)
fails(TypeError, "number", library.scale, y, y, 3, out=y)
fails(TypeError, "__array_interface__", library.linear, x, "w", out=y)
fails(TypeError, "type bf16", library.linear, f32(3, 16), w, out=y)
fails(TypeError, "i32", library.scale, y, 2.5, 3.5, out=f32(3, 8))
fails(ValueError, "does not hold", library.scale, y, 2.5, 1 << 40, out=f32(3, 8))
fails(TypeError, "1 arrays", library.linear, x, w, out=(y, y))
fails(ValueError, "shape", library.linear, x, Array("<u2", (128,), w.values()), out=y)
fails(ValueError, "read-only", library.linear, x, w,
      out=Array("<f4", (3, 8), [0.0] * 24, read_only=True))
turned = Array("<u2", (8, 16), w.values(), strides=(2, 16))
fails(ValueError, "side by side", library.linear, x, turned, out=y)
# What only the compiled function knows.
fails(ValueError, "shares memory with 'a'", library.scale, y, 2.5, 3, out=y)
fails(ValueError, "linear", library.linear, x, thin, out=y)
fails(ValueError, "linear", library.linear, x, w, out=f32(4, 8))
library.linear(x, w, out=f32(3, 8))
print("PASSED")
