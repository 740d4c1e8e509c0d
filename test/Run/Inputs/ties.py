"""Operands whose roundings are as large as they can be, all in one direction.

Each row has the elements 17/16, halfway between two neighbors of E4M3, of which
the smaller is even. A 448, whose column the other operand has zeros in, makes
the scale 1. With a second argument, also the product, off by a part of itself.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import npy

ROWS, K = 16, 64
folder = sys.argv[1]
VALUE = 17 / 16


def row(large, zero):
    values = [VALUE] * K
    values[large], values[zero] = 448.0, 0.0
    return values


npy.write_floats(f"{folder}/x.npy", (ROWS, K), row(0, 1) * ROWS)
npy.write_floats(f"{folder}/w.npy", (ROWS, K), row(1, 0) * ROWS)
exact = (K - 2) * VALUE * VALUE
npy.write_floats(f"{folder}/exact.npy", (ROWS, ROWS), [exact] * ROWS * ROWS)
# The bound here is about 1/6 of the product; the kernel's is 1/9 below.
wrong = [exact] * ROWS * ROWS
wrong[37] = exact * 1.25
npy.write_floats(f"{folder}/wrong.npy", (ROWS, ROWS), wrong)
