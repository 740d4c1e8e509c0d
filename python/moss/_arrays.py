# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What this package needs to know of PyTorch's tensors, NumPy's arrays and
numbers.

Each class is an adapter for one kind of value, with functions that every call
uses, so they do little: `layout(x)`, a hashable value that holds everything but
the address, and `address(x)`, which is what C takes. `inspect(x, is_written)`
gives the layout's parts after checks, once for each layout. PyTorch and NumPy
are imported only where one of their arrays has been seen.
"""

import ctypes
import functools
import sys
from typing import NamedTuple, Optional, Tuple


class Layout(NamedTuple):
    """The parts of an array that decide whether a function takes it."""

    dtype: str  # As MLIR spells it.
    device: Optional[int]  # The index of a CUDA device; None is the host.
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # In elements.


def contiguous_strides(shape):
    """The strides, in elements, of an array in row-major order."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


class Numbers:
    """Python's numbers."""

    layout = type

    @staticmethod
    def address(x):
        return None


class TorchTensors:
    """Tensors of PyTorch, on the host or on a CUDA device."""

    NAMES = {
        "bfloat16": "bf16", "float16": "f16", "float32": "f32",
        "float64": "f64", "float8_e4m3fn": "f8E4M3FN",
        "float8_e5m2": "f8E5M2", "float8_e8m0fnu": "f8E8M0FNU",
        "bool": "i1", "int8": "i8", "uint8": "i8", "int16": "i16",
        "int32": "i32", "int64": "i64",
    }

    def __init__(self, torch):
        self.torch = torch
        self.name_of = {
            getattr(torch, name): mlir for name, mlir in self.NAMES.items()
            if hasattr(torch, name)}
        # What torch.cuda's functions wrap takes a tenth of their time.
        self.current_stream = getattr(
            torch._C, "_cuda_getCurrentRawStream",
            lambda device: torch.cuda.current_stream(device).cuda_stream)
        self.current_device = getattr(torch._C, "_cuda_getDevice",
                                      torch.cuda.current_device)
        self.dtype_of = {mlir: dtype for dtype, mlir in
                         reversed(self.name_of.items())}

    def layout(self, x):
        return (x.shape, x.stride(), x.dtype, x.get_device(),
                x.requires_grad and self.torch.is_grad_enabled())

    def inspect(self, x, is_written):
        if x.device.type not in ("cpu", "cuda"):
            raise ValueError(f"is on device '{x.device}', but must be on "
                             "'cpu' or 'cuda'")
        if x.layout != self.torch.strided:
            raise ValueError(f"has the layout {x.layout}; pass x.to_dense()")
        if x.requires_grad and self.torch.is_grad_enabled():
            raise ValueError(
                "requires a gradient, but a compiled function has no "
                "derivative; call it under torch.no_grad(), or in a "
                "torch.autograd.Function")
        device = x.device.index if x.device.type == "cuda" else None
        return Layout(self.name_of.get(x.dtype, str(x.dtype)), device,
                      tuple(x.shape), x.stride())

    @staticmethod
    def address(x):
        return x.data_ptr()

    def launch(self, entry, values, device):
        """Call a C function on PyTorch's current stream of a device."""
        if self.current_device() == device:
            values[-1] = ctypes.c_void_p(self.current_stream(device))
            return entry(*values)
        with self.torch.cuda.device(device):
            values[-1] = ctypes.c_void_p(self.current_stream(device))
            return entry(*values)

    def allocator(self, shape, dtype, device):
        """A function that allocates an array."""
        place = self.torch.device("cpu" if device is None else
                                  f"cuda:{device}")
        return functools.partial(self.torch.empty, shape,
                                 dtype=self.dtype_of[dtype], device=place)


class InterfaceArrays:
    """Host arrays that describe themselves by `__array_interface__`.

    NumPy has no types of 8 bits or BF16 of its own: unsigned integers of
    their width hold the bits. The types of ml_dtypes, which say `V1` or `V2`,
    pass as well.
    """

    KINDS = {
        "f4": ("f32",), "f8": ("f64",), "f2": ("f16",),
        "u1": ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "i8"),
        "V1": ("f8E4M3FN", "f8E5M2", "f8E8M0FNU"), "b1": ("i1",),
        "u2": ("bf16", "i16"), "V2": ("bf16",), "i1": ("i8",),
        "i2": ("i16",), "i4": ("i32",), "u4": ("i32",), "i8": ("i64",),
        "u8": ("i64",),
    }

    @staticmethod
    def layout(x):
        interface = x.__array_interface__
        return (interface["typestr"], interface["shape"],
                interface.get("strides"), interface["data"][1])

    def inspect(self, x, is_written):
        interface = x.__array_interface__
        kind = interface["typestr"]
        if is_written and interface["data"][1]:
            raise ValueError("is written, but is a read-only array")
        if kind[0] == (">" if sys.byteorder == "little" else "<"):
            raise TypeError("has the other byte order; convert it to this "
                            "machine's")
        names = self.KINDS.get(kind[1:], (kind,))
        shape = tuple(interface["shape"])
        strides = interface.get("strides")
        if strides is None:
            strides = contiguous_strides(shape)
        else:
            width = int(kind[2:])
            strides = tuple(stride // width for stride in strides)
        return Layout("|".join(names), None, shape, strides)

    @staticmethod
    def address(x):
        return x.__array_interface__["data"][0]

    def allocator(self, shape, dtype, device):
        import numpy
        kind = next(kind for kind, names in self.KINDS.items()
                    if dtype in names and kind[0] in "fuib")
        return functools.partial(
            numpy.empty, shape,
            dtype=numpy.dtype("?" if kind == "b1" else kind))


_interface_arrays = InterfaceArrays()
_adapters = dict.fromkeys((int, float, bool), Numbers())


def adapter_of(x):
    """The adapter for a value; a TypeError if there is none."""
    return _adapters.get(type(x)) or _find_adapter(x)


def _find_adapter(x):
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        adapter = _adapters.get(torch.Tensor) or TorchTensors(torch)
        _adapters[torch.Tensor] = adapter
    elif hasattr(x, "__array_interface__"):
        adapter = _interface_arrays
    elif isinstance(x, (int, float)):
        adapter = _adapters[int]
    else:
        raise TypeError(f"expected a torch.Tensor or an array that has "
                        f"__array_interface__, but got {type(x).__name__}")
    _adapters[type(x)] = adapter
    return adapter
