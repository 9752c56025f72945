"""The subtour relaxation of a symmetric TSP on the complete graph (Dantzig, Fulkerson & Johnson 1954).

The LP begins with few edges; violated subtour cuts are found by minimum cuts, and missing edges are added by pricing. The bound
is computed from the dual values over all edges of the complete graph, so that the LP solver's tolerances cannot make it wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from corl.jit import kernel

__all__ = ["Relaxation", "sides_below"]

_VIOLATED = 2.0 - 1e-4  # a tour crosses every cut at least twice; a cut of less weight than this is added to the LP
_PRICED_IN = 2  # at most this many edges per city are added to the LP in one round
_SLACK_ROUNDS = 3  # a cut whose dual value is 0 in this many consecutive solutions is removed from the LP


@dataclass
class Relaxation:
    """The linear programme min c x subject to x(delta(i)) = 2, x(delta(S)) >= 2 for S in `sides`, 0 <= x <= 1.

    x has an entry for each edge, and delta(S) is the set of edges with exactly one end in S.
    """

    matrix: NDArray[np.float64]
    """[n, n] symmetric distances, zero diagonal."""
    edges: NDArray[np.int64]
    """[m, 2] the edges (i, j) in the LP, i < j."""
    sides: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), np.bool_))
    """[k, n] for each cut, the cities in its set S."""
    bound: float = -np.inf
    """The best bound so far."""
    reduced: NDArray[np.float64] | None = None
    """[n, n] the reduced costs that belong to `bound`; None before the first bound."""

    def solve(self, should_stop: Callable[[], bool], report: Callable[[float], object]) -> bool:
        """Add cuts and edges until there are none to add, and call `report` with each better bound.

        Return whether that was completed; False if `should_stop()` became true first.
        """
        n = len(self.matrix)
        self.sides = np.zeros((0, n), np.bool_)
        idle = np.zeros(0, np.int64)
        while not should_stop():
            x, prices, duals = self._solve_lp()
            if self._bound(prices, duals):
                report(self.bound)
            priced = self._price(prices, duals)
            weights = np.zeros((n, n))
            weights[self.edges[:, 0], self.edges[:, 1]] = x
            found = sides_below(weights + weights.T, _VIOLATED)
            if priced is None and not len(found):
                return True
            idle = np.where(duals > 1e-9, 0, idle + 1)
            keep = idle < _SLACK_ROUNDS
            self.sides = np.concatenate([self.sides[keep], found])
            idle = np.concatenate([idle[keep], np.zeros(len(found), np.int64)])
            if priced is not None:
                self.edges = np.concatenate([self.edges, priced])
        return False

    def rows(self) -> sparse.csr_matrix:
        """Return the coefficients of the cuts, float64 [k, m]: 1 where an edge crosses the cut."""
        i, j = self.edges.T
        return sparse.csr_matrix((self.sides[:, i] != self.sides[:, j]).astype(np.float64))

    def degree_rows(self) -> sparse.csr_matrix:
        """Return the coefficients of the degree constraints, float64 [n, m]: 1 where a city is an end of the edge."""
        m = len(self.edges)
        return sparse.csr_matrix((np.ones(2 * m), (self.edges.T.ravel(), np.tile(np.arange(m), 2))), (len(self.matrix), m))

    def _solve_lp(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the LP's solution and dual values: (x float64 [m], prices of cities float64 [n], duals of cuts float64 [k])."""
        i, j = self.edges.T
        k = len(self.sides)
        result = linprog(
            self.matrix[i, j],
            A_ub=-self.rows() if k else None,
            b_ub=np.full(k, -2.0) if k else None,
            A_eq=self.degree_rows(),
            b_eq=np.full(len(self.matrix), 2.0),
            bounds=(0.0, 1.0),
            method="highs-ds",
        )
        duals = -result.ineqlin.marginals if k else np.zeros(0)
        return result.x, result.eqlin.marginals, np.maximum(duals, 0.0)

    def _reduced(self, prices: NDArray[np.float64], duals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the reduced costs of all edges, float64 [n, n], for dual values of cities (`prices`) and cuts (`duals`)."""
        inside = self.sides.astype(np.float64)
        weighted = inside * duals[:, None]
        own_cuts = weighted.sum(0)
        crossing = own_cuts[:, None] + own_cuts - 2.0 * (weighted.T @ inside)  # dual values of the cuts that an edge crosses
        reduced: NDArray[np.float64] = self.matrix - prices[:, None] - prices - crossing
        return reduced

    def _bound(self, prices: NDArray[np.float64], duals: NDArray[np.float64]) -> bool:
        """Compute the Lagrangian bound on the complete graph; if it is the best so far, keep it and return True."""
        reduced = self._reduced(prices, duals)
        np.fill_diagonal(reduced, 0.0)
        total = 2.0 * prices.sum() + 2.0 * duals.sum() + np.minimum(reduced, 0.0).sum() / 2
        rounding = 1e-14 * len(reduced) * (np.abs(prices).sum() + duals.sum())
        if total - rounding <= self.bound:
            return False
        self.bound, self.reduced = float(total - rounding), reduced
        return True

    def _price(self, prices: NDArray[np.float64], duals: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Return the edges outside the LP of negative reduced cost, the least first, int64 [p, 2]; None if there are none."""
        n = len(self.matrix)
        reduced = np.triu(self._reduced(prices, duals), 1)
        reduced[self.edges[:, 0], self.edges[:, 1]] = 0.0
        i, j = np.nonzero(reduced < -1e-7 * max(1.0, float(np.abs(prices).max())))
        if not len(i):
            return None
        worst = np.argsort(reduced[i, j], kind="stable")[: _PRICED_IN * n]
        return np.stack([i[worst], j[worst]], 1)


def sides_below(weights: NDArray[np.float64], most: float) -> NDArray[np.bool_]:
    """Return different vertex sets, bool [k, n], whose cuts weigh less than `most` under the edge weights float64 [n, n].

    They are the cuts that Stoer & Wagner's algorithm (1997) finds on its way to the minimum cut: not all such cuts, but at least
    one if there are any.
    """
    sides = _stoer_wagner(weights.copy(), most)
    sides ^= sides[:, :1]  # of the two sides of a cut, take the one without city 0
    return np.unique(sides, axis=0) if len(sides) else sides


@kernel
def _stoer_wagner(weights: NDArray[np.float64], most: float) -> NDArray[np.bool_]:
    """Return one side of each phase's cut that weighs less than `most`, bool [k, n]; overwrites `weights`."""
    n = len(weights)
    member = np.eye(n) > 0.5
    alive = np.arange(n)
    alive_count = n
    found = np.zeros((n, n), np.bool_)
    count = 0
    link = np.empty(n)
    done = np.empty(n, np.bool_)
    while alive_count > 1:
        for k in range(alive_count):
            link[alive[k]] = 0.0
            done[alive[k]] = False
        last = -1
        second_last = -1
        for _ in range(alive_count):
            v = -1
            for k in range(alive_count):
                u = alive[k]
                if not done[u] and (v < 0 or link[u] > link[v]):
                    v = u
            done[v] = True
            second_last = last
            last = v
            for k in range(alive_count):
                u = alive[k]
                if not done[u]:
                    link[u] += weights[v, u]
        if link[last] < most:
            found[count] = member[last]
            count += 1
        for k in range(alive_count):
            u = alive[k]
            if u != second_last and u != last:
                weights[second_last, u] += weights[last, u]
                weights[u, second_last] = weights[second_last, u]
        for u in range(n):
            member[second_last, u] |= member[last, u]
        for k in range(alive_count):
            if alive[k] == last:
                alive[k] = alive[alive_count - 1]
                break
        alive_count -= 1
    return found[:count]
