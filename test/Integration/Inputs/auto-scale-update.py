# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train the layer of auto-scale-update.mlir, given as a shared library.

After each step, the payloads that the update wrote must be those of the updated
weight under the predicted scale, and no weight may exceed that scale.
"""

import ctypes
import random
import sys

E4M3_MAX = 448
STEPS = 250
BETA1, BETA2 = 0.9, 0.95


def memref(buffer, *shape):
    """A descriptor of a contiguous array."""
    rank = len(shape)

    class MemRef(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                    ("offset", ctypes.c_int64), ("sizes", ctypes.c_int64 * rank),
                    ("strides", ctypes.c_int64 * rank)]

    address = ctypes.addressof(buffer)
    strides = [1] * rank
    for i in reversed(range(rank - 1)):
        strides[i] = strides[i + 1] * shape[i + 1]
    return MemRef(address, address, 0, shape, tuple(strides))


def floats(count, value=lambda: 0.0):
    return (ctypes.c_float * count)(*[value() for _ in range(count)])


def main():
    library = ctypes.CDLL(sys.argv[1])
    random.seed(7)
    x = (ctypes.c_uint16 * (8 * 64))(*[0x3f80] * (8 * 64))
    gy = (ctypes.c_uint16 * (8 * 32))(*[0x3f80] * (8 * 32))
    w, m, v = floats(64 * 32, lambda: random.uniform(-1, 1)), floats(64 * 32), floats(64 * 32)
    g, y, gx = floats(64 * 32), floats(8 * 32), floats(8 * 64)
    scales, state = floats(1), (ctypes.c_double * 3)()
    kept = [(ctypes.c_uint8 * (64 * 32))() for _ in range(2)]
    expected = [(ctypes.c_uint8 * (64 * 32))() for _ in range(2)]
    table, fields = memref(scales, 1), memref(state, 1, 3)
    weight = memref(w, 64, 32)
    payloads = [memref(kept[0], 32, 64), memref(kept[1], 64, 32)]
    references = [memref(expected[0], 32, 64), memref(expected[1], 64, 32)]
    library._mlir_ciface_moss_init_scales(ctypes.byref(table), ctypes.byref(fields))
    different = exceeded = measured = 0
    for t in range(STEPS):
        for i in range(len(g)):
            g[i] = random.gauss(0, 1) if t % 50 else 100 * (1 if i % 3 else -1)
        before = scales[0]
        rate = 0.01 * (1 + t % 5)
        pass_by = [memref(x, 8, 64), memref(gy, 8, 32), memref(g, 64, 32), weight,
                   memref(m, 64, 32), memref(v, 64, 32), ctypes.c_float(rate),
                   ctypes.c_float(1 - BETA1**(t + 1)), ctypes.c_float(1 - BETA2**(t + 1)),
                   memref(y, 8, 32), memref(gx, 8, 64), ctypes.c_int64(t), table,
                   *payloads, fields]
        library._mlir_ciface_train(*[a if isinstance(a, ctypes._SimpleCData) else
                                     ctypes.byref(a) for a in pass_by])
        measured += scales[0] < before or t == 0
        library._mlir_ciface_reference(*map(ctypes.byref, [weight, table, *references]))
        different += any(bytes(a) != bytes(b) for a, b in zip(kept, expected))
        exceeded += max(map(abs, w)) > scales[0] * E4M3_MAX
    finite = all(value == value and abs(value) < 1e6 for value in (*y, *gx))
    print(f"payloads that differ: {different}, scales exceeded: {exceeded}, "
          f"scales that shrank: {measured}, results finite: {finite}")
    # A loaded checkpoint: scale and payloads are those of the new weight.
    for i in range(len(w)):
        w[i] *= 64
    library._mlir_ciface_train_reset_scales(
        *map(ctypes.byref, [weight, table, *payloads]))
    library._mlir_ciface_reference(*map(ctypes.byref, [weight, table, *references]))
    same = all(bytes(a) == bytes(b) for a, b in zip(kept, expected))
    print(f"after loading: payloads same: {same}, "
          f"exceeded: {max(map(abs, w)) > scales[0] * E4M3_MAX * (1 + 2**-8)}")


main()
