"""The arc costs that the ATSP search works on: the matrix with node prices taken off, and candidate arcs by them.

Prices shift the length of every tour by the same amount, so the order of tours is unchanged; the reduced cost of an arc indicates
far better whether the arc belongs to a short tour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.sorted_lists import insert_sorted
from corl.problems.tsp.metric import EXPLICIT, Metric

__all__ = ["Arcs"]

_BLOCK = 3_000_000  # matrix entries read between two looks at the clock: about 10 ms


@dataclass
class Arcs:
    """Reduced costs, their transpose and candidate lists of one ATSP with n >= 4."""

    cost: NDArray[np.float64]
    """[n, n] matrix[i, j] - prices of i and j; the diagonal is 0 and means nothing."""
    transposed: NDArray[np.float64]
    """[n, n] its transpose, contiguous."""
    offset: float
    """The sum of all prices: cost of a tour + offset = its length."""
    magnitude: float
    """The mean size of the prices, for rounding errors."""
    near: NDArray[np.int32]
    """[n, K] heads of the cheapest arcs out of each city, in order; unset before `find_candidates`."""
    near_cost: NDArray[np.float64]
    """[n, K] their costs."""
    near_in: NDArray[np.int32]
    """[n, K] tails of the cheapest arcs into each city."""

    @classmethod
    def of(cls, matrix: NDArray[np.float64], candidates: int, should_stop: Callable[[], bool] = lambda: False) -> Arcs | None:
        """Without prices yet; None if `should_stop()` came true on the way."""
        n = len(matrix)
        k = min(candidates, n - 1)
        cost, transposed = np.empty((n, n)), np.empty((n, n))
        for first in range(0, n, max(1, _BLOCK // n)):
            if should_stop():
                return None
            rows = slice(first, first + max(1, _BLOCK // n))
            cost[rows], transposed[:, rows] = matrix[rows], matrix[rows].T
        np.fill_diagonal(cost, 0.0)
        np.fill_diagonal(transposed, 0.0)
        near, near_in = np.zeros((n, k), np.int32), np.zeros((n, k), np.int32)
        return cls(cost, transposed, 0.0, 0.0, near, np.zeros((n, k)), near_in)

    @property
    def metric(self) -> Metric:
        """The costs as kernels read distances."""
        return Metric(EXPLICIT, np.zeros((0, 3)), self.cost)

    @property
    def n(self) -> int:
        return len(self.cost)

    @property
    def block(self) -> int:
        """The number of rows that take about 10 ms to read."""
        return max(1, _BLOCK // self.n)

    @property
    def epsilon(self) -> float:
        """Gains up to this are rounding noise."""
        return 1e-9 * (self.magnitude + float(np.abs(self.near_cost).mean()))

    def take_off(self, out: NDArray[np.float64], into: NDArray[np.float64]) -> None:
        """Subtract the prices of tails and heads from the costs, in place."""
        for first in range(0, self.n, self.block):
            rows = slice(first, first + self.block)
            self.cost[rows] -= out[rows, None] + into
            self.transposed[rows] -= into[rows, None] + out
        np.fill_diagonal(self.cost, 0.0)
        np.fill_diagonal(self.transposed, 0.0)
        self.offset += float(out.sum() + into.sum())
        self.magnitude += float(np.abs(out).mean() + np.abs(into).mean())

    def find_candidates(self, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Fill the candidate lists by the present costs; False, lists unfinished, if `should_stop()` came true on the way."""
        into_cost = np.empty_like(self.near_cost)
        for first in range(0, self.n, self.block):
            if should_stop():
                return False
            last = min(self.n, first + self.block)
            _nearest(self.cost, first, last, self.near, self.near_cost)
            _nearest(self.transposed, first, last, self.near_in, into_cost)
        return True

    def length(self, tour: NDArray[np.integer]) -> float:
        """Return the length of a tour."""
        return float(self.cost[tour, np.roll(tour, -1)].sum()) + self.offset


@kernel
def _nearest(cost: NDArray[np.float64], first: int, last: int, near: NDArray[np.int32], near_cost: NDArray[np.float64]) -> None:
    """The K least entries of rows first..last-1 off the diagonal, ties by index."""
    n = len(cost)
    for i in range(first, last):
        heads, costs, count = near[i], near_cost[i], 0
        for j in range(n):
            if j != i:
                count = insert_sorted(costs, heads, count, cost[i, j], j)
