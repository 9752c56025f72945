"""Work that numba's front end does at each step of a compilation and that changes nothing in the result: it is left out.

A compilation of some hundred kernels takes a third less time. What is left out relies on internals of numba; a version without
them works as before.
"""

# mypy: allow-untyped-calls
# numba's own functions have no types.

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from numba.core import errors

__all__ = ["accelerated"]

_GC_THRESHOLD = 100_000  # new objects between two garbage collections; Python's default is 700
_accelerated = False  # whether a block of `accelerated` is running: compilations nest


@contextlib.contextmanager
def accelerated() -> Iterator[None]:
    """Leave out, in the block, frequent garbage collections, colours of errors, and repeated questions for the sizes of types."""
    global _accelerated
    if _accelerated:
        yield
        return
    with _rare_garbage_collection(), _plain_errors(), _remembered_sizes():
        _accelerated = True
        try:
            yield
        finally:
            _accelerated = False


@contextlib.contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Collect garbage a hundred times less often in the block, as most objects of a compilation live until its end.

    A compilation then takes a tenth less time, and some 50 MB more memory.
    """
    before = gc.get_threshold()
    gc.set_threshold(_GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Leave the messages of numba's errors without colours in the block.

    numba raises, and catches, an error for each name that is not a value. Each change of colour makes colorama wrap standard
    output once more, so that a later change takes longer.
    """
    scheme: Any = type(errors.termcolor())
    markup = getattr(scheme, "_markup", None)
    if markup is not None:  # None without colorama
        scheme._markup = _without_colour
    try:
        yield
    finally:
        if markup is not None:
            scheme._markup = markup


def _without_colour(scheme: object, message: str, color: str | None = None, style: str | None = None) -> str:
    return message


@contextlib.contextmanager
def _remembered_sizes() -> Iterator[None]:
    """Ask LLVM only once in the block for the size of a type: llvmlite parses a module for each question."""
    asked, sizes = ir.Type.get_abi_size, {}

    def size(kind: Any, target_data: Any, context: Any = None) -> Any:
        key = str(kind), id(target_data), id(context)
        if key not in sizes:
            sizes[key] = asked(kind, target_data, context)
        return sizes[key]

    ir.Type.get_abi_size = size
    try:
        yield
    finally:
        ir.Type.get_abi_size = asked
