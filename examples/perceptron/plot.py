# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plot what perceptron.mlir prints, as SVG that follows the reader's light or dark theme.

    plot.py <Moss's output> <output with scheme=bf16> <folder>

Writes perceptron-scales.svg and perceptron-loss.svg into the folder. The same numbers give
the same files.
"""

import csv
import math
import os
import sys

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 36, 44
COLORS = (("#2a78d6", "#58a6ff"), ("#e34948", "#ff7b72"))  # light, dark
STYLE = """\
  <style>
    text { font: 13px system-ui, sans-serif; fill: #57606a; }
    .title { fill: #1f2328; }
    .grid { stroke: #d1d9e0; }
    .line { fill: none; stroke-width: 1.5; }
    .dashed { stroke-dasharray: 5 3; }
    @media (prefers-color-scheme: dark) {
      text { fill: #9198a1; }
      .title { fill: #e6edf3; }
      .grid { stroke: #3d444d; }
    }
"""


def read(path):
    """The columns of the output, by name, as numbers."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    if not rows or not {"step", "loss", "predicted 1", "true 1"} <= set(rows[0]):
        sys.exit(f"{path} is not the output of perceptron.mlir")
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def ticks(low, high, logarithmic):
    """Round numbers from `low` to `high`."""
    if logarithmic:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        values = [m * 10**e for e in range(first, last + 1) for m in (1, 2, 5)]
    else:
        step = 10 ** math.floor(math.log10(high - low))
        while (high - low) / step < 4:
            step /= 2
        values = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return [value for value in values if low <= value <= high]


def draw(title, label, steps, curves, logarithmic):
    """A plot of `curves`, (name, color, whether it is dashed, values), over the steps."""
    values = [value for *_, curve in curves for value in curve]
    low, high = (min(values), max(values)) if logarithmic else (0, max(values) * 1.05)
    scale = math.log if logarithmic else float

    def x(step):
        return LEFT + (WIDTH - LEFT - RIGHT) * step / len(steps)

    def y(value):
        part = (scale(value) - scale(low)) / (scale(high) - scale(low))
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * part

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{title}">', STYLE.rstrip()]
    out += [f"    .color{i} {{ stroke: {light}; }}" for i, (light, _) in enumerate(COLORS)]
    out += ["    @media (prefers-color-scheme: dark) {"]
    out += [f"      .color{i} {{ stroke: {dark}; }}" for i, (_, dark) in enumerate(COLORS)]
    out += ["    }", "  </style>", f'  <text class="title" x="{LEFT}" y="20">{title}</text>']
    for value in ticks(low, high, logarithmic):
        out += [f'  <path class="grid" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>',
                f'  <text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>']
    for step in range(0, len(steps) + 1, 50):
        out.append(f'  <text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 18}" '
                   f'text-anchor="middle">{step}</text>')
    out.append(f'  <text x="{(LEFT + WIDTH - RIGHT) // 2}" y="{HEIGHT - 8}" '
               f'text-anchor="middle">{label}</text>')
    place = WIDTH - RIGHT
    for name, color, is_dashed, curve in reversed(curves):
        style = f"line color{color}" + (" dashed" if is_dashed else "")
        place -= round(6.2 * len(name)) + 10
        out += [f'  <text x="{place}" y="20">{name}</text>',
                f'  <path class="{style}" d="M{place - 28} 16h22"/>']
        place -= 34
        points = "L".join(f"{x(step):.1f} {y(value):.1f}" for step, value in zip(steps, curve))
        out.append(f'  <path class="{style}" d="M{points}"/>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    moss, bf16 = read(sys.argv[1]), read(sys.argv[2])
    plots = {
        "perceptron-scales.svg": draw(
            "Scale", "optimizer steps", moss["step"],
            [(f"{kind}, layer {layer}", layer - 1, kind == "true", moss[f"{kind} {layer}"])
             for layer in (1, 2) for kind in ("predicted", "true")], logarithmic=False),
        "perceptron-loss.svg": draw(
            "Loss", "optimizer steps", moss["step"],
            [("BF16", 0, False, bf16["loss"]), ("Moss", 1, False, moss["loss"])],
            logarithmic=True),
    }
    for name, text in plots.items():
        with open(os.path.join(sys.argv[3], name), "w") as file:
            file.write(text)


main()
