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

_DYNAMIC_PROGRAMMING_CITIES = 9  # number of cities up to which dynamic programming finds an optimal tour at once
_MOST_SHIFTED = 50_000  # cities that one move may shift in the array (Johnson & McGeoch 1997 have the same limit)
_SETUP_SECONDS = 8e-6  # per city, for neighbour lists and the greedy tour on a slow machine
_CURVE_FIRST_CITIES = 20_000  # from this size on the tour along a space-filling curve is reported before the greedy tour is made
# With more cities than this, each has fewer candidate neighbours; if cities are spread evenly, only the nearest (tuned).
_FEWER_CANDIDATES = 50_000
_REGIONS_CITIES = 20_000  # beyond this size regions follow the kicks
_TOURS_PER_ROOT = 1.2  # tours of a region's population = this times the square root of the microseconds available per city
_CITIES_PER_TOUR = 200  # cities of a region for each tour of its population
# If regions follow, kicks take the share _KICK_SHARE of the run, but at least _KICK_SECONDS per city with up to _CACHED cities,
# and _KICK_SECONDS_BEYOND per city with more.
_KICK_SHARE = 0.2
_KICK_SECONDS, _KICK_SECONDS_BEYOND = 8e-5, 2.5e-5
_CACHED = 200_000  # with more cities kicks are slower, as the processor's cache is too small (tuned at a million)
_BOUND_SHARE = 0.1  # the share of the time limit that the bound may take
_BOUND_SECONDS = 4e-5  # with less time than this per city no bound is computed; the computation takes up to about 1e-4 s per city
_BOUND_MOST = 200_000  # with more cities, a run that is limited in iterations or has no time limit computes no bound


