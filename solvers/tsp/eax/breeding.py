"""The state of a run of edge assembly crossover (EAX), and its steps: start tours, generations, reports.

Kernels do a part of the work per call; between two calls the time limit is checked and the best tour reported.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.metric import Metric
from corl.rng import random_state
from corl.run import Run
from corl.solvers.tsp.construction.kernels import candidate_edges, greedy_edge, length_of, random_greedy
from corl.solvers.tsp.eax.assembly import order_of
from corl.solvers.tsp.eax.mating import begin_generation, mate, mating_of
from corl.solvers.tsp.eax.pace import Pace
from corl.solvers.tsp.eax.population import Population, count_edges, population_of, put_tour
from corl.solvers.tsp.eax.three_opt import begin, improve, three_opt
from corl.solvers.tsp.held_karp.bound import held_karp_bound
from corl.solvers.tsp.neighbours.candidates import neighbours
from corl.solvers.tsp.tours.renumbering import Renumbered

__all__ = ["Breeding"]

_CITIES_PER_CALL = 20_000  # cities that the local search examines between two checks of the time limit
_MOST_LINK_BYTES = 1 << 30  # memory for the population's links
_BOUND_SHARE, _LEAST_BOUND_SECONDS = 0.05, 0.05  # the bound may take this share of the limit, or these seconds if more
_BOUND_SECONDS_PER_CITY = 4e-5  # with less time than this per city no bound is computed (as in ils)
_QUADRANT_SECONDS_PER_CITY = 4e-5  # with less time than this per city, neighbours are the nearest cities (3 times as fast)
_LEAST_POPULATION, _MOST_POPULATION = 20, 1000  # tours in a population of automatic size
_EPOCH_PER_START = 6.0  # the time of an epoch at n = 1000, relative to the time of its start tours (measured)
_CITIES_PER_CHILD = 1000  # a mating may accept one child for every so many cities, each child from other AB-cycles
_ITERATIONS_PER_TOUR = 40  # iterations for each tour of a population until it has converged (estimated)


class Breeding:
    """A run of EAX, in epochs: a population is bred until it has converged, and is then replaced by a new one.

    Cities are numbered along a Hilbert curve, so that cities near in space are near in memory.
    """

    def __init__(self, instance: TspInstance, run: Run, candidates: int, per_quadrant: int, children: int, noise: float) -> None:
        self.instance = instance
        self.renumbered = Renumbered(instance, raised=False)
        if run.time_limit is not None and run.time_limit < _QUADRANT_SECONDS_PER_CITY * instance.n:
            per_quadrant = 0
        near, lengths = neighbours(instance, self.renumbered.metric, candidates, per_quadrant)
        tolerance = 1e-10 * float(np.abs(lengths).mean()) or 1e-12
        self.set_up(run, self.renumbered.cities, self.renumbered.metric, near, lengths, tolerance, children, noise)
        self.paced = run.iterations is None and run.time_limit is not None

    def set_up(
        self,
        run: Run,
        cities: NDArray[np.int32],
        metric: Metric,
        near: NDArray[np.int32],
        lengths: NDArray[np.float64],
        tolerance: float,
        children: int = 30,
        noise: float = 0.3,
    ) -> None:
        """Prepare the run; called by the constructors of this class and its subclass.

        Args:
            run: The run.
            cities: int32 [n], the number in which each city is reported.
            metric: Metric of n cities.
            near: int32 [n, K], candidate neighbours, nearest first.
            lengths: float64 [n, K], their distances.
            tolerance: Gains up to this are treated as rounding errors.
            children: The greatest number of children tried before the best is accepted.
            noise: The relative random noise of edge lengths in the construction of start tours.
        """
        self.run, self.n, self.cities, self.metric = run, len(cities), cities, metric
        self.neighbours, self.lengths, self.tolerance = near, lengths, tolerance
        self.children, self.noise = children, noise
        self.edges = candidate_edges(self.neighbours, self.lengths)
        self.most_accepted = max(1, self.n // _CITIES_PER_CHILD)
        self.state = random_state(run.seed)
        self.search = three_opt(self.n)
        self.mating = mating_of(self.n)
        self.population: Population = population_of(0, self.n)
        self.waiting: list[NDArray[np.int32]] = []
        """Tours that enter the next population in place of random start tours."""
        self.elite: Population = population_of(0, self.n)
        """The best tours of the last population."""
        self.best, self.best_tour, self.unreported = np.inf, self.cities, False
        self.paced = False
        """Whether a population is reduced if it would not converge within the time limit."""
        self.pace: Pace | None = None

    def first_tour(self) -> None:
        """Report a greedy tour. It will enter the first population after 3-opt, and so will the run's warm start."""
        tour = greedy_edge(self.metric, self.neighbours, self.lengths)
        self.run.report(self.cities[tour])
        self.waiting = [tour]
        if self.run.warm_start is not None:
            self.waiting.append(self.renumbered.numbers(self.run.warm_start))

    def length_of(self, tour: NDArray[np.int32]) -> float:
        """Return the length of a tour, given in the numbers used here."""
        return float(length_of(self.metric, tour))

    # ---------------------------------------------------------------- sizes
    def fitting_size(self) -> int:
        """Return how many tours can converge within the run's limits.

        Estimated from the time that start tours take, or from the iterations that a tour needs.
        """
        run = self.run
        if run.iterations is not None:
            size = run.iterations / _ITERATIONS_PER_TOUR
        elif run.time_limit is not None:
            size = run.remaining / (self._start_seconds() * _EPOCH_PER_START * (self.n / 1000) ** 0.2)
        else:
            size = 300.0
        return self._bounded(max(250.0, size / 2) if size > 250.0 else size)  # room for two epochs (tuned)

    def next_size(self, size: int, epochs: float) -> int:
        """Return the size of the next population, if the remaining time suffices for `epochs` epochs like the last.

        The size is multiplied by `epochs`, but at most by 4, and by 0.8, since the cost of an epoch grows a little faster than
        its population.
        """
        return self._bounded(size * 0.8 * min(epochs, 4.0))

    def _bounded(self, size: float) -> int:
        return int(max(2, min(max(_LEAST_POPULATION, min(size, _MOST_POPULATION)), _MOST_LINK_BYTES // (8 * self.n))))

    def _start_seconds(self) -> float:
        """Return the seconds that a start tour takes on this machine, measured on a few that are discarded."""
        state = random_state(self.run.seed, 1)
        seconds = []
        for _ in range(3):
            began = self.run.elapsed
            if self._start(state) is None:
                break
            seconds.append(self.run.elapsed - began)
        return max(min(seconds, default=1.0), 1e-6)

    # ---------------------------------------------------------------- starts
    def _start(self, state: NDArray[np.uint64]) -> float | None:
        """Make a random greedy tour and improve it by 3-opt in self.search; return its length, None if the run must stop."""
        first, second, weight = self.edges
        return self._improve(random_greedy(self.metric, self.n, first, second, weight, self.noise, state))

    def _improve(self, tour: NDArray[np.int32]) -> float | None:
        """Improve a tour by 3-opt in self.search; return its length, or None if the run must stop first."""
        begin(self.search, tour)
        length = length_of(self.metric, tour)
        while self.search.queue.ring[1] > 0:
            if self.run.should_stop:
                return None
            length -= improve(self.metric, self.neighbours, self.lengths, self.search, self.tolerance, _CITIES_PER_CALL)
        return float(length)

    def start_population(self, size: int) -> bool:
        """Fill a new population with start tours; return False if the run must stop first."""
        self.population = population_of(0, self.n)  # free the old one first
        self.population = population_of(size, self.n)
        filled = 0
        while filled < size:
            granted = self.run.budget(size - filled)
            if granted == 0:
                return False
            for _ in range(granted):
                length = self._improve(self.waiting.pop()) if self.waiting else self._start(self.state)
                if length is None:
                    return False
                put_tour(self.population.links[filled], self.search.tour.order)
                self.population.lengths[filled] = length
                filled += 1
                self._note_best()
            self.report(only_when_due=True)
        count_edges(self.population)
        mean = float(self.population.lengths.mean())
        self.pace = Pace(mean, self.run.elapsed, self.run.bound) if self.paced else None
        return True

    # ---------------------------------------------------------------- generations
    def generation(self, stage: int) -> bool:
        """Mate every tour with the next in a random order; return False if the run must stop first."""
        begin_generation(self.population, self.mating, self.state)
        done, size = 0, len(self.population.lengths)
        while done < size:
            granted = self.run.budget(size - done)
            if granted == 0:
                self._note_best()
                return False
            mate(
                self.metric, self.neighbours, self.lengths, self.population, self.mating,
                done, granted, stage, self.children, self.most_accepted, self.tolerance, self.state,
            )  # fmt: skip
            done += granted
            self.report(only_when_due=True)
        self._note_best()
        return True

    def fit(self, size: int) -> int:
        """Reduce the population to the best tours, as many as will converge in the remaining time; return their number."""
        if self.pace is None:
            return size
        run, lengths = self.run, self.population.lengths
        kept = max(min(size, _LEAST_POPULATION), self.pace.fitting(size, float(lengths.mean()), run.elapsed, run.remaining))
        if kept < size:
            best, links = np.argsort(lengths, kind="stable")[:kept], self.population.links
            self.population = population_of(kept, self.n)
            self.population.links[:], self.population.lengths[:] = links[best], lengths[best]
            count_edges(self.population)
        return kept

    def tally(self) -> tuple[int, int]:
        """Return the numbers of children that replaced their parent and of AB-cycles found in the last generation."""
        return int(self.mating.tally[0]), int(self.mating.tally[1])

    def increase_noise(self) -> None:
        """Increase the noise of edge lengths, so that the next start tours differ more than the last, which were identical."""
        self.noise = min(1.0, 2.0 * self.noise + 0.1)

    def best_length(self) -> float:
        """Return the length of the population's best tour."""
        return float(self.population.lengths.min())

    def keep_elite(self) -> None:
        """Remember the best tenth of the population for the next one."""
        best = np.argsort(self.population.lengths, kind="stable")[: max(2, len(self.population.lengths) // 10)]
        self.elite = self.population._replace(links=self.population.links[best], lengths=self.population.lengths[best])

    def inject_elite(self) -> None:
        """Replace the worst tours of this population by the best tours of the last population."""
        worst = np.argsort(-self.population.lengths, kind="stable")[: len(self.elite.lengths)]
        if len(worst):
            self.population.links[worst] = self.elite.links[: len(worst)]
            self.population.lengths[worst] = self.elite.lengths[: len(worst)]
            count_edges(self.population)

    # ---------------------------------------------------------------- the best tour
    def report(self, only_when_due: bool = False) -> None:
        """Report the best tour to the run, unless it has been reported or, if `only_when_due`, no report is due yet."""
        if self.unreported and not (only_when_due and not self.run.report_due):
            self.run.report(self.best_tour)
            self.unreported = False

    def _note_best(self) -> None:
        """Keep the population's best tour if it is a new best.

        Called only where the result does not depend on how many iterations the run grants at a time.
        """
        if self.best_length() < self.best - self.tolerance:
            self.best = self.best_length()
            order, position = np.empty(self.n, np.int32), np.empty(self.n, np.int32)
            order_of(self.population.links[int(np.argmin(self.population.lengths))], order, position)
            self.best_tour, self.unreported = self.cities[order], True

    def report_bound(self) -> None:
        """Report a Held-Karp bound if a twentieth of the time limit suffices for its computation."""
        seconds = None
        if self.run.time_limit is not None:
            seconds = min(max(_BOUND_SHARE * self.run.time_limit, _LEAST_BOUND_SECONDS), 0.5 * self.run.remaining)
            if seconds < _BOUND_SECONDS_PER_CITY * self.n:
                return
        bound = held_karp_bound(self.instance, self.metric, self.neighbours, self.lengths, self.run, seconds=seconds)
        if bound is not None:
            self.run.report_bound(bound)
