# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plot of report.py on speed."""

from matplotlib import pyplot

from plots import COLORS, MARKERS, save
from speeds import BF16, ENTRANTS, PARTS, REGIMES


def label(name):
    scheme, sums, library = ENTRANTS[name]
    return f"{scheme}, {sums}, {library}"


def draw_speeds(speeds, path):
    """A row for each competitor, with a mark for its geometric mean and a line from the
    slowest to the fastest shape, for the product with and without quantization."""
    names = [name for name in speeds.names() if name != BF16][::-1]
    figure, panels = pyplot.subplots(1, 2, sharey=True, figsize=(11, 0.34 * len(names) + 1.2))
    for regime, panel in zip(REGIMES, panels):
        for part, color, marker in zip(PARTS, COLORS[2:], MARKERS[2:]):
            rows = [y for y, name in enumerate(names) if name in speeds.names(part)]
            gains = [speeds.gains(names[y], part=part, regime=regime) for y in rows]
            means = [speeds.gain(names[y], part=part)[REGIMES.index(regime)] for y in rows]
            panel.hlines(rows, list(map(min, gains)), list(map(max, gains)), color=color, linewidth=1)
            panel.plot(means, rows, marker, color=color, label=PARTS[part], markersize=6)
        panel.axvline(1, color=COLORS[0], linewidth=1)
        panel.set_xlim(left=0)
        panel.set_xlabel(f"times as fast as BF16, {regime}")
        panel.grid(axis="x")
        panel.set_axisbelow(True)
    panels[0].set_yticks(range(len(names)), list(map(label, names)))
    panels[1].legend(loc="upper left", bbox_to_anchor=(1, 1))
    save(figure, path)
