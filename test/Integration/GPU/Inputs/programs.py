"""Call the functions of programs.mlir on a GPU, and check what they compute.

usage: programs.py <library>, with libmoss_runtime.so beside it
"""

import ctypes
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from host import Device, MemRef, check  # noqa: E402

FORMATS = {"f32": ("f", 4), "bf16": (None, 2), "i8": ("b", 1), "i32": ("i", 4)}


def pack(values, element):
    if element == "bf16":
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{len(values)}{FORMATS[element][0]}", *values)


def unpack(data, element):
    if element == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    code, size = FORMATS[element]
    return list(struct.unpack(f"<{len(data) // size}{code}", data))


class Batch(ctypes.Structure):
    """A memref descriptor of rank 3."""

    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                ("offset", ctypes.c_int64), ("sizes_strides", ctypes.c_int64 * 6)]


class Others(ctypes.Structure):
    """The results of @others."""

    _fields_ = [("wide", MemRef), ("integer", MemRef), ("batch", Batch)]


class Programs:
    """The library's functions, on values."""

    def __init__(self, path):
        self.device = Device(os.path.dirname(path))
        self.library = ctypes.CDLL(path)

    def put(self, values, sizes, element):
        strides = [1] * len(sizes)
        for i in reversed(range(len(sizes) - 1)):
            strides[i] = strides[i + 1] * sizes[i + 1]
        pointer = self.device.upload(pack(values, element))
        kind = Batch if len(sizes) == 3 else MemRef
        descriptor = kind(pointer, pointer, 0)
        descriptor.sizes_strides[:2 * len(sizes)] = [*sizes, *strides]
        return descriptor

    def call(self, name, *arguments):
        function = getattr(self.library, f"_mlir_ciface_{name}")
        function(*(ctypes.byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments))

    def check(self, name, buffer, want, element):
        data = self.device.download(buffer.aligned, len(want) * FORMATS[element][1])
        check(name, unpack(data, element), want)


def main():
    p = Programs(os.path.abspath(sys.argv[1]))
    x = p.put([1, 2, 3, 4], [2, 2], "bf16")
    w = p.put([1, -2, 0.5, 1], [2, 2], "bf16")
    bias = p.put([-3, 0.25], [2], "f32")
    residual = p.put([10, 20, 30, 40], [2, 2], "f32")
    result = MemRef()

    p.call("layer", result, x, w, bias, residual)
    p.check("layer", result, [10, 20.25, 32, 40], "f32")

    swap = p.put([0, 2, 1, 0], [2, 2], "bf16")
    for exponent, want in [(0, [1, 2, 3, 4]), (3, [4, 4, 8, 12]), (7, [16, 16, 32, 48])]:
        p.call("power", result, x, swap, ctypes.c_int64(exponent))
        p.check(f"power {exponent}", result, want, "bf16")

    for condition, want in [(True, [12, 20, 35, 38]), (False, [10, 20, 30, 40])]:
        # On both paths the result is what was given to write to.
        c = p.put([10, 20, 30, 40], [2, 2], "f32")
        p.call("choose", x, w, c, ctypes.c_bool(condition))
        p.check(f"choose {condition}", c, want, "f32")

    others = Others()
    p.call("others", others, p.put([3, 0.5], [1, 2], "f32"), p.put([2, 10], [2, 1], "f32"),
           p.put([3, -5], [1, 2], "i8"), p.put([100, 10], [2, 1], "i8"),
           p.put([1.0078125, 2], [1, 1, 2], "bf16"), p.put([1, 3], [1, 2, 1], "bf16"))
    p.check("f32 matmul", others.wide, [11], "f32")
    p.check("integer matmul", others.integer, [250], "i32")
    p.check("batch of matmuls", others.batch, [7.0078125], "f32")

    # A function that returns what it was given to write to has no result.
    c = p.put([0, 0, 0, 1, 1, 1], [2, 3], "f32")
    p.call("constant", x, c)
    p.check("constant", c, [9, 12, 15, 20, 27, 34], "f32")


if __name__ == "__main__":
    main()
