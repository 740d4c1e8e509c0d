"""Call the functions of host.mlir on a GPU, and check what they compute.

usage: host.py <library>, with libmoss_runtime.so beside it
"""

import ctypes
import os
import random
import struct
import sys


class MemRef(ctypes.Structure):
    """A memref descriptor of rank 2 (of which lower ranks use the beginning)."""

    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                ("offset", ctypes.c_int64), ("sizes_strides", ctypes.c_int64 * 4)]


class Device:
    """Device buffers and copies, by the runtime."""

    def __init__(self, folder):
        self.runtime = ctypes.CDLL(os.path.join(folder, "libmoss_runtime.so"))
        self.runtime.mossDeviceAlloc.restype = ctypes.c_void_p
        self.runtime.mossDeviceAlloc.argtypes = [ctypes.c_uint64]
        self.runtime.mossDeviceFree.argtypes = [ctypes.c_void_p]
        copy = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64]
        self.runtime.mossCopyToDevice.argtypes = copy
        self.runtime.mossCopyToHost.argtypes = copy

    def upload(self, data):
        pointer = self.runtime.mossDeviceAlloc(len(data))
        self.runtime.mossCopyToDevice(pointer, data, len(data))
        return pointer

    def download(self, pointer, size):
        data = ctypes.create_string_buffer(size)
        self.runtime.mossCopyToHost(data, pointer, size)
        return data.raw


def memref(pointer, sizes, strides, offset=0):
    return MemRef(pointer, pointer, offset, (ctypes.c_int64 * 4)(*sizes, *strides))


def check(name, got, want):
    if got != want:
        first = next(i for i, (g, w) in enumerate(zip(got, want)) if g != w)
        sys.exit(f"{name}: element {first} is {got[first]}, not {want[first]}")
    print(f"{name}: ok")


def elementwise(library, device, rows, cols):
    """out = sqrt(a) + bias, and the largest element of it in a scalar."""
    values = [float(random.randrange(64)) ** 2 for _ in range(rows * cols)]
    pointer = device.upload(struct.pack(f"{rows * cols}f", *values))
    out = device.upload(bytes(4 * rows * cols))
    largest = device.upload(bytes(4))
    a, c = (memref(p, [rows, cols], [cols, 1]) for p in (pointer, out))
    library._mlir_ciface_elementwise(ctypes.byref(a), ctypes.byref(c),
                                     ctypes.byref(memref(largest, [], [])))
    want = [v ** 0.5 + 1 for v in values]
    name = f"elementwise {rows}x{cols}"
    check(name, list(struct.unpack(f"{rows * cols}f", device.download(out, 4 * rows * cols))), want)
    check(name + " maximum", list(struct.unpack("f", device.download(largest, 4))), [max(want, default=0.0)])


def copy_tile(library, device, rows, cols, row, col):
    """out = the 64x128 tile of a at (row, col), by the tensor copy engine."""
    stride = cols + 16
    data = random.randbytes(rows * stride + 16)
    a = memref(device.upload(data), [rows, cols], [stride, 1], offset=16)
    out = device.upload(bytes(64 * 128))
    library._mlir_ciface_copy_tile(ctypes.byref(a), ctypes.byref(memref(out, [64, 128], [128, 1])),
                                   ctypes.c_int64(row), ctypes.c_int64(col))
    want = [data[16 + r * stride + c] if r < rows and c < cols else 0
            for r in range(row, row + 64) for c in range(col, col + 128)]
    check(f"tile ({row}, {col}) of {rows}x{cols}", list(device.download(out, 64 * 128)), want)


def main():
    random.seed(0)
    path = os.path.abspath(sys.argv[1])
    device = Device(os.path.dirname(path))
    library = ctypes.CDLL(path)
    for rows, cols in [(1, 1), (3, 257), (70000, 33), (0, 5), (5, 0)]:
        elementwise(library, device, rows, cols)
    for rows, cols, row, col in [(64, 128, 0, 0), (200, 256, 128, 128), (70, 144, 64, 128)]:
        copy_tile(library, device, rows, cols, row, col)


if __name__ == "__main__":
    main()
