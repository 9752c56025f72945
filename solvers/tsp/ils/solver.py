"""`Ils`: iterated local search, for short limits and for instances too large for a population of tours."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from corl.errors import UsageError
from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.problems.tsp.instance import TspInstance
    from corl.run import Run
    from corl.solvers.tsp.ils.kicks import ChainedSearch

__all__ = ["Ils"]

_DYNAMIC_PROGRAMMING_CITIES = 9  # cities up to which dynamic programming finds an optimal tour at once
_MOST_SHIFTED = 50_000  # cities that one move may shift in the array (Johnson & McGeoch 1997 cut at the same)
_SETUP = 8e-6  # seconds per city for neighbour lists and the greedy tour on a slow machine
_LARGE = 20_000  # cities from which a first tour is reported before there are neighbour lists
_MANY = 50_000  # cities beyond which there are fewer candidates, the nearest if cities are spread evenly (tuned)
_REGIONS = 20_000  # cities beyond which regions follow the kicks
_PER_ROOT_MICROSECOND = 1.2  # tours of a region's population, per root of the microseconds available for a city
_REGION = 200  # cities of a region for each tour of its population
_KICKS = 0.2  # share of the run with kicks, if regions follow ...
_KICK_SECONDS, _KICK_SECONDS_BEYOND = 8e-5, 2.5e-5  # ... and at least this many seconds per city up to `_CACHED`, and beyond
_CACHED = 200_000  # cities beyond which kicks are slower, as the processor's cache is too small (tuned at a million)
_BOUND_SHARE = 0.1  # of the time limit that the bound may take
_BOUND_SECONDS = 4e-5  # seconds per city below which no bound is computed; it takes about 1e-4 if allowed
_BOUND_MOST = 200_000  # cities up to which a run counted in iterations has a bound


@dataclass(frozen=True)
class Ils(Solver):
    """Lin-Kernighan local search, then local double-bridge kicks with undo: any size, any metric, symmetric or not.

    An asymmetric instance is searched by `corl.solvers.tsp.asymmetric.search`, which takes none of these options.
    """

    candidates: int = option(
        0, "Neighbours of a city that a move may link it to; 0: 10, or 7 or 8 beyond 50,000 cities.", low=5, also=0, scale="log"
    )
    per_quadrant: int = option(
        2,
        "How many of them come from each quadrant around the city, in the plane, which clustered cities need; 0: the nearest "
        "ones only, as always beyond 50,000 cities that are spread evenly.",
        low=0,
    )
    breadth: tuple[int, ...] = option(
        (5, 3, 2, 1), "Steps tried at each level of the Lin-Kernighan search; their count, 2 to 20, is the depth.", low=1
    )
    stretch: int = option(50, "Most cities in each of the three stretches that a kick exchanges.", low=1, scale="log")
    heat: float = option(
        0.02,
        "How much longer a kick may make the tour at first, in mean edge lengths; falls to 0 in the course of the run.",
        low=0,
    )
    kicks: float = option(
        0.0,
        "Share of the run spent on kicks; then regions of the tour are improved by edge assembly crossover. 1: all of it; "
        "0: by size and time, all of it up to 20,000 cities and for GEO and matrix distances.",
        low=0,
        high=1,
    )
    population: int = option(0, "Tours in the population of a region; 0: by the time per city.", low=2, also=0, scale="log")
    region: int = option(0, "Most cities of a region; 0: 200 per tour of its population.", low=100, also=0, scale="log")
    bound: bool = option(True, "Whether to prove a Held-Karp bound if a tenth of the time suffices for it.")

    alike: ClassVar[int] = 24
    title: ClassVar[str] = "iterated Lin-Kernighan search with local kicks; up to millions of cities"
    iteration: ClassVar[str] = "100 cities of the first descent, then one kick and its repair"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= len(self.breadth) <= 20:
            raise UsageError(f"option breadth: {self.breadth} is not accepted; it takes 2 to 20 integers from 1")

    def kind(self, instance: TspInstance) -> str:
        return "" if self._share_of_kicks(instance) == 1.0 else "regions"

    def uses_workers(self, run: Run) -> bool:
        return run.iterations is None and self._share_of_kicks(run.instance, run.time_limit) < 1.0

    def prepare(self, instance: TspInstance) -> None:
        if not instance.symmetric:
            from corl.solvers.tsp.asymmetric.search import warm_up

            return warm_up()
        from corl.problems.tsp.problem import Tsp
        from corl.run import Run
        from corl.solvers.tsp.construction.solver import tiny_like

        tiny = tiny_like(instance)
        self.solve(tiny, Run(Tsp(), tiny, iterations=40))
        if (kicks := self._share_of_kicks(instance)) < 1.0:
            replace(self, kicks=kicks, population=4, region=100).solve(tiny, Run(Tsp(), tiny, iterations=60))
        if instance.n < tiny.n:  # the bound of few cities, and dynamic programming, use other kernels
            self.solve(instance, Run(Tsp(), instance, iterations=1))

    def solve(self, instance: TspInstance, run: Run) -> None:
        from corl.problems.tsp.metric import metric_of
        from corl.solvers.tsp.exact.dynamic_programming import shortest_tour

        if not instance.symmetric:
            from corl.solvers.tsp.asymmetric.search import search

            search(instance, metric_of(instance), run, run.seed)
        elif instance.n <= _DYNAMIC_PROGRAMMING_CITIES:
            tour = shortest_tour(metric_of(instance), instance.n)
            run.report(tour)
            run.report_bound(run.problem.evaluate(instance, tour))
        else:
            self._solve_symmetric(instance, run)

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        from corl.solvers.tsp.completing import completion

        return completion(self, environment, row, iterations, seed)

    def _solve_symmetric(self, instance: TspInstance, run: Run) -> None:
        """Search a symmetric instance: first a descent and kicks, then regions if the share of kicks is less than 1."""
        from corl.rng import random_state
        from corl.solvers.tsp.ils.kicks import begin, chained_search, iterate

        space = _Space(instance)
        if instance.n >= _LARGE:
            run.report(space.cities)
        if run.remaining < _SETUP * instance.n:
            if run.objective is None:
                run.report(space.cities)
            return
        even = instance.n > _MANY and not space.clustered
        usual = 7 if even else 8 if instance.n > _MANY else 10
        neighbours, lengths = space.neighbours(self.candidates or usual, 0 if even else self.per_quadrant)
        tour = space.start(neighbours, lengths, run)
        if run.should_stop:
            return
        search = chained_search(instance.n, self.breadth, random_state(run.seed))
        begin(search, tour, space.length(tour))
        longest = space.longest(tour, lengths)
        search.cooling[:] = self.heat * space.length(tour) / instance.n, float("inf")
        bound_due, reported, reporting = self.bound and run.proves, float("inf"), 0.0
        counted, every = run.iterations is not None, max(100, instance.n // 10)
        kicks = self._share_of_kicks(instance, run.time_limit, run.workers)
        while run.remaining >= 1.5 * reporting and (kicks == 1.0 or run.fraction < kicks or search.local.queue.ring[1] > 0):
            if not (units := run.budget(every - int(search.done[0]) % every if counted else None)):
                break
            _cool(search, run, kicks)
            iterate(space.metric, neighbours, lengths, search, 1e-12 * longest, _MOST_SHIFTED, self.stretch, units)
            if bound_due and search.local.queue.ring[1] == 0:
                bound_due = False
                space.report_bound(neighbours, lengths, run)
            due = search.done[0] % every == 0 if counted else run.report_due  # the clock must not choose what is kept
            if search.length[0] < reported and due:
                began = time.perf_counter()
                reported = search.length[0]
                run.report(space.cities[search.local.tour.order])
                reporting = time.perf_counter() - began
        run.report(space.cities[search.local.tour.order])
        if kicks < 1.0:
            population = self.population or _population(run, instance.n)
            size = self.region or _REGION * population
            space.improve_regions(search.local.tour.order.copy(), run, size, population, reporting)
        elif not run.should_stop:  # the time left does not suffice for another report
            run.stop("time_limit")

    def _share_of_kicks(self, instance: TspInstance, time_limit: float | None = None, workers: int = 1) -> float:
        """Return the share of the run for kicks. It grows with `workers`, since one thread kicks and several breed regions."""
        n = instance.n
        if not instance.symmetric or instance.edge_weight_type in ("GEO", "EXPLICIT"):
            return 1.0
        if self.kicks or n <= _REGIONS:
            return self.kicks or 1.0
        least = 0.0 if time_limit is None else n * (_KICK_SECONDS if n <= _CACHED else _KICK_SECONDS_BEYOND) / time_limit
        return min(1.0, max(workers * _KICKS / (1.0 + (workers - 1) * _KICKS), least))


def _population(run: Run, n: int) -> int:
    """Return how many tours can converge within the limit (tuned at 31,623 to a million cities); 30 if iterations are limited."""
    if run.time_limit is None:
        return 30
    tours: int = round(min(max(_PER_ROOT_MICROSECOND * (1e6 * run.workers * run.time_limit / n) ** 0.5, 8), 100))
    return tours


def _cool(search: ChainedSearch, run: Run, share: float) -> None:
    """Set the cooling so that the temperature is 0 after `share` of the run's iterations, or of its time at the current speed."""
    if run.iterations is not None:
        search.cooling[1] = share * run.iterations
    elif run.fraction > 0.0:
        search.cooling[1] = max(1.0, share * search.done[0] / run.fraction)


