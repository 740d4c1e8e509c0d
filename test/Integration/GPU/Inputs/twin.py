"""Compare matmuls on a GPU with their CPU twins, bit for bit.

usage: twin.py build <moss-opt> <moss-build-shared.sh> <folder>
       twin.py run <folder>

The first compiles each case below twice: for sm_90a, and for the CPU with the
matrix unit's arithmetic. The second, on a machine with a GPU, runs both on
random data of every kind and on the hard cases, and needs only Python.
"""

import ctypes
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from host import Device, memref  # noqa: E402

DYNAMIC = ("?", "?", "?")
SHAPES = [(1, 1, 1), (1, 129, 17), (15, 17, 31), (33, 127, 129), (129, 31, 33), (300, 520, 1008),
          (257, 640, 1040), (0, 5, 7), (5, 0, 7), (5, 7, 0), (64, 64, 5743)]

GROUPS = "#moss.scheme<f8E4M3FN, micro = f32, group = [1, 128], global = unit, rounding = ceil>"
BLOCKS = "#moss.scheme<f8E4M3FN, micro = f32, group = [128, 128], global = unit, rounding = ceil>"
# name: (options, shape, type of C, how B is stored, whether C is added to)
CASES = {
    "rows-promoted": ("", DYNAMIC, "bf16", "kn", False),
    "rows-fast": ("accumulate=fast", DYNAMIC, "bf16", "nk", False),
    "rows-fast-f32": ("accumulate=fast", DYNAMIC, "f32", "nk", False),
    "promoted-accumulates": ("", DYNAMIC, "f32", "nk", True),
    "fast-accumulates": ("accumulate=fast", DYNAMIC, "bf16", "kn", True),
    "per-tensor": ("scheme=per-tensor accumulate=fast", DYNAMIC, "f32", "nk", False),
    "groups-rows": ("lhs-group=4,full rhs-scheme=rows", DYNAMIC, "f32", "nk", False),
    "groups-k128": ("lhs-group=1,128", DYNAMIC, "f32", "nk", False),
    "groups-k512": ("lhs-group=1,512", DYNAMIC, "f32", "nk", False),
    "groups-k128-both": ("lhs-group=1,128 rhs-group=1,128 rhs-scheme=rows", DYNAMIC, "f32", "nk", False),
    "f32-groups-blocks": (f"lhs-scheme=\"{GROUPS}\" rhs-scheme=\"{BLOCKS}\"", DYNAMIC, "f32", "nk", False),
    "f32-groups-both": (f"lhs-scheme=\"{GROUPS}\" rhs-scheme=\"{GROUPS}\"", DYNAMIC, "f32", "nk", False),
    "f32-groups-static": (f"lhs-scheme=\"{GROUPS}\" rhs-scheme=\"{BLOCKS}\"", (512, 384, 1024), "bf16", "nk", False),
    "mx-both": ("scheme=mx global=jit", DYNAMIC, "f32", "nk", False),
    "mx": ("lhs-scheme=mx", DYNAMIC, "f32", "nk", False),
    "mx-narrow-k": ("scheme=mx tile=128,64,32", DYNAMIC, "f32", "nk", False),
    "mx-promote-64": ("scheme=mx promote-interval=64", DYNAMIC, "f32", "nk", False),
    "mx-two-waves": ("lhs-scheme=mx tile=256,128,128", DYNAMIC, "f32", "nk", False),
    "groups-k64-k32": ("lhs-group=1,64 rhs-scheme=mx", DYNAMIC, "f32", "nk", False),
    "groups-k32-k128": ("lhs-group=1,32 rhs-group=1,128 rhs-scheme=rows", DYNAMIC, "f32", "nk", False),
    "groups-k32-k192": ("lhs-group=1,32 rhs-group=1,192 rhs-scheme=rows", DYNAMIC, "f32", "nk", False),
    "all-rows-k32": ("lhs-group=full,32", DYNAMIC, "f32", "nk", False),
    "blocks-k32": ("lhs-group=64,32 rhs-group=128,32 rhs-scheme=rows", DYNAMIC, "f32", "nk", False),
    "f32-groups-k32": (f"lhs-scheme=\"{GROUPS.replace('128', '32')}\" rhs-scheme=\"{BLOCKS.replace('128]', '32]')}\"",
                       DYNAMIC, "f32", "nk", False),
    "nearest": ("rounding=nearest global=unit", DYNAMIC, "f32", "nk", False),
    "e5m2-e4m3": ("lhs-scheme=\"#moss.scheme<f8E5M2, micro = f8E8M0FNU, group = [1, full], global = jit, "
                  "rounding = ceil>\"", DYNAMIC, "f32", "nk", False),
    "e5m2-e5m2": ("accumulate=fast lhs-scheme=\"#moss.scheme<f8E5M2, global = jit>\" "
                  "rhs-scheme=\"#moss.scheme<f8E5M2, global = jit>\"", DYNAMIC, "f32", "nk", False),
    "promote-256": ("promote-interval=256", DYNAMIC, "f32", "nk", False),
    "promote-64": ("promote-interval=64", DYNAMIC, "f32", "nk", False),
    "static-copy-engine": ("accumulate=fast", (300, 520, 1008), "bf16", "nk", False),
    "static-promoted": ("", (300, 520, 1008), "f32", "kn", False),
    "static-odd-boxes": ("accumulate=fast tile=128,192,128", (300, 520, 1008), "bf16", "nk", False),
    "static-tall": ("accumulate=fast tile=512,64,128", (520, 300, 1008), "f32", "nk", False),
    "static-accumulates": ("", (300, 520, 1008), "bf16", "nk", True),
    "static-direct": ("", (257, 131, 200), "bf16", "nk", False),
    "per-group": ("scheme=per-group", (300, 520, 1008), "bf16", "nk", False),
    "per-group-1x128": ("scheme=per-group-1x128", (300, 520, 1008), "f32", "nk", False),
    "mx-static": ("scheme=mx", (300, 520, 1008), "f32", "nk", False),
    # Loops of known length, of which several steps are one iteration: four, two, all.
    "steps-of-four": ("scheme=per-tensor", (300, 520, 1536), "bf16", "nk", False),
    "steps-of-four-scaled": ("lhs-group=1,128 tile=256,128,128", (520, 300, 1536), "f32", "nk", False),
    "steps-of-two": ("lhs-group=1,128 rhs-group=1,128 rhs-scheme=rows", (300, 520, 1536), "f32", "nk", False),
    "steps-two-and-eight": ("", (300, 520, 1280), "f32", "kn", True),
    "steps-five-and-eight": (f"lhs-scheme=\"{GROUPS}\" rhs-scheme=\"{BLOCKS}\"", (300, 520, 1664), "bf16", "nk", False),
    "steps-three-and-six": ("lhs-group=1,128 rhs-group=1,128 rhs-scheme=rows", (300, 520, 1152), "bf16", "nk", False),
    "steps-without-loop": ("scheme=per-group", (300, 520, 512), "bf16", "nk", False),
    "steps-merged": ("lhs-group=1,32 rhs-group=1,32 rhs-scheme=rows", (300, 520, 1536), "bf16", "nk", False),
    "gradient": ("scheme=per-tensor lhs-format=e5m2", (300, 520, 1008), "f32", "nk", False),
    "bf16": ("scheme=bf16", DYNAMIC, "bf16", "nk", False),
    "bf16-transposed": ("scheme=bf16", DYNAMIC, "f32", "kn", False),
    "bf16-accumulates": ("scheme=bf16", DYNAMIC, "bf16", "nk", True),
    "bf16-promoted": ("scheme=bf16 accumulate=promoted", DYNAMIC, "f32", "nk", False),
    "bf16-static": ("scheme=bf16", (300, 520, 1008), "bf16", "nk", False),
    "bf16-narrow-k": ("scheme=bf16 tile=256,64,32", (300, 520, 1008), "f32", "nk", False),
}


