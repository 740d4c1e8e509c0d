#!/usr/bin/env python3
#
# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure what each scaling scheme does to numbers, on a CPU.

    benchmark/numerics.py OUT.json [--shape MxNxK] [--lengths 128,512,...]

Compiles moss.quantize, moss.dequantize and moss.scaled_matmul for each scheme
with arithmetic=emulate, which gives the bits of a GPU, and runs what was
compiled. Nothing is quantized in Python: it draws the operands, and compares
results with sums in double precision.

Needs a built Moss, clang-22 and NumPy. Environment: MOSS_BUILD_DIR (default:
build in this project). report.py makes tables and plots of OUT.json.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

import distributions
from schemes import FORMATS, PER_TENSOR, SCHEMES, bf16_source, layer_source, source

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("MOSS_BUILD_DIR", os.path.join(ROOT, "build"))
# What a magnitude must exceed, beside the largest finite one, to round past it:
# half a unit in the last place.
SATURATED = {"f8E4M3FN": (0x7E, 1 + 1 / 28), "f8E5M2": (0x7B, 1 + 1 / 14)}
LOW_ROWS = 1 / 4  # of all rows, those of the smallest norm
ACCUMULATION_ROWS = 64


class MemRef(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                ("offset", ctypes.c_int64), ("sizes", ctypes.c_int64 * 2),
                ("strides", ctypes.c_int64 * 2)]


def memref(array):
    address = array.ctypes.data
    return ctypes.byref(MemRef(address, address, 0, array.shape, (array.shape[1], 1)))


def widen(bits):
    """BF16 bits as doubles."""
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


class Program:
    """A compiled module."""

    def __init__(self, text, folder, options=""):
        done = subprocess.run(
            [os.path.join(BUILD, "bin", "moss-opt"),
             f"--moss-fp8-lower=target=cpu arithmetic=emulate {options}"],
            input=text, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"moss-opt failed:\n{done.stderr[:2000]}")
        # In a folder of its own, since what is loaded must not be overwritten.
        library = os.path.join(tempfile.mkdtemp(dir=folder), "program.so")
        build = os.path.join(ROOT, "utils", "moss-build-shared.sh")
        made = subprocess.run([build, "-", library], input=done.stdout, text=True,
                              capture_output=True, env={**os.environ, "MOSS_BUILD_DIR": BUILD})
        if made.returncode:
            sys.exit(f"{build} failed:\n{made.stderr[:2000]}")
        self.library = ctypes.CDLL(library)

    def call(self, name, *arrays):
        getattr(self.library, "_mlir_ciface_" + name)(*map(memref, arrays))

    def quantize(self, operand, bits):
        """Payload codes, and the values that they stand for."""
        codes, values = np.zeros(bits.shape, np.uint8), np.zeros(bits.shape, np.float32)
        self.call(operand, bits, codes, values)
        return codes, values.astype(np.float64)

    def product(self, name, lhs, rhs, result=np.uint16):
        out = np.zeros((lhs.shape[0], rhs.shape[0]), result)
        self.call(name, lhs, rhs, out)
        return widen(out) if result == np.uint16 else out.astype(np.float64)


def measure_quantization(x, codes, values, element):
    """Errors of single elements; shares are of the non-zero ones."""
    nonzero = x != 0
    wanted, got, code = x[nonzero], values[nonzero], codes[nonzero]
    last, past = SATURATED[element]
    relative = got / wanted - 1
    saturated = ((code & 0x7F) == last) & (np.abs(wanted) > np.abs(got) * past)
    energy = np.sum((got - wanted) ** 2)
    return {"flushed": np.mean(got == 0), "saturated": np.mean(saturated),
            "relative": np.sqrt(np.mean(relative ** 2)),
            "snr": 10 * np.log10(np.sum(wanted ** 2) / energy)}


def measure_product(exact, got):
    """Relative Frobenius error, and the root mean square of that of the rows of
    the smallest norms."""
    norms, errors = np.linalg.norm(exact, axis=1), np.linalg.norm(got - exact, axis=1)
    low = np.argsort(norms)[:max(1, int(len(norms) * LOW_ROWS))]
    return {"error": np.linalg.norm(errors) / np.linalg.norm(norms),
            "low": np.sqrt(np.mean((errors[low] / norms[low]) ** 2))}


def rounded(measures):
    """Six digits, which is more than any of them means."""
    return {name: float(f"{value:.6g}") for name, value in measures.items()}


