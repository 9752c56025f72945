"""ATSP search: bounds and prices come first, then edge assembly crossover of or-3opt tours, or iterated or-3opt.

Iterated or-3opt is chosen if there is no time for a population of 20 tours. A start tour, a kick (a random double bridge with its
repair) and the mating of two tours each count as one iteration.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import Metric, metric_of
from corl.problems.tsp.problem import Tsp
from corl.rng import random_state, shuffle
from corl.run import Run
from corl.solvers.tsp.asymmetric.arcs import Arcs
from corl.solvers.tsp.asymmetric.crossover import mate, new_work, tour_of
from corl.solvers.tsp.asymmetric.local_search import iterate, nearest_unvisited, or_three_opt, start_tours
from corl.solvers.tsp.asymmetric.prices import first_prices, tighten
from corl.solvers.tsp.eax.population import count_edges, population_of
from corl.solvers.tsp.exact.dynamic_programming import shortest_tour
from corl.solvers.tsp.tours.array_tour import set_order

__all__ = ["search", "warm_up"]

# Tuned on the ATSP files of TSPLIB and random stacker-crane, tilted-metric and shortest-path instances of 1000 to 3000 cities.
_DYNAMIC_PROGRAMMING_CITIES = 8  # up to this size dynamic programming finds an optimal tour at once
_CANDIDATES = 10  # arcs in the candidate list of each city
_CHILDREN = 30  # the greatest number of E-sets tried for a pair of parents
_SECONDS_PER_TOUR = 2.5e-6  # times n**1.5: by so many seconds each tour prolongs the time until its population converges
_MATINGS_PER_TOUR = 100  # matings of each tour until its population has converged
_LEAST_POPULATION, _MOST_POPULATION = 20, 300  # tours in the first population; with time for fewer: iterated local search
_GROWTH = 1.5  # each population has up to this many times the tours of the one before
_IDLE_GENERATIONS = 6  # consecutive generations of stage 2 without a replaced tour that end a population
_SETTLED_SHARE = 0.02  # stage 2 begins when a generation replaces a smaller share of the population
_STRETCH = 16  # most cities in each of the three stretches that a kick exchanges


def search(instance: TspInstance, metric: Metric, run: Run, seed: int) -> None:
    """Report ever better tours and bounds of an asymmetric instance (EXPLICIT) until the run ends.

    Needs at most four n x n matrices of doubles, the instance's included.
    """
    n = instance.n
    if n <= _DYNAMIC_PROGRAMMING_CITIES:
        run.report(shortest_tour(metric, n))
        assert run.objective is not None
        run.report_bound(run.objective)
        return
    state = random_state(seed)
    run.report(nearest_unvisited(metric.matrix, seed % n))
    arcs = Arcs.of(metric.matrix, _CANDIDATES, lambda: run.should_stop)
    if arcs is None or run.should_stop:
        return
    _first_tours(arcs, run, state, 1)  # the assignment problem of `first_prices` may take long
    if run.should_stop or not first_prices(arcs, instance.integral, run):
        return
    _first_tours(arcs, run, state, 3)
    if run.should_stop:
        return
    tighten(arcs, instance.integral, run)
    if not arcs.find_candidates(lambda: run.should_stop):
        return
    size = _population_size(n, run)
    if size >= _LEAST_POPULATION:
        _evolve(arcs, run, state, min(size, _MOST_POPULATION))
    else:
        _iterate(arcs, run, state)


def warm_up() -> None:
    """Compile every kernel of `search` by running both searches on a tiny instance; takes milliseconds once they are cached."""
    matrix = np.random.default_rng(0).integers(1, 100, (12, 12)).astype(np.float64)
    tiny = TspInstance("tiny", "EXPLICIT", matrix=matrix, symmetric=False)
    shortest_tour(metric_of(tiny), 4)
    run = Run(Tsp(), tiny, iterations=1)
    search(tiny, metric_of(tiny), run, 0)  # bounds and start tours; the run may end there
    arcs = Arcs.of(matrix, _CANDIDATES)
    assert arcs is not None
    arcs.find_candidates()
    for evolve in (False, True):
        run = Run(Tsp(), tiny, iterations=100)
        run.report(np.arange(12))
        if evolve:
            _evolve(arcs, run, random_state(0), 10)
        else:
            _iterate(arcs, run, random_state(0))


def _population_size(n: int, run: Run) -> int:
    """Return the number of tours that can converge within the run's limits."""
    if run.iterations is not None:
        return run.iterations // _MATINGS_PER_TOUR
    return int(min(run.remaining / (_SECONDS_PER_TOUR * n**1.5), _MOST_POPULATION))


def _first_tours(arcs: Arcs, run: Run, state: NDArray[np.uint64], count: int) -> None:
    """Find candidate arcs by the current costs, and report the best of `count` start tours."""
    if arcs.find_candidates(lambda: run.should_stop):
        tours, lengths = _start(arcs, state, count)
        run.report(tours[lengths.argmin()])


