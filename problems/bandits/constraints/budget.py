"""Budget: pulls have costs, whose sum in a step is limited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError
from corl.fields import Array, Integer, Object
from corl.problems.bandits.constraints.constraint import LARGEST_INTEGER, Fields, Oracle, PullConstraint, Relaxation, Rooms

__all__ = ["Budget"]

_MOST = 1_000_000  # the largest budget, the size of the oracle's table


@dataclass(frozen=True, eq=False)
class Budget(PullConstraint):
    """The costs of the arms pulled sum to at most `budget` (with all costs 1, the classical bandit: at most `budget` pulls)."""

    costs: NDArray[np.int64]
    """[J] at least 1."""
    budget: int

    kind = "budget"
    form = Object({"budget": Integer()}, {"costs": Array(Integer(1, LARGEST_INTEGER), 1)})

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", np.asarray(self.costs, np.int64))
        most = min(_MOST, int(self.costs.sum()))
        if not 0 <= self.budget <= most:
            raise InputError(f"{self.budget}; accepted: 0 to {most}, what all arms cost", field="constraint.budget")

    @property
    def arms(self) -> int:  # type: ignore[override]
        """J."""
        return len(self.costs)

    def check(self, action: NDArray[np.int8]) -> None:
        """See Constraint.check."""
        spent = sum(int(cost) for cost, pulled in zip(self.costs, action) if pulled)
        if spent > self.budget:
            raise Infeasible(f"the pulls cost {spent}, more than the budget of {self.budget}")

    def make_oracle(self) -> Oracle:
        """Return the best arms by gain if all costs are equal; otherwise a dynamic program for the knapsack."""
        from corl.problems.bandits.constraints.kernels import by_decreasing_gain, knapsack, pull_best

        costs, budget = self.costs, self.budget
        pulls = budget // int(costs[0]) if len(costs) and (costs == costs[0]).all() else -1

        def best(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(level_values)
            actions = np.zeros(gains.shape, np.int8)
            if pulls >= 0:
                pull_best(gains, by_decreasing_gain(gains), pulls, actions)
            else:
                knapsack(gains, costs, budget, actions)
            return actions

        return best

    def relaxation(self) -> Relaxation:
        """Return probabilities of pulls whose expected cost is within the budget."""
        from scipy.sparse import csr_array

        eye = csr_array(np.eye(self.arms))
        above = csr_array(np.vstack([np.eye(self.arms), self.costs.astype(np.float64)]))
        return Relaxation(eye, above, np.append(np.ones(self.arms), float(self.budget)))

    def rooms(self) -> Rooms:
        """Return one room, the budget. See Constraint.rooms."""
        return Rooms(self.costs[:, None], np.array([[self.budget]], np.int64))

    def to_json(self) -> dict[str, Any]:
        """Return `costs` and `budget`."""
        return {"costs": self.costs.tolist(), "budget": self.budget}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Budget:
        """Return the constraint of `budget` and `costs`, which are 1 if missing."""
        has_costs = fields["costs"].value is not None
        costs = fields["costs"].integers(arms) if has_costs else np.ones(arms, np.int64)
        return cls(costs, fields["budget"].integer())
