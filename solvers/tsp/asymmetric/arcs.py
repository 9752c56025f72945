"""The arc costs of the ATSP search: the matrix minus node prices (reduced costs), and the candidate arcs of least reduced cost.

A tour leaves and enters every city once, so prices change the length of every tour by the same amount: the sum of all prices.
The reduced cost of an arc predicts far better than its length whether the arc belongs to a short tour.
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

_ENTRIES_PER_CHECK = 3_000_000  # matrix entries read between two checks of the time limit: about 10 ms


@dataclass
class Arcs:
    """Reduced costs, their transpose and candidate lists of one ATSP with n >= 4."""

    cost: NDArray[np.float64]
    """[n, n] matrix[i, j] minus the prices of tail i and of head j; the diagonal is 0 and not used."""
    transposed: NDArray[np.float64]
    """[n, n] the transpose of `cost`, contiguous."""
    offset: float
    """The sum of all prices: the length of a tour is the sum of its arcs in `cost`, plus this offset."""
    magnitude: float
    """The sum of the mean absolute prices of tails and of heads; rounding errors are proportional to it."""
    near: NDArray[np.int32]
    """[n, K] heads of the cheapest arcs out of each city, cheapest first; unset before `find_candidates`."""
    near_cost: NDArray[np.float64]
    """[n, K] the costs of the arcs in `near`."""
    near_in: NDArray[np.int32]
    """[n, K] tails of the cheapest arcs into each city, cheapest first."""

    @classmethod
    def of(cls, matrix: NDArray[np.float64], candidates: int, should_stop: Callable[[], bool] = lambda: False) -> Arcs | None:
        """Return the costs of float64 `matrix` [n, n] without prices; None if `should_stop()` became true."""
        n = len(matrix)
        k = min(candidates, n - 1)
        cost, transposed = np.empty((n, n)), np.empty((n, n))
        for first in range(0, n, max(1, _ENTRIES_PER_CHECK // n)):
            if should_stop():
                return None
            rows = slice(first, first + max(1, _ENTRIES_PER_CHECK // n))
            cost[rows], transposed[:, rows] = matrix[rows], matrix[rows].T
        np.fill_diagonal(cost, 0.0)
        np.fill_diagonal(transposed, 0.0)
        near, near_in = np.zeros((n, k), np.int32), np.zeros((n, k), np.int32)
        return cls(cost, transposed, 0.0, 0.0, near, np.zeros((n, k)), near_in)

    @property
    def metric(self) -> Metric:
        """The reduced costs as the Metric that kernels read."""
        return Metric(EXPLICIT, np.zeros((0, 3)), self.cost)

    @property
    def n(self) -> int:
        """The number of cities."""
        return len(self.cost)

    @property
    def rows_per_check(self) -> int:
        """The number of rows that take about 10 ms to read."""
        return max(1, _ENTRIES_PER_CHECK // self.n)

    @property
    def epsilon(self) -> float:
        """Gains up to this are treated as rounding errors."""
        return 1e-9 * (self.magnitude + float(np.abs(self.near_cost).mean()))

    def subtract_prices(self, out: NDArray[np.float64], into: NDArray[np.float64]) -> None:
        """Subtract the prices of tails, float64 `out` [n], and of heads, float64 `into` [n], from the costs, in place."""
        for first in range(0, self.n, self.rows_per_check):
            rows = slice(first, first + self.rows_per_check)
            self.cost[rows] -= out[rows, None] + into
            self.transposed[rows] -= into[rows, None] + out
        np.fill_diagonal(self.cost, 0.0)
        np.fill_diagonal(self.transposed, 0.0)
        self.offset += float(out.sum() + into.sum())
        self.magnitude += float(np.abs(out).mean() + np.abs(into).mean())

    def find_candidates(self, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Fill the candidate lists by the current costs; return False if `should_stop()` became true first."""
        into_cost = np.empty_like(self.near_cost)
        for first in range(0, self.n, self.rows_per_check):
            if should_stop():
                return False
            last = min(self.n, first + self.rows_per_check)
            _nearest(self.cost, first, last, self.near, self.near_cost)
            _nearest(self.transposed, first, last, self.near_in, into_cost)
        return True

    def length(self, tour: NDArray[np.integer]) -> float:
        """Return the length of a tour."""
        return float(self.cost[tour, np.roll(tour, -1)].sum()) + self.offset


@kernel
def _nearest(cost: NDArray[np.float64], first: int, last: int, near: NDArray[np.int32], near_cost: NDArray[np.float64]) -> None:
    """Write the K least entries of rows first..last-1 of `cost` [n, n] to `near` (columns) and `near_cost` (costs), both [n, K].

    The diagonal is skipped.
    """
    n = len(cost)
    for i in range(first, last):
        heads, costs, count = near[i], near_cost[i], 0
        for j in range(n):
            if j != i:
                count = insert_sorted(costs, heads, count, cost[i, j], j)
