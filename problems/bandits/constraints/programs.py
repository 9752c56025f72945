"""An oracle for constraints with too many actions to list: it solves an integer program for each action (HiGHS via SciPy)."""

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
    """Return an exact oracle for a constraint whose feasible actions are the integer points of `program`."""
    rows = LinearConstraint(program.inequalities, ub=program.limit)
    size = program.chance.shape[1]

    def best(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
        actions = np.zeros((len(level_values), constraint.arms), np.int8)
        for r, gains in enumerate(constraint.gains(level_values)):
            if not gains.any():
                continue
            cost = -(program.chance.T @ gains)
            bounds, all_integer = Bounds(0, np.inf), np.ones(size)
            result = program_solved(
                program.inequalities.nnz, milp, cost, constraints=rows, integrality=all_integer, bounds=bounds
            )
            if result.x is None:
                raise SolverError(f"HiGHS found no action: {result.message}")
            actions[r] = (program.chance @ np.round(result.x)) > 0.5
        return np.where(constraint.gains(level_values) > 0.0, actions, 0).astype(np.int8)

    return best
