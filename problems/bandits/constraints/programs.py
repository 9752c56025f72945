"""Actions as solutions of integer programs, if there are too many to list: HiGHS through SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from corl.deadline import program_solved
from corl.errors import SolverError

if TYPE_CHECKING:
    from corl.problems.bandits.constraints.constraint import Oracle, PullConstraint, Relaxation

__all__ = ["program_oracle"]


def program_oracle(constraint: PullConstraint, program: Relaxation) -> Oracle:
    """Return an oracle for a constraint whose feasible actions are the integer points of `program`, each time to optimality."""
    rows = LinearConstraint(program.above, ub=program.limit)
    size = program.chance.shape[1]

    def best(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
        actions = np.zeros((len(level_values), constraint.arms), np.int8)
        for r, gains in enumerate(constraint.gains(level_values)):
            if not gains.any():
                continue
            cost = -(program.chance.T @ gains)
            bounds, whole = Bounds(0, np.inf), np.ones(size)
            found = program_solved(program.above.nnz, milp, cost, constraints=rows, integrality=whole, bounds=bounds)
            if found.x is None:
                raise SolverError(f"HiGHS found no action: {found.message}")
            actions[r] = (program.chance @ np.round(found.x)) > 0.5
        return np.where(constraint.gains(level_values) > 0.0, actions, 0).astype(np.int8)

    return best
