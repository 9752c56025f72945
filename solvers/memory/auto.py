"""`auto`: the choice of a solver for memory mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.memory.instance import MappingInstance

__all__ = ["choose"]


def choose(instance: MappingInstance, time_limit: float | None, iterations: int | None) -> str:
    """annealing, which begins with the compiler-like plan."""
    return "annealing"
