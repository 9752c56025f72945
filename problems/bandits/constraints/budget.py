"""Budget: pulls cost, and there is so much to spend in a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible, InputError
from corl.fields import Array, Integer, Object
from corl.problems.bandits.constraints.constraint import LARGEST_INTEGER, Fields, Oracle, PullConstraint, Relaxation, Rooms

__all__ = ["Budget"]

_MOST = 1_000_000  # units of budget that the table of the oracle may have


@dataclass(frozen=True, eq=False)
class Budget(PullConstraint):
    """The costs of the arms pulled sum to at most `budget` (all costs 1: at most so many pulls, the classical bandit)."""

    costs: NDArray[np.int64]
    """[J] from 1."""
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
        """The dearest arms where all cost the same; a knapsack's dynamic program otherwise."""
        from corl.problems.bandits.constraints.kernels import dearest, falling, knapsack

        costs, budget = self.costs, self.budget
        pulls = budget // int(costs[0]) if len(costs) and (costs == costs[0]).all() else -1

        def best(worth: NDArray[np.float64]) -> NDArray[np.int8]:
            gains = self.gains(worth)
            actions = np.zeros(gains.shape, np.int8)
            if pulls >= 0:
                dearest(gains, falling(gains), pulls, actions)
            else:
                knapsack(gains, costs, budget, actions)
            return actions

        return best

    def relaxation(self) -> Relaxation:
        """Chances of pulls whose expected cost is in the budget."""
        from scipy.sparse import csr_array

        eye = csr_array(np.eye(self.arms))
        above = csr_array(np.vstack([np.eye(self.arms), self.costs.astype(np.float64)]))
        return Relaxation(eye, above, np.append(np.ones(self.arms), float(self.budget)))

    def rooms(self) -> Rooms:
        """See Constraint.rooms: one, the budget."""
        return Rooms(self.costs[:, None], np.array([[self.budget]], np.int64))

    def to_json(self) -> dict[str, Any]:
        """`costs` and `budget`."""
        return {"costs": self.costs.tolist(), "budget": self.budget}

    @classmethod
    def from_json(cls, fields: Fields, arms: int) -> Budget:
        """`budget`, and `costs` where they are not all 1."""
        given = fields["costs"].value is not None
        costs = fields["costs"].integers(arms) if given else np.ones(arms, np.int64)
        return cls(costs, fields["budget"].integer())
