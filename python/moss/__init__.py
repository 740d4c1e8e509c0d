# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Call what moss-compile has compiled, on PyTorch's tensors or NumPy's arrays.

    import moss
    layer = moss.load("layer.so")
    y = layer.linear(x, w)               # allocates the result
    layer.linear(x, w, out=y)            # or writes it into y

Only the standard library is needed. A library that was compiled for a GPU
takes CUDA tensors of PyTorch, and launches on PyTorch's current stream
without waiting, so that a call can be captured in a CUDA graph. One that was
compiled for the CPU takes PyTorch's CPU tensors, and any object that has
`__array_interface__` (NumPy's arrays).
"""

from ._library import Function, Library, RuntimeFailure, load

__all__ = ["Function", "Library", "RuntimeFailure", "load"]
