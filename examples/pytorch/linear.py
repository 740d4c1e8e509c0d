#!/usr/bin/env python3
"""Use a compiled linear layer as a function of PyTorch's tensors.

    moss-compile examples/pytorch/linear.mlir -o linear.so
    PYTHONPATH=python examples/pytorch/linear.py linear.so

Needs PyTorch and a Hopper GPU. Nothing is built on the machine that runs it: the
library, the runtime beside it and the folder python are all that it takes.
"""

import sys

import moss
import torch

moss_linear = moss.load(sys.argv[1]).moss_linear

x = torch.randn(1024, 4096, device="cuda", dtype=torch.bfloat16)
w = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16) / 64

y = moss_linear(x, w)

exact = x.double() @ w.double().T
error = (y.double() - exact).norm() / exact.norm()
print(f"{tuple(y.shape)}, relative error {error:.2%}")  # FP8 has 4 bits.
assert error < 0.05

# Calls can be captured in a CUDA graph, like those of PyTorch.
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    z = moss_linear(x, w)
x.copy_(torch.randn_like(x))
graph.replay()
assert torch.equal(z, moss_linear(x, w))
