"""Completion of a partial tour: a shortest path from the last city through the unvisited cities to the first, solved as a TSP.

Imitation learning thus gets the solver's decisions for every state of the environment, including the states that a policy
reaches by its own mistakes (DAgger: Ross, Gordon & Bagnell, AISTATS 2011).
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
    """Return the unvisited cities of a row in the order in which `solver` visits them, one array [1] per step.

    See corl.solver.Solver.complete. Raises UsageError for an environment of another problem, or if `solver` does not accept the
    instance, for example because its distances are asymmetric.
    """
    if not isinstance(environment, TspEnvironment):
        raise UsageError("solvers of the tsp complete tours; accepted: an environment of the problem tsp")
    state, instance = environment.state, environment.instances[int(environment.state.instance[row])]
    if reason := solver.accepts(instance):
        raise UsageError(f"{type(solver).__name__} completes no tour of {instance.name} because {reason}")
    visited = int(state.visited[row])
    cities = state.order[row, visited : instance.n].astype(np.int64)
    if len(cities) > 1:
        cities = cities[_shortest(solver, instance, state.order[row, visited - 1], cities, state.order[row, 0], iterations, seed)]
    return list(cities[:, None])


def _shortest(
    solver: Solver, instance: TspInstance, origin: int, cities: NDArray[np.int64], destination: int, iterations: int, seed: int
) -> NDArray[np.int64]:
    """Return the order in which a short path from `origin` to `destination` visits `cities`, int64 [m], as indices into `cities`.

    The path is a tour that `solver` finds in `iterations` on an instance in which destination and origin are neighbours.
    """
    distances = _distances_among(instance, np.concatenate([[origin], cities, [destination]]))
    if instance.symmetric:
        _make_ends_neighbours(distances)
    else:  # merge origin and destination into one city, with the arcs out of the origin and into the destination
        distances[:, 0] = distances[:, -1]
        distances = distances[:-1, :-1].copy()
        distances[0, 0] = 0.0
    path_instance = TspInstance("rest", "EXPLICIT", matrix=distances, symmetric=instance.symmetric)
    run = Run(Tsp(), path_instance, iterations=iterations, seed=seed, proves=False)
    run.start()
    solver.solve(path_instance, run)
    tour = np.asarray(run.solution, np.int64)
    tour = np.roll(tour, -int((tour == 0).argmax()))
    if instance.symmetric and tour[1] == len(cities) + 1:
        tour = np.roll(tour[::-1], 1)
    return tour[(tour > 0) & (tour <= len(cities))] - 1


def _distances_among(instance: TspInstance, cities: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distances among int64 `cities` [m], float64 [m, m]; the first and the last may be the same city."""
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


def _make_ends_neighbours(distances: NDArray[np.float64]) -> None:
    """Change float64 `distances` [m, m], in place, so that the first and the last city are neighbours in every good tour.

    The distance between the two becomes 0, and their distances to all other cities grow by the longest distance. A tour in which
    they are not neighbours can then be shortened by a 2-exchange.
    """
    longest = distances.max()
    distances[[0, -1]] += longest
    distances[:, [0, -1]] += longest
    distances[0, -1] = distances[-1, 0] = distances[0, 0] = distances[-1, -1] = 0.0
