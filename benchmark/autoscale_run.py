#!/usr/bin/env python3
"""Measure what scales of weights cost: predicted against just in time.

    benchmark/autoscale_run.py FOLDER [--rounds 30] [--json results.json]

FOLDER is what autoscale_build.py wrote. Needs a Hopper GPU and PyTorch.

All entrants take turns in a new random order in each round, and the medians are
printed. A call's time is that of several calls which were queued while the GPU was
busy, so that the host does not count; `host` is the time of a call until it returns.
Results are compared with PyTorch's before anything is timed.
"""

import argparse
import ctypes
import json
import os
import random
import statistics
import sys
import time

import torch

E4M3 = torch.float8_e4m3fn
QUEUE_MS = 3.0  # Longer than the host needs to queue the calls.


def memref(tensor):
    """A descriptor of a contiguous tensor."""
    rank = tensor.dim()

    class MemRef(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                    ("offset", ctypes.c_int64)] + (
                        [("sizes", ctypes.c_int64 * rank),
                         ("strides", ctypes.c_int64 * rank)] if rank else [])

    extents = (tuple(tensor.shape), tuple(tensor.stride())) if rank else ()
    return MemRef(tensor.data_ptr(), tensor.data_ptr(), 0, *extents)


class Entrant:
    """A name, a call, and the bytes that it must move."""

    def __init__(self, name, call, size, calls=5):
        self.name, self.call, self.bytes, self.calls = name, call, size, calls
        self.times, self.host = [], []

    def measure(self):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(int(QUEUE_MS * 1.98e6))
        start.record()
        begin = time.perf_counter()
        for _ in range(self.calls):
            self.call()
        self.host.append((time.perf_counter() - begin) * 1e6 / self.calls)
        end.record()
        torch.cuda.synchronize()
        self.times.append(start.elapsed_time(end) * 1e3 / self.calls)

    def summarize(self):
        time = statistics.median(self.times)
        return {"us": time, "GB/s": self.bytes / time * 1e-3 if self.bytes else None,
                "host us": statistics.median(self.host)}


class Library:
    """A library from autoscale_build.py; its functions use PyTorch's stream."""

    def __init__(self, folder, name):
        self.library = ctypes.CDLL(os.path.join(folder, name + ".so"))
        self.runtime = ctypes.CDLL(os.path.join(folder, "libmoss_runtime.so"))
        self.runtime.mossSetStream.argtypes = [ctypes.c_void_p]

    def bind(self, function, *arguments):
        """A call of the function on tensors and ctypes scalars."""
        entry = getattr(self.library, "_mlir_ciface_" + function)
        held = [memref(a) if isinstance(a, torch.Tensor) else a for a in arguments]
        passed = [a if isinstance(a, ctypes._SimpleCData) else ctypes.byref(a) for a in held]

        # `held` and `arguments` are named here so that they live as long.
        def call(held=held, arguments=arguments):
            entry(*passed)

        self.runtime.mossSetStream(torch.cuda.current_stream().cuda_stream)
        return call


def require(condition, message):
    if not condition:
        sys.exit(message)


def in_turn(first, second):
    return lambda: (first(), second())


def update_entrant(folder, count):
    """The update of all scales, checked against the rule in float64."""
    scales = torch.rand(count, device="cuda") + 0.5
    state = torch.zeros(count, 3, device="cuda", dtype=torch.float64)
    before = scales.double()
    rate, step = 1e-3, 7
    call = Library(folder, "update").bind("update", ctypes.c_double(rate),
                                          ctypes.c_int64(step), scales, state)
    call()
    torch.cuda.synchronize()
    b1, b2 = 0.9, 0.95
    r = b1 * b1 / b2
    c = (1 - b1) / (1 - b1**step) * ((1 - b2**step) / (1 - b2) * (1 - r**step) / (1 - r))**0.5
    bound = before * 448 * (1 + 2**-8) * (1 - rate * 0.1) + rate * c
    require(torch.allclose(state[:, 0], bound, rtol=1e-5), "update: wrong bounds")
    require((scales.double() * 448 >= bound).all().item(), "update: a scale is too small")
    return [Entrant(f"update of {count} scales", call, 0, calls=50)]


