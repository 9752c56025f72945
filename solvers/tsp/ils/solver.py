"""`Ils`: iterated local search, for short limits and for instances too large for a population of tours."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.problems.tsp.instance import TspInstance
    from corl.problems.tsp.metric import Metric
    from corl.run import Run
    from corl.solvers.tsp.ils.kicks import Climb

__all__ = ["Ils"]

_BY_PROGRAMME = 9  # up to so many cities dynamic programming finds the best tour at once
_MOST_SHIFTED = 50_000  # cities that one move may shift in the array (Johnson & McGeoch 1997 cut at the same)
_SETUP = 8e-6  # seconds a city that neighbour lists and the greedy tour take on a slow machine
_LARGE = 20_000  # cities from which a first tour is reported before there are neighbour lists
_MANY = 50_000  # cities beyond which candidates are fewer and simply the nearest (tuned, with `stretch` and `heat`)
_BOUND_SHARE = 0.1  # of the time limit that the bound may take
_BOUND_SECONDS = 4e-5  # seconds a city below which the bound is not worth its time; it takes about 1e-4 where it may
_BOUND_MOST = 200_000  # cities up to which a run counted in iterations has a bound


@dataclass(frozen=True)
class Ils(Solver):
    """Lin-Kernighan local search, then local double-bridge kicks with undo: any size, any metric, symmetric or not.

    An asymmetric instance is searched by `corl.solvers.tsp.asymmetric.search`, which takes none of these options.
    """

    candidates: int = 0
    """Neighbours of a city that a move may link it to, at least 5; 0: 10, or 7 beyond 50,000 cities."""
    per_quadrant: int = 2
    """So many of them from each quadrant around the city, in the plane (needed for clusters); 0: simply the nearest, as
    always beyond 50,000 cities, where looking for them takes too long."""
    breadth: tuple[int, ...] = (5, 3, 2, 1)
    """Steps tried at each level of the Lin-Kernighan search: 2 to 20 numbers from 1; their count is the depth."""
    stretch: int = 50
    """Most cities in each of the three stretches that a kick exchanges, at least 1."""
    heat: float = 0.02
    """How much longer a kick may make the tour at first, in mean edge lengths; falls to 0 in the course of the run."""
    bound: bool = True
    """Whether to prove a Held-Karp bound where a tenth of the time suffices for it."""

    title: ClassVar[str] = "iterated Lin-Kernighan search with local kicks; up to millions of cities"
    iteration: ClassVar[str] = "100 cities of the first descent, then one kick and its repair"

    def __post_init__(self) -> None:
        if self.candidates < 5 and self.candidates != 0:
            raise UsageError(f"candidates is {self.candidates}; accepted: 0 (automatic), or an integer from 5")
        if self.per_quadrant < 0:
            raise UsageError(f"per_quadrant is {self.per_quadrant}; accepted: an integer from 0")
        if not 2 <= len(self.breadth) <= 20 or min(self.breadth) < 1:
            raise UsageError(f"breadth is {self.breadth}; accepted: 2 to 20 integers from 1")
        if self.stretch < 1:
            raise UsageError(f"stretch is {self.stretch}; accepted: an integer from 1")
        if not self.heat >= 0.0:
            raise UsageError(f"heat is {self.heat}; accepted: a number from 0")

    def prepare(self, instance: TspInstance) -> None:
        if not instance.symmetric:
            from corl.solvers.tsp.asymmetric.search import warm_up

            return warm_up()
        from corl.problems.tsp.problem import Tsp
        from corl.run import Run
        from corl.solvers.tsp.constructions import tiny_like

        tiny = tiny_like(instance)
        self.solve(tiny, Run(Tsp(), tiny, iterations=40))
        if instance.n < tiny.n:  # the bound of a handful of cities, and dynamic programming, have kernels of their own
            self.solve(instance, Run(Tsp(), instance, iterations=1))

    def solve(self, instance: TspInstance, run: Run) -> None:
        from corl.problems.tsp.metric import metric_of
        from corl.solvers.tsp.exact.dynamic_programming import shortest_tour

        if not instance.symmetric:
            from corl.solvers.tsp.asymmetric.search import search

            search(instance, metric_of(instance), run, run.seed)
        elif instance.n <= _BY_PROGRAMME:
            tour = shortest_tour(metric_of(instance), instance.n)
            run.report(tour)
            run.report_bound(run.problem.evaluate(instance, tour))
        else:
            self._solve_symmetric(instance, run)

    def _solve_symmetric(self, instance: TspInstance, run: Run) -> None:
        from corl.rng import random_state
        from corl.solvers.tsp.ils.kicks import begin, iterate, new_climb

        space = _Space(instance)
        if instance.n >= _LARGE:
            run.report(space.cities)
        if run.remaining < _SETUP * instance.n:
            if run.objective is None:
                run.report(space.cities)
            return
        many = instance.n > _MANY
        neighbours, lengths = space.neighbours(self.candidates or (7 if many else 10), 0 if many else self.per_quadrant)
        tour = space.start(neighbours, lengths, run)
        if run.should_stop:
            return
        climb = new_climb(instance.n, self.breadth, random_state(run.seed))
        begin(climb, tour, space.length(tour))
        longest = space.longest(tour, lengths)
        climb.plan[:] = self.heat * space.length(tour) / instance.n, float("inf")
        bound_due, reported, reporting = self.bound, float("inf"), 0.0
        counted, every = run.iterations is not None, max(100, instance.n // 10)
        while run.remaining >= 1.5 * reporting and (units := run.budget(every - int(climb.done[0]) % every if counted else None)):
            _plan(climb, run)
            iterate(space.metric, neighbours, lengths, climb, 1e-12 * longest, _MOST_SHIFTED, self.stretch, units)
            if bound_due and climb.search.ring[1] == 0:
                bound_due = False
                space.report_bound(neighbours, lengths, run)
            due = climb.done[0] % every == 0 if counted else run.report_due  # the clock must not choose what is kept
            if climb.length[0] < reported and due:
                began = time.perf_counter()
                reported = climb.length[0]
                run.report(space.cities[climb.search.tour.order])
                reporting = time.perf_counter() - began
        run.report(space.cities[climb.search.tour.order])
        if not run.should_stop:  # what time is left would not do for another report
            run.stop("time_limit")


def _plan(climb: Climb, run: Run) -> None:
    """Let the temperature reach 0 when the run's iterations, or at the present speed its time, are spent."""
    if run.iterations is not None:
        climb.plan[1] = run.iterations
    elif run.fraction > 0.0:
        climb.plan[1] = max(1.0, climb.done[0] / run.fraction)


