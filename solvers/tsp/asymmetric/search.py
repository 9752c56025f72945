"""ATSP search: bounds and prices first, then edge assembly crossover from or-3opt starts, or iterated or-3opt.

Parents of the population are successor arrays; starts, kicks and matings each count as one iteration.
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
from corl.solvers.tsp.asymmetric.crossover import count_arcs, mate, new_work, tour_of
from corl.solvers.tsp.asymmetric.local_search import iterate, nearest_unvisited, start_tours
from corl.solvers.tsp.asymmetric.prices import first_prices, tighten
from corl.solvers.tsp.exact.dynamic_programming import shortest_tour

__all__ = ["search", "warm_up"]

# Tuned on the ATSP files of TSPLIB and random stacker-crane, tilted-metric and shortest-path instances of 1000 to 3000.
_BY_DYNAMIC_PROGRAMME = 8
_CANDIDATES = 10
_CHILDREN = 30
_SECONDS_PER_TOUR = 2.5e-6  # x n**1.5: what one tour of the population costs until it has converged
_MATINGS_PER_TOUR = 100  # until it has converged
_FEWEST, _MOST = 20, 300  # tours in the first population; with less than time for the fewest, iterated local search
_GROWTH = 1.5  # each population is larger than the one before
_IDLE = 6  # generations of stage 2 without a better tour end a population
_SETTLED = 0.02  # stage 2 begins when a smaller share of the population is replaced
_WINDOW = 50  # cities within which a kick takes place
_UNDO = 2000  # exchanges after a kick; a search that needs more is cut off


def search(instance: TspInstance, metric: Metric, run: Run, seed: int) -> None:
    """Report ever better tours and bounds of an asymmetric instance (EXPLICIT) until the run ends.

    One iteration is one start tour, kick or mating. Needs four n x n matrices of doubles at most, the instance's included.
    """
    n = instance.n
    if n <= _BY_DYNAMIC_PROGRAMME:
        run.report(shortest_tour(metric, n))
        assert run.objective is not None
        run.report_bound(run.objective)
        return
    state = random_state(seed)
    run.report(nearest_unvisited(metric.matrix, seed % n))
    arcs = Arcs.of(metric.matrix, _CANDIDATES, lambda: run.should_stop)
    if arcs is None or run.should_stop:
        return
    _first_tours(arcs, run, state, 1)  # the assignment below may take long
    if run.should_stop or not first_prices(arcs, instance.integral, run):
        return
    _first_tours(arcs, run, state, 3)
    if run.should_stop:
        return
    tighten(arcs, instance.integral, run)
    if not arcs.find_candidates(lambda: run.should_stop):
        return
    size = _population_size(n, run)
    if size >= _FEWEST:
        _evolve(arcs, run, state, min(size, _MOST))
    else:
        _iterate(arcs, run, state)


def warm_up() -> None:
    """Compile every kernel of `search` by solving a tiny instance both ways; takes milliseconds once they are cached."""
    matrix = np.random.default_rng(0).integers(1, 100, (12, 12)).astype(np.float64)
    tiny = TspInstance("tiny", "EXPLICIT", matrix=matrix, symmetric=False)
    shortest_tour(metric_of(tiny), 4)
    run = Run(Tsp(), tiny, iterations=1)
    search(tiny, metric_of(tiny), run, 0)  # bounds and starts; it may be over by then
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
    """As many tours as can converge in what is given."""
    if run.iterations is not None:
        return run.iterations // _MATINGS_PER_TOUR
    return int(min(run.remaining / (_SECONDS_PER_TOUR * n**1.5), _MOST))


def _first_tours(arcs: Arcs, run: Run, state: NDArray[np.uint64], count: int) -> None:
    """Find candidate arcs by the present costs and report the best of a few starts."""
    if arcs.find_candidates(lambda: run.should_stop):
        tours, lengths = _start(arcs, state, count)
        run.report(tours[lengths.argmin()])


def _start(arcs: Arcs, state: NDArray[np.uint64], count: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """`count` locally optimal tours and their lengths (in reduced costs)."""
    tours, lengths = np.empty((count, arcs.n), np.int32), np.empty(count)
    start_tours(arcs.cost, arcs.near, arcs.near_cost, tours, lengths, arcs.epsilon, state)
    return tours, lengths


# -------------------------------------------------------------------- iterated local search
def _iterate(arcs: Arcs, run: Run, state: NDArray[np.uint64]) -> None:
    """Or-3opt with double-bridge kicks from the incumbent; needs little time, whatever the size."""
    n = arcs.n
    tour = np.array(run.solution, np.int32)
    pos = np.empty(n, np.int32)
    pos[tour] = np.arange(n, dtype=np.int32)
    scratch = np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n, np.bool_), np.empty((_UNDO, 3), np.int32)
    best, eps = tour.copy(), arcs.epsilon
    while kicks := run.budget():
        gain = iterate(arcs.cost, arcs.near, arcs.near_cost, tour, pos, best, *scratch, state, _WINDOW, eps, kicks)
        if gain > 0.0 and run.report_due:
            run.report(best)
    run.report(best)


# -------------------------------------------------------------------- edge assembly crossover
class _Population:
    """Tours as successor arrays, with their lengths and how many of them use each arc."""

    def __init__(self, arcs: Arcs, size: int) -> None:
        n = arcs.n
        self.arcs, self.size = arcs, size
        self.parents, self.lengths = np.empty((size, n), np.int32), np.empty(size)
        self.counts = np.zeros((n, n), np.int16)
        share = np.arange(size + 2) / size
        self.entropy = np.zeros(size + 2)
        self.entropy[1:] = -share[1:] * np.log(share[1:])
        self.work = new_work(n)

    def put(self, at: int, tours: NDArray[np.integer], lengths: NDArray[np.float64]) -> None:
        """Set tours `at`, at + 1 ..."""
        for k, tour in enumerate(tours):
            self.parents[at + k, tour] = np.roll(tour, -1)
        self.lengths[at : at + len(tours)] = lengths

    def generation(self, run: Run, state: NDArray[np.uint64], stage: int) -> tuple[int, int, bool]:
        """Mate each with the next of a random order; returns pairs that differ, tours replaced, and whether it was complete."""
        order = np.arange(self.size, dtype=np.int32)
        shuffle(state, order)
        different = replaced = first = 0
        arcs = self.arcs
        while first < self.size:
            pairs = run.budget(most=self.size - first)
            if not pairs:
                return different, replaced, False
            d, r = mate(
                arcs.cost, arcs.near, arcs.near_in, self.parents, self.lengths, order, first, first + pairs, self.counts,
                self.entropy, _CHILDREN, stage, arcs.epsilon, self.work, state,
            )  # fmt: skip
            different, replaced, first = different + d, replaced + r, first + pairs
        return different, replaced, True

    def best(self) -> tuple[NDArray[np.int32], float]:
        """The shortest tour and its length (in reduced costs)."""
        k = int(self.lengths.argmin())
        tour = np.empty(self.arcs.n, np.int32)
        tour_of(self.parents[k], tour, np.empty_like(tour))
        return tour, float(self.lengths[k])


def _evolve(arcs: Arcs, run: Run, state: NDArray[np.uint64], size: int) -> None:
    """One population after another, each larger than the one before, until the run ends."""
    first: NDArray[np.integer] | None = np.asarray(run.solution)
    while True:
        population = _Population(arcs, size)
        made = 0
        if first is not None:
            population.put(0, first[None], np.array([arcs.length(first) - arcs.offset]))
            made, first = 1, None
        while made < size:
            count = run.budget(most=size - made)
            if not count:
                if made:
                    population.lengths[made:] = np.inf
                    run.report(population.best()[0])
                return
            population.put(made, *_start(arcs, state, count))
            made += count
        if not _converge(population, run, state):
            return
        size = max(size, min(_population_size(arcs.n, run), int(_GROWTH * size)))


def _converge(population: _Population, run: Run, state: NDArray[np.uint64]) -> bool:
    """Generations until no better tour comes; returns False if the run ended first."""
    count_arcs(population.parents, population.counts)
    stage, idle, best = 1, 0, np.inf
    while True:
        different, replaced, complete = population.generation(run, state, stage)
        tour, length = population.best()
        if length < best:
            run.report(tour)
            best = length
        if not complete or run.should_stop:
            return False
        idle = 0 if replaced else idle + 1
        if different == 0 or (stage == 2 and idle >= _IDLE):
            return True
        if stage == 1 and replaced < _SETTLED * population.size:
            stage, idle = 2, 0
