# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plots of report.py, as SVG that follows the reader's light or dark theme."""

import io
import os
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plots need Matplotlib (python3-matplotlib); --no-plots writes only the text")
matplotlib.use("svg")
from matplotlib import pyplot, ticker

E4M3 = "f8E4M3FN"
SCHEMES = ("bf16", "per-tensor", "two-level rows", "two-level 1x128", "two-level 1x32",
           "per-group 1x128, 128x128")
COLORS = ("#808080", "#e34948", "#2a78d6", "#1baf7a", "#c98500", "#8a63d2")
MARKERS = ("|", "s", "o", "D", "^", "v")
# Colors of the light theme, and what the dark theme has instead.
TEXT, GROUND, GRID = "#1f2328", "#ffffff", "#d1d9e0"
DARK = {TEXT: "#f0f6fc", GROUND: "#0d1117", GRID: "#3d444d"}

matplotlib.rcParams.update({
    "svg.hashsalt": "moss", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11,
    "text.color": TEXT, "axes.labelcolor": TEXT, "axes.edgecolor": GRID, "xtick.color": TEXT,
    "ytick.color": TEXT, "figure.facecolor": GROUND, "axes.facecolor": GROUND,
    "legend.facecolor": GROUND, "legend.edgecolor": GRID, "legend.framealpha": 1,
    "axes.spines.top": False, "axes.spines.right": False, "grid.color": GRID})


def save(figure, path):
    text = io.StringIO()
    # Without a date, so that the same measurements give the same file.
    figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    pyplot.close(figure)
    rules = "".join(f'[style*="{paint}: {light}"] {{ {paint}: {dark} !important; }}\n'
                    for light, dark in DARK.items() for paint in ("fill", "stroke"))
    style = f"<style>@media (prefers-color-scheme: dark) {{\n{rules}}}</style>\n </defs>"
    with open(path, "w") as file:
        file.write(text.getvalue().replace("</defs>", style, 1))


def dots(measured, value, label, path):
    """A row for each kind of data, and in it a mark for each scheme; `value` maps
    a scheme and a kind to a number, or None."""
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    kinds = measured.kinds[::-1]
    for scheme, color, marker in zip(SCHEMES, COLORS, MARKERS):
        values = [value(scheme, kind) for kind in kinds]
        if values[0] is None:
            continue
        # The schemes of a row lie beside each other, where they are equal.
        offset = 0.3 - 0.12 * SCHEMES.index(scheme)
        axes.plot(values, [y + offset for y in range(len(kinds))], marker, color=color,
                  label=scheme, markersize=7, markeredgewidth=1.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ticker.PercentFormatter(1))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.set_yticks(range(len(kinds)), kinds)
    axes.set_xlabel(label)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path)


def accumulation(measured, path):
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for interval, color in zip(measured.intervals, COLORS[1:]):
        name = f"promoted({interval})" if interval else "fast"
        lengths = [length for length in measured.lengths
                   if measured.sum_error("positive", length, interval) is not None]
        for kind, line in (("positive", "o-"), ("normal", "s--")):
            axes.plot(lengths, [measured.sum_error(kind, length, interval) for length in lengths],
                      line, color=color, label=f"{name}, {kind}", markersize=5)
        axes.plot(lengths, [measured.sum_bound(length, interval) for length in lengths],
                  ":", color=color, label=f"{name}, bound")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(measured.lengths, [str(length) for length in measured.lengths])
    axes.set_xlabel("K")
    axes.set_ylabel("relative error of sums")
    axes.grid()
    axes.set_axisbelow(True)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)
    save(figure, path)


def draw_numerics(measured, folder):
    dots(measured, lambda scheme, kind: measured.element(scheme, E4M3, kind, "relative"),
         "root mean square of the relative error of elements, E4M3",
         os.path.join(folder, "elements.svg"))
    dots(measured, lambda scheme, kind: measured.product(scheme, E4M3, "promoted", kind, "low"),
         "relative error of low rows of the product, E4M3",
         os.path.join(folder, "products.svg"))
    accumulation(measured, os.path.join(folder, "accumulation.svg"))
