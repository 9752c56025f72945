"""`auto`: the solver for an instance's kind and size, and the time given."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["choose"]

_PROOF = 60  # operations up to which CP-SAT mostly proves its schedule optimal within a second
_LATE = 100  # with choices and due dates: at 61 and 68 operations tabu ends no better after 10 s, at 114 and 144 far better
_SIDE_CONSTRAINTS = 200  # without set-ups: at 150 CP-SAT proves its schedule or ends better, at 375 annealing (jobshop/rules)
_SIDE_CONSTRAINTS_TIME = 10.0  # seconds that CP-SAT needs for that
_MODEL = 20_000  # choices up to which a model for CP-SAT is built within a few seconds


def choose(instance: JobShopInstance, time_limit: float | None, iterations: int | None) -> str:
    """cp-sat up to 60 operations (100 or 200 of some kinds); annealing for rules; tabu; cp-sat, dispatch beyond that."""
    from corl.solvers.jobshop.tabu.solver import Tabu

    most = _LATE if instance.flexible and instance.objective == "weighted_tardiness" else _PROOF
    small = instance.operations <= most and (time_limit is None or time_limit >= 1.0)
    if instance.rules is not None:
        plain = instance.rules.setups is None and instance.operations <= _SIDE_CONSTRAINTS
        small = small or (plain and (time_limit is None or time_limit >= _SIDE_CONSTRAINTS_TIME))
        return "cp-sat" if small and iterations is None else "annealing"
    tabu = not Tabu().accepts(instance)
    if iterations is not None:
        return "tabu" if tabu else "dispatch"
    if small or (not tabu and len(instance.choice_machine) <= _MODEL):
        return "cp-sat"
    return "tabu" if tabu else "dispatch"
