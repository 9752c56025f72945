"""`auto`: the choice of a solver by the kind of instance and the limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.knapsack.instance import KnapsackInstance

__all__ = ["choose"]


def choose(instance: KnapsackInstance, time_limit: float | None, iterations: int | None) -> str:
    """dp for one capacity; cp-sat for several, or greedy where iterations are counted or numbers are too fine for it."""
    if instance.m == 1:
        return "dp"
    from corl.solvers.knapsack.cp_sat import CpSat

    return "greedy" if iterations is not None or CpSat().accepts(instance) else "cp-sat"
