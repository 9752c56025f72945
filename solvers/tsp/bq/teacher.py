"""(Near-)optimal tours and paths to imitate: one population of edge assembly crossover."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solvers.tsp.eax.breeding import Breeding
from corl.solvers.tsp.eax.solver import epoch
from corl.solvers.tsp.exact.dynamic_programming import shortest_tour

__all__ = ["path_of", "tour_of"]

_POPULATION = 30, 0.25  # tours, and tours per city: 0.001 % above the optimum at 100 cities, in 9 ms (measured)
_CANDIDATES, _PER_QUADRANT, _CHILDREN, _NOISE = 7, 2, 30, 0.3
_PROGRAMME_CITIES = 9  # up to so many dynamic programming takes less time


def tour_of(instance: TspInstance, seed: int, population: int = 0) -> NDArray[np.int32]:
    """A (near-)optimal tour of a symmetric instance of at least 5 cities, int32 [n]; the same for the same seed.

    population: of eax; 0: enough for instances of up to 200 cities.
    """
    if instance.n <= _PROGRAMME_CITIES:
        from corl.problems.tsp.metric import metric_of

        return np.asarray(shortest_tour(metric_of(instance), instance.n), np.int32)
    run = Run(Tsp(), instance, iterations=2**31 - 1, seed=seed)  # ends when its population has converged
    run.start()
    breeding = Breeding(instance, run, _CANDIDATES, _PER_QUADRANT, _CHILDREN, _NOISE)
    breeding.first_tour()
    epoch(breeding, population or max(_POPULATION[0], int(_POPULATION[1] * instance.n)))
    breeding.report()
    return np.asarray(run.solution, np.int32)


def path_of(points: NDArray[np.float64], seed: int) -> NDArray[np.int32]:
    """A (near-)optimal path from the first of `points` [n, d] through all to the last, int32 [n], n at least 5.

    It is the tour of the instance in which the way from the last to the first is so short that every good tour goes it.
    """
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    apart[0, -1] = apart[-1, 0] = -3.0 * apart.max()
    tour = tour_of(TspInstance("path", "EXPLICIT", matrix=apart), seed)
    tour = np.roll(tour, -int((tour == 0).argmax()))
    return tour if tour[-1] == len(points) - 1 else np.concatenate([tour[:1], tour[:0:-1]])
