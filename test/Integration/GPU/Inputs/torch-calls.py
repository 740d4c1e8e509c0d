#!/usr/bin/env python3
"""Call a compiled linear layer from PyTorch: results, streams, graphs, errors,
and the time that a call takes on the host.

    torch-calls.py LINEAR.so [--json results.json]

LINEAR.so is examples/pytorch/linear.mlir. Needs PyTorch and a Hopper GPU; the
package moss is found by PYTHONPATH.
"""

import argparse
import json
import random
import statistics
import sys
import threading
import time

import moss
import torch


def exact(x, w):
    return x.double() @ w.double().T


def check_close(y, x, w):
    """E4M3 rounds an element by at most 2^-4 of itself: independent roundings
    of both operands are within 0.05 as a norm (docs/Numerics.md)."""
    reference = exact(x, w)
    error = ((y.double() - reference).norm() / reference.norm()).item()
    assert 1e-3 < error < 0.05, error


def make(m, n, k, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    randn = lambda *shape: torch.randn(*shape, device="cuda", generator=generator).bfloat16()
    return randn(m, k), randn(n, k)


def check_results(linear):
    for m, n, k in [(1, 16, 16), (5, 24, 64), (128, 256, 512), (1000, 520, 1040)]:
        x, w = make(m, n, k)
        y = linear(x, w)
        check_close(y, x, w)
        out = torch.empty_like(y)
        assert linear(x, w, out=out) is out and torch.equal(out, y)
    assert linear(*make(0, 16, 32)).shape == (0, 16)
    assert not linear(torch.zeros(4, 0, device="cuda", dtype=torch.bfloat16),
                      torch.zeros(8, 0, device="cuda", dtype=torch.bfloat16)).any()


def check_strides(linear):
    """Rows of a wider tensor, as of a fused projection, in and out."""
    wide, w = make(64, 32, 128)
    x = wide[:, 32:96]
    w = w[:, :64].contiguous()
    expected = linear(x.contiguous(), w)
    assert torch.equal(linear(x, w), expected)
    out = torch.full((64, 96), 7.0, device="cuda", dtype=torch.bfloat16)
    linear(x, w, out=out[:, 32:64])
    assert torch.equal(out[:, 32:64], expected)
    assert (out[:, :32] == 7).all() and (out[:, 64:] == 7).all()


def check_streams(linear):
    """A call waits for what its stream holds, and not for the host."""
    x, w = make(512, 512, 512)
    expected = linear(x, w)
    stream = torch.cuda.Stream()
    late = torch.zeros_like(x)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(int(5e7))
        late.copy_(x)
        y = linear(late, w)
        assert not stream.query(), "the call waited for its stream"
    stream.synchronize()
    assert torch.equal(y, expected)


def check_graph(linear):
    x, w = make(256, 512, 1024)
    linear(x, w)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = linear(x, w)
    for seed in range(3):
        x.copy_(make(256, 512, 1024, seed)[0])
        graph.replay()
        assert torch.equal(y, linear(x, w))


def check_threads(linear):
    """Threads with streams of their own do not disturb each other."""
    failures = []

    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream()):
            x, w = make(128, 128, 256, seed)
            torch.cuda.current_stream().synchronize()
            expected = linear(x, w).clone()
            for _ in range(200):
                if not torch.equal(linear(x, w), expected):
                    failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def check_errors(linear):
    x, w = make(64, 32, 128)
    grad = w.clone().requires_grad_()
    cases = [
        (TypeError, "type bf16", (x.float(), w)),
        (ValueError, "on the host", (x.cpu(), w)),
        (ValueError, "shape", (x[0], w)),
        (ValueError, "side by side", (x, make(128, 128, 32)[1].T)),
        (ValueError, "gradient", (x, grad)),
        (TypeError, "2 arguments", (x,)),
        (TypeError, "an array", (x, 3)),
        (TypeError, "torch.Tensor", (x, "w")),
        (ValueError, "", (x, w[:, :64].contiguous())),
    ]
    for kind, text, arguments in cases:
        try:
            linear(*arguments)
        except kind as error:
            assert text in str(error), error
            print(f"  {kind.__name__}: {error}")
        else:
            raise AssertionError(f"no {kind.__name__} '{text}'")
    # Still usable, and the thread's last error does not stick.
    check_close(linear(x, w), x, w)
    with torch.no_grad():
        check_close(linear(x, grad), x, w)


def median_us(competitors, rounds=60, calls=40):
    """Median over rounds of the host's time for a call, in microseconds. All
    take turns in random order, because the host's speed varies, and the queue is
    emptied before each turn, so that it never blocks the host."""
    times = {name: [] for name in competitors}
    for _ in range(rounds):
        for name in random.sample(list(competitors), len(competitors)):
            call = competitors[name]
            torch.cuda.synchronize()
            call()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            times[name].append((time.perf_counter() - start) / calls * 1e6)
    torch.cuda.synchronize()
    return {name: round(statistics.median(values), 2) for name, values in times.items()}


def measure(linear):
    """What Python adds: a call through the package less the bare C call that
    launches the same kernels."""
    x, w = make(128, 128, 256)
    y = torch.empty(128, 128, device="cuda", dtype=torch.bfloat16)
    linear(x, w, out=y)
    entry = linear._entry
    stream = torch.cuda.current_stream().cuda_stream
    raw = [kind(value) for kind, value in zip(linear._types, [
        x.data_ptr(), 128, 256, 256, 1, w.data_ptr(), 128, 256, 256, 1,
        y.data_ptr(), 128, 128, 128, 1, stream])]
    competitors = {
        "C call": lambda: entry(*raw),
        "moss, out given": lambda: linear(x, w, out=y),
        "moss, allocates": lambda: linear(x, w),
        "torch.matmul": lambda: torch.matmul(x, w.T),
        "torch.empty": lambda: torch.empty(128, 128, device="cuda", dtype=torch.bfloat16),
    }
    for call in competitors.values():
        for _ in range(20):
            call()
    return median_us(competitors)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    linear = moss.load(arguments.library).moss_linear
    print(linear)
    for check in [check_results, check_strides, check_streams, check_graph,
                  check_threads, check_errors]:
        print(check.__name__)
        check(linear)
    times = measure(linear)
    added = times["moss, allocates"] - times["C call"]
    print(f"host time per call in us: {times}; Python adds {added:.2f}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"device": torch.cuda.get_device_name(), "us": times}, file)
    assert added < 10, "Python adds 10 us or more to a launch"
    print("PASSED")


if __name__ == "__main__":
    sys.exit(main())
