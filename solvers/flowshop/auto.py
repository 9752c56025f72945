"""`auto`: the solver for an instance's size and the time given."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.flowshop.instance import FlowShopInstance

__all__ = ["choose"]

_PROOF = 8  # jobs up to which CP-SAT mostly proves its sequence optimal within a second


def choose(instance: FlowShopInstance, time_limit: float | None, iterations: int | None) -> str:
    """cp-sat for up to 8 jobs on up to 10 machines; iterated-greedy for the rest; neh where one insertion takes too long."""
    from corl.solvers.flowshop.iterated.solver import IteratedGreedy

    small = instance.jobs <= _PROOF and instance.machines <= 10
    if small and iterations is None and (time_limit is None or time_limit >= 1.0):
        return "cp-sat"
    return "neh" if IteratedGreedy().accepts(instance) else "iterated-greedy"
