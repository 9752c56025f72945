"""Building a path node by node with a plan for the rest, as a Markov decision process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.environments.insertion.insertion import Outlook, observe, plan_anew
from corl.problems.orienteering.instance import OrienteeringInstance

__all__ = ["InsertionEnvironment"]

_TURNS = 64  # how often the first plan is taken apart
_POWER = 0.25  # of the score, in the order of InsertionEnvironment's list
_RATIO = 1.5  # of the score over the detour, by which plans are filled


class InsertionEnvironment(OrienteeringEnvironment):
    """The same with a plan for the rest of each path, made by insertion and exchanges and mended after every step, and a look at
    what becomes of it by each listed node. In the list nearness counts for more."""

    plans = True

    def __init__(self, instances: Sequence[OrienteeringInstance], rows: int, width: int = 12) -> None:
        self._first: dict[int, NDArray[np.int32]] = {}
        super().__init__(instances, rows, width)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        self.state.power[:] = _POWER, _RATIO
        bases = super()._reset(rows, which, keys)
        for row, number in zip(rows.tolist(), which.tolist()):
            if number not in self._first:
                self.state.planned[row] = 0
                plan_anew(self.state, row, 0, _TURNS)
                self._first[number] = self.state.plan[row, : self.state.planned[row]].copy()
            plan = self._first[number]
            self.state.planned[row], self.state.plan[row, : len(plan)] = len(plan), plan
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """What OrienteeringEnvironment has, and the arrays of insertion.Outlook."""
        seen = Outlook.empty(len(rows), self.width)
        observe(self.state, rows, actions, seen)
        return super()._observe(rows, actions) | seen._asdict()
