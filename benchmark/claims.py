# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Claims about the numerics of two-level scaling, judged by what was measured."""

E4M3, E5M2 = "f8E4M3FN", "f8E5M2"
TENSOR, ROWS = "per-tensor", "two-level rows"
FINE, NEAREST = "two-level 1x32", "two-level 1x32, nearest"
GROUP = "per-group 1x128, both"
PAPER, ARTICLE = "paper", "article"


def percent(value):
    return f"{100 * value:.3g} %"


def verdict(holds, count=None):
    """`count` is (data for which it holds, all data)."""
    if count and 0 < count[0] < count[1]:
        return f"in part: for {count[0]} of {count[1]} kinds of data"
    return "**holds**" if holds else "**does not hold**"


def signal_to_noise(measured):
    def snr(scheme, kind):
        return measured.element(scheme, E4M3, kind, "snr")
    ordered = [kind for kind in measured.kinds
               if snr(TENSOR, kind) < snr(GROUP, kind) < snr(FINE, kind)]
    numbers = ", ".join(f"{snr(scheme, 'normal'):.1f}" for scheme in (TENSOR, GROUP, FINE))
    best = max(measured.kinds, key=lambda kind: snr(GROUP, kind))
    return ("The signal-to-noise ratio of quantized operands rises from one scale per tensor "
            "over FP32 groups to two-level groups", f"{PAPER}, Theorem 1, Table 7",
            verdict(len(ordered) == len(measured.kinds), (len(ordered), len(measured.kinds))),
            f"normal data: {numbers} dB. A power of two does not change how an element is rounded, "
            f"so it cannot raise the ratio unless elements were flushed that carry energy. An FP32 "
            f"group scale makes its largest element exact: {snr(GROUP, best):.0f} dB for {best}")


def small_elements(measured):
    kinds = ("outliers x10,000", "blocks", "gradients")

    def flushed(scheme, kind):
        return measured.element(scheme, E4M3, kind, "flushed")
    holds = all(flushed(FINE, kind) < flushed(TENSOR, kind) / 10 for kind in kinds)
    numbers = "; ".join(f"{kind}: {percent(flushed(TENSOR, kind))} flushed without, "
                        f"{percent(flushed(FINE, kind))} with" for kind in kinds)
    return ("Micro scales of 1x32 keep the small elements that one scale per tensor flushes to zero",
            PAPER, verdict(holds), numbers)


def better_products(measured):
    def gain(kind):
        return (measured.product(TENSOR, E4M3, "promoted", kind, "error") /
                measured.product(FINE, E4M3, "promoted", kind, "error"))
    better = [kind for kind in measured.kinds if gain(kind) > 1.1]
    listed = ", ".join(f"{kind} ({gain(kind):.1f} times)" for kind in better) or "no data"
    return ("So they make products as a whole more exact", f"{PAPER}, {ARTICLE}",
            verdict(len(better) == len(measured.kinds), (len(better), len(measured.kinds))),
            f"whole result, by more than a tenth: {listed}. Elsewhere what is flushed is too small "
            "to matter in the result")


def low_rows(measured):
    def error(scheme, kind):
        return measured.product(scheme, E4M3, "promoted", kind, "low")
    holds = all(error(ROWS, kind) < 0.9 * error(TENSOR, kind) for kind in ("rows", "gradients"))
    numbers = "; ".join(f"{kind}: {percent(error(TENSOR, kind))} with one scale, "
                        f"{percent(error(ROWS, kind))} with rows, {percent(error(FINE, kind))} with 1x32"
                        for kind in ("rows", "gradients"))
    return ("Where rows differ in magnitude, a scale per row is enough", "Moss's default",
            verdict(holds), f"low rows, {numbers}")


def outlier_rows(measured):
    kind = "balanced outliers x10,000"

    def error(scheme):
        return measured.product(scheme, E4M3, "promoted", kind, "error")
    return ("A scale per row is enough for outlier channels, too", "for scale",
            verdict(error(ROWS) < 1.1 * error(FINE)),
            f"every row has the outliers. {kind}: {percent(error(ROWS))} with rows, "
            f"{percent(error('two-level 1x128'))} with 1x128, {percent(error(FINE))} with 1x32")


