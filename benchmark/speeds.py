# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What run.py and autoscale_run.py measured, by name."""

import math

BF16 = "torch bf16"
REGIMES = ("burst", "hot")
# What is in the time beside the product: nothing, or quantization of these operands.
PARTS = {"": "product", " + x": "with x quantized", " + x, w": "with x and w quantized"}
# Of each competitor of run.py: scheme, sums over K, library.
ENTRANTS = {
    BF16: ("BF16", "fast", "torch"),
    "moss bf16": ("BF16", "fast", "Moss"),
    "torch fast": ("per-tensor", "fast", "torch"),
    "torch precise": ("per-tensor", "promoted", "torch"),
    "moss per-tensor": ("per-tensor", "promoted", "Moss"),
    "torch rows fast": ("FP32 rows, both", "fast", "torch"),
    "torch rows precise": ("FP32 rows, both", "promoted", "torch"),
    "moss fast": ("two-level rows", "fast", "Moss"),
    "moss promoted": ("two-level rows", "promoted", "Moss"),
    "torch blocks": ("per-group 1x128, 128x128", "promoted", "torch"),
    "deepgemm blocks": ("per-group 1x128, 128x128", "promoted", "DeepGEMM"),
    "moss per-group": ("per-group 1x128, 128x128", "promoted", "Moss"),
    "moss two-level-k128": ("two-level 1x128", "promoted", "Moss"),
    "torch groups": ("per-group 1x128, both", "promoted", "torch"),
    "deepgemm groups": ("per-group 1x128, both", "promoted", "DeepGEMM"),
    "moss per-group-both": ("per-group 1x128, both", "promoted", "Moss"),
    "moss two-level-k128-both": ("two-level 1x128, both", "promoted", "Moss"),
    "moss two-level-k32": ("two-level 1x32", "promoted", "Moss"),
    "moss mx": ("mx, ceil", "promoted", "Moss"),
}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


class Speeds:
    """`run` is what run.py wrote, `scales` what autoscale_run.py wrote, or None."""

    def __init__(self, run, scales):
        self.where = run["device"], run["pytorch"], run["cuda"], run["date"]
        self.shapes = [tuple(result["shape"]) for result in run["shapes"]]
        self.scales = scales
        self._results = run["shapes"]

    def names(self, part=""):
        """Competitors that took part for every shape, BF16 first; none without others."""
        found = [name for name in ENTRANTS if name != BF16 and
                 all(name + part in result["burst"] for result in self._results)]
        return [BF16, *found] if found else []

    @staticmethod
    def _tflops(result, name, part, regime):
        turns = result["hot, quantizing" if part and regime == "hot" else regime]
        return turns[name if name == BF16 else name + part]["tflops"]

    def tflops(self, name, part, regime):
        """Of each shape; operations of quantization do not count. BF16, which never
        quantizes, in the turns in which those with that part were measured."""
        return [self._tflops(result, name, part, regime) for result in self._results]

    def times(self, name, part, regime):
        """Microseconds of a call, of each shape."""
        return [2e-6 * math.prod(shape) / tflops for shape, tflops in
                zip(self.shapes, self.tflops(name, part, regime))]

    def gains(self, name, base=BF16, part="", regime="burst"):
        """Times as fast as `base`, of each shape."""
        return [value / base for value, base in zip(self.tflops(name, part, regime),
                                                    self.tflops(base, part, regime))]

    def gain(self, name, base=BF16, part=""):
        """Geometric means over the shapes, burst and hot."""
        return [geometric_mean(self.gains(name, base, part, regime)) for regime in REGIMES]


def pair(values, digits=2):
    return " / ".join(f"{value:.{digits}f}" for value in values)
