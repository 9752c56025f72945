"""Branch and cut for the symmetric TSP: a good tour, the subtour relaxation, reduced-cost fixing, and SCIP at the end.

An edge can only be in a better tour than the incumbent if the relaxation's bound plus the edge's reduced cost is less than the
incumbent's length (Dantzig, Fulkerson & Johnson 1954). The few hundred edges that remain give a small integer programme.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.instance import TspInstance
from corl.run import Run
from corl.solvers.tsp.distance_matrix import dense_matrix
from corl.solvers.tsp.eax.solver import Eax
from corl.solvers.tsp.exact.cuts import Relaxation
from corl.termination import Limit

__all__ = ["branch_and_cut"]

_FIRST_EDGES = 8  # nearest neighbours of a city whose edges are in the first LP


class _InnerRun(Run):
    """A run inside another run: it ends by its own time limit or by the outer run's limits, and reports to the outer run."""

    def __init__(self, outer: Run, seconds: float) -> None:
        super().__init__(
            outer.problem,
            outer.instance,
            time_limit=min(seconds, outer.remaining) if math.isfinite(outer.remaining) else seconds,
            seed=outer.seed,
            warm_start=outer.solution,
            on_improvement=lambda improvement: improvement.solution is not None and outer.report(improvement.solution),
        )
        self._outer = outer

    @property
    def limit(self) -> Limit | None:
        return self._outer.limit or super().limit


def branch_and_cut(instance: TspInstance, run: Run, heuristic_seconds: float) -> None:
    """Report tours and bounds until the best tour is proven optimal or the run ends.

    The solver `eax` may take `heuristic_seconds` to find the first tours.
    """
    inner = _InnerRun(run, heuristic_seconds)
    if inner.time_limit:
        inner.start()
        Eax().solve(instance, inner)
        if inner.bound is not None:
            run.report_bound(inner.bound)
    matrix = None if run.should_stop else dense_matrix(instance, lambda: run.should_stop)
    if matrix is None:
        return
    relaxation = Relaxation(matrix, _first_edges(matrix, run.solution))
    if relaxation.solve(lambda: run.should_stop, lambda bound: _report_bound(bound, instance, run)) and not run.should_stop:
        _branch(relaxation, instance, run)


def _first_edges(matrix: NDArray[np.float64], tour: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the edges (i, j), i < j, of int `tour` [n] and of each city to its nearest neighbours, int64 [m, 2]."""
    n = len(matrix)
    nearest = np.argsort(matrix + np.where(np.eye(n) > 0, np.inf, 0.0), 1, kind="stable")[:, :_FIRST_EDGES]
    i = np.concatenate([tour, np.repeat(np.arange(n), nearest.shape[1])])
    j = np.concatenate([np.roll(tour, -1), nearest.ravel()])
    return np.unique(np.stack([np.minimum(i, j), np.maximum(i, j)], 1), axis=0).astype(np.int64)


def _report_bound(bound: float, instance: TspInstance, run: Run) -> None:
    """Report a bound, at most the incumbent's length, and rounded up if distances are integral."""
    assert run.objective is not None
    bound = min(bound, run.objective)
    run.report_bound(float(math.ceil(bound - 1e-6)) if instance.integral else bound)


def _branch(relaxation: Relaxation, instance: TspInstance, run: Run) -> None:
    """Solve the integer programme on the edges that reduced-cost fixing leaves, and report the best tour and bounds."""
    from corl.solvers.tsp.exact.scip import Programme

    assert run.objective is not None and relaxation.reduced is not None
    # by how much a tour may exceed the bound and still be better than the incumbent
    slack = run.objective - (1.0 - 1e-6 if instance.integral else 0.0) - relaxation.bound
    i, j = np.nonzero(np.triu(relaxation.reduced <= slack, 1))
    relaxation.edges = np.stack([i, j], 1)
    needed = relaxation.reduced[i, j] < -slack  # every tour without such an edge is too long
    programme = Programme(relaxation, needed, run.objective - (0.5 if instance.integral else 0.0), run.remaining)
    reported = -np.inf

    def poll() -> None:
        nonlocal reported
        if programme.bound > reported:
            reported = programme.bound
            _report_bound(max(relaxation.bound, reported), instance, run)

    run.call_interruptible(programme.solve, programme.stop, poll)
    chosen = programme.chosen()
    if chosen is not None:
        weights = np.zeros_like(relaxation.matrix)
        weights[i[chosen], j[chosen]] = 1.0
        run.report(_tour(weights + weights.T))
    _report_bound(max(relaxation.bound, programme.final_bound()), instance, run)


def _tour(adjacency: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the cities of a connected 2-regular graph in order, int32 [n]; `adjacency` is [n, n]."""
    tour = [0, int(np.flatnonzero(adjacency[0])[0])]
    while len(tour) < len(adjacency):
        a, b = np.flatnonzero(adjacency[tour[-1]])
        tour.append(int(b if a == tour[-2] else a))
    return np.array(tour, np.int32)
