# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drive auto-scale-globals.mlir, given as a shared library."""

import ctypes
import sys


class MemRef(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                ("offset", ctypes.c_int64), ("sizes", ctypes.c_int64 * 2),
                ("strides", ctypes.c_int64 * 2)]


library = ctypes.CDLL(sys.argv[1])
y = (ctypes.c_float * (4 * 32))()
memref = MemRef(ctypes.addressof(y), ctypes.addressof(y), 0, (4, 32), (32, 1))


def look(title, step, function="look"):
    getattr(library, "_mlir_ciface_" + function)(ctypes.c_int64(step), ctypes.byref(memref))
    print(f"{title}: {y[0]:.2f}")


library._mlir_ciface_moss_init_scales()
look("never measured", 1)
look("measured", 0)
library._mlir_ciface_load()
look("loaded behind its back", 1, "look_twice")
library._mlir_ciface_moss_update_scales(ctypes.c_double(1), ctypes.c_int64(1))
look("after a step of 1", 1)
library._mlir_ciface_look_reset_scales()
look("reset", 1)
