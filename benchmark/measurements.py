# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What numerics.py measured, by name."""

import math

BF16 = "bf16"
STEP = 32  # products that the matrix unit adds at once


class Measurements:
    def __init__(self, results):
        self.kinds = unique(row["data"] for row in results["quantization"])
        self.schemes = [BF16] + unique(row["scheme"] for row in results["quantization"])
        self.lengths = unique(row["length"] for row in results["accumulation"])
        self.intervals = sorted(unique(row["interval"] for row in results["accumulation"]),
                                key=lambda interval: -interval if interval else -math.inf)
        self._elements = {(row["scheme"], row["format"], row["data"]): row
                          for row in results["quantization"]}
        self._products = {(row["scheme"], row.get("format"), row.get("accumulate"), row["data"]): row
                          for row in results["products"]}
        self._sums = {(row["data"], row["length"], row["interval"]): row["error"]
                      for row in results["accumulation"]}

        self._gradients = {(row["inputs"], row["data"]): row["error"]
                           for row in results["gradients"]}

    def element(self, scheme, element, kind, measure):
        """None for bf16, which quantizes nothing."""
        return None if scheme == BF16 else self._elements[scheme, element, kind][measure]

    def product(self, scheme, element, mode, kind, measure):
        """The format and the mode do not matter for bf16."""
        key = (BF16, None, None, kind) if scheme == BF16 else (scheme, element, mode, kind)
        return self._products[key][measure]

    def sum_error(self, kind, length, interval):
        """None if the interval is longer than the sum."""
        return self._sums.get((kind, length, interval))

    def gradient(self, inputs, kind):
        """`inputs` is 'anew' or 'stored'."""
        return self._gradients[inputs, kind]

    @staticmethod
    def sum_bound(length, interval):
        """docs/Numerics.md, 'The accumulation bound', closed form."""
        interval = min(interval or length, length)
        return (33 * math.ceil(interval / STEP) * 2.0**-13 +
                (math.ceil(length / interval) - 1) * 2.0**-24 * (1 + 2.0**-12))


def unique(values):
    return list(dict.fromkeys(values))
