"""Building a path node by node with a plan for the rest, as a Markov decision process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.environments.insertion.lookahead import InsertionLookahead, observe, replan
from corl.problems.orienteering.instance import OrienteeringInstance

__all__ = ["InsertionEnvironment"]

_FIRST_ROUNDS = 64  # rounds of improvement of the first plan
_LIST_POWER = 0.25  # the exponent of scores by which nodes are listed
_PLAN_POWER = 1.5  # the exponent of scores by which plans are filled


class InsertionEnvironment(OrienteeringEnvironment):
    """An OrienteeringEnvironment with a plan for the rest of each path, which is repaired after every step.

    Observations also show how the plan changes if each listed node comes next. In the order of the list, scores count for less.
    """

    plans = True

    def __init__(self, instances: Sequence[OrienteeringInstance], rows: int, width: int = 12) -> None:
        self._first: dict[int, NDArray[np.int32]] = {}
        super().__init__(instances, rows, width)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values; every row gets its instance's first plan, which is computed once."""
        self.state.power[:] = _LIST_POWER, _PLAN_POWER
        bases = super()._reset(rows, which, keys)
        for row, number in zip(rows.tolist(), which.tolist()):
            if number not in self._first:
                self.state.planned[row] = 0
                replan(self.state, row, 0, _FIRST_ROUNDS)
                self._first[number] = self.state.plan[row, : self.state.planned[row]].copy()
            plan = self._first[number]
            self.state.planned[row], self.state.plan[row, : len(plan)] = len(plan), plan
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the arrays of OrienteeringEnvironment and of lookahead.InsertionLookahead."""
        lookahead = InsertionLookahead.empty(len(rows), self.width)
        observe(self.state, rows, actions, lookahead)
        return super()._observe(rows, actions) | lookahead._asdict()
