# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shared libraries of moss-compile."""

import ctypes
import json
import os

from ._function import Function

_INVALID_ARGUMENT = 1


class RuntimeFailure(RuntimeError):
    """A compiled function could not do its work: the device, its driver or
    its memory failed. The message is the runtime's."""


class Library:
    """A shared library of moss-compile. Its functions are attributes.

    `description` is the JSON description that the library holds: the target,
    the functions with their arguments, and the kernels.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        if not os.path.exists(self.path):
            raise FileNotFoundError(f"there is no shared library {self.path}")
        # A name without a folder would be looked for in the system's folders.
        library = ctypes.CDLL(os.path.abspath(self.path))
        self.description = self._read_description(library)
        self._last_error = library.mossGetLastError
        self._last_error.restype = ctypes.c_char_p
        self.functions = {
            function["name"]: Function(getattr(library, function["symbol"]),
                                       function, self._check)
            for function in self.description["functions"]}

    def _read_description(self, library):
        try:
            first = ctypes.c_char.in_dll(library, "moss_module_description")
        except ValueError:
            raise ValueError(f"{self.path} was not made by moss-compile: it "
                             "has no description of its functions") from None
        return json.loads(ctypes.string_at(ctypes.addressof(first)))

    def _check(self, name, status):
        text = (self._last_error() or b"unknown error").decode()
        kind = ValueError if status == _INVALID_ARGUMENT else RuntimeFailure
        raise kind(text if text.startswith(f"{name}: ") else f"{name}: {text}")

    def __getattr__(self, name):
        functions = self.__dict__.get("functions", {})
        if name in functions:
            return functions[name]
        raise AttributeError(f"{self.path} has no function '{name}'; it has "
                             f"{', '.join(functions) or 'none'}")

    def __dir__(self):
        return [*super().__dir__(), *self.functions]

    def __repr__(self):
        return f"<moss.Library {self.path}: {', '.join(self.functions)}>"


def load(path):
    """Load a shared library that moss-compile has made.

    Raises FileNotFoundError if there is none, OSError if the system cannot
    load it, and ValueError if it was not made by moss-compile.
    """
    return Library(path)