@dataclass(frozen=True)
class Ils(Solver):
    """Iterated Lin-Kernighan local search, for instances of any size and any distances, symmetric or asymmetric.

    A kick is a random double bridge; a kick whose added length the local search does not make up for is undone. On large
    instances with coordinates, parts of the tour (regions) are then improved by edge assembly crossover. An asymmetric instance
    is searched by `corl.solvers.tsp.asymmetric.search`, which takes none of these options.
    """

    candidates: int = option(
        0,
        "Neighbours of a city that a move may link it to; 0: 10, or 7 or 8 beyond 50,000 cities.",
        low=5,
        special=0,
        scale="log",
        tuning=(5, 20),
    )
    per_quadrant: int = option(
        2,
        "How many of these neighbours come from each quadrant of the plane around the city; clustered cities need them. 0: "
        "only the nearest, as always for more than 50,000 cities that are spread evenly.",
        low=0,
    )
    breadth: tuple[int, ...] = option(
        (5, 3, 2, 1), "Steps tried at each level of the Lin-Kernighan search; the number of levels, 2 to 20, is its depth.", low=1
    )
    stretch: int = option(50, "Most cities in each of the three stretches that a kick exchanges.", low=1, scale="log")
    heat: float = option(
        0.02,
        "How much longer a kick may make the tour on average, in mean edge lengths, at first; falls to 0 during the kicks.",
        low=0,
    )
    kicks: float = option(
        0.0,
        "Share of the run spent on kicks; then regions of the tour are improved by edge assembly crossover. 1: the whole run; "
        "0: chosen by size and time limit; the whole run up to 20,000 cities and for GEO and matrix distances.",
        low=0,
        high=1,
    )
    population: int = option(0, "Tours in the population of a region; 0: by the time per city.", low=2, special=0, scale="log")
    region: int = option(0, "Most cities of a region; 0: 200 for each tour of its population.", low=100, special=0, scale="log")
    bound: bool = option(True, "Whether to prove a Held-Karp bound if a tenth of the time limit suffices.")

    preparation_size: ClassVar[int] = 24  # sizes and integers from 24 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "iterated Lin-Kernighan search with local kicks; up to millions of cities"
    iteration: ClassVar[str] = "100 cities of the first descent, then one kick and its repair"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= len(self.breadth) <= 20:
            raise UsageError(f"option breadth: {self.breadth} is not accepted; it takes 2 to 20 integers from 1")

    def kind(self, instance: TspInstance) -> str:
        from corl.solvers.tsp.construction.solver import kind_of_kernels

        kind = kind_of_kernels(instance)
        return kind or ("" if self._share_of_kicks(instance) == 1.0 else "regions")

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
        if instance.n < tiny.n:  # bounds of few cities, and dynamic programming, use other kernels
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
        if instance.n >= _CURVE_FIRST_CITIES:
            run.report(space.cities)
        if run.remaining < _SETUP_SECONDS * instance.n:
            if run.objective is None:
                run.report(space.cities)
            return
        evenly_spread = instance.n > _FEWER_CANDIDATES and not space.clustered
        default_candidates = 7 if evenly_spread else 8 if instance.n > _FEWER_CANDIDATES else 10
        neighbours, lengths = space.neighbours(self.candidates or default_candidates, 0 if evenly_spread else self.per_quadrant)
        tour = space.start(neighbours, lengths, run)
        if run.should_stop:
            return
        search = chained_search(instance.n, self.breadth, random_state(run.seed))
        begin(search, tour, space.length(tour))
        longest = space.longest(tour, lengths)
        search.cooling[:] = self.heat * space.length(tour) / instance.n, float("inf")
        bound_due, reported, reporting = self.bound and run.proves, float("inf"), 0.0  # reporting: seconds of a report
        counts_iterations, every = run.iterations is not None, max(100, instance.n // 10)
        share = self._share_of_kicks(instance, run.time_limit, run.workers)
        while run.remaining >= 1.5 * reporting and (share == 1.0 or run.fraction < share or search.local.queue.ring[1] > 0):
            if not (units := run.budget(every - int(search.done[0]) % every if counts_iterations else None)):
                break
            _cool(search, run, share)
            iterate(space.metric, neighbours, lengths, search, 1e-12 * longest, _MOST_SHIFTED, self.stretch, units)
            if bound_due and search.local.queue.ring[1] == 0:
                bound_due = False
                space.report_bound(neighbours, lengths, run)
            # if iterations are counted, the result must not depend on the clock
            is_due = search.done[0] % every == 0 if counts_iterations else run.report_due
            if search.length[0] < reported and is_due:
                began = time.perf_counter()
                reported = search.length[0]
                run.report(space.cities[search.local.tour.order])
                reporting = time.perf_counter() - began
        run.report(space.cities[search.local.tour.order])
        if share < 1.0:
            population = self.population or _population(run, instance.n)
            size = self.region or _CITIES_PER_TOUR * population
            space.improve_regions(search.local.tour.order.copy(), run, size, population, reporting)
        elif not run.should_stop:  # the remaining time does not suffice for another report
            run.stop("time_limit")

    def _share_of_kicks(self, instance: TspInstance, time_limit: float | None = None, workers: int = 1) -> float:
        """Return the share of the run for kicks. It grows with `workers`: one thread does all kicks, several improve regions."""
        n = instance.n
        if not instance.symmetric or instance.edge_weight_type in ("GEO", "EXPLICIT"):
            return 1.0
        if self.kicks or n <= _REGIONS_CITIES:
            return self.kicks or 1.0
        least = 0.0 if time_limit is None else n * (_KICK_SECONDS if n <= _CACHED else _KICK_SECONDS_BEYOND) / time_limit
        return min(1.0, max(workers * _KICK_SHARE / (1.0 + (workers - 1) * _KICK_SHARE), least))


def _population(run: Run, n: int) -> int:
    """Return how many tours of each region can converge within the time limit (tuned for 31,623 to a million cities).

    Without a time limit: 30.
    """
    if run.time_limit is None:
        return 30
    tours: int = round(min(max(_TOURS_PER_ROOT * (1e6 * run.workers * run.time_limit / n) ** 0.5, 8), 100))
    return tours


def _cool(search: ChainedSearch, run: Run, share: float) -> None:
    """Set the cooling so that the temperature is 0 after `share` of the run, by iterations or by time at the current speed."""
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
        """Return k candidate neighbours of each city and their distances, in the renumbered cities."""
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
        """Return the length of a tour, including the constant that may have been added to every distance."""
        from corl.solvers.tsp.construction.kernels import length_of

        return float(length_of(self.metric, tour))

    def longest(self, tour: NDArray[np.int32], lengths: NDArray[np.float64]) -> float:
        """Return an estimate of the longest distance that the search adds up; rounding errors are proportional to it."""
        import numpy as np

        if len(self.metric.points):
            span = np.ptp(self.metric.points, axis=0)
            return float(max(lengths.max(), np.abs(self.metric.points).max(), span.max()))
        return float(np.abs(self.metric.matrix[tour, np.roll(tour, -1)]).max() + lengths.max())

    def improve_regions(self, tour: NDArray[np.int32], run: Run, size: int, population: int, report_seconds: float) -> None:
        """Improve regions of the tour until the run ends, and report better tours; a report takes about `report_seconds`."""
        from corl.solvers.tsp.ils.regions import improve_regions

        best, reported = tour, True

        def report(found: NDArray[np.int32]) -> None:
            nonlocal best, report_seconds, reported
            best, reported = found, False
            if run.iterations is not None or (run.report_due and run.remaining > 3.0 * report_seconds):
                began = time.perf_counter()
                run.report(self.cities[best])
                report_seconds, reported = time.perf_counter() - began, True

        breeding = run.sub_run(1.5 * report_seconds) if run.iterations is None else run  # leaves time for the last report
        improve_regions(self.metric, tour, breeding, size, population, 2 if self.clustered else 0, report)
        if not reported:
            run.report(self.cities[best])
        if breeding.limit == "time_limit":
            run.stop("time_limit")

    def report_bound(self, neighbours: NDArray, lengths: NDArray, run: Run) -> None:
        """Report a Held-Karp bound, if the run's limits leave enough time for its computation."""
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
