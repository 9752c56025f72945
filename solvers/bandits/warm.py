"""What `prepare` of the bandits' solvers has in common."""

from __future__ import annotations

import numpy as np

from corl.problems.bandits import generators
from corl.problems.bandits.constraints import Budget
from corl.problems.bandits.instance import BanditInstance
from corl.problems.bandits.policies import TablePolicy
from corl.problems.bandits.simulation import simulate

__all__ = ["warm_up"]

_MAKERS = {
    "budget": generators.budget,
    "capacity": generators.capacity,
    "scheduling": generators.scheduling,
    "routing": generators.routing,
    "interventions": generators.interventions,
}


def warm_up(instance: BanditInstance) -> None:
    """Compile the simulation and the oracle of the instance's kind of constraint, on a tiny instance of it."""
    kind = instance.constraint.kind
    tiny = _MAKERS[kind](arms=8, pulls=2, horizon=1, episodes=2)
    simulate(tiny, TablePolicy(tiny, tiny.rewards[None]).actions)
    if kind == "budget":  # unequal costs take another kernel
        Budget(np.array([1, 2]), 2).oracle(np.zeros((1, 2, 2)))
