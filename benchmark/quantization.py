# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of run.py that quantize operands and then multiply them."""

import functools
import sys

import torch

from autoscale_run import Library

# What a competitor's name ends in, and which operands its calls quantize. The left
# one is the activation, the right one the weight.
SIDES = {" + x": ("lhs",), " + x, w": ("lhs", "rhs")}

load = functools.lru_cache(Library)


def quantizer(folder, quantize, operands, side, schemes):
    """A call that writes the operand's payload and scales, on the current stream."""
    entry = quantize[side]
    library = load(folder, entry["library"].removesuffix(".so"))
    write = library.bind(entry["function"], operands.bf16[side],
                         *(operands.buffer(name, schemes) for name in entry["parameters"]))

    def call():
        library.runtime.mossSetStream(torch.cuda.current_stream().cuda_stream)
        write()

    return call


def in_turn(calls):
    """One call that makes them all."""
    def call():
        for each in calls:
            each()

    return call


def check(name, call, operands, schemes, sides):
    """Exit unless the call quantizes and multiplies: its product must be within 1e-2
    of that of the quantized operands and within 6e-2 of that of the BF16 ones
    (E4M3 rounds N(0, 1) by 3.8e-2), relative Frobenius errors of 256 rows."""
    for side in sides:
        operands.get(side, schemes[side])[0].view(torch.uint8).zero_()
    operands.out.fill_(float("nan"))
    call()
    torch.cuda.synchronize()
    rows = min(256, operands.out.shape[0])
    result = operands.out[:rows].double()
    exact = operands.bf16["lhs"][:rows].double() @ operands.bf16["rhs"].double().t()
    for reference, limit in ((operands.reference(rows, schemes), 1e-2), (exact, 6e-2)):
        error = ((result - reference).norm() / reference.norm()).item()
        if not error < limit:
            sys.exit(f"{name}: wrong result, relative error {error:.3g}")


def calls(folder, kernel, loaded, sets):
    """For each of SIDES: what the name ends in, and a call for each set of operands,
    which are quantized apart from those of other competitors."""
    if "quantize" not in kernel:
        return []
    schemes, found = kernel["schemes"], []
    own = [operands.fresh() for operands in sets]
    multiply = [loaded.bind(operands) for operands in own]
    for suffix, sides in SIDES.items():
        made = [in_turn([*(quantizer(folder, kernel["quantize"], operands, side, schemes)
                           for side in sides), product])
                for operands, product in zip(own, multiply)]
        check(kernel["name"] + suffix, made[0], own[0], schemes, sides)
        found.append((suffix, made))
    return found
