#!/usr/bin/env python3
"""Compares scaling schemes on this machine's CPU, by the error that they leave in a
product of random matrices.

    examples/compare-schemes.py

Each scheme is compiled by moss-opt, and what it computes from BF16 operands is
compared with the exact product: relative error in the Frobenius norm, after each
element was divided by the norms of the row of x and the row of w from which it
comes, so that all count the same. The seed is fixed. Environment: MOSS_BUILD_DIR (default: build beside this folder).
"""

import ctypes
import math
import operator
import os
from pathlib import Path
import random
import struct
import subprocess
import tempfile

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("MOSS_BUILD_DIR", ROOT / "build"))
M, N, K = 16, 128, 512
SCHEMES = ["scheme=per-tensor", "scheme=two-level", "lhs-scheme=rows rhs-scheme=rows",
           "lhs-group=1,128 rhs-group=128,128", "scheme=mx"]
PRODUCT = f"""
#w = affine_map<(m, n, k) -> (n, k)>
func.func @product(%x: tensor<{M}x{K}xbf16>, %w: tensor<{N}x{K}xbf16>, %y: tensor<{M}x{N}xf32>) -> tensor<{M}x{N}xf32> {{
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%y : tensor<{M}x{N}xf32>) -> tensor<{M}x{N}xf32>
  %0 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, #w, affine_map<(m, n, k) -> (m, n)>]
    ins(%x, %w : tensor<{M}x{K}xbf16>, tensor<{N}x{K}xbf16>) outs(%init : tensor<{M}x{N}xf32>) -> tensor<{M}x{N}xf32>
  return %0 : tensor<{M}x{N}xf32>
}}
"""


class MemRef(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64),
                ("sizes", ctypes.c_int64 * 2), ("strides", ctypes.c_int64 * 2)]


def memref(buffer, rows, cols):
    address = ctypes.addressof(buffer)
    return ctypes.byref(MemRef(address, address, 0, (rows, cols), (cols, 1)))


def compile_product(scheme, library):
    """The compiled function for BF16 bit patterns, by rows."""
    lowered = subprocess.run([BUILD / "bin/moss-opt", f"--moss-fp8-lower=target=cpu {scheme}"],
                             input=PRODUCT.encode(), check=True, stdout=subprocess.PIPE).stdout
    subprocess.run([ROOT / "utils/moss-build-shared.sh", "-", library], input=lowered, check=True,
                   env=dict(os.environ, MOSS_BUILD_DIR=str(BUILD)))
    function = ctypes.CDLL(str(library))._mlir_ciface_product

    def product(x, w):
        # Descriptors do not keep the arrays alive.
        x, w = (ctypes.c_uint16 * (M * K))(*x), (ctypes.c_uint16 * (N * K))(*w)
        y = (ctypes.c_float * (M * N))()
        function(memref(x, M, K), memref(w, N, K), memref(y, M, N))
        return y
    return product


def draw(rows, spread=0, outliers=1):
    """BF16 bit patterns of N(0, 1): each row times a power of two from 2^-spread to
    2^spread, and one element in 1000 times `outliers`."""
    bits = []
    for _ in range(rows):
        scale = 2.0 ** random.randint(-spread, spread)
        for _ in range(K):
            value = random.gauss(0, scale) * (outliers if random.random() < 1e-3 else 1)
            bits.append(struct.unpack("I", struct.pack("f", value))[0] >> 16)
    return bits


def rows_of(bits):
    values = [struct.unpack("f", struct.pack("I", b << 16))[0] for b in bits]
    return [values[row:row + K] for row in range(0, len(values), K)]


def error(got, x, w):
    """The error of the product of the rows of x and w, as described above."""
    x_norms, w_norms = ([math.hypot(*row) for row in matrix] for matrix in (x, w))
    wrong = right = 0.0
    for m, row in enumerate(x):
        for n, col in enumerate(w):
            want = math.fsum(map(operator.mul, row, col))
            size = x_norms[m] * w_norms[n]
            wrong += ((got[m * N + n] - want) / size) ** 2
            right += (want / size) ** 2
    return math.sqrt(wrong / right)


def main():
    random.seed(0)
    operands = {"N(0, 1)": (draw(M), draw(N)),
                "rows of x of all sizes": (draw(M, spread=10), draw(N)),
                "rows of w of all sizes": (draw(M), draw(N, spread=10)),
                "outliers in x": (draw(M, outliers=1e5), draw(N))}
    print("| options | " + " | ".join(operands) + " |")
    print("|---" * (len(operands) + 1) + "|")
    for scheme in SCHEMES:
        with tempfile.TemporaryDirectory() as folder:
            product = compile_product(scheme, Path(folder) / "product.so")
        errors = [error(product(x, w), rows_of(x), rows_of(w)) for x, w in operands.values()]
        print(f"| `{scheme}` | " + " | ".join(f"{e:.1e}" for e in errors) + " |")


main()
