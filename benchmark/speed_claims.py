# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Claims about the speed of two-level scaling, judged by what was measured."""

from speeds import geometric_mean, pair

TENSOR, ROWS, FINE, COARSE, GROUPS = (
    "moss per-tensor", "moss promoted", "moss two-level-k32", "moss two-level-k128",
    "moss per-group")
LIBRARY, BLOCKS, DEEPGEMM = "torch precise", "torch blocks", "deepgemm blocks"
PAPER, ARTICLE = "paper", "article"
HOLDS, FAILS = "**holds**", "**does not hold**"
NOISE = 1.02  # Ratios of two runs differ by up to this, hot.


def slowdown(speeds, name, base):
    """Times the duration of `base`, geometric means, burst and hot."""
    return [1 / gain for gain in speeds.gain(name, base)]


def in_loop(speeds):
    found = {"DeepGEMM": (DEEPGEMM, LIBRARY), "torch": (BLOCKS, LIBRARY), "Moss": (GROUPS, TENSOR)}
    costs = {library: slowdown(speeds, *names) for library, names in found.items()
             if set(names) <= set(speeds.names())}
    numbers = ", ".join(f"{library} {pair(cost)}" for library, cost in costs.items())
    return ("Dequantization in the loop over K makes products several times as slow as with one "
            "scale per tensor", f"{PAPER}, Table 6: 3.73 ms beside 0.84",
            HOLDS if min(map(min, costs.values())) > 2 else FAILS,
            f"FP32 scales of 1x128 by 128x128 take this many times the time of per-tensor scales "
            f"(of cuBLASLt's precise ones for DeepGEMM and torch): {numbers}")


def behind_loop(speeds):
    cost = slowdown(speeds, ROWS, TENSOR)
    return ("Scales that are applied behind the loop cost nothing", f"{PAPER}, {ARTICLE}",
            HOLDS if max(cost) < NOISE else FAILS,
            f"for two-level scales of rows: {pair(cost, 3)} times the time of one scale per tensor, "
            "the same kernels otherwise")


def fine_groups(speeds):
    cost = slowdown(speeds, FINE, TENSOR)
    return ("Two-level scales of 1x32 cost no more than one scale per tensor",
            f"{PAPER}, Table 6: 0.77 ms beside 0.84; {ARTICLE}", HOLDS if max(cost) < NOISE else FAILS,
            f"{pair(cost)} times the time. A scale that changes along K cannot leave the loop "
            "([Hoisting](Numerics.md#hoisting)), and every 32 of K is one step of the matrix unit")


def beside_deepgemm(speeds):
    costs = {scales: slowdown(speeds, name, DEEPGEMM)
             for scales, name in (("1x32", FINE), ("1x128", COARSE), ("rows", ROWS))}
    slower = [scales for scales, cost in costs.items() if min(cost) > NOISE]
    numbers = ", ".join(f"{scales} {pair(cost)}" for scales, cost in costs.items())
    return ("DeepGEMM is faster than two-level scales", f"{PAPER}, Table 6: 0.54 ms beside 0.77",
            HOLDS if len(slower) == len(costs) else
            f"in part: than those of {' and '.join(slower)}" if slower else FAILS,
            f"times the time of DeepGEMM's 1x128 by 128x128: {numbers}")


def predicted_scales(speeds):
    results, shape = speeds.scales["results"], speeds.scales["shape"]
    jit, predicted = (results[f"quantize, {kind}"]["us"] for kind in ("jit", "predicted"))
    (count, update), = ((int(name.split()[2]), result["us"]) for name, result in results.items()
                        if name.startswith("update of"))
    return ("A predicted scale takes 0.02 ms where one of the largest magnitude takes 0.54 ms",
            f"{PAPER}, Table 1: 11008 x 16384",
            "in part: it saves less" if predicted < jit else FAILS,
            f"{shape['R']} x {shape['C']}: the largest magnitude takes {jit - predicted:.0f} us; the "
            f"update of {count} predicted scales takes {update:.1f} us, all together")


def training(speeds):
    product, both = speeds.gain(ROWS), speeds.gain(ROWS, part=" + x, w")
    return ("Training is up to 34 % faster than in BF16", PAPER, "not measured",
            "Moss compiles matmuls, not training runs. Products of two-level rows are "
            f"{pair(product)} times as fast as in BF16, {pair(both)} with both operands quantized "
            "at each call")


def library(speeds):
    rivals = {"per-tensor scales, fast sums": ("moss fast", "torch fast"),
              "per-tensor, promoted": (ROWS, LIBRARY),
              "rows of both operands, fast": ("moss fast", "torch rows fast"),
              "rows of both, promoted": (ROWS, "torch rows precise")}
    gains = {rival: speeds.gain(*names) for rival, names in rivals.items()
             if set(names) <= set(speeds.names())}
    faster = [rival for rival, gain in gains.items() if 1 / min(gain) > NOISE]
    numbers = ", ".join(f"{rival} {pair(gain)}" for rival, gain in gains.items())
    return ("Compiled kernels are as fast as the vendor's library", "Moss's aim",
            HOLDS if not faster else FAILS if len(faster) == len(gains) else
            f"in part: not beside {' and '.join(faster)}",
            f"two-level rows, times as fast as cuBLASLt with {numbers}")


# What is judged, and the names and parts that it needs.
JUDGES = (
    (library, ("moss fast", "torch fast", ROWS, LIBRARY), ""),
    (in_loop, (GROUPS, TENSOR), ""),
    (behind_loop, (ROWS, TENSOR), ""),
    (fine_groups, (FINE, TENSOR), ""),
    (beside_deepgemm, (FINE, COARSE, ROWS, DEEPGEMM), ""),
    (training, (ROWS,), " + x, w"),
)


def speed_claims(speeds):
    """(claim, source, verdict, numbers) of each that was measured."""
    found = [judge(speeds) for judge, names, part in JUDGES
             if set(names) <= set(speeds.names(part)) & set(speeds.names())]
    return found + ([predicted_scales(speeds)] if speeds.scales else [])
