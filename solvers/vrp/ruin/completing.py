"""Completion of partial solutions of the environment "savings" by ruin and recreate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.vrp.environments.savings.environment import SavingsEnvironment
from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.problem import Vrp
from corl.run import Run
from corl.solver import Solver

__all__ = ["completion"]

_FULL_LOAD_SHARE = 0.9  # a route may come next if its load is at least this share of the fullest route's load
_PROHIBITIVE = 10.0  # length of a leg that no solution should use, as a multiple of the longest distance


def completion(solver: Solver, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the accepted actions for each remaining step of an episode, by completing the row's partial solution with a solver.

    Within a route, the only accepted action is the next client. When a new route begins, the first and the last clients of all
    routes with about the largest load are accepted: the fullest routes come first, as in BQ-NCO (Drakulic et al., NeurIPS 2023,
    appendix).

    Args:
        solver: The solver that completes the solution.
        environment: The environment "savings".
        row: The row of the environment's state.
        iterations: The number of iterations of the solver.
        seed: The seed of the solver.

    Returns:
        int64 arrays, one for each step: the accepted actions.

    Raises:
        UsageError: If it is another environment.
    """
    if not isinstance(environment, SavingsEnvironment):
        raise UsageError("it completes solutions of one environment only; accepted: the environment 'savings'")
    state = environment.state
    number, t = int(state.instance[row]), int(state.visited[row])
    instance = environment.instances[number]
    unvisited = np.sort(state.order[row, t : instance.clients]).astype(np.int64)
    if not len(unvisited):
        return []
    position = int(state.order[row, t - 1]) if t else 0
    nodes = np.concatenate([[0], unvisited, [position] if position else []]).astype(np.int64)
    remaining = _remaining_instance(instance, nodes, float(state.vehicle[row, 0]) if position else 0.0)
    run = Run(Vrp(), remaining, iterations=iterations, seed=seed)
    solver.solve(remaining, run)
    position_node = len(nodes) - 1
    current_rest, routes = [], []
    for route in run.solution:
        visits = route.visits.astype(np.int64)
        at = np.flatnonzero(visits == position_node) if position else visits[:0]
        if len(at):  # clients after the vehicle's position complete its route; any before, which never pay, form another
            current_rest = nodes[visits[at[0] + 1 :]].tolist()
            visits = visits[: at[0]]
        if len(visits):
            routes.append(nodes[visits])
    return _actions(instance, current_rest, routes, opens_route=position > 0)


def _remaining_instance(instance: VrpInstance, nodes: NDArray[np.int64], load: float) -> VrpInstance:
    """Return the instance that consists of some nodes of `instance`.

    The client at which a vehicle is under way must come first in its route: the leg from the depot to this client costs nothing,
    and the legs from other nodes are prohibitively long.

    Args:
        instance: The instance.
        nodes: int64 [k], the nodes: the depot, the unvisited clients and, if a vehicle is under way, the client at which it is.
        load: The demand that this vehicle has served so far; 0 if no vehicle is under way.
    """
    lengths = np.stack([instance.distances_from(int(node))[nodes] for node in nodes])
    demand = instance.demand[nodes].copy()
    if load:
        lengths[1:, -1] = _PROHIBITIVE * max(1e-9, float(lengths.max()))
        lengths[0, -1] = 0.0
        demand[-1] = load
    vehicles = Vehicles(instance.vehicles.capacity.copy())
    return VrpInstance("remaining", "EXPLICIT", demand, vehicles, matrix=lengths, scale=1)


def _actions(
    instance: VrpInstance, current_rest: list[int], routes: list[NDArray[np.int64]], opens_route: bool
) -> list[NDArray[np.int64]]:
    """Return the accepted actions that complete the route under way and then make the other routes.

    Args:
        instance: The instance.
        current_rest: The clients that complete the route under way.
        routes: The other routes.
        opens_route: Whether a route is under way. The next route's first client is then chosen by the action n + client, which
            opens a route.
    """
    depot_distance, n = instance.distances_from(0), instance.n
    steps = [np.array([client]) for client in current_rest]
    loads = [float(instance.demand[route].sum()) for route in routes]
    while routes:
        enough = _FULL_LOAD_SHARE * max(loads)
        fullest = [k for k, load in enumerate(loads) if load >= enough]
        candidates = {int(end) for k in fullest for end in (routes[k][0], routes[k][-1])}
        ends = sorted(candidates, key=lambda end: (depot_distance[end], end))
        steps.append(np.array(ends) + (n if opens_route else 0))
        k = next(k for k in fullest if ends[0] in (routes[k][0], routes[k][-1]))
        route = routes.pop(k)
        loads.pop(k)
        steps += [np.array([client]) for client in (route if route[0] == ends[0] else route[::-1])[1:]]
        opens_route = True
    return steps
