# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled function: from Python's values to a call in C, and back."""

import ctypes
import struct
from typing import Any, NamedTuple, Optional

from ._arrays import Layout, Numbers, adapter_of, contiguous_strides

_MOST_PLANS = 4096
_SCALARS = {
    "f32": ctypes.c_float, "f64": ctypes.c_double, "i1": ctypes.c_bool,
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32,
    "i64": ctypes.c_int64, "index": ctypes.c_int64,
    # The bits. Those of FP8 types are the caller's, too.
    "bf16": ctypes.c_uint16, "f16": ctypes.c_uint16, "f8E4M3FN": ctypes.c_uint8,
    "f8E5M2": ctypes.c_uint8, "f8E8M0FNU": ctypes.c_uint8,
}


def _is_static(size):
    return isinstance(size, int)


def _spell_shape(parameter):
    """The extents of an array as in `[?, 64]`."""
    sizes = [str(size) if _is_static(size) else "?"
             for size in parameter["shape"]]
    return f"[{', '.join(sizes)}]"


def _spell(parameter):
    """A parameter as in `x: bf16[?, 64]`."""
    text = f"{parameter['name']}: {parameter['dtype']}"
    if "scalar" in parameter["kind"]:
        return text
    return text + _spell_shape(parameter)


def _c_types(parameter):
    """The types of a parameter in C: an address, the extents that are not
    static, and the strides."""
    if parameter["kind"] == "scalar":
        return [_SCALARS[parameter["dtype"]]]
    if parameter["kind"] == "scalar-result":
        return [ctypes.c_void_p]
    shape = parameter["shape"]
    integers = sum(not _is_static(size) for size in shape) + len(shape)
    return [ctypes.c_void_p] + [ctypes.c_int64] * integers


def _encode(name, parameter, value):
    """A number as C takes it. One that C would change is an error."""
    dtype = parameter["dtype"]
    if dtype in ("f32", "f64"):
        return value
    if dtype == "f16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    if dtype == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        # To nearest even; a NaN stays one.
        return bits + 0x7fff + (bits >> 16 & 1) >> 16 if value == value else 0x7fc0
    if not isinstance(value, int):
        raise TypeError(f"{name}: '{parameter['name']}' is an {dtype}, but got "
                        f"{value!r}")
    bits = ctypes.sizeof(_SCALARS[dtype]) * 8 if dtype != "i1" else 1
    if not -(1 << bits - 1) <= value < 1 << bits:
        raise ValueError(f"{name}: '{parameter['name']}' is an {dtype}, which "
                         f"does not hold {value}")
    return value


def _decode(dtype, value):
    """The inverse of _encode."""
    if dtype == "f16":
        return struct.unpack("<e", struct.pack("<H", value))[0]
    if dtype == "bf16":
        return struct.unpack("<f", struct.pack("<I", value << 16))[0]
    return value


class _Plan(NamedTuple):
    """What calls whose arrays have the same layouts have in common."""

    adapter: Any  # Of the first array.
    call: list  # The C arguments, with zeros where each call puts its own.
    device: Optional[int]
    allocators: list  # Of each result that no memory is given for.


