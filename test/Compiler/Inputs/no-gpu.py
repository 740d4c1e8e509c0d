"""Call functions of a library for a GPU where there is none."""

import ctypes
import os
import sys

path = os.path.abspath(sys.argv[1])
runtime = ctypes.CDLL(os.path.join(os.path.dirname(path), "libmoss_runtime.so"))
runtime.mossGetLastError.restype = ctypes.c_char_p
library = ctypes.CDLL(path)
size = ctypes.c_int64
memory = ctypes.create_string_buffer(32 * 64 * 4)
result = ctypes.create_string_buffer(4 * 32 * 4)


def layer(x):
    status = library.layer(x, size(4), size(64), size(1), memory, size(64), size(1),
                           result, size(4), size(32), size(1), None)
    print(status, runtime.mossGetLastError().decode())


layer(None)
layer(memory)
following, flag, wide = ctypes.c_int64(), ctypes.c_bool(), ctypes.c_float()
status = library.mix(size(41), ctypes.c_bool(True), ctypes.c_uint16(0), ctypes.byref(following),
                     ctypes.byref(flag), ctypes.byref(wide), None)
print(status, following.value)
