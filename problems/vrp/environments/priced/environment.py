"""Construction of routes with two lookaheads, by savings and by a linear relaxation, as a Markov decision process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.environments.priced.prices import Prices, instance_penalties, observe
from corl.problems.vrp.environments.savings.environment import SavingsEnvironment
from corl.problems.vrp.instance import VrpInstance

__all__ = ["PricedEnvironment"]


class PricedEnvironment(SavingsEnvironment):
    """A SavingsEnvironment whose observation also includes reduced costs in a linear relaxation of the remaining clients.

    The dual ascent of each state begins from the Lagrange multipliers of the whole instance, which are computed once, when the
    instance is first reset to.
    """

    def __init__(self, instances: Sequence[VrpInstance], rows: int, width: int = 24) -> None:
        self._penalties = np.full(sum(instance.n for instance in instances), np.nan)
        super().__init__(instances, rows, width)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values, and compute the multipliers of new instances."""
        for number in np.unique(which).tolist():
            first, n = int(self.state.graphs.nodes_start[number]), int(self.state.graphs.size[number])
            if n > 1 and np.isnan(self._penalties[first]):
                instance_penalties(self.state, number, self._penalties[first : first + n])
        return super()._reset(rows, which, keys)

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the arrays of SavingsEnvironment's observation and those of Prices."""
        prices = Prices.empty(len(rows), self.width)
        observe(self.state, rows, actions, self._penalties, prices)
        return super()._observe(rows, actions) | prices._asdict()
