"""Building a path node by node with a plan, as a Markov decision process.

The plan of a partial path is a completion: a sequence of nodes from the path's last node to the end, within the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.environments.insertion.lookahead import InsertionLookahead, observe, replan
from corl.problems.orienteering.instance import OrienteeringInstance

__all__ = ["InsertionEnvironment"]

_INITIAL_ROUNDS = 64  # rounds of improvement (completions.improve) of an instance's initial plan
_LISTING_POWER = 0.25  # exponent of the score in the ratio score ** power / distance by which nodes are listed
_FILLING_POWER = 1.5  # exponent of the score in the ratio score ** power / detour by which nodes are inserted into plans


class InsertionEnvironment(OrienteeringEnvironment):
    """An OrienteeringEnvironment in which each path has a plan, which is repaired after every step.

    Observations also show, for each listed node, the completion that begins with this node. Nodes are listed by
    score ** 0.25 / distance instead of score / distance.
    """

    plans = True

    def __init__(self, instances: Sequence[OrienteeringInstance], rows: int, width: int = 12) -> None:
        self._initial_plans: dict[int, NDArray[np.int32]] = {}
        super().__init__(instances, rows, width)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values, and give every row the initial plan of its instance, which is computed once."""
        self.state.power[:] = _LISTING_POWER, _FILLING_POWER
        bases = super()._reset(rows, which, keys)
        for row, number in zip(rows.tolist(), which.tolist()):
            if number not in self._initial_plans:
                self.state.planned[row] = 0
                replan(self.state, row, 0, _INITIAL_ROUNDS)
                self._initial_plans[number] = self.state.plan[row, : self.state.planned[row]].copy()
            plan = self._initial_plans[number]
            self.state.planned[row], self.state.plan[row, : len(plan)] = len(plan), plan
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the arrays of `OrienteeringEnvironment._observe` and of `InsertionLookahead`."""
        lookahead = InsertionLookahead.empty(len(rows), self.width)
        observe(self.state, rows, actions, lookahead)
        return super()._observe(rows, actions) | lookahead._asdict()