class _Space:
    """An instance with renumbered cities, and the search's queries to it."""

    def __init__(self, instance: TspInstance) -> None:
        from corl.solvers.tsp.tours.renumbering import Renumbered, is_clustered

        self.instance, self._renumbered = instance, Renumbered(instance)
        self.cities, self.metric, self.raised = self._renumbered.cities, self._renumbered.metric, self._renumbered.raised
        self.clustered = is_clustered(self.metric)

    def neighbours(self, k: int, per_quadrant: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the candidate neighbours and their distances, in this numbering."""
        from corl.solvers.tsp.neighbours.candidates import neighbours

        found: tuple[NDArray[np.int32], NDArray[np.float64]] = neighbours(self.instance, self.metric, k, per_quadrant)
        return found

    def start(self, neighbours: NDArray, lengths: NDArray, run: Run) -> NDArray[np.int32]:
        """Return the initial tour: the user's, or else the greedy-edge tour, which is reported."""
        from corl.solvers.tsp.construction.kernels import greedy_edge

        if run.warm_start is not None and run.solution is not None:
            return self._renumbered.numbers(run.solution)
        tour: NDArray[np.int32] = greedy_edge(self.metric, neighbours, lengths)
        run.report(self.cities[tour])
        return tour

    def length(self, tour: NDArray[np.int32]) -> float:
        """Return the length of a tour, the constant added to every distance included."""
        from corl.solvers.tsp.construction.kernels import length_of

        return float(length_of(self.metric, tour))

    def longest(self, tour: NDArray[np.int32], lengths: NDArray[np.float64]) -> float:
        """Return the longest distance that the search is likely to add up: the scale of its rounding errors."""
        import numpy as np

        if len(self.metric.points):
            span = np.ptp(self.metric.points, axis=0)
            return float(max(lengths.max(), np.abs(self.metric.points).max(), span.max()))
        return float(np.abs(self.metric.matrix[tour, np.roll(tour, -1)]).max() + lengths.max())

    def improve_regions(self, tour: NDArray[np.int32], run: Run, size: int, population: int, reporting: float) -> None:
        """Breed regions of the tour until the run ends, and report better tours; a report takes `reporting` seconds."""
        from corl.solvers.tsp.ils.regions import improve_regions

        best, reported = tour, True

        def report(found: NDArray[np.int32]) -> None:
            nonlocal best, reporting, reported
            best, reported = found, False
            if run.iterations is not None or (run.report_due and run.remaining > 3.0 * reporting):
                began = time.perf_counter()
                run.report(self.cities[best])
                reporting, reported = time.perf_counter() - began, True

        breeding = run.aside(1.5 * reporting) if run.iterations is None else run  # the last report is within the limit, too
        improve_regions(self.metric, tour, breeding, size, population, 2 if self.clustered else 0, report)
        if not reported:
            run.report(self.cities[best])
        if breeding.limit == "time_limit":
            run.stop("time_limit")

    def report_bound(self, neighbours: NDArray, lengths: NDArray, run: Run) -> None:
        """Report a Held-Karp bound, if the limits allow the time for one."""
        n, seconds = self.instance.n, None
        if run.iterations is None and run.time_limit is not None:
            seconds = min(_BOUND_SHARE * run.time_limit, 0.5 * run.remaining)
            if seconds < _BOUND_SECONDS * n:
                return
        elif n > _BOUND_MOST:
            return
        from corl.problems.tsp.metric import metric_of
        from corl.solvers.tsp.held_karp.bound import held_karp_bound

        metric = metric_of(self.instance) if self.raised else self.metric
        bound = held_karp_bound(self.instance, metric, neighbours, lengths - self.raised, run, seconds=seconds)
        if bound is not None:
            run.report_bound(bound)
