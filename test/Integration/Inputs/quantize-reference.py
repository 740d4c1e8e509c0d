#!/usr/bin/env python3
#
# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An independent reference for moss.quantize and moss.dequantize.

    quantize-reference.py program CASE   prints an MLIR program that quantizes
                                         and dequantizes a matrix and prints
                                         all bytes of the results
    quantize-reference.py check CASE     compares such output, on stdin, with
                                         the definition of the ops
    quantize-reference.py function CASE  prints only the function, which
    quantize-reference.py run CASE       calls on a GPU, from --library, to
                                         compare its results

CASE is a list of options, the same for both. The definition is evaluated in the
exact arithmetic of exact.py.
"""

import argparse
import ctypes
import functools
import itertools
import math
import os
import random
import re
import struct
import sys
from fractions import Fraction

from exact import (
    FORMATS, encode, f32, f32_bits, f32_from_bits, finite_values, global_from_amax,
    is_finite, micro_scale, multiply, reciprocal, round_fraction,
)

# The matrix of a case --------------------------------------------------------

BF16_CONFORMANCE = [
    [0x0000] * 8,  # zeros
    [0x8000] * 8,  # negative zeros
    [0x0000, 0x8000, 0x0001, 0x8001, 0x0040, 0x007F, 0x0000, 0x8000],  # subnormals
    [0x0001, 0, 0, 0, 0, 0, 0, 0],  # the least magnitude
    [0x7F7F, 0xFF7F, 0x7F7E, 0x3F80, 0, 0x0080, 0x0001, 0x4000],  # the largest
    [0x7FC0, 0x3F80, 0xBF80, 0, 0x8000, 0x4000, 0x0001, 0x7F7F],  # a NaN
    [0xFFC1, 0x3F80, 0xBF80, 0, 0x8000, 0x4000, 0x0001, 0x7F7F],  # a negative NaN
    [0x7F80, 0x3F80, 0xBF80, 0, 0x8000, 0x4000, 0x0001, 0x7F7F],  # infinity
    [0xFF80, 0x3F80, 0xBF80, 0, 0x8000, 0x4000, 0x0001, 0x7F7F],  # -infinity
    # 448, 449 (450), 464, 465 (466), 480, 512, 896, 897 (900)
    [0x43E0, 0x43E1, 0x43E8, 0x43E9, 0x43F0, 0x4400, 0x4460, 0x4461],
    [0x43E0, 0x3F80, 0x3C00, 0x3B80, 0x3BC0, 0x3B00, 0xBB80, 0xBBC0],  # 448, 1, 2^-7, ties
    # 2^-9, 2^-10, 3*2^-11, 5*2^-10, 2^-11, and their negatives
    [0x3B00, 0x3A80, 0x3AC0, 0x3BA0, 0x3A00, 0xBB00, 0xBA80, 0xBAC0],
    # 57344, 61440, 65536, and the subnormal grid of E5M2
    [0x4760, 0x4770, 0x4780, 0x3780, 0x3700, 0x3740, 0x3680, 0xB700],
]


def make_source(case):
    """The bits of the matrix [outer, K], row by row."""
    rows, cols = case.shape
    is_bf16 = case.source == "bf16"
    if case.data == "all":
        assert is_bf16 and rows * cols == 65536
        flat = range(65536)
    elif case.data == "conformance":
        flat = list(itertools.chain(*BF16_CONFORMANCE))
        assert is_bf16 and [rows, cols] == [len(BF16_CONFORMANCE), 8]
    else:
        rng = random.Random(case.seed)
        flat = []
        for _ in range(rows):
            spread = rng.choice([1, 30, 250]) if case.data == "wild" else 2
            for _ in range(cols):
                exponent = min(254, max(0, rng.randint(127 - spread // 2, 127 + spread // 2)))
                bits = rng.getrandbits(1) << 31 | exponent << 23 | rng.getrandbits(23)
                flat.append(bits >> 16 if is_bf16 else bits)
    flat = list(flat)
    return [flat[i * cols : (i + 1) * cols] for i in range(rows)]


def values_of(case, bits):
    shift = 16 if case.source == "bf16" else 0
    return [[f32_from_bits(x << shift) for x in row] for row in bits]


# The definition of the ops ---------------------------------------------------


def magnitude_max(values):
    """The largest magnitude; NaN over infinity over finite numbers."""
    best = 0.0
    for x in values:
        if x != x:
            return x
        best = max(best, abs(x))
    return best


def groups_of(case):
    """(group index, rows, columns) of every micro group."""
    rows, cols = case.shape
    outer, inner = case.group
    grow = range(1) if outer == 0 else range(-(-rows // outer))
    gcol = range(1) if inner == 0 else range(-(-cols // inner))
    for i in grow:
        for k in gcol:
            r = range(rows) if outer == 0 else range(i * outer, min(rows, i * outer + outer))
            c = range(cols) if inner == 0 else range(k * inner, min(cols, k * inner + inner))
            yield (i, k), r, c


def reference(case):
    """Payload codes, micro scales, the yielded global bits, the scales."""
    x = values_of(case, make_source(case))
    rows, cols = case.shape
    groups = list(groups_of(case)) if case.micro else [((0, 0), range(rows), range(cols))]
    amax = {g: magnitude_max(x[i][k] for i in r for k in c) for g, r, c in groups}
    fmax = Fraction(finite_values(case.element)[-1])
    known = {"unit": 1.0, "given": case.scale, "delayed": case.scale}
    s, yielded = known.get(case.global_), None
    if case.global_ == "jit":
        if case.micro:
            s = global_from_amax(max((a for a in amax.values() if is_finite(a)), default=0.0), fmax)
        else:
            s = global_from_amax(amax[(0, 0)], fmax)
        yielded = s
    elif case.global_ == "delayed":
        yielded = max((abs(v) for row in x for v in row if v == v), default=0.0)
    r = reciprocal(s)
    payload = [[None] * cols for _ in range(rows)]
    micro = {}
    for g, rows_, cols_ in groups:
        factor = None
        if case.micro:
            stored, m = micro_scale(case, amax[g], s)
            micro[g] = (stored, m)
            factor = reciprocal(m)
        for i in rows_:
            for k in cols_:
                y = multiply(x[i][k], r)
                if factor is not None:
                    y = multiply(y, factor)
                elif not is_finite(x[i][k]):
                    y = float("nan")
                payload[i][k] = encode(case.element, y)
    return payload, micro, s, yielded, groups


def dequantized(name, code, m, s):
    """The value in f32, as a double: rounded once if there is one scale that
    is not a power of two; the product of two is rounded before."""
    if code & 0x7F > FORMATS[name][2] or s != s or m != m:
        return float("nan")
    value = dequantized_magnitude(name, code & 0x7F, m, s)
    return -value if code & 0x80 else value


@functools.lru_cache(None)
def dequantized_magnitude(name, code, m, s):
    q = Fraction(finite_values(name)[code])
    scale = round_fraction(Fraction(m) * Fraction(s), 24, -300)
    return float_from_fraction(round_fraction(q * scale, 24, -126))


def float_from_fraction(x):
    return float(x) if x <= Fraction(f32_from_bits(0x7F7FFFFF)) else float("inf")


# The program -----------------------------------------------------------------


def scheme_text(case):
    text = "#moss.scheme<" + case.element
    if case.micro:
        group = ", ".join(str(g) if g else "full" for g in case.group)
        text += f", micro = {case.micro}, group = [{group}]"
    text += f", global = {case.global_}"
    if case.micro:
        text += f", rounding = {case.rounding}"
    return text + ">"


def micro_shape(case):
    return [-(-n // g) if g else 1 for n, g in zip(case.shape, case.group)]


def memref(shape, element, case):
    dims = "x".join(map(str, shape)) if case.static else "?x?"
    return f"memref<{dims}x{element}>" if shape else f"memref<{element}>"


def case_arguments(case):
    """The arguments of the function: name, shape, element type, bytes of an
    element. All but `x` and `s` are results."""
    rows, cols = case.shape
    source_shape = [cols, rows] if case.transpose else [rows, cols]
    yield "x", source_shape, case.source, 2 if case.source == "bf16" else 4
    if case.global_ in ("given", "delayed"):
        yield "s", [], "f32", 4
    yield "p", [rows, cols], case.element, 1
    if case.micro:
        yield "m", micro_shape(case), case.micro, 1 if case.micro == "f8E8M0FNU" else 4
    if case.global_ in ("jit", "delayed"):
        yield "g", [], "f32", 4
    yield "y", [rows, cols], "f32", 4
    yield "z", [rows, cols], "bf16", 2


def emit_function(case):
    """A function that quantizes x and dequantizes the result."""
    types = {name: memref(shape, element, case) for name, shape, element, _ in case_arguments(case)}
    operand = lambda keyword, name: f" {keyword}(%{name} : {types[name]})" if name in types else ""
    scheme = scheme_text(case)[12:]
    print("func.func @quantize_case(" + ", ".join(f"%{n}: {t}" for n, t in types.items()) + ") {")
    print(f"  moss.quantize {scheme}{' transpose' if case.transpose else ''} ins(%x : {types['x']})"
          + operand("scale", "s") + operand("payload", "p") + operand("micro", "m") + operand("global", "g"))
    used = "g" if case.global_ == "jit" else "s"
    for name in ("y", "z"):
        print(f"  moss.dequantize {scheme}" + operand("payload", "p") + operand("micro", "m")
              + operand("global", used) + operand("outs", name))
    print("  return\n}")


def source_bytes(case):
    bits = make_source(case)
    if case.transpose:
        bits = [list(column) for column in zip(*bits)]
    size = 2 if case.source == "bf16" else 4
    return b"".join(x.to_bytes(size, "little") for row in bits for x in row)


def emit_program(case):
    """The function, and a main that calls it and prints the results."""
    emit_function(case)
    # An empty constant has no hexadecimal form.
    data = source_bytes(case) or bytes(16)
    print("func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}")
    print(f'memref.global "private" constant @data : memref<{len(data)}xi8> = dense<"0x{data.hex()}">')
    print(PRINT_BYTES)
    print("func.func @main() {")
    arguments = list(case_arguments(case))
    for n in sorted({0}.union(*(shape for _, shape, _, _ in arguments))):
        print(f"  %c{n} = arith.constant {n} : index")
    for name, shape, element, size in arguments:
        n = max(1, size * math.prod(shape))
        kind = memref(shape, element, case)
        bytes_ = f"memref<{len(data) if name == 'x' else n}xi8>"
        allocation = "memref.get_global @data" if name == "x" else "memref.alloc()"
        print(f"  %{name}_bytes = {allocation} : {bytes_}")
        sizes = "" if case.static else ", ".join(f"%c{extent}" for extent in shape)
        print(f"  %{name} = memref.view %{name}_bytes[%c0][{sizes}] : {bytes_} to {kind}")
        if name == "s":
            print(f"  %scale = arith.constant 0x{f32_bits(case.scale):08X} : f32")
            print("  memref.store %scale, %s[] : memref<f32>")
    names, kinds = zip(*((f"%{n}", memref(shape, e, case)) for n, shape, e, _ in arguments))
    print(f"  call @quantize_case({', '.join(names)}) : ({', '.join(kinds)}) -> ()")
    for name, shape, _, size in arguments:
        if name in "xs":
            continue
        n = max(1, size * math.prod(shape))
        print(f"  %{name}_any = memref.cast %{name}_bytes : memref<{n}xi8> to memref<?xi8>")
        print(f"  call @print_bytes(%{name}_any) : (memref<?xi8>) -> ()")
    print("  return\n}")


PRINT_BYTES = """func.func private @print_bytes(%bytes: memref<?xi8>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %bytes, %c0 : memref<?xi8>
  %words = memref.alloc(%n) : memref<?xi32>
  scf.for %i = %c0 to %n step %c1 {
    %byte = memref.load %bytes[%i] : memref<?xi8>
    %word = arith.extui %byte : i8 to i32
    memref.store %word, %words[%i] : memref<?xi32>
  }
  %any = memref.cast %words : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%any) : (memref<*xi32>) -> ()
  memref.dealloc %words : memref<?xi32>
  return
}"""


# The check -------------------------------------------------------------------


def read_buffers(text):
    """The printed buffers, as bytes."""
    chunks = re.split(r"Unranked Memref", text)[1:]
    return [bytes(map(int, re.findall(r"\d+", c.split("data =")[1]))) for c in chunks]


class Descriptor(ctypes.Structure):
    """A memref of up to two dimensions, contiguous."""

    _fields_ = [("base", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                ("offset", ctypes.c_int64), ("sizes_and_strides", ctypes.c_int64 * 4)]


def run_on_device(case):
    """Call the lowered function in a shared library, on device memory from the
    runtime beside the library; the buffers of the results."""
    library = ctypes.CDLL(os.path.abspath(case.library))
    runtime = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(case.library)), "libmoss_runtime.so"))
    runtime.mgpuStreamCreate.restype = runtime.mgpuMemAlloc.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(runtime.mgpuStreamCreate())

    def copy(to, source, size):
        runtime.mgpuMemcpy(ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_uint64(size), stream)
        runtime.mgpuStreamSynchronize(stream)

    descriptors, results = [], []
    for name, shape, _, size in case_arguments(case):
        n = size * math.prod(shape)
        inputs = {"x": source_bytes(case), "s": struct.pack("<f", case.scale)}
        host = ctypes.create_string_buffer(inputs.get(name, b"\xa5" * n), max(n, 1))
        # Zero bytes give no address; nothing may be read through this one.
        device = runtime.mgpuMemAlloc(ctypes.c_uint64(max(n, 16)), stream, 0)
        copy(device, ctypes.addressof(host), n)
        layout = [*shape, shape[1], 1] if shape else []
        descriptors.append(Descriptor(device, device, 0, (ctypes.c_int64 * 4)(*layout)))
        if name not in inputs:
            results.append((device, host, n))
    library._mlir_ciface_quantize_case(*map(ctypes.byref, descriptors))
    for device, host, n in results:
        copy(ctypes.addressof(host), device, n)
    return [host.raw[:n] for _, host, n in results]


class Mismatches:
    def __init__(self):
        self.count = 0

    def expect(self, what, actual, wanted):
        if actual == wanted:
            return
        self.count += 1
        if self.count <= 10:
            print(f"{what}: got {actual:#x}, expected {wanted:#x}")


def same_float(actual, wanted, slack):
    """Equal bits, or both NaN, or off by `slack` units in the last place."""
    actual_value, value = f32_from_bits(actual), f32_from_bits(wanted)
    if value != value:
        return actual_value != actual_value
    return abs(actual - wanted) <= slack


def check_scales(case, bad, buffers, micro, yielded):
    if case.micro:
        data = buffers.pop(0)
        columns = micro_shape(case)[1]
        for (i, k), (stored, _) in micro.items():
            at = i * columns + k
            if case.micro == "f8E8M0FNU":
                bad.expect(f"micro {i},{k}", data[at], stored)
            else:
                actual = struct.unpack_from("<I", data, 4 * at)[0]
                wanted = 0x7FC00000 if stored is None else stored
                bad.expect(f"micro {i},{k}", actual, wanted)
    if yielded is not None:
        actual = struct.unpack("<I", buffers.pop(0))[0]
        wanted = 0x7FC00000 if yielded != yielded else f32_bits(yielded)
        bad.expect("global", actual, wanted)


def check(case, buffers):
    payload, micro, s, yielded, groups = reference(case)
    rows, cols = case.shape
    bad = Mismatches()
    data = buffers.pop(0)
    for i, k in itertools.product(range(rows), range(cols)):
        bad.expect(f"payload {i},{k}", data[i * cols + k], payload[i][k])
    check_scales(case, bad, buffers, micro, yielded)
    y, z = buffers.pop(0), buffers.pop(0)
    for g, rows_, cols_ in groups:
        m = micro[g][1] if case.micro else 1.0
        for i, k in itertools.product(rows_, cols_):
            wanted = dequantized(case.element, payload[i][k], m, s)
            check_dequantized(bad, i, k, wanted,
                              struct.unpack_from("<I", y, 4 * (i * cols + k))[0],
                              struct.unpack_from("<H", z, 2 * (i * cols + k))[0])
    if buffers:
        bad.expect("number of buffers left", len(buffers), 0)
    print(f"{rows * cols} elements, {bad.count} mismatches")
    return bad.count == 0


def check_dequantized(bad, i, k, wanted, actual, actual_bf16):
    bits = f32_bits(wanted)
    # A subnormal result is rounded twice.
    slack = 1 if 0 < abs(wanted) < 2.0**-126 else 0
    if not same_float(actual, bits, slack):
        bad.expect(f"f32 {i},{k}", actual, bits)
        return
    bf16 = (actual + 0x7FFF + (actual >> 16 & 1)) >> 16
    if wanted == wanted and actual_bf16 != bf16:
        bad.expect(f"bf16 {i},{k}", actual_bf16, bf16)
    if wanted != wanted and not (actual_bf16 & 0x7FFF) > 0x7F80:
        bad.expect(f"bf16 {i},{k}", actual_bf16, 0x7FC0)


def parse_case():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["function", "program", "check", "run"])
    parser.add_argument("--library", help="of the lowered function, for 'run'")
    parser.add_argument("--element", default="f8E4M3FN", choices=FORMATS)
    parser.add_argument("--micro", choices=["f8E8M0FNU", "f32"])
    parser.add_argument("--group", default="0,0", help="outer,K; 0 is full")
    parser.add_argument("--global", dest="global_", default="jit")
    parser.add_argument("--rounding", default="ceil")
    parser.add_argument("--source", default="bf16", choices=["bf16", "f32"])
    parser.add_argument("--shape", default="256,256", help="outer,K")
    parser.add_argument("--data", default="wild",
                        choices=["all", "conformance", "wild", "tame"])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--transpose", action="store_true")
    parser.add_argument("--static", action="store_true", help="static shapes")
    case = parser.parse_args()
    case.group = [int(n) for n in case.group.split(",")]
    case.shape = [int(n) for n in case.shape.split(",")]
    case.scale = f32(case.scale)
    return case


def main():
    case = parse_case()
    if case.action == "function":
        emit_function(case)
    elif case.action == "program":
        emit_program(case)
    else:
        run = case.action == "run"
        buffers = run_on_device(case) if run else read_buffers(sys.stdin.read())
        if not check(case, buffers):
            sys.exit(1)


if __name__ == "__main__":
    main()