class _Space:
    """An instance with its cities renumbered along a space-filling curve, so that near cities are near in memory, and its
    distances, if any is negative, raised by a constant, which changes no search but lets gains be positive."""

    def __init__(self, instance: TspInstance) -> None:
        from corl.problems.tsp.metric import EXPLICIT, metric_of
        from corl.solvers.tsp.construction import space_filling_order

        metric = metric_of(instance)
        self.instance = instance
        self.cities: NDArray[np.int32] = space_filling_order(metric)
        """int32 [n]: the instance's city by number here."""
        self.metric: Metric = metric if metric.kind == EXPLICIT else metric._replace(points=metric.points[self.cities])
        self.raised = -min(0.0, float(metric.matrix.min())) if metric.kind == EXPLICIT else 0.0
        if self.raised:
            self.metric = metric._replace(matrix=metric.matrix + self.raised)

    def neighbours(self, k: int, per_quadrant: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The candidate neighbours and their distances, in this numbering."""
        from corl.solvers.tsp.candidates import neighbours

        found: tuple[NDArray[np.int32], NDArray[np.float64]] = neighbours(self.instance, self.metric, k, per_quadrant)
        return found

    def start(self, neighbours: NDArray, lengths: NDArray, run: Run) -> NDArray[np.int32]:
        """The tour to begin with: the user's, otherwise the greedy-edge tour, which is reported."""
        import numpy as np

        from corl.solvers.tsp.construction import greedy_edge

        if run.warm_start is not None and run.solution is not None:
            number = np.empty_like(self.cities)
            number[self.cities] = np.arange(len(self.cities), dtype=number.dtype)
            given: NDArray[np.int32] = number[np.asarray(run.solution)]
            return given
        tour: NDArray[np.int32] = greedy_edge(self.metric, neighbours, lengths)
        run.report(self.cities[tour])
        return tour

    def length(self, tour: NDArray[np.int32]) -> float:
        """The length of a tour, constant included."""
        from corl.solvers.tsp.construction import length_of

        return float(length_of(self.metric, tour))

    def longest(self, tour: NDArray[np.int32], lengths: NDArray[np.float64]) -> float:
        """The longest distance that the search is likely to add up: the scale of its rounding errors."""
        import numpy as np

        if len(self.metric.points):
            span = np.ptp(self.metric.points, axis=0)
            return float(max(lengths.max(), np.abs(self.metric.points).max(), span.max()))
        return float(np.abs(self.metric.matrix[tour, np.roll(tour, -1)]).max() + lengths.max())

    def report_bound(self, neighbours: NDArray, lengths: NDArray, run: Run) -> None:
        """Prove a Held-Karp bound, where the time for one is there."""
        n, seconds = self.instance.n, None
        if run.iterations is None and run.time_limit is not None:
            seconds = min(_BOUND_SHARE * run.time_limit, 0.5 * run.remaining)
            if seconds < _BOUND_SECONDS * n:
                return
        elif n > _BOUND_MOST:
            return
        from corl.problems.tsp.metric import metric_of
        from corl.solvers.tsp.one_tree import held_karp_bound

        metric = metric_of(self.instance) if self.raised else self.metric
        bound = held_karp_bound(self.instance, metric, neighbours, lengths - self.raised, run, seconds=seconds)
        if bound is not None:
            run.report_bound(bound)