def quantize_entrants(folder, R, C):
    weight = torch.randn(R, C, device="cuda", dtype=torch.bfloat16)
    payload = torch.empty(R, C, device="cuda", dtype=E4M3)
    transposed = torch.empty(C, R, device="cuda", dtype=E4M3)
    scale = torch.zeros((), device="cuda")
    library, elements = Library(folder, "quantize"), R * C
    calls = {name: library.bind(name, weight, scale, transposed if "transposed" in name else payload)
             for name in ("jit", "predicted", "jit_transposed", "predicted_transposed")}
    calls["jit"]()
    torch.cuda.synchronize()
    require(abs(scale.item() * 448 / weight.abs().max().item() - 1) < 1e-6, "jit: wrong scale")
    expected = (weight.float() * (1 / scale)).clamp(-448, 448).to(E4M3).view(torch.uint8)
    for name, call in calls.items():
        out = transposed if "transposed" in name else payload
        out.zero_()
        call()
        torch.cuda.synchronize()
        got = out.view(torch.uint8)
        require(torch.equal(got.t() if "transposed" in name else got, expected),
                f"{name}: wrong payload")
    # The limit: as many bytes read and written as a predicted scale needs.
    words = torch.empty(elements * 3 // 8, device="cuda", dtype=torch.int32)
    other = torch.empty_like(words)
    entrants = [Entrant("torch copy of as many bytes", lambda: other.copy_(words), elements * 3)]
    for name, call in calls.items():
        entrants.append(Entrant("quantize, " + name.replace("_", ", "), call,
                                elements * (5 if "jit" in name else 3)))
    return entrants


def adamw_entrants(folder, R, C):
    matrices = [torch.randn(R, C, device="cuda") * scale for scale in (1, 1, 0.1)]
    gradient, weight, first = matrices
    second = torch.rand(R, C, device="cuda")
    payload = torch.empty(R, C, device="cuda", dtype=E4M3)
    transposed = torch.empty(C, R, device="cuda", dtype=E4M3)
    scale = torch.tensor(0.05, device="cuda")
    entrants = []
    for name in ("apart", "fused", "both"):
        scalars = [ctypes.c_float(value) for value in (1e-4, 0.6, 0.3)]
        library = Library(folder, "adamw_" + name)
        call = library.bind("adamw", gradient, weight, first, second, *scalars, scale,
                            payload, transposed)
        if name == "apart":
            call = in_turn(call, library.bind("payloads", weight, scale, payload, transposed))
        call()
        torch.cuda.synchronize()
        expected = (weight * (1 / scale)).clamp(-448, 448).to(E4M3).view(torch.uint8)
        require(torch.equal(payload.view(torch.uint8), expected), f"adamw {name}: wrong payload")
        require(torch.equal(transposed.view(torch.uint8).t(), expected),
                f"adamw {name}: wrong transposed payload")
        read_again = {"apart": 8, "fused": 4, "both": 0}[name]
        entrants.append(Entrant("adamw, payloads " + name, call, R * C * (28 + 2 + read_again), calls=2))
    return entrants


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json")
    options = parser.parse_args()
    with open(os.path.join(options.folder, "shape.json")) as file:
        shape = json.load(file)
    R, C = shape["R"], shape["C"]
    entrants = [*update_entrant(options.folder, shape["weights"]),
                *quantize_entrants(options.folder, R, C),
                *adamw_entrants(options.folder, R, C)]
    order = random.Random(1)
    for round in range(options.rounds + 2):
        order.shuffle(entrants)
        for entrant in entrants:
            entrant.measure()
        if round < 2:  # warm-up
            for entrant in entrants:
                entrant.times, entrant.host = [], []
    results = {entrant.name: entrant.summarize() for entrant in entrants}
    print(f"{torch.cuda.get_device_name()}, {R} x {C}, medians of {options.rounds} rounds")
    for name, result in sorted(results.items()):
        rate = f"{result['GB/s']:7.0f} GB/s" if result["GB/s"] else " " * 12
        print(f"{name:36} {result['us']:9.2f} us {rate}   host {result['host us']:7.2f} us")
    gain = results["quantize, jit"]["us"] - results["quantize, predicted"]["us"]
    print(f"scaling just in time costs {gain:.1f} us for this weight; predicted, the update's share")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"shape": shape, "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
