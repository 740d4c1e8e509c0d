"""The files of npy.test, and what must come of them."""

import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "Inputs"))
import npy

# Ties go to even: 1 + 2^-8 down, 1 + 3 * 2^-8 up. The last is beyond BF16.
FLOATS = [1.0, 1.00390625, 1.01171875, -0.0, 3.3895314e38, 1e-40]
BF16 = [1.0, 1.0, 1.015625, -0.0, 3.3895314e38, None]
# 17 and 19 are halfway between E4M3's neighbors; 2^-10 is half of its smallest.
FP8 = [17.0, 19.0, 2.0**-10, -448.0]
FP8_BITS = bytes([0x58, 0x5a, 0x00, 0xfe])


def write(folder):
    npy.write_floats(f"{folder}/a32.npy", (2, 3), FLOATS)
    bits = [struct.unpack("<I", struct.pack("<f", v))[0] for v in FLOATS]
    # Round to nearest, ties to even, in integers.
    rounded = [(b + 0x7fff + (b >> 16 & 1)) >> 16 for b in bits]
    npy.write(f"{folder}/a16.npy", "<u2", (2, 3), struct.pack("<6H", *rounded))
    npy.write(f"{folder}/b.npy", "|V1", (4,), FP8_BITS)
    npy.write_floats(f"{folder}/b32.npy", (4,), FP8)
    npy.write(f"{folder}/c.npy", "<i8", (2,), struct.pack("<2q", -1, 2**62 + 1))
    npy.write(f"{folder}/fortran.npy", "<f4", (2, 3), bytes(24), fortran=True)
    npy.write(f"{folder}/short.npy", "<f4", (2, 3), bytes(20))
    npy.write(f"{folder}/huge.npy", "<f4", (2**62, 2**62), bytes(4))
    npy.write(f"{folder}/big-endian.npy", ">f4", (2, 3), bytes(24))


def check(folder):
    shape, values = npy.read_floats(f"{folder}/a-out.npy")
    assert shape == (2, 3), shape
    for value, wanted in zip(values[:5], BF16):
        assert struct.pack("<f", value) == struct.pack("<f", wanted), values
    assert 0 < values[5] < 1.1e-40, values
    assert npy.read(f"{folder}/b-out.npy") == ("|u1", (4,), FP8_BITS)
    assert npy.read(f"{folder}/c-out.npy") == ("<i8", (2,), struct.pack("<2q", -1, 2**62 + 1))
    assert npy.read_floats(f"{folder}/d-out.npy") == ((), [2.5])


{"write": write, "check": check}[sys.argv[1]](sys.argv[2])
