"""`auto`: the choice of a solver by the instance's size and the time limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["choose"]

_MAX_JOBS_TO_PROVE = 8  # up to here CP-SAT mostly proves optimality within a second


def choose(instance: FlowShopInstance, time_limit: float | None, iterations: int | None) -> str:
    """cp-sat for up to 8 jobs on up to 10 machines; iterated-greedy for the rest; neh where one insertion takes too long."""
    from corl.solvers.flowshop.iterated.solver import IteratedGreedy

    small = instance.jobs <= _MAX_JOBS_TO_PROVE and instance.machines <= 10
    if small and iterations is None and (time_limit is None or time_limit >= 1.0):
        return "cp-sat"
    return "neh" if IteratedGreedy().accepts(instance) else "iterated-greedy"
