"""`auto`: the choice of a solver by the instance's kind and size, and by the time limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["choose"]

# Up to how many operations CP-SAT is chosen:
_PROOF_SIZE = 60  # it mostly proves optimality within a second
_FLEXIBLE_PROOF_SIZE = 40  # the same; from 44 operations on (Fattahi, Kacem) tabu finds the optimum sooner
_FLEXIBLE_TARDINESS_SIZE = 100  # after 10 s tabu is no better at 61 and 68 operations, but far better at 114 and 144
_SETUPS_SIZE = 50  # with set-ups alone; it proves optimality at 51 operations in 1 s, tabu is better at 58 after 10 s
_SIDE_CONSTRAINTS_SIZE = 200  # without set-ups; it proves or wins at 150 operations, annealing wins at 375 (suite jobshop/rules)
_SIDE_CONSTRAINTS_TIME = 10.0  # seconds that CP-SAT needs to win with side constraints
_MODEL_SIZE = 20_000  # choices of machines up to which a CP-SAT model is built within a few seconds


def choose(instance: JobShopInstance, time_limit: float | None, iterations: int | None) -> str:
    """cp-sat up to 60 operations (40 to 200 of some kinds); tabu; annealing for rules; cp-sat, dispatch beyond that."""
    from corl.solvers.jobshop.placing.shop import unsupported
    from corl.solvers.jobshop.tabu.solver import Tabu

    max_operations, tabu_accepts = _PROOF_SIZE, not Tabu().accepts(instance)
    if instance.rules is not None and tabu_accepts:
        max_operations = _SETUPS_SIZE
    elif instance.flexible and instance.rules is None:
        tardiness = instance.objective == "weighted_tardiness"
        max_operations = _FLEXIBLE_TARDINESS_SIZE if tardiness else _FLEXIBLE_PROOF_SIZE
    small = instance.operations <= max_operations and (time_limit is None or time_limit >= 1.0)
    if instance.rules is not None and not tabu_accepts:
        if iterations is None and unsupported(instance):
            return "cp-sat"
        without_setups = instance.rules.setups is None and instance.operations <= _SIDE_CONSTRAINTS_SIZE
        small = small or (without_setups and (time_limit is None or time_limit >= _SIDE_CONSTRAINTS_TIME))
        return "cp-sat" if small and iterations is None else "annealing"
    if iterations is not None:
        return "tabu" if tabu_accepts else "dispatch"
    if small or (not tabu_accepts and len(instance.choice_machine) <= _MODEL_SIZE):
        return "cp-sat"
    return "tabu" if tabu_accepts else "dispatch"
