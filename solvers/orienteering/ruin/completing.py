"""Completion of a partial path by ruin and recreate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.orienteering.environment import OrienteeringEnvironment
from corl.problems.orienteering.instance import OrienteeringInstance
from corl.problems.orienteering.problem import Orienteering
from corl.problems.tsp.instance import TspInstance
from corl.routing.edge_weights import edge_lengths
from corl.run import Run
from corl.solver import Solver
from corl.tolerance import LIMIT

__all__ = ["completion"]


def completion(solver: Solver, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the actions of the best completion that `solver` finds for a row, one per step; [] if no node can be visited.

    They are the nodes of a path from the row's last node to the end, and then those that can still be visited. Raises UsageError
    for an environment of another problem.

    Args:
        solver: A solver of the orienteering problem.
        environment: An OrienteeringEnvironment.
        row: The row of its pool.
        iterations: The solver's budget.
        seed: Of its random numbers.
    """
    if not isinstance(environment, OrienteeringEnvironment):
        raise UsageError("it completes paths; accepted: an environment of the problem orienteering")
    state = environment.state
    number, t, count = int(state.instance[row]), int(state.visited[row]), int(state.reachable[row])
    if not count:
        return []
    instance = environment.instances[number]
    nodes = np.concatenate([state.order[row, t - 1 : t + count], [state.end[number]]]).astype(np.int64)
    left = float(state.limit[number] - state.length[row]) / (1.0 + 0.5 * LIMIT)  # state.limit includes half the tolerance
    rest = _rest(instance, nodes, left)
    run = Run(Orienteering(), rest, iterations=iterations, seed=seed)
    solver.solve(rest, run)
    actions = Orienteering().decisions(rest, run.solution)
    return [np.array([node]) for node in nodes[actions]]


def _rest(instance: OrienteeringInstance, nodes: NDArray[np.int64], limit: float) -> OrienteeringInstance:
    """Return the instance of the given nodes, int64 [m], for a path from the first to the last of them within `limit`."""
    graph = instance.graph
    points = None if graph.points is None else graph.points[nodes]
    matrix = None if graph.matrix is None else graph.matrix[np.ix_(nodes, nodes)]
    part = TspInstance("rest", graph.edge_weight_type, points, matrix)
    direct = float(edge_lengths(part.edge_weight_type, part.points, part.matrix, np.array([0]), np.array([len(nodes) - 1]))[0])
    limit = max(limit, direct)  # only rounding makes a difference here: the environment keeps the end within reach
    return replace(instance, graph=part, scores=instance.scores[nodes], limit=limit, start=0, end=len(nodes) - 1, name="rest")
