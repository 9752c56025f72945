"""Kernels whose machine code is shared: other kernels call it by a name, instead of linking the kernel into their own code.

A kernel by itself links all kernels that it calls, and LLVM optimises them again for each caller. A shared kernel is compiled
once for the types of its arguments. Its address is registered under a name that is the same in every process, so that the
machine code of its callers can be stored on disk. What is stored of a caller includes the names that it needs: before its code
is loaded, the shared kernels are loaded, or compiled if they are not stored.
"""

# mypy: allow-untyped-calls
# numba's own functions have no types.

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

from llvmlite import binding

__all__ = ["Symbol", "needed_by", "provide", "register"]

_registered: set[Symbol] = set()


class Symbol(NamedTuple):
    """The name of a shared kernel's machine code for some types of arguments."""

    module: str
    kernel: str
    """The name of the kernel in its module."""
    types: tuple[Any, ...]
    """numba's types of the arguments."""

    @property
    def name(self) -> str:
        """The name by which machine code calls it; the same in every process."""
        digest = hashlib.sha256(str(self.types).encode()).hexdigest()[:16]
        return f"corl:{self.module}:{self.kernel}:{digest}"


def register(kernel: Any, result: Any) -> None:
    """Give the machine code of a shared kernel its name, and let kernels that are compiled from now on call it by this name.

    Args:
        kernel: numba's dispatcher.
        result: numba's result of the compilation of the kernel; its machine code is generated if it does not exist.
    """
    function = kernel.py_func
    symbol = Symbol(function.__module__, function.__qualname__, tuple(result.signature.args))
    binding.add_symbol(symbol.name, result.library.get_pointer_to_function(result.fndesc.llvm_func_name))
    _registered.add(symbol)
    called = copy.copy(result.fndesc)
    called.mangled_name, called.inline = symbol.name, False
    kernel.targetctx.insert_user_function(result.entry_point, called, [symbol])


def provide(symbols: Iterable[Symbol]) -> None:
    """Load or compile the shared kernels with these names, unless they are registered.

    Raises ImportError or AttributeError if a kernel does not exist.
    """
    for symbol in symbols:
        if symbol not in _registered:
            getattr(import_module(symbol.module), symbol.kernel).compile_shared(symbol.types)


def needed_by(library: Any) -> tuple[Symbol, ...]:
    """Return the names that the code of numba's library calls."""
    return tuple(getattr(library, "symbols", ()))
