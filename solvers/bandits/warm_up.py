"""Compilation of the kernels that all solvers of bandits need, for their `prepare`."""

from __future__ import annotations

import numpy as np

from corl import registry
from corl.problems.bandits.constraints import Budget
from corl.problems.bandits.evaluation import simulate
from corl.problems.bandits.instance import BanditInstance
from corl.solvers.bandits.policies.tables import TablePolicy

__all__ = ["warm_up"]


def warm_up(instance: BanditInstance) -> None:
    """Compile the simulation, the oracle and `fits` of the instance's kind of constraint, on a tiny instance of that kind."""
    small = registry.problem("bandits").warm_up_instance(instance)
    simulate(small, TablePolicy(small, small.rewards[None]).actions)
    small.constraint.fits(np.zeros((1, small.constraint.action_size), np.int8))
    if small.constraint.kind == "budget":  # unequal costs need another kernel
        Budget(np.array([1, 2]), 2).oracle(np.zeros((1, 2, 2)))