class Function:
    """A compiled function: call it with its arguments in order.

    Tensors and arrays must have the dtype and the static extents of the
    program's argument, be on the right device, and have the elements of the
    innermost dimension side by side. Scalars are Python numbers. The result is
    returned: allocated, or `out`, which is one array, or a tuple of them if
    there are several results. A result must not overlap an argument. Arguments
    of the kinds `update` and `buffer` are written to, and not returned.

    Raises TypeError for a wrong type or dtype, ValueError for a wrong device,
    shape or stride, and RuntimeFailure if the device fails.
    """

    def __init__(self, entry, description, check):
        """`entry` is the C function, `check(name, status)` raises the error
        that its status stands for."""
        self.name = description["name"]
        parameters = description["arguments"]
        results = ("result", "scalar-result")
        self.arguments = [a for a in parameters if a["kind"] not in results]
        self.results = [a for a in parameters if a["kind"] in results]
        self._on_device = description["memory"] == "device"
        self._check = check
        self._plans = {}
        self._entry = entry
        types = []
        slots = []  # Where in the C arguments each parameter begins.
        for parameter in parameters:
            slots.append(len(types))
            types += _c_types(parameter)
        # What a call passes: arguments, results in memory of the caller, and
        # numbers that are returned.
        passed = [(parameter, slot) for parameter, slot in
                  zip(parameters, slots)
                  if parameter["kind"] != "scalar-result"]
        self._parameters = [parameter for parameter, _ in passed]
        self._slots = [slot for _, slot in passed]
        self._scalars = [(slots[index], index, parameter) for index, parameter
                         in enumerate(self.arguments)
                         if parameter["kind"] == "scalar"]
        self._arrays = [p for p in self._parameters if p["kind"] == "result"]
        self._numbers = [(index, slots[len(self.arguments) + index],
                          parameter["dtype"])
                         for index, parameter in enumerate(self.results)
                         if parameter["kind"] == "scalar-result"]
        entry.restype = ctypes.c_int32
        # Arguments are objects of these types already, which ctypes passes on
        # in half the time that a conversion by `argtypes` takes.
        self._types = types + [ctypes.c_void_p]  # The stream.

    @property
    def signature(self):
        """The parameters and results, as text."""
        return (f"{self.name}({', '.join(map(_spell, self.arguments))}) -> "
                + (", ".join(map(_spell, self.results)) or "None"))

    def __repr__(self):
        return f"<moss.Function {self.signature}>"

    def __call__(self, *arguments, out=None):
        values = list(arguments)
        if out is not None:
            values += out if isinstance(out, tuple) else (out,)
        adapters = [adapter_of(value) for value in values]
        key = (len(arguments), *[adapter.layout(value) for adapter, value in
                                 zip(adapters, values)])
        plan = self._plans.get(key)
        if plan is None:
            plan = self._make_plan(arguments, values, adapters)
            if len(self._plans) == _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        for allocate in plan.allocators:
            values.append(allocate())
            adapters.append(plan.adapter)
        call = plan.call.copy()
        for slot, adapter, value in zip(self._slots, adapters, values):
            call[slot] = ctypes.c_void_p(adapter.address(value))
        for slot, index, parameter in self._scalars:
            call[slot] = self._types[slot](
                _encode(self.name, parameter, values[index]))
        numbers = [_SCALARS[dtype]() for _, _, dtype in self._numbers]
        for (_, slot, _), number in zip(self._numbers, numbers):
            call[slot] = ctypes.c_void_p(ctypes.addressof(number))
        if plan.device is None:
            status = self._entry(*call)
        else:
            status = plan.adapter.launch(self._entry, call, plan.device)
        if status:
            self._check(self.name, status)
        outs = values[len(arguments):]
        for (index, _, dtype), number in zip(self._numbers, numbers):
            outs.insert(index, _decode(dtype, number.value))
        return outs[0] if len(outs) == 1 else tuple(outs) or None

    def _make_plan(self, arguments, values, adapters):
        if len(arguments) != len(self.arguments):
            raise TypeError(f"{self.signature} takes {len(self.arguments)} "
                            f"arguments, but got {len(arguments)}")
        outs = len(values) - len(arguments)
        if outs not in (0, len(self._arrays)):
            raise TypeError(f"{self.signature} has {len(self._arrays)} arrays "
                            f"as results, but 'out' has {outs}")
        call = [kind() for kind in self._types]
        layouts = []
        for slot, parameter, value, adapter in zip(
                self._slots, self._parameters, values, adapters):
            layout = self._inspect(parameter, value, adapter)
            layouts.append(layout)
            if layout:
                self._put(call, slot, parameter, layout)
        arrays = [layout for layout in layouts if layout]
        device = arrays[0].device if arrays else None
        for parameter, layout in zip(self._parameters, layouts):
            if layout and layout.device != device:
                raise self._error(
                    ValueError, parameter, f"is on cuda:{layout.device}, but "
                    f"the first array is on cuda:{device}")
        adapter = next((adapter for adapter in adapters
                        if not isinstance(adapter, Numbers)), None)
        allocators = []
        if not outs and self._arrays:
            if adapter is None:
                raise TypeError(f"{self.signature} has no array among its "
                                "arguments, so pass its results as 'out'")
            for slot, parameter in zip(self._slots[len(arguments):],
                                       self._arrays):
                shape = self._result_shape(parameter, layouts)
                dtype = parameter["dtype"]
                allocators.append(adapter.allocator(shape, dtype, device))
                self._put(call, slot, parameter, Layout(
                    dtype, device, shape, contiguous_strides(shape)))
        return _Plan(adapter, call, device, allocators)

    def _error(self, kind, parameter, text):
        return kind(f"{self.name}: '{parameter['name']}' {text}")

    def _inspect(self, parameter, value, adapter):
        """The layout of an array after all checks, and None for a number."""
        is_number = isinstance(adapter, Numbers)
        if (parameter["kind"] == "scalar") != is_number:
            wanted = ("a number" if parameter["kind"] == "scalar" else
                      "an array")
            raise self._error(TypeError, parameter, f"({_spell(parameter)}) "
                              f"is {wanted}, but got {type(value).__name__}")
        if is_number:
            return None
        try:
            layout = adapter.inspect(value, parameter["kind"] != "tensor")
        except (TypeError, ValueError) as error:
            raise self._error(type(error), parameter, str(error)) from None
        if parameter["dtype"] not in layout.dtype.split("|"):
            raise self._error(TypeError, parameter,
                              f"must be of type {parameter['dtype']}, but is "
                              f"of type {layout.dtype}")
        if self._on_device != (layout.device is not None):
            places = ("on a CUDA device", "on the host")
            raise self._error(
                ValueError, parameter,
                f"is {places[self._on_device]}, but the library was compiled "
                f"for arrays {places[not self._on_device]}")
        self._check_shape(parameter, layout)
        return layout

    def _check_shape(self, parameter, layout):
        shape = parameter["shape"]
        if len(shape) != len(layout.shape) or any(
                _is_static(wanted) and wanted != size
                for wanted, size in zip(shape, layout.shape)):
            raise self._error(ValueError, parameter,
                              f"must have shape {_spell_shape(parameter)}, "
                              f"but has {list(layout.shape)}")
        if layout.shape and layout.shape[-1] > 1 and layout.strides[-1] != 1:
            raise self._error(
                ValueError, parameter,
                "must have the elements of its innermost dimension side by "
                f"side, but has strides {list(layout.strides)}; pass a "
                "contiguous copy")

    def _result_shape(self, parameter, layouts):
        """The extents of a result, static or those of an argument."""
        shape = []
        for size in parameter["shape"]:
            if size is None:
                raise self._error(
                    ValueError, parameter, "has an extent that the arguments' "
                    "shapes do not tell; pass an array as 'out'")
            shape.append(size if _is_static(size) else
                         layouts[size["argument"]].shape[size["dimension"]])
        return tuple(shape)

    @staticmethod
    def _put(call, slot, parameter, layout):
        """Fill in the extents and strides of an array."""
        sizes = [size for size, wanted in zip(layout.shape, parameter["shape"])
                 if not _is_static(wanted)]
        values = [*sizes, *layout.strides]
        call[slot + 1:slot + 1 + len(values)] = map(ctypes.c_int64, values)
