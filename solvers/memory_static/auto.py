"""`auto`: the choice of a solver for static allocation by the instance's size."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.memory_static.instance import StaticInstance

__all__ = ["choose"]


def choose(instance: StaticInstance, time_limit: float | None, iterations: int | None) -> str:
    """branch-and-bound (with first fit beside it); first-fit alone where there are too many buffers in too many sections."""
    from corl.solvers.memory_static.branch_and_bound.solver import BranchAndBound

    return "first-fit" if BranchAndBound().accepts(instance) else "branch-and-bound"
