"""Random mixes of all rules of a family on tiny instances, with their optima by enumeration; a module for each family.

Each has `make(seed) -> Mix`. The enumerations follow the definitions in problems/NAME/README.md and share no code with judges or
solvers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Mix"]


class Mix(NamedTuple):
    """An instance, and what is known of it."""

    instance: Any
    best: float | None
    """The optimum; None if there is no solution, infinite if solutions get better without end, NaN if it is not known."""
    rules: tuple[str, ...] = ()
    """The rules that the maker drew, in words for messages."""
