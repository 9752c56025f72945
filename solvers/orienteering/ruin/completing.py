"""Completion of a partial path of an environment by ruin and recreate."""

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
    """Return the actions that complete the partial path of a row, as `solver` would.

    They are the nodes of a path from the row's last node to the end, followed by nodes that can be visited after that.

    Args:
        solver: A solver of the orienteering problem.
        environment: An OrienteeringEnvironment.
        row: The row of the environment's pool.
        iterations: The number of iterations of the solver.
        seed: The seed of the solver.

    Returns:
        int64 arrays of one action, one array per step; [] if no node can be visited.

    Raises:
        UsageError: If the environment belongs to another problem.
    """
    if not isinstance(environment, OrienteeringEnvironment):
        raise UsageError("it completes paths; accepted: an environment of the problem orienteering")
    state = environment.state
    number, t, count = int(state.instance[row]), int(state.visited[row]), int(state.reachable[row])
    if not count:
        return []
    instance = environment.instances[number]
    nodes = np.concatenate([state.order[row, t - 1 : t + count], [state.end[number]]]).astype(np.int64)
    length_left = float(state.limit[number] - state.length[row]) / (1.0 + 0.5 * LIMIT)  # state.limit includes half the tolerance
    remaining = _remaining_instance(instance, nodes, length_left)
    run = Run(Orienteering(), remaining, iterations=iterations, seed=seed)
    solver.solve(remaining, run)
    actions = Orienteering().decisions(remaining, run.solution)
    return [np.array([node]) for node in nodes[actions]]


def _remaining_instance(instance: OrienteeringInstance, nodes: NDArray[np.int64], limit: float) -> OrienteeringInstance:
    """Return the instance with the given nodes, int64 [m], for a path from the first to the last of them within `limit`."""
    graph = instance.graph
    points = None if graph.points is None else graph.points[nodes]
    matrix = None if graph.matrix is None else graph.matrix[np.ix_(nodes, nodes)]
    part = TspInstance("rest", graph.edge_weight_type, points, matrix)
    direct = float(edge_lengths(part.edge_weight_type, part.points, part.matrix, np.array([0]), np.array([len(nodes) - 1]))[0])
    limit = max(limit, direct)  # the limit is smaller only by rounding: the environment keeps the end within reach
    return replace(instance, graph=part, scores=instance.scores[nodes], limit=limit, start=0, end=len(nodes) - 1, name="rest")
