"""Read and write .npy files without NumPy, which machines for tests may lack."""

import ast
import struct


def write(path, descr, shape, data, fortran=False):
    """Write a file of version 1 with elements given as bytes."""
    header = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def write_floats(path, shape, values):
    write(path, "<f4", shape, struct.pack(f"<{len(values)}f", *values))


def read(path):
    """The type, the shape and the bytes of the elements."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", path
    length, = struct.unpack_from("<H", data, 8)
    assert (10 + length) % 64 == 0, path
    header = ast.literal_eval(data[10:10 + length].decode())
    assert not header["fortran_order"]
    return header["descr"], header["shape"], data[10 + length:]


def read_floats(path):
    descr, shape, data = read(path)
    assert descr == "<f4", descr
    return shape, list(struct.unpack(f"<{len(data) // 4}f", data))
