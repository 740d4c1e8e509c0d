#!/usr/bin/env python3
"""Time whole calls of a linear layer, quantization of both operands included, beside
PyTorch's in BF16.

    benchmark/calls.py build OUT [--shapes MxNxK,...]   # where Moss is built; no GPU
    benchmark/calls.py run OUT [--json out.json]        # on the GPU; needs PyTorch

`run` finds the package moss by PYTHONPATH. Each competitor's calls are captured in a
CUDA graph, and all take turns in random order. Weights are quantized at each call.
"""

import argparse
import json
import os
import random
import statistics
import subprocess

SHAPES = "8192x4096x4096,8192x8192x8192,4096x7168x16384"
MODES = {"promoted": [], "fast": ["--accumulate=fast"]}
SOURCE = """
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
func.func @linear(%x: tensor<{M}x{K}xbf16>, %w: tensor<{N}x{K}xbf16>) -> tensor<{M}x{N}xbf16> {{
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<{M}x{N}xbf16>
  %init = linalg.fill ins(%zero : bf16) outs(%empty : tensor<{M}x{N}xbf16>) -> tensor<{M}x{N}xbf16>
  %y = linalg.matmul indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<{M}x{K}xbf16>, tensor<{N}x{K}xbf16>)
         outs(%init : tensor<{M}x{N}xbf16>) -> tensor<{M}x{N}xbf16>
  return %y : tensor<{M}x{N}xbf16>
}}
"""


def build(out, shapes):
    os.makedirs(out, exist_ok=True)
    for shape in shapes.split(","):
        M, N, K = shape.split("x")
        for mode, options in MODES.items():
            subprocess.run(["moss-compile", "-", "-o", os.path.join(out, f"{mode}_{shape}.so"), *options],
                           input=SOURCE.format(M=M, N=N, K=K), text=True, check=True)


def capture(torch, call, count=10):
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    return lambda: graph.replay()


def measure(torch, moss, out, shape, rounds=30, count=10):
    """Median microseconds of a call of each competitor."""
    M, N, K = map(int, shape.split("x"))
    x = torch.randn(M, K, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(N, K, device="cuda", dtype=torch.bfloat16)
    y = torch.empty(M, N, device="cuda", dtype=torch.bfloat16)
    exact = x[:64].double() @ w.double().T
    calls = {"torch bf16": lambda: torch.matmul(x, w.T, out=y)}
    for mode in MODES:
        linear = moss.load(os.path.join(out, f"{mode}_{shape}.so")).linear
        calls[f"moss {mode}"] = lambda linear=linear: linear(x, w, out=y)
    graphs = {}
    for name, call in calls.items():
        call()
        error = ((y[:64].double() - exact).norm() / exact.norm()).item()
        assert error < 0.05, (name, error)
        graphs[name] = capture(torch, call, count)
    times = {name: [] for name in graphs}
    for _ in range(rounds):
        for name in random.sample(list(graphs), len(graphs)):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graphs[name]()
            end.record()
            torch.cuda.synchronize()
            times[name].append(start.elapsed_time(end) * 1000 / count)
    return {name: statistics.median(values) for name, values in times.items()}


def run(out, path):
    import moss
    import torch
    shapes = sorted({name.split("_")[1][:-3] for name in os.listdir(out) if name.startswith("promoted_") and name.endswith(".so")})
    results = {shape: measure(torch, moss, out, shape) for shape in shapes}
    for shape, times in results.items():
        bf16 = times["torch bf16"]
        print(shape, ", ".join(f"{name} {us:.1f} us ({bf16 / us:.2f}x)" for name, us in times.items()))
    if path:
        with open(path, "w") as file:
            json.dump({"device": torch.cuda.get_device_name(), "us": results}, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["build", "run"])
    parser.add_argument("out")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    if arguments.step == "build":
        build(arguments.out, arguments.shapes)
    else:
        run(arguments.out, arguments.json)


if __name__ == "__main__":
    main()
