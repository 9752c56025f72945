"""Completion of a partial tour: a shortest path from the last city through the unvisited cities to the first, solved as a TSP.

Thus there is a teacher for every state of the environment, including those that a policy reaches by its own mistakes (DAgger:
Ross, Gordon & Bagnell, AISTATS 2011).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.tsp.environment import TspEnvironment
from corl.problems.tsp.instance import TspInstance
from corl.problems.tsp.problem import Tsp
from corl.run import Run
from corl.solver import Solver
from corl.solvers.tsp.distance_matrix import dense_matrix

__all__ = ["completion"]


def completion(solver: Solver, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the unvisited cities of a row in the order of the completion that `solver` finds, one per step.

    See corl.solver.Solver.complete. Raises UsageError for another environment, or if the solver does not take such distances.
    """
    if not isinstance(environment, TspEnvironment):
        raise UsageError("solvers of the tsp complete tours; accepted: an environment of the problem tsp")
    state, instance = environment.state, environment.instances[int(environment.state.instance[row])]
    if reason := solver.accepts(instance):
        raise UsageError(f"{type(solver).__name__} completes no tour of {instance.name} because {reason}")
    t = int(state.visited[row])
    cities = state.order[row, t : instance.n].astype(np.int64)
    if len(cities) > 1:
        cities = cities[_shortest(solver, instance, state.order[row, t - 1], cities, state.order[row, 0], iterations, seed)]
    return list(cities[:, None])


def _shortest(
    solver: Solver, instance: TspInstance, origin: int, cities: NDArray[np.int64], destination: int, iterations: int, seed: int
) -> NDArray[np.int64]:
    """Return the order of `cities`, int64 [m], on a short path from origin to destination, as indices into `cities`."""
    between = _between(instance, np.concatenate([[origin], cities, [destination]]))
    if instance.symmetric:
        _join(between)
    else:  # merge origin and destination into one city, with the arcs out of the origin and into the destination
        between[:, 0] = between[:, -1]
        between = between[:-1, :-1].copy()
        between[0, 0] = 0.0
    rest = TspInstance("rest", "EXPLICIT", matrix=between, symmetric=instance.symmetric)
    run = Run(Tsp(), rest, iterations=iterations, seed=seed, proves=False)
    run.start()
    solver.solve(rest, run)
    tour = np.asarray(run.solution, np.int64)
    tour = np.roll(tour, -int((tour == 0).argmax()))
    if instance.symmetric and tour[1] == len(cities) + 1:
        tour = np.roll(tour[::-1], 1)
    return tour[(tour > 0) & (tour <= len(cities))] - 1


def _between(instance: TspInstance, cities: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distances among the given cities, float64 [m, m]; the first and the last may be the same city."""
    if instance.matrix is not None:
        found = instance.matrix[np.ix_(cities, cities)].astype(np.float64)
    else:
        assert instance.points is not None
        part = TspInstance("part", instance.edge_weight_type, instance.points[cities])
        dense = dense_matrix(part, lambda: False)
        assert dense is not None
        found = dense
    np.fill_diagonal(found, 0.0)
    return found


def _join(between: NDArray[np.float64]) -> None:
    """Change the distances, in place, so that the first and the last city are neighbours in every good tour.

    All other distances from and to them grow by the longest distance: a 2-exchange that makes them neighbours shortens any tour.
    """
    longest = between.max()
    between[[0, -1]] += longest
    between[:, [0, -1]] += longest
    between[0, -1] = between[-1, 0] = between[0, 0] = between[-1, -1] = 0.0
