#!/usr/bin/env python3
#
# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write docs/Report.md and its plots from measurements.

    benchmark/report.py [--measurements docs/report] [--out docs]

Of the folder of measurements, numerics.json is what numerics.py wrote, and, if there
are such, speed.json what run.py and scales.json what autoscale_run.py wrote. Plots need
Matplotlib; with --no-plots only the text is written, by Python alone.
"""

import argparse
import json
import os
import sys

from claims import claims
from measurements import Measurements
from speed_claims import speed_claims
from speed_report import speed_section, speed_summary
from speeds import Speeds
from tables import percent, table

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs")
ELEMENT_TITLES = {"f8E4M3FN": "E4M3", "f8E5M2": "E5M2"}

HEAD = """\
<!-- Written by benchmark/report.py from measurements. Do not edit. -->
# What each scheme costs, and what it does to numbers

"""

INTRODUCTION = """
## Numerics

Each scaling scheme that Moss compiles, on operands like those of real layers:
[benchmark/numerics.py](../benchmark/README.md#numerics) compiles quantization and
matmuls with `arithmetic=emulate`, which gives the bits of a Hopper GPU, and compares
what they compute with double precision. [Numerics](Numerics.md) defines the schemes.

{m} x {n} x {k} products. The left operand is quantized to the format that a table
names, the right one to E4M3; results are BF16.

| data | left operand | right operand |
|---|---|---|
| normal | N(0, 1) | N(0, 0.02^2), like weights |
| positive | uniform in [0, 1) | uniform in [0, 1) |
| rows | N(0, 1), each row times exp(2 N(0, 1)) | as normal |
| outliers | N(0, 1), but one channel (index of K) in 512 is larger by the factor | as normal |
| balanced outliers | the same | as normal, but smaller by the factor in these channels |
| blocks | N(0, 1), each block of 1 x 32 times 2^u, u uniform in [-20, 0] | as normal |
| gradients | as rows, each element times exp(1.5 N(0, 1)), all times 1e-6 | as normal |
"""

SCHEMES = """
`1x128` and the like are groups along K, with power-of-two scales for `two-level` (under
an FP32 scale for the tensor) and `mx` (without), and FP32 scales for `per-group`. The
weights have one scale unless it says `both` or two groups, or `mx`. Exponents are rounded
up unless it says `nearest` or `floor`; `mx` alone rounds down, as OCP MX does.
"""

ELEMENTS = """
## Elements

Share of the left operand's non-zero elements that became zero, and root mean square
of the relative error of all its non-zero elements. The rounding of normal numbers gives
2.6 % in E4M3 and 5.2 % in E5M2; more means that elements became subnormal or
zero, or were saturated.

![Relative error of elements](report/elements.svg)
"""

PRODUCTS = """
## Products

Relative Frobenius error of the whole result, and of its low rows: the root mean square of
the relative errors of the quarter of rows that have the smallest norms. `bf16` is the
same product of unquantized operands. Large errors of small elements show only where
small elements matter: in low rows, or in channels whose weights make up for it.

![Relative error of low rows](report/products.svg)
"""

ACCUMULATION = """
## Accumulation

Error of the sums alone, beside exact sums of the same quantized operands; one scale per
tensor, so that nothing but the mode decides where partial sums end. The bound is that
of [Numerics](Numerics.md#the-accumulation-bound), in its closed form.

![Error of sums](report/accumulation.svg)
"""

GRADIENTS = """
## Gradients of weights

Relative Frobenius error of dW = dY^T X, summed over {tokens} tokens, in the default scheme: X, [tokens, {k}],
of the kinds above, and dY, [tokens, {n}], of kind gradients. `anew` quantizes both operands
for this product, X under one scale; `stored` multiplies with the bytes that the forward
pass quantized by rows (`migrate-scales`, see
[Numerics](Numerics.md#moving-scales-to-the-other-operand)).
"""

CLAIMS = """
## What holds of the MOSS paper and the article

The claims of the paper (arXiv 2511.05811) and of an article on it that come with code,
as far as they are about one matmul. Of the paper the abstract and notes on the rest were
available, not the full text. Verdicts follow from the measurements below; pairs of numbers
are burst / hot, as [under speed](#speed).
"""


def scheme_table(measured, title, values):
    """`values` maps a scheme and a kind of data to a number, or None."""
    rows = [(scheme, [percent(values(scheme, kind)) for kind in measured.kinds])
            for scheme in measured.schemes if values(scheme, measured.kinds[0]) is not None]
    return f"\n{title}\n\n{table('scheme', measured.kinds, rows)}\n"


def elements(measured):
    text = ELEMENTS
    for element, short in ELEMENT_TITLES.items():
        for measure, title in (("flushed", "flushed to zero"), ("relative", "relative error")):
            text += scheme_table(
                measured, f"{short}, {title}:",
                lambda scheme, kind: measured.element(scheme, element, kind, measure))
    return text


def products(measured):
    text = PRODUCTS
    for element, mode, measure, title in (
            ("f8E4M3FN", "promoted", "error", "E4M3, promoted(128), whole result"),
            ("f8E4M3FN", "promoted", "low", "E4M3, promoted(128), low rows"),
            ("f8E4M3FN", "fast", "error", "E4M3, fast, whole result"),
            ("f8E4M3FN", "fast", "low", "E4M3, fast, low rows"),
            ("f8E5M2", "promoted", "error", "E5M2, promoted(128), whole result"),
            ("f8E5M2", "promoted", "low", "E5M2, promoted(128), low rows"),
            ("f8E5M2", "fast", "error", "E5M2, fast, whole result"),
            ("f8E5M2", "fast", "low", "E5M2, fast, low rows")):
        text += scheme_table(
            measured, title + ":",
            lambda scheme, kind: measured.product(scheme, element, mode, kind, measure))
    return text


def accumulation(measured):
    text = ACCUMULATION
    columns = [f"K = {length}" for length in measured.lengths]
    for kind in ("positive", "normal"):
        rows = []
        for interval in measured.intervals:
            cells = [measured.sum_error(kind, length, interval) for length in measured.lengths]
            rows.append((f"promoted({interval})" if interval else "fast",
                         ["" if cell is None else f"{cell:.2e}" for cell in cells]))
        text += f"\n{kind}:\n\n{table('mode', columns, rows)}\n"
    bounds = [(f"promoted({interval})" if interval else "fast",
               [f"{measured.sum_bound(length, interval):.2e}" for length in measured.lengths])
              for interval in measured.intervals]
    return text + f"\nBound, as a share of the sum of magnitudes:\n\n{table('mode', columns, bounds)}\n"


def gradients(measured, shape):
    n, k, tokens = shape
    rows = [(inputs, [percent(measured.gradient(inputs, kind)) for kind in measured.kinds])
            for inputs in ("anew", "stored")]
    return (GRADIENTS.format(n=n, k=k, tokens=tokens) +
            f"\n{table('inputs', measured.kinds, rows)}\n")


def summary(measured, judged):
    """Lines of the conclusions."""
    def low(scheme):
        return percent(measured.product(scheme, "f8E4M3FN", "promoted", "gradients", "low"))
    verdicts = [verdict for _, _, verdict, _ in judged]
    holds, fails = (verdicts.count(word) for word in ("**holds**", "**does not hold**"))
    normal = [measured.product(scheme, "f8E4M3FN", "promoted", "normal", "error")
              for scheme in ("per-tensor", "two-level rows", "two-level 1x32")]
    return (f"- On normal data products are at most {percent(max(normal))} off with one scale per "
            "tensor, with rows and with 1x32. Where rows differ in magnitude, as in "
            f"gradients, low rows are {low('per-tensor')} off with one scale per tensor, "
            f"{low('two-level rows')} with rows and {low('two-level 1x32')} with 1x32.\n"
            f"- Of {len(judged)} claims {holds} hold and {fails} do not; the others hold in part or "
            "are not measured.\n")


def claim_section(judged):
    rows = [(claim, [source, verdict, numbers]) for claim, source, verdict, numbers in judged]
    return f"{CLAIMS}\n{table('claim', ['source', 'here', 'numbers'], rows)}\n"


def load(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"cannot read {path}: {error}")


def load_speeds(folder):
    """Of speed.json, and of scales.json if it is there; None without the former."""
    run, scales = (load(path) if os.path.exists(path) else None for path in
                   (os.path.join(folder, name) for name in ("speed.json", "scales.json")))
    return run and Speeds(run, scales)


def complete(what, make):
    """What `make` returns; ends the program if measurements are missing for it."""
    try:
        return make()
    except (KeyError, IndexError, TypeError, ValueError) as error:
        sys.exit(f"{what[0]} lacks {error}; run {what[1]}")


def numerics_section(measured, shape):
    m, n, k = shape
    return (INTRODUCTION.format(m=m, n=n, k=k) + elements(measured) + products(measured) +
            accumulation(measured) + gradients(measured, shape))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measurements", default=os.path.join(DOCS, "report"))
    parser.add_argument("--out", default=DOCS,
                        help="folder of Report.md and of report/, for the plots")
    parser.add_argument("--no-plots", action="store_true")
    options = parser.parse_args()
    results = load(os.path.join(options.measurements, "numerics.json"))
    numerics = "numerics.json", "numerics.py with all schemes"
    speed = "speed.json or scales.json", "run.py or autoscale_run.py"
    measured = complete(numerics, lambda: Measurements(results))
    speeds = complete(speed, lambda: load_speeds(options.measurements))
    judged = complete(numerics, lambda: claims(measured))
    judged += complete(speed, lambda: speed_claims(speeds) if speeds else [])
    text = HEAD + complete(speed, lambda: speed_summary(speeds) if speeds else "")
    text += complete(numerics, lambda: summary(measured, judged)) + SCHEMES + claim_section(judged)
    text += complete(speed, lambda: speed_section(speeds) if speeds else "")
    text += complete(numerics, lambda: numerics_section(measured, results["shape"]))
    os.makedirs(os.path.join(options.out, "report"), exist_ok=True)
    if not options.no_plots:
        from plots import draw_numerics
        from speed_plots import draw_speeds
        draw_numerics(measured, os.path.join(options.out, "report"))
        if speeds:
            draw_speeds(speeds, os.path.join(options.out, "report", "speed.svg"))
    with open(os.path.join(options.out, "Report.md"), "w") as file:
        file.write(text)


if __name__ == "__main__":
    main()