def source(shape, element, layout, accumulates):
    """A matmul into C, as a module."""
    m, n, k = shape
    x, c = f"tensor<{m}x{k}xbf16>", f"tensor<{m}x{n}x{element}>"
    w = f"tensor<{k}x{n}xbf16>" if layout == "kn" else f"tensor<{n}x{k}xbf16>"
    maps = "" if layout == "kn" else (
        " indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, "
        "affine_map<(m, n, k) -> (m, n)>]")
    fill = "" if accumulates else f"""
  %zero = arith.constant 0.0 : {element}
  %init = linalg.fill ins(%zero : {element}) outs(%c : {c}) -> {c}"""
    return f"""func.func @matmul(%x: {x}, %w: {w}, %c: {c}) -> {c} {{{fill}
  %y = linalg.matmul{maps} ins(%x, %w : {x}, {w}) outs({"%c" if accumulates else "%init"} : {c}) -> {c}
  return %y : {c}
}}
"""


def build_twins(moss_opt, build_shared, folder, name, options, module):
    """Compile `module` for both machines."""
    os.makedirs(folder, exist_ok=True)
    for kind, target in (("gpu", "target=sm_90a"), ("cpu", "target=cpu arithmetic=emulate")):
        lowered = subprocess.run([moss_opt, "-", f"--moss-fp8-lower={target} {options}"], input=module, text=True,
                                 stdout=subprocess.PIPE, check=True).stdout
        subprocess.run([build_shared, "-", os.path.join(folder, f"{name}.{kind}.so")], input=lowered, text=True,
                       check=True)


