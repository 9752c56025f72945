"""Branch and cut for the symmetric TSP: a good tour, the subtour relaxation, reduced-cost fixing, and SCIP for the rest.

After the relaxation, an edge can only be in a better tour if the bound plus its reduced cost is less than the incumbent's length
(Dantzig, Fulkerson & Johnson 1954). The few hundred edges that are left give a small integer programme.
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
    """A run inside a run, which ends by its own limits or the outer run's and reports to the outer run."""

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
    """Report tours and bounds until they are equal or the run ends; `eax` may take `heuristic_seconds` for the first tours."""
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
    """Return the edges of the tour and of each city's nearest neighbours, int64 [m, 2], i < j."""
    n = len(matrix)
    order = np.argsort(matrix + np.where(np.eye(n) > 0, np.inf, 0.0), 1, kind="stable")[:, :_FIRST_EDGES]
    i = np.concatenate([tour, np.repeat(np.arange(n), order.shape[1])])
    j = np.concatenate([np.roll(tour, -1), order.ravel()])
    return np.unique(np.stack([np.minimum(i, j), np.maximum(i, j)], 1), axis=0).astype(np.int64)


def _report_bound(bound: float, instance: TspInstance, run: Run) -> None:
    """Report a bound, rounded up if distances are integral, at most the incumbent's length."""
    assert run.objective is not None
    bound = min(bound, run.objective)
    run.report_bound(float(math.ceil(bound - 1e-6)) if instance.integral else bound)


def _branch(relaxation: Relaxation, instance: TspInstance, run: Run) -> None:
    """Solve the integer programme on the edges that reduced costs leave; cuts are added when sub-tours occur."""
    from corl.solvers.tsp.exact.scip import Programme

    assert run.objective is not None and relaxation.reduced is not None
    room = run.objective - (1.0 - 1e-6 if instance.integral else 0.0) - relaxation.bound
    i, j = np.nonzero(np.triu(relaxation.reduced <= room, 1))
    relaxation.edges = np.stack([i, j], 1)
    needed = relaxation.reduced[i, j] < -room  # no tour without such an edge is short enough
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
