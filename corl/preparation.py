"""Preparation of a solver for an instance: several processes compile its kernels; then `Solver.prepare` is called.

A process that solves hundreds of small instances prepares only once for all instances that need the same preparation
(`Solver.preparation_size`).
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sized
from typing import Any

from corl import options
from corl.compilation.precompile import compile_for
from corl.solver import Solver

__all__ = ["prepare"]

_IGNORED = ("name", "comment", "ids", "names")  # fields of instances that no `prepare` uses
_PLAIN = (str, int, float, tuple, type(None))
_done: set[tuple[Any, ...]] = set()


def prepare(solver: Solver, instance: Any) -> None:
    """Compile a solver's kernels for an instance and call its `prepare`, unless this process has done so for a similar one."""
    key = _key(solver, instance)
    if key is None or key not in _done:
        compile_for(solver, instance)
        solver.prepare(instance)
        if key is not None:
            _done.add(key)


def _key(solver: Solver, instance: Any) -> tuple[Any, ...] | None:
    """Return a key that is equal for calls of `prepare` with the same effect; None if their effect cannot be compared."""
    given = tuple(getattr(solver, name) for name in options.declarations(type(solver)))
    if not solver.preparation_size or not all(isinstance(each, _PLAIN) for each in given):
        return None
    files = tuple(_content(each) for each in given if isinstance(each, str))
    return type(solver), given, files, solver.kind(instance), _shape(instance, solver.preparation_size)


def _content(word: str) -> tuple[int, int] | None:
    """Return (time of the last change, size) of the file that an option names, such as a policy's; None if it names none."""
    try:
        found = os.stat(word)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def _shape(value: Any, most: int) -> Any:
    """Return what a preparation may depend on: the types, sizes, strings, booleans and integers of a dataclass's fields.

    Sizes and integers above `most` are replaced by `most`, negative integers by -1.
    """
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if field.name not in _IGNORED]
        return type(value), *(_shape(getattr(value, name), most) for name in names)
    if hasattr(value, "dtype"):
        return str(value.dtype), *(min(size, most) for size in value.shape)
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return max(-1, min(value, most))
    return type(value), min(len(value), most) if isinstance(value, Sized) else 0