def _start(arcs: Arcs, state: NDArray[np.uint64], count: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return locally optimal tours, int32 [count, n], and their lengths in reduced costs, float64 [count]."""
    tours, lengths = np.empty((count, arcs.n), np.int32), np.empty(count)
    start_tours(arcs.metric, arcs.near, arcs.near_cost, or_three_opt(arcs.n), tours, lengths, arcs.epsilon, state)
    return tours, lengths


# -------------------------------------------------------------------- iterated local search
def _iterate(arcs: Arcs, run: Run, state: NDArray[np.uint64]) -> None:
    """Do or-3opt with double-bridge kicks from the incumbent, until the run ends; a kick takes little time at any size."""
    search = or_three_opt(arcs.n)
    set_order(search.tour, np.asarray(run.solution))
    best, tolerance = search.tour.order.copy(), arcs.epsilon
    while kicks := run.budget():
        gain = iterate(arcs.metric, arcs.near, arcs.near_cost, search, best, state, _STRETCH, tolerance, kicks)
        if gain > 0.0 and run.report_due:
            run.report(best)
    run.report(best)


# -------------------------------------------------------------------- edge assembly crossover
class _Generations:
    """A population of directed tours, and the memory for mating them."""

    def __init__(self, arcs: Arcs, size: int) -> None:
        self.arcs, self.size = arcs, size
        self.population = population_of(size, arcs.n, directed=True)
        self.lengths = self.population.lengths
        self.work = new_work(arcs.n)

    def put(self, at: int, tours: NDArray[np.integer], lengths: NDArray[np.float64]) -> None:
        """Make `tours`, int [m, n], of float64 `lengths` [m], the tours `at`, `at` + 1, ... of the population."""
        for k, tour in enumerate(tours):
            self.population.links[at + k, tour, 0] = np.roll(tour, -1)
        self.lengths[at : at + len(tours)] = lengths

    def generation(self, run: Run, state: NDArray[np.uint64], stage: int) -> tuple[int, int, bool]:
        """Mate each tour with the next in a random order.

        Returns (pairs that differ, tours replaced, whether the generation was completed).
        """
        self.population.turn[:] = np.arange(self.size)
        shuffle(state, self.population.turn)
        different = replaced = first = 0
        arcs = self.arcs
        while first < self.size:
            pairs = run.budget(most=self.size - first)
            if not pairs:
                return different, replaced, False
            newly_different, newly_replaced = mate(
                arcs.cost, arcs.near, arcs.near_in, self.population, first, first + pairs, _CHILDREN, stage, arcs.epsilon,
                self.work, state,
            )  # fmt: skip
            different, replaced, first = different + newly_different, replaced + newly_replaced, first + pairs
        return different, replaced, True

    def best(self) -> tuple[NDArray[np.int32], float]:
        """Return the shortest tour, int32 [n], and its length in reduced costs."""
        k = int(self.lengths.argmin())
        tour = np.empty(self.arcs.n, np.int32)
        tour_of(self.population.links[k].reshape(-1), tour, np.empty_like(tour))
        return tour, float(self.lengths[k])


def _evolve(arcs: Arcs, run: Run, state: NDArray[np.uint64], size: int) -> None:
    """Evolve one population after another, each larger than the last, until the run ends; the first has `size` tours."""
    warm_start: NDArray[np.integer] | None = np.asarray(run.solution)
    while True:
        generations = _Generations(arcs, size)
        filled = 0
        if warm_start is not None:
            generations.put(0, warm_start[None], np.array([arcs.length(warm_start) - arcs.offset]))
            filled, warm_start = 1, None
        while filled < size:
            count = run.budget(most=size - filled)
            if not count:
                if filled:
                    generations.lengths[filled:] = np.inf
                    run.report(generations.best()[0])
                return
            generations.put(filled, *_start(arcs, state, count))
            filled += count
        if not _converge(generations, run, state):
            return
        size = max(size, min(_population_size(arcs.n, run), int(_GROWTH * size)))


def _converge(generations: _Generations, run: Run, state: NDArray[np.uint64]) -> bool:
    """Do generations until the population has converged; return False if the run ended first."""
    count_edges(generations.population)
    stage, idle, best = 1, 0, np.inf
    while True:
        different, replaced, complete = generations.generation(run, state, stage)
        tour, length = generations.best()
        if length < best:
            run.report(tour)
            best = length
        if not complete or run.should_stop:
            return False
        idle = 0 if replaced else idle + 1
        if different == 0 or (stage == 2 and idle >= _IDLE_GENERATIONS):
            return True
        if stage == 1 and replaced < _SETTLED_SHARE * generations.size:
            stage, idle = 2, 0
