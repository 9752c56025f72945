"""The choice of a solver by `auto`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.bandits.instance import BanditInstance

__all__ = ["choose"]


def choose(instance: BanditInstance, time_limit: float | None, iterations: int | None) -> str:
    """`fluid`: it takes every constraint (an index needs arms of two levels) and proves a bound."""
    return "fluid"