def measure_scheme(name, element, data, shape, folder, results):
    program = Program(source(*SCHEMES[name], element, *shape), folder)
    for kind, (lhs, rhs) in data.items():
        case = {"scheme": name, "format": element, "data": kind}
        x, exact = widen(lhs), widen(lhs) @ widen(rhs).T
        results["quantization"].append(
            {**case, **rounded(measure_quantization(x, *program.quantize("lhs", lhs), element))})
        for mode in ("promoted", "fast"):
            product = program.product(mode, lhs, rhs)
            results["products"].append(
                {**case, "accumulate": mode, **rounded(measure_product(exact, product))})


def measure_bf16(data, shape, folder, results):
    """The same products without quantization: FP32 sums, rounded to BF16."""
    program = Program(bf16_source(*shape), folder)
    for kind, (lhs, rhs) in data.items():
        exact = widen(lhs) @ widen(rhs).T
        results["products"].append(
            {"scheme": "bf16", "data": kind,
             **rounded(measure_product(exact, program.product("bf16", lhs, rhs)))})


def measure_accumulation(length, rng, folder, results):
    """The error of sums alone: beside exact sums of the quantized operands."""
    shape = (ACCUMULATION_ROWS, ACCUMULATION_ROWS, length)
    intervals = [interval for interval in (32, 128, 512) if interval <= length]
    program = Program(source(*SCHEMES[PER_TENSOR], "f8E4M3FN", *shape, intervals, "f32"), folder)
    for kind in ("positive", "normal"):
        lhs, rhs = distributions.draw(kind, rng, *shape)
        exact = program.quantize("lhs", lhs)[1] @ program.quantize("rhs", rhs)[1].T
        for interval in [0, *intervals]:
            name = f"promoted_{interval}" if interval else "fast"
            got = program.product(name, lhs, rhs, np.float32)
            measures = {"error": np.linalg.norm(got - exact) / np.linalg.norm(exact)}
            results["accumulation"].append(
                {"data": kind, "length": length, "interval": interval, **rounded(measures)})


def measure_gradients(seed, shape, folder, results):
    """The gradient of a layer's weights, with its inputs quantized for it and with
    the bytes of the forward pass."""
    n, k, tokens = shape
    for name, options in (("anew", ""), ("stored", "migrate-scales")):
        program = Program(layer_source(tokens, n, k), folder, options)
        rng = np.random.default_rng(seed)
        for kind in distributions.KINDS:
            x, w = distributions.draw(kind, rng, tokens, n, k)
            dy = distributions.draw("gradients", rng, tokens, 1, n)[0]
            y, dw = np.zeros((tokens, n), np.float32), np.zeros((n, k), np.float32)
            program.call("layer", x, w, dy, y, dw)
            measures = measure_product(widen(dy).T @ widen(x), dw.astype(np.float64))
            # Rows are small because their terms cancel, so that "low" says nothing.
            results["gradients"].append(
                {"inputs": name, "data": kind, **rounded({"error": measures["error"]})})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", help="JSON file to write")
    parser.add_argument("--shape", default="256x256x4096", help="MxNxK of the products")
    parser.add_argument("--lengths", default="128,512,2048,4096,8192,16384,65536",
                        help="K of the sums whose accumulation is measured")
    parser.add_argument("--schemes", default=";".join(SCHEMES),
                        help="names in schemes.py, with semicolons between them")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    try:
        shape = tuple(int(extent) for extent in options.shape.split("x"))
        lengths = [int(length) for length in options.lengths.split(",")]
    except ValueError:
        parser.error("--shape must be like 256x256x4096, and --lengths like 128,512")
    if len(shape) != 3 or min(shape + tuple(lengths)) < 1:
        parser.error("--shape takes three extents, and all extents must be positive")
    names = options.schemes.split(";")
    if unknown := [name for name in names if name not in SCHEMES]:
        parser.error(f"there is no scheme '{unknown[0]}'; known: {', '.join(SCHEMES)}")

    rng = np.random.default_rng(options.seed)
    data = {kind: distributions.draw(kind, rng, *shape) for kind in distributions.KINDS}
    results = {"shape": shape, "seed": options.seed,
               "quantization": [], "products": [], "accumulation": [], "gradients": []}
    with tempfile.TemporaryDirectory() as folder:
        measure_bf16(data, shape, folder, results)
        for name in names:
            for element in FORMATS:
                print(f"{name}, {element}", file=sys.stderr)
                measure_scheme(name, element, data, shape, folder, results)
        for length in lengths:
            print(f"sums of {length}", file=sys.stderr)
            measure_accumulation(length, rng, folder, results)
        print("gradients of weights", file=sys.stderr)
        measure_gradients(options.seed, shape, folder, results)
    with open(options.out, "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
