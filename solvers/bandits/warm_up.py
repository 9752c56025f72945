"""The part of `prepare` that all solvers of bandits share."""

from __future__ import annotations

import numpy as np

from corl import registry
from corl.problems.bandits.constraints import Budget
from corl.problems.bandits.evaluation import simulate
from corl.problems.bandits.instance import BanditInstance
from corl.solvers.bandits.policies.tables import TablePolicy

__all__ = ["warm_up"]


def warm_up(instance: BanditInstance) -> None:
    """Compile the simulation, the oracle and the check of the instance's kind of constraint, on a tiny instance of it."""
    small = registry.problem("bandits").miniature(instance)
    simulate(small, TablePolicy(small, small.rewards[None]).actions)
    small.constraint.fits(np.zeros((1, small.constraint.action_size), np.int8))
    if small.constraint.kind == "budget":  # unequal costs need another kernel
        Budget(np.array([1, 2]), 2).oracle(np.zeros((1, 2, 2)))
