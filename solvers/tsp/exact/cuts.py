"""The subtour relaxation of a symmetric TSP on the complete graph (Dantzig, Fulkerson & Johnson 1954).

The LP begins with few edges; violated subtour cuts are found by minimum cuts, and missing edges are added by pricing. The bound
is computed from the dual values over all edges, so that it is valid for any tolerances of the LP solver.
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

_VIOLATED = 2.0 - 1e-4  # a cut of less weight than this is added
_PRICED_IN = 2  # most edges per city that are added to the LP in one round
_SLACK_ROUNDS = 3  # a cut whose dual value is 0 in this many consecutive solutions is removed from the LP


@dataclass
class Relaxation:
    """min c x over x(delta(i)) = 2, x(delta(S)) >= 2 for S in `sides`, 0 <= x <= 1."""

    matrix: NDArray[np.float64]
    """[n, n] symmetric distances, zero diagonal."""
    edges: NDArray[np.int64]
    """[m, 2] edges in the LP, i < j."""
    sides: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((0, 0), np.bool_))
    """[k, n] the vertex sets S of the cuts."""
    bound: float = -np.inf
    """The best bound so far."""
    reduced: NDArray[np.float64] | None = None
    """[n, n] the reduced costs of `bound`."""

    def solve(self, should_stop: Callable[[], bool], report: Callable[[float], object]) -> bool:
        """Add cuts and edges until there are none to add, and call `report` with each better bound; return False if stopped."""
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
        """Return the cuts as rows over `edges`, [k, m]."""
        i, j = self.edges.T
        return sparse.csr_matrix((self.sides[:, i] != self.sides[:, j]).astype(np.float64))

    def degree_rows(self) -> sparse.csr_matrix:
        """Return the degree constraints as rows over `edges`, [n, m]."""
        m = len(self.edges)
        return sparse.csr_matrix((np.ones(2 * m), (self.edges.T.ravel(), np.tile(np.arange(m), 2))), (len(self.matrix), m))

    def _solve_lp(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the LP's solution x [m] and the dual values of cities [n] and cuts [k]."""
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
        """Return the reduced costs of all edges, [n, n], for the dual values of cities and cuts."""
        s = self.sides.astype(np.float64)
        weighted = s * duals[:, None]
        alone = weighted.sum(0)
        crossing = alone[:, None] + alone - 2.0 * (weighted.T @ s)  # dual values of the cuts that an edge crosses
        reduced: NDArray[np.float64] = self.matrix - prices[:, None] - prices - crossing
        return reduced

    def _bound(self, prices: NDArray[np.float64], duals: NDArray[np.float64]) -> bool:
        """Compute the Lagrangian bound of dual values on the complete graph; keep it and return True if it is the best."""
        reduced = self._reduced(prices, duals)
        np.fill_diagonal(reduced, 0.0)
        total = 2.0 * prices.sum() + 2.0 * duals.sum() + np.minimum(reduced, 0.0).sum() / 2
        noise = 1e-14 * len(reduced) * (np.abs(prices).sum() + duals.sum())
        if total - noise <= self.bound:
            return False
        self.bound, self.reduced = float(total - noise), reduced
        return True

    def _price(self, prices: NDArray[np.float64], duals: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Return the edges outside the LP of negative reduced cost, the least first, int64 [p, 2]; None if there is none."""
        n = len(self.matrix)
        reduced = np.triu(self._reduced(prices, duals), 1)
        reduced[self.edges[:, 0], self.edges[:, 1]] = 0.0
        i, j = np.nonzero(reduced < -1e-7 * max(1.0, float(np.abs(prices).max())))
        if not len(i):
            return None
        worst = np.argsort(reduced[i, j], kind="stable")[: _PRICED_IN * n]
        return np.stack([i[worst], j[worst]], 1)


def sides_below(weights: NDArray[np.float64], most: float) -> NDArray[np.bool_]:
    """Return different vertex sets whose cuts in the graph `weights` [n, n] weigh less than `most`, bool [k, n].

    They are the cuts that Stoer & Wagner's algorithm (1997) finds: at least one, if the minimum cut weighs less than `most`.
    """
    sides = _stoer_wagner(weights.copy(), most)
    sides ^= sides[:, :1]  # city 0 outside
    return np.unique(sides, axis=0) if len(sides) else sides


@kernel
def _stoer_wagner(weights: NDArray[np.float64], most: float) -> NDArray[np.bool_]:
    """Return the cuts of all phases that weigh less than `most`, bool [k, n]; overwrites `weights`."""
    n = len(weights)
    member = np.eye(n) > 0.5
    alive = np.arange(n)
    left = n
    found = np.zeros((n, n), np.bool_)
    count = 0
    link = np.empty(n)
    done = np.empty(n, np.bool_)
    while left > 1:
        for k in range(left):
            link[alive[k]] = 0.0
            done[alive[k]] = False
        last = -1
        before = -1
        for _ in range(left):
            v = -1
            for k in range(left):
                u = alive[k]
                if not done[u] and (v < 0 or link[u] > link[v]):
                    v = u
            done[v] = True
            before = last
            last = v
            for k in range(left):
                u = alive[k]
                if not done[u]:
                    link[u] += weights[v, u]
        if link[last] < most:
            found[count] = member[last]
            count += 1
        for k in range(left):
            u = alive[k]
            if u != before and u != last:
                weights[before, u] += weights[last, u]
                weights[u, before] = weights[before, u]
        for u in range(n):
            member[before, u] |= member[last, u]
        for k in range(left):
            if alive[k] == last:
                alive[k] = alive[left - 1]
                break
        left -= 1
    return found[:count]
