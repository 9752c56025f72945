"""Budget: each pull has a cost, and the total cost of a step is limited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError
from corl.fields import Array, Integer, Object
from corl.problems.bandits.constraints.constraint import LARGEST_INTEGER, Fields, Oracle, PullConstraint, Relaxation, Rooms

__all__ = ["Budget"]

_MAX_BUDGET = 1_000_000  # the length of the oracle's dynamic-programming table


@dataclass(frozen=True, eq=False)
class Budget(PullConstraint):
    """The costs of the arms pulled sum to at most `budget`; with all costs 1, the classical restless bandit."""

    costs: NDArray[np.int64]
    """[J] the cost of a pull of each arm, at least 1."""
    budget: int
    """The largest total cost of a step."""

    kind = "budget"
    form = Object({"budget": Integer()}, {"costs": Array(Integer(1, LARGEST_INTEGER), 1)})

    def __post_init__(self) -> None:
        object.__setattr__(self, "costs", np.asarray(self.costs, np.int64))
        most = min(_MAX_BUDGET, int(self.costs.sum()))
        if not 0 <= self.budget <= most:
            raise InputError(f"{self.budget}; accepted: 0 to {most}, what all arms cost", field="constraint.budget")

    @property
    def arms(self) -> int:  # type: ignore[override]
        """J, the number of arms."""
        return len(self.costs)

    def check(self, action: NDArray[np.int8]) -> None:
        """See Constraint.check."""
        spent = sum(int(cost) for cost, pulled in zip(self.costs, action) if pulled)
        if spent > self.budget:
            raise Infeasible(f"the pulls cost {spent}, more than the budget of {self.budget}")

    def make_oracle(self) -> Oracle:
        """Return an oracle that pulls the arms of largest gain if all costs are equal, otherwise solves a knapsack problem."""
        from corl.problems.bandits.constraints.kernels import by_decreasing_gain, knapsack, pull_best

        costs, budget = self.costs, self.budget
        max_pulls = budget // int(costs[0]) if len(costs) and (costs == costs[0]).all() else -1

        def best(level_values: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(level_values)
            actions = np.zeros(gains.shape, np.int8)
            if max_pulls >= 0:
                pull_best(gains, by_decreasing_gain(gains), max_pulls, actions)
            else:
                knapsack(gains, costs, budget, actions)
            return actions

        return best

    def relaxation(self) -> Relaxation:
        """Return the relaxation: z[j] is the probability that arm j is pulled; the expected cost is within the budget."""
        from scipy.sparse import csr_array

        eye = csr_array(np.eye(self.arms))
        inequalities = csr_array(np.vstack([np.eye(self.arms), self.costs.astype(np.float64)]))
        return Relaxation(eye, inequalities, np.append(np.ones(self.arms), float(self.budget)))

    def rooms(self) -> Rooms:
        """Return one room with one resource, the budget. See Constraint.rooms."""
        return Rooms(self.costs[:, None], np.array([[self.budget]], np.int64))

    def to_json(self) -> dict[str, Any]:
        """Return `costs` and `budget`."""
        return {"costs": self.costs.tolist(), "budget": self.budget}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Budget:
        """Return the constraint, as the inverse of `to_json`; missing `costs` are 1."""
        has_costs = fields["costs"].value is not None
        costs = fields["costs"].integers(arms) if has_costs else np.ones(arms, np.int64)
        return cls(costs, fields["budget"].integer())
