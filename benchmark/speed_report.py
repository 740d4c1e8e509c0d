# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The section of report.py on speed."""

from speeds import BF16, ENTRANTS, PARTS, REGIMES, pair
from tables import table

SPEED = """
## Speed

Products of x [M, K] and w [N, K], with BF16 results, by Moss's kernels, PyTorch's
(cuBLASLt, `torch._scaled_mm` and `torch.nn.functional.scaled_mm`) and DeepGEMM's, all in turns
in one run of [benchmark/run.py](../benchmark/README.md#speed) on one {device}, PyTorch {pytorch},
CUDA {cuda}, {date}. Numbers are **burst / hot**: after a rest, at full clock, and back to back, at
the power limit. Sums are `fast`, left to the matrix unit, or `promoted`, added up in FP32 every 128
of K. Quantization is Moss's, from BF16, its just-in-time scales included, in front of
each product; that of the other libraries' operands is not measured. Hot, calls that
quantize take turns of their own with BF16, since they draw less power. {adding}

![Times as fast as BF16](report/speed.svg)

Times as fast as `torch.matmul` in BF16, geometric means over the shapes below:
"""

TIMES = """
### Times

Microseconds, and times as fast as BF16 in the same turns, of
"""

TITLES = {"": "the product alone:", " + x": "quantization of x, and the product:",
          " + x, w": "quantization of x and w, and the product:"}

PUBLISHED = """
### DeepGEMM's published numbers

TFLOP/s from its README of 2025-02-25, on an H800 (also 132 multiprocessors), and what it
says beside it: times as fast as DeepSeek's own kernels in CUTLASS 3.6. It later says "up to
1550" (2025-04-18). Here:
"""
# M x N x K: published TFLOP/s, times as fast as CUTLASS.
DEEPGEMM_README = {(4096, 24576, 1536): (990, 1.0), (4096, 7168, 16384): (1358, 1.2)}


def title(shape):
    return " x ".join(map(str, shape))


def row(name, cells):
    scheme, sums, library = ENTRANTS[name]
    return scheme, [sums, library, *cells]


def gains_table(speeds):
    """Geometric means of each competitor, with and without quantization."""
    parts = [part for part in PARTS if speeds.names(part)]
    rows = []
    for name in speeds.names():
        cells = [pair(speeds.gain(name, part=part)) if name in speeds.names(part) else ""
                 for part in parts]
        rows.append(row(name, ["1" if name == BF16 else cell for cell in cells]))
    return table("scheme", ["sums", "by", *(PARTS[part] for part in parts)], rows)


def times_table(speeds, part):
    rows = []
    for name in speeds.names(part):
        cells = [pair(both, 0) for both in
                 zip(*(speeds.times(name, part, regime) for regime in REGIMES))]
        if name != BF16:
            gains = zip(*(speeds.gains(name, part=part, regime=regime) for regime in REGIMES))
            cells = [f"{cell} ({pair(gain)})" for cell, gain in zip(cells, gains)]
        rows.append(row(name, cells))
    return table("scheme", ["sums", "by", *map(title, speeds.shapes)], rows)


def published(speeds):
    rows = []
    for index, shape in enumerate(speeds.shapes):
        if shape in DEEPGEMM_README:
            tflops, times = DEEPGEMM_README[shape]
            here = [pair([speeds.tflops(name, "", regime)[index] for regime in REGIMES], 0)
                    if name in speeds.names() else "" for name in
                    ("deepgemm blocks", "moss per-group", "moss promoted")]
            rows.append((title(shape), [f"{tflops}, {times:.1f} times", *here]))
    columns = ["published, H800", "DeepGEMM here", "Moss per-group here", "Moss two-level rows here"]
    return f"{PUBLISHED}\n{table('M x N x K', columns, rows)}\n" if rows else ""


def speed_section(speeds):
    device, pytorch, cuda, date = speeds.where
    adding = ("DeepGEMM's kernel for 1x128 of both operands adds to an FP32 result."
              if "deepgemm groups" in speeds.names() else "")
    text = SPEED.format(device=device, pytorch=pytorch, cuda=cuda, date=date, adding=adding)
    text += f"\n{gains_table(speeds)}\n{TIMES}"
    for part in PARTS:
        if speeds.names(part):
            text += f"\n{TITLES[part]}\n\n{times_table(speeds, part)}\n"
    return text + published(speeds)


def product_line(speeds):
    needed = "moss promoted", "moss fast", "moss per-tensor"
    if not set(needed) <= set(speeds.names()):
        return ""
    promoted, fast = (pair(speeds.gain(name)) for name in needed[:2])
    tensor = pair(speeds.gain("moss promoted", base="moss per-tensor"), 3)
    return (f"- Products with two-level scales of rows are {promoted} times (burst / hot) as fast as in "
            f"BF16, {fast} with fast sums, and {tensor} times as fast as with one scale per tensor.\n")


def quantizing_line(speeds):
    name, parts = "moss promoted", (" + x", " + x, w")
    if not all(name in speeds.names(part) for part in parts):
        return ""
    x, both = (pair(speeds.gain(name, part=part)) for part in parts)
    return (f"- With x quantized in front of it, the same product is {x} times as fast as in BF16; "
            f"with x and w, {both}.\n")


def groups_line(speeds):
    names = ("deepgemm blocks", "torch blocks", "moss per-group", "moss two-level-k128",
             "moss two-level-k32")
    schemes = {}
    for name in names:
        if name in speeds.names():
            scheme, _, library = ENTRANTS[name]
            schemes.setdefault(scheme, []).append(f"{library} {pair(speeds.gain(name))}")
    gains = "; ".join(f"{scheme}: {', '.join(found)}" for scheme, found in schemes.items())
    return ("- Scales that change along K stay in the loop. Times as fast as BF16, "
            f"{gains}.\n" if gains else "")


def speed_summary(speeds):
    """Lines of the report's conclusions."""
    return product_line(speeds) + quantizing_line(speeds) + groups_line(speeds)
