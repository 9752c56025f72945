"""`Eax`: edge assembly crossover on a population of 3-opt tours.

Nagata & Kobayashi, A powerful genetic algorithm using edge assembly crossover for the traveling salesman problem,
INFORMS J. Computing 25 (2013). The run consists of epochs, which the paper does not have: a population that has converged is
replaced by a new one, and the best tours of the old population enter the new one when its stage 2 begins (stages: mating.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from corl.options import option
from corl.solver import Solver

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from corl.environment import Environment
    from corl.problems.tsp.instance import TspInstance
    from corl.run import Run
    from corl.solvers.tsp.eax.breeding import Breeding

__all__ = ["Eax", "epoch"]

_DYNAMIC_PROGRAMMING_CITIES = 9  # number of cities up to which start tours are often identical; dynamic programming takes no time
_STAGE_1_SHARE = 0.02  # stage 1 ends when a generation replaces a smaller share of the population (tuned)
_IDLE_GENERATIONS = 8  # consecutive generations without any replacement that end an epoch
# An epoch also ends after _STALE_GENERATIONS generations of stage 2 without a new best tour, if the last generation replaced less
# than the share _ACTIVE_SHARE of the population; otherwise after four times as many (tuned).
_STALE_GENERATIONS = 15
_ACTIVE_SHARE = 0.05
_MOST_CITIES = 50_000  # with more, a population takes hours to converge, and ils is far better


@dataclass(frozen=True)
class Eax(Solver):
    """Edge assembly crossover: the best solver here for symmetric instances of about 10 to 20,000 cities."""

    population: int = option(
        0,
        "Tours in the population; 0: as many as can converge within the time or iteration limit.",
        low=2,
        special=0,
        scale="log",
        tuning=(20, 400),
    )
    candidates: int = option(10, "Neighbours of a city that the local search may link it to.", low=5, scale="log")
    per_quadrant: int = option(
        2, "How many of these neighbours come from each quadrant of the plane around the city; 0: only the nearest.", low=0
    )
    children: int = option(30, "Children tried for each pair of parents (the paper's N_ch).", low=1, scale="log")
    noise: float = option(
        0.3, "Relative noise of edge lengths in the construction of start tours, which makes them different.", low=0, high=1
    )

    preparation_size: ClassVar[int] = 24  # sizes and integers from 24 on need the same preparation (Solver.preparation_size)
    title: ClassVar[str] = "Edge assembly crossover (Nagata & Kobayashi 2013) from 3-opt starts"
    iteration: ClassVar[str] = "one start tour, or the mating of one pair of tours"

    def accepts(self, instance: TspInstance) -> str:
        if not instance.symmetric:
            return "it takes symmetric distances only"
        if instance.n > _MOST_CITIES:
            return f"it keeps many tours in memory: at most {_MOST_CITIES} cities"
        return ""

    def kind(self, instance: TspInstance) -> str:
        from corl.solvers.tsp.construction.solver import kind_of_kernels

        return kind_of_kernels(instance)

    def prepare(self, instance: TspInstance) -> None:
        from corl.problems.tsp.problem import Tsp
        from corl.run import Run
        from corl.solvers.tsp.construction.solver import tiny_like
        from corl.solvers.tsp.eax.breeding import Breeding

        tiny = tiny_like(instance)
        breeding = Breeding(tiny, Run(Tsp(), tiny, iterations=60), self.candidates, self.per_quadrant, self.children, self.noise)
        breeding.first_tour()
        epoch(breeding, 20)  # without a bound, which could prove the first tour optimal and end the run
        breeding.run = Run(Tsp(), tiny, iterations=1)
        breeding.report_bound()
        if instance.n < tiny.n:  # bounds of few cities, and dynamic programming, use other kernels
            self.solve(instance, Run(Tsp(), instance, iterations=1))

    def solve(self, instance: TspInstance, run: Run) -> None:
        from corl.solvers.tsp.eax.breeding import Breeding

        if instance.n <= _DYNAMIC_PROGRAMMING_CITIES:
            from corl.problems.tsp.metric import metric_of
            from corl.solvers.tsp.exact.dynamic_programming import shortest_tour

            tour = shortest_tour(metric_of(instance), instance.n)
            run.report(tour)
            run.report_bound(run.problem.evaluate(instance, tour))
            return
        breeding = Breeding(instance, run, self.candidates, self.per_quadrant, self.children, self.noise)
        breeding.first_tour()
        if run.proves:
            breeding.report_bound()
        size = self.population or breeding.fitting_size()
        while not run.should_stop:
            began = run.fraction
            epoch(breeding, size)
            spent, left = run.fraction - began, 1.0 - run.fraction
            if not self.population:
                size = breeding.next_size(size, left / spent if spent > 0.0 else 1.0)
        breeding.report()

    def complete(self, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
        from corl.solvers.tsp.completing import completion

        return completion(self, environment, row, iterations, seed)


def epoch(breeding: Breeding, size: int) -> None:
    """Evolve one population from its start tours to the end of stage 2, or to the end of the run."""
    if not breeding.start_population(size):
        return
    # idle: consecutive generations without a replaced tour; stale: without a new best tour
    stage, idle, stale, best = 1, 0, 0, float("inf")
    while breeding.generation(stage):
        replaced, cycles = breeding.tally()
        idle = 0 if replaced else idle + 1
        stale, best = (0, breeding.best_length()) if breeding.best_length() < best else (stale + 1, best)
        if cycles == 0 and idle == 1 and stage == 1 and stale == 0:  # first generation: all tours are equal
            breeding.increase_noise()
        size = breeding.fit(size) if stage == 1 else size
        most_stale = _STALE_GENERATIONS if replaced < _ACTIVE_SHARE * size else 4 * _STALE_GENERATIONS
        if cycles == 0 or idle >= _IDLE_GENERATIONS or (stage == 2 and stale >= most_stale):
            break
        if stage == 1 and replaced < _STAGE_1_SHARE * size:
            stage, stale, idle = 2, 0, 0
            breeding.inject_elite()
    breeding.keep_elite()
