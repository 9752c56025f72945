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

_FULL = 0.9  # routes with at least this share of the fullest route's load may be next
_NO_WAY = 10.0  # multiple of the longest distance that makes a leg to the current client prohibitive


def completion(solver: Solver, environment: Environment, row: int, iterations: int, seed: int) -> list[NDArray[np.int64]]:
    """Return the set of right clients for each step of a completion.

    Within a route that is the next client; at its end, the ends of all routes whose load is about the largest. The fullest routes
    come first, as in BQ-NCO (Drakulic et al., NeurIPS 2023, appendix).

    Args:
        solver: The solver that completes the solution.
        environment: Raises UsageError unless it is "savings".
        row: A row of its state.
        iterations: The iterations of the solver.
        seed: Its seed.
    """
    if not isinstance(environment, SavingsEnvironment):
        raise UsageError("it completes plans with capacities alone; accepted: the environment 'savings'")
    state = environment.state
    number, t = int(state.instance[row]), int(state.visited[row])
    instance = environment.instances[number]
    left = np.sort(state.order[row, t : instance.clients]).astype(np.int64)
    if not len(left):
        return []
    origin = int(state.order[row, t - 1]) if t else 0
    nodes = np.concatenate([[0], left, [origin] if origin else []]).astype(np.int64)
    rest = _rest(instance, nodes, float(state.vehicle[row, 0]) if origin else 0.0)
    run = Run(Vrp(), rest, iterations=iterations, seed=seed)
    solver.solve(rest, run)
    last = len(nodes) - 1
    way, routes = [], []
    for route in run.solution:
        visits = route.visits.astype(np.int64)
        at = np.flatnonzero(visits == last) if origin else visits[:0]
        if len(at):  # a detour to the vehicle's position never pays
            way = nodes[visits[at[0] + 1 :]].tolist()
            visits = visits[: at[0]]
        if len(visits):
            routes.append(nodes[visits])
    return _steps(instance, way, routes, fresh=origin > 0)


def _rest(instance: VrpInstance, nodes: NDArray[np.int64], load: float) -> VrpInstance:
    """Return the instance of some nodes, the depot first.

    With a load, the last node is the position of a vehicle that carries it: the leg from the depot to it costs nothing.
    """
    lengths = np.stack([instance.distances_from(int(node))[nodes] for node in nodes])
    demand = instance.demand[nodes].copy()
    if load:
        lengths[1:, -1] = _NO_WAY * max(1e-9, float(lengths.max()))
        lengths[0, -1] = 0.0
        demand[-1] = load
    vehicles = Vehicles(instance.vehicles.capacity.copy())
    return VrpInstance("rest", "EXPLICIT", demand, vehicles, matrix=lengths, scale=1)


def _steps(instance: VrpInstance, way: list[int], routes: list[NDArray[np.int64]], fresh: bool) -> list[NDArray[np.int64]]:
    """Return the actions that complete the current route with `way` and then make the other routes.

    fresh: whether a route is under way, so that the first client of the next one begins a new route.
    """
    away, n = instance.distances_from(0), instance.n
    steps = [np.array([client]) for client in way]
    loads = [float(instance.demand[route].sum()) for route in routes]
    while routes:
        enough = _FULL * max(loads)
        able = [k for k, load in enumerate(loads) if load >= enough]
        ends = sorted({int(end) for k in able for end in (routes[k][0], routes[k][-1])}, key=lambda end: (away[end], end))
        steps.append(np.array(ends) + (n if fresh else 0))
        k = next(k for k in able if ends[0] in (routes[k][0], routes[k][-1]))
        route = routes.pop(k)
        loads.pop(k)
        steps += [np.array([client]) for client in (route if route[0] == ends[0] else route[::-1])[1:]]
        fresh = True
    return steps
