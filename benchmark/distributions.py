# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands like those of real layers, as BF16 bits."""

import numpy as np

OUTLIER_CHANNELS = 1 / 512  # of all channels
BLOCK = 32
WEIGHT_DEVIATION = 0.02


def normal(rng, m, k):
    return rng.standard_normal((m, k))


def positive(rng, m, k):
    return rng.random((m, k))


def rows(rng, m, k):
    """Rows of very different norms: tokens, or gradients of them. The logarithms
    of the norms are normal, with a deviation of 2 (a factor of 7.4)."""
    return normal(rng, m, k) * np.exp(rng.normal(0, 2, (m, 1)))


def outliers(factor):
    """The few channels of activations that are always large."""
    return lambda rng, m, k: normal(rng, m, k) * channels(rng, k, factor)


def channels(rng, k, factor):
    """A factor for each channel: 1, but for the few that are large."""
    factors = np.ones(k)
    factors[rng.choice(k, max(1, int(k * OUTLIER_CHANNELS)), replace=False)] = factor
    return factors


def blocks(rng, m, k):
    """Blocks along K whose magnitudes are spread over 2^20."""
    scales = np.exp2(rng.uniform(-20, 0, (m, -(-k // BLOCK))))
    return normal(rng, m, k) * np.repeat(scales, BLOCK, axis=1)[:, :k]


def gradients(rng, m, k):
    """Small, with heavy tails within rows and between them."""
    return 1e-6 * rows(rng, m, k) * np.exp(rng.normal(0, 1.5, (m, k)))


def weights(rng, n, k):
    return WEIGHT_DEVIATION * normal(rng, n, k)


def by_weights(draw):
    """A left operand to be multiplied by weights."""
    return lambda rng, m, n, k: (draw(rng, m, k), weights(rng, n, k))


def balanced(factor):
    """Outliers whose weights are as much smaller, so that all channels count
    alike in the result."""
    def draw(rng, m, n, k):
        factors = channels(rng, k, factor)
        return normal(rng, m, k) * factors, weights(rng, n, k) / factors
    return draw


def both_positive(rng, m, n, k):
    return positive(rng, m, k), positive(rng, n, k)


# Functions of a generator and the extents M, N and K; they draw a left operand
# [M, K] and a right one [N, K].
KINDS = {
    "normal": by_weights(normal),
    "positive": both_positive,
    "rows": by_weights(rows),
    "outliers x100": by_weights(outliers(1e2)),
    "outliers x1000": by_weights(outliers(1e3)),
    "outliers x10,000": by_weights(outliers(1e4)),
    "balanced outliers x10,000": balanced(1e4),
    "blocks": by_weights(blocks),
    "gradients": by_weights(gradients),
}


def to_bf16(x):
    """Bits of the nearest BF16 numbers, ties to even, of finite numbers."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def draw(kind, rng, m, n, k):
    """The operands of a kind, [m, k] and [n, k]."""
    return tuple(to_bf16(operand) for operand in KINDS[kind](rng, m, n, k))
