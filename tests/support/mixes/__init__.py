"""Random mixes of all rules of a family on tiny instances, with their optima by enumeration; a module for each family.

Each has `make(seed) -> Mix`. The enumerations follow the definitions in problems/NAME/README.md and share no code with judges or
solvers.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

__all__ = ["Mix", "family"]


class Mix(NamedTuple):
    """An instance, and what is known of it."""

    instance: Any
    best: float | None
    """The optimum; None if there is no solution, infinite if solutions get better without end, NaN if it is not known."""
    rules: tuple[str, ...] = ()
    """The rules that the maker drew, in words for messages."""


@cache
def family(name: str) -> ModuleType:
    """The conftest.py of a problem's own tests: its enumeration."""
    path = Path(__file__).resolve().parents[2] / "problems" / name.replace("-", "_") / "conftest.py"
    spec = importlib.util.spec_from_file_location(f"mixes_of_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
