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
from numba.core import errors, targetconfig
from numba.core.types import functions

__all__ = ["accelerated"]

_GC_THRESHOLD = 100_000  # new objects between two garbage collections; Python's default is 700
_accelerated = False  # whether a block of `accelerated` is running: compilations nest


@contextlib.contextmanager
def accelerated() -> Iterator[None]:
    """Leave out, in the block, what the functions below name."""
    global _accelerated
    if _accelerated:
        yield
        return
    with contextlib.ExitStack() as stack:
        for each in _SAVINGS:
            stack.enter_context(each())
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


@contextlib.contextmanager
def _quick_comparisons_of_flags() -> Iterator[None]:
    """Compare the compiler's flags in the block by those that are set, instead of by all sixty.

    numba compares them, and sorts their names, at each call that it types.
    """
    kind: Any = targetconfig.TargetConfig
    hashed, equal, hashes = kind.__hash__, kind.__eq__, dict[type, int]()

    def name_hash(flags: Any) -> int:
        """Return numba's hash, which depends on the names of the flags only."""
        if type(flags) not in hashes:
            hashes[type(flags)] = hashed(flags)
        return hashes[type(flags)]

    def equals(flags: Any, other: Any) -> Any:
        if not isinstance(other, kind) or (type(flags) is not type(other) and flags.options != other.options):
            return equal(flags, other)
        mine, others = flags._values, other._values
        if mine.keys() == others.keys():
            return mine == others
        return all(getattr(flags, name) == getattr(other, name) for name in mine.keys() | others.keys())

    kind.__hash__, kind.__eq__ = name_hash, equals
    try:
        yield
    finally:
        kind.__hash__, kind.__eq__ = hashed, equal


@contextlib.contextmanager
def _remembered_call_types() -> Iterator[None]:
    """Find the type of a call of a built-in function only once in the block for the same types of arguments.

    numba infers the types of a function in several rounds, and tries some ten templates for each call in each round.
    """
    kind: Any = functions.BaseFunction
    asked, found = kind.get_call_type, dict[tuple[Any, ...], Any]()

    def call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
        key = function, context, args, tuple(kws.items()), targetconfig.ConfigStack.top_or_none()
        signature = found.get(key)
        if signature is None:
            signature = found[key] = asked(function, context, args, kws)
        return signature

    kind.get_call_type = call_type
    try:
        yield
    finally:
        kind.get_call_type = asked


_SAVINGS = _rare_garbage_collection, _plain_errors, _remembered_sizes, _quick_comparisons_of_flags, _remembered_call_types
