"""Write results that are wrong as a whole beside a result, [M, N] in f32.

usage: wrong.py <folder>    reads y.npy; writes zero.npy, shifted.npy, scaled.npy
"""

import os
import sys

import npy

folder = sys.argv[1]
(rows, cols), y = npy.read_floats(os.path.join(folder, "y.npy"))


def write(name, values):
    npy.write_floats(os.path.join(folder, name), (rows, cols), values)


write("zero.npy", [0.0] * len(y))
write("shifted.npy", y[cols:] + y[:cols])
write("scaled.npy", [1.3 * v for v in y])