def gradient_format(measured):
    def error(scheme, element):
        return measured.product(scheme, element, "promoted", "gradients", "low")
    numbers = "; ".join(f"{scheme}: {percent(error(scheme, E4M3))} in E4M3, "
                        f"{percent(error(scheme, E5M2))} in E5M2" for scheme in (TENSOR, ROWS))
    needed = [error(scheme, E5M2) < error(scheme, E4M3) for scheme in (TENSOR, ROWS)]
    return ("Gradients need the range of E5M2", "common practice",
            "only with one scale per tensor" if needed == [True, False] else verdict(all(needed)),
            f"low rows of gradients, {numbers}")


def rounding_up(measured):
    nearest = [scheme for scheme in measured.schemes[1:] if scheme.endswith("nearest")]
    floor = [scheme for scheme in measured.schemes[1:] if scheme.endswith("floor") or scheme == "mx"]
    up = [scheme for scheme in measured.schemes[1:] if scheme not in nearest + floor]

    def worst(schemes):
        return max(measured.element(scheme, element, kind, "saturated") for scheme in schemes
                   for element in (E4M3, E5M2) for kind in measured.kinds)
    return ("Rounding exponents up never saturates an element", PAPER, verdict(worst(up) == 0),
            f"at most {percent(worst(up))} of the elements; nearest: {percent(worst(nearest))}, "
            f"down: {percent(worst(floor))}")


def rounding_to_nearest(measured):
    def ratio(kind):
        return (measured.product(NEAREST, E4M3, "promoted", kind, "error") /
                measured.product(FINE, E4M3, "promoted", kind, "error"))
    kinds = [kind for kind in measured.kinds if ratio(kind) < 1.1]
    return ("Exponents of micro scales may be rounded to nearest", f"{ARTICLE}'s code",
            verdict(len(kinds) == len(measured.kinds)),
            f"1x32: the error of products is {ratio('normal'):.1f} times that of rounding up for normal "
            f"data, and up to {max(map(ratio, measured.kinds)):.1f} times")


def weights(measured):
    def error(scheme, kind):
        return measured.product(scheme, E4M3, "promoted", kind, "error")
    def change(kind):
        return (error(f"{ROWS}, both", kind) / error(ROWS, kind) - 1)
    kinds = [kind for kind in measured.kinds if abs(change(kind)) < 0.02]
    return ("One scale per tensor is enough for weights", PAPER,
            "for weights whose rows are alike" if len(kinds) == len(measured.kinds) else verdict(False),
            "micro scales for the rows of both operands instead of the left one change the error of "
            f"products by at most {percent(max(abs(change(kind)) for kind in measured.kinds))}; the "
            "weights here are normal, and others were not tried")


def sums(measured):
    length = 4096
    fast, promoted = (measured.sum_error("positive", length, interval) for interval in (0, 128))
    noise = measured.sum_error("normal", length, 0)
    return ("The whole sum may stay in the tensor cores, with one dequantization behind it",
            f"{PAPER}, {ARTICLE}", verdict(fast < 0.01),
            f"K = {length}: off by {percent(fast)} on positive data ({percent(promoted)} with "
            f"promoted(128)), {percent(noise)} on normal data. Scales of rows do move behind the sum, "
            "exactly; it is the 13 fraction bits that do not suffice")


def like_bf16(measured):
    def error(scheme):
        return measured.product(scheme, E4M3, "promoted", "normal", "error")
    return ("Products are as exact as in BF16", "for scale; the paper says it of training",
            verdict(error(FINE) < 2 * error("bf16")),
            f"normal data: {percent(error(FINE))}, BF16 {percent(error('bf16'))}. Whether training "
            "minds is not measured here")


def claims(measured):
    """(claim, source, verdict, numbers) of each."""
    return [judge(measured) for judge in (
        signal_to_noise, small_elements, better_products, low_rows, outlier_rows,
        gradient_format, rounding_up, rounding_to_nearest, weights, sums, like_bf16)]