def build(moss_opt, build_shared, folder, *only):
    for name, (options, shape, element, layout, accumulates) in CASES.items():
        if not only or name in only:
            build_twins(moss_opt, build_shared, folder, name, options, source(shape, element, layout, accumulates))


def bf16(value):
    """The 16 bits of the bf16 at or below a float in magnitude."""
    return struct.unpack("<I", struct.pack("<f", value))[0] >> 16


def draw(rng, kind, rows, cols):
    """A rows x cols matrix of bf16 bits."""
    # The scales of tiny operands have a product below f32's normal numbers.
    exponent = {"magnitudes": lambda: rng.randint(-60, 60), "tiny": lambda: -63}.get(kind, lambda: 0)
    scale = [2.0 ** exponent() for _ in range(max(rows, 1))]
    draw_one = {"positive": rng.random, "outliers": lambda: rng.gauss(0, 1) * (1e4 if rng.random() < 1e-3 else 1)}
    one = draw_one.get(kind, lambda: rng.gauss(0, 1))
    data = [[bf16(one() * scale[r]) for _ in range(cols)] for r in range(rows)]
    if kind == "special" and rows and cols:
        hard = [lambda: 0, lambda: 0x8000, lambda: rng.randrange(1, 0x80), lambda: 0x7F7F, lambda: 0x0080,
                lambda: bf16(rng.choice([448, 464, 480, 512, 896, 2.0 ** -9, 2.0 ** -10, 3 * 2.0 ** -11]))]
        for r in range(rows):
            if r % 7 < len(hard):
                data[r] = [hard[r % 7]() for _ in range(cols)]
        data[rows // 2][cols // 2] = 0x7FC0
        data[-1][0] = rng.choice([0x7F80, 0xFF80])
    return [bits for row in data for bits in row]


def is_nan(bits, element):
    return bits & 0x7FFF > 0x7F80 if element == "bf16" else bits & 0x7FFFFFFF > 0x7F800000


class Twins:
    """The two compilations of one module, whose function `matmul` takes A, B and C."""

    def __init__(self, folder, name):
        self.device = Device(folder)
        self.libraries = {kind: ctypes.CDLL(os.path.join(folder, f"{name}.{kind}.so")) for kind in ("gpu", "cpu")}

    def call(self, kind, shapes, data):
        """The bytes of C, computed on the GPU or the CPU, from the bytes and shapes of A, B and C."""
        if kind == "gpu":
            pointers = [self.device.upload(d or b"\0") for d in data]
        else:
            buffers = [ctypes.create_string_buffer(d, len(d) + 64) for d in data]
            pointers = [ctypes.addressof(b) for b in buffers]
        arguments = [memref(p, shape, (shape[1], 1)) for p, shape in zip(pointers, shapes)]
        self.libraries[kind]._mlir_ciface_matmul(*map(ctypes.byref, arguments))
        if kind == "cpu":
            return buffers[2].raw[:len(data[2])]
        result = self.device.download(pointers[2], len(data[2])) if data[2] else b""
        for pointer in pointers:
            self.device.runtime.mossDeviceFree(pointer)
        return result


class Case(Twins):
    """One of CASES."""

    def __init__(self, folder, name):
        super().__init__(folder, name)
        _, self.shape, self.element, self.layout, self.accumulates = CASES[name]

    def run(self, kind, m, n, k, x, w, c):
        """The bits of C, computed on the GPU or the CPU."""
        code = "H" if self.element == "bf16" else "I"
        data = [struct.pack(f"<{len(x)}H", *x), struct.pack(f"<{len(w)}H", *w), struct.pack(f"<{len(c)}{code}", *c)]
        shapes = [(m, k), (k, n) if self.layout == "kn" else (n, k), (m, n)]
        return struct.unpack(f"<{len(c)}{code}", self.call(kind, shapes, data))

    def compare(self, rng, m, n, k, kind):
        """The number of elements of C that differ."""
        x = draw(rng, kind, m, k)
        w = draw(rng, "normal" if kind == "special" else kind, *((k, n) if self.layout == "kn" else (n, k)))
        shift = 0 if self.element == "bf16" else 16
        c = [bits << shift for bits in draw(rng, "normal", m, n)]
        gpu, cpu = (self.run(which, m, n, k, x, w, c) for which in ("gpu", "cpu"))
        if kind == "normal" and m * n * k > 1000:
            # Equal bits mean little if there is nothing in them.
            finite = sum(bool(v & 0x7FFF if self.element == "bf16" else v & 0x7FFFFFFF)
                         and not is_nan(v, self.element) for v in cpu)
            if finite < 0.9 * len(cpu):
                print(f"  {m}x{n}x{k}: only {finite} of {len(cpu)} elements are numbers other than zero")
                return 1
        differs = [i for i, (g, e) in enumerate(zip(gpu, cpu))
                   if g != e and not (is_nan(g, self.element) and is_nan(e, self.element))]
        if differs:
            i = differs[0]
            print(f"  {m}x{n}x{k} {kind}: {len(differs)} of {m * n} differ, first at ({i // n}, {i % n}): "
                  f"GPU {gpu[i]:#x}, CPU {cpu[i]:#x}")
        return len(differs)


def run(folder, only):
    rng = random.Random(0)
    failures = checks = 0
    for name in CASES:
        if only and name not in only:
            continue
        twins = Case(folder, name)
        shapes = SHAPES if twins.shape == DYNAMIC else [twins.shape]
        wrong = 0
        for m, n, k in shapes:
            kinds = ["normal", "special", "tiny"] if m * n * k > 1e7 or m * n * k < 100 else [
                "normal", "magnitudes", "outliers", "positive", "special", "tiny"]
            for kind in kinds:
                wrong += bool(twins.compare(rng, m, n, k, kind))
                checks += 1
        print(f"{name}: {'ok' if not wrong else f'{wrong} runs differ'}", flush=True)
        failures += wrong
    print(f"{checks - failures} passed, {failures} failed")
    return failures != 0


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(*sys.argv[2:])
    else:
        sys.exit(run(sys.argv[2], sys.argv[3:]))
