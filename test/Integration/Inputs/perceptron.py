# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check what perceptron.mlir prints, and the plots of it.

    perceptron.py <Moss's output> <output with scheme=bf16> <folder of plots> <committed ones>
"""

import csv
import pathlib
import re
import sys

STEPS, INTERVAL = 400, 100
NUMBER = re.compile(r"\d+\.\d+")


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    assert [int(row["step"]) for row in rows] == list(range(STEPS)), "steps are missing"
    return rows


def final_loss(rows):
    """The mean of the last 20 steps', as batches differ."""
    return sum(float(row["loss"]) for row in rows[-20:]) / 20


def difference(path, other):
    """The largest distance between two plots, in pixels, that agree in all else."""
    texts = [pathlib.Path(p).read_text() for p in (path, other)]
    assert len({NUMBER.sub("", text) for text in texts}) == 1, f"{other} is another plot"
    return max(abs(float(a) - float(b)) for a, b in zip(*map(NUMBER.findall, texts)))


moss, bf16 = read(sys.argv[1]), read(sys.argv[2])
print(f"losses fall below 0.2: {final_loss(moss) < 0.2}, {final_loss(bf16) < 0.2}, "
      f"from above 2: {float(moss[0]['loss']) > 2}, {float(bf16[0]['loss']) > 2}")
print(f"within 1.15 of each other: {final_loss(moss) / final_loss(bf16) < 1.15}")
for layer in ("1", "2"):
    predicted = [float(row["predicted " + layer]) for row in moss]
    true = [float(row["true " + layer]) for row in moss]
    exceeded = sum(not p >= t for p, t in zip(predicted, true))
    resets = [step for step in range(1, STEPS) if predicted[step] < predicted[step - 1]]
    exact = all(predicted[step] < 1.001 * true[step] for step in range(0, STEPS, INTERVAL))
    print(f"layer {layer}: exceeded at {exceeded} steps, falls at steps {resets}, "
          f"exact at resets: {exact}, at most {max(p / t for p, t in zip(predicted, true)):.1f} times")
print("never measured in BF16:", {row["predicted 1"] for row in bf16})
for name in ("perceptron-scales.svg", "perceptron-loss.svg"):
    # Another machine may round otherwise.
    close = difference(f"{sys.argv[3]}/{name}", f"{sys.argv[4]}/{name}") < 4
    print(f"{name} is up to date: {close}")
