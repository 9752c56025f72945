"""A small instance with the features of a given one, and the kernels that solving it does not compile."""

from __future__ import annotations

import numpy as np

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.rules import SideConstraints
from corl.solvers.vrp.ruin.construction import restore
from corl.solvers.vrp.ruin.conversion import load_routes, new_plan, new_work, routing_data
from corl.solvers.vrp.ruin.pairs import fill_keys
from corl.solvers.vrp.ruin.route_checks import count_infeasible
from corl.solvers.vrp.ruin.savings import savings_plan
from corl.solvers.vrp.ruin.unserved_clients import drop_route, insert_unserved, list_unserved

__all__ = ["compile_other_kernels", "warm_up_instance"]

_CLIENTS = 12


def warm_up_instance(instance: VrpInstance) -> VrpInstance:
    """Return an instance with twelve clients and one depot; distances, windows and side constraints are of the same kind."""
    n, random = _CLIENTS + 1, np.random.default_rng(1)
    points = None
    if instance.points is not None:
        points = random.integers(1, 60, (n, instance.points.shape[1])).astype(np.float64)
    matrix = None if instance.matrix is None else random.integers(1, 60, (n, n)).astype(np.float64)
    demand = np.ones(n)
    demand[0] = 0.0
    return VrpInstance(
        name="tiny",
        edge_weight_type=instance.edge_weight_type,
        demand=demand,
        vehicles=Vehicles(capacity=np.array([4.0])),
        points=points,
        matrix=matrix,
        earliest=np.zeros(n) if instance.windows else None,
        latest=np.full(n, 1e6) if instance.windows else None,
        fleet=instance.fleet,
        scale=instance.scale,
        rules=None if instance.rules is None else SideConstraints(),
    )


def compile_other_kernels(instance: VrpInstance, scarce: bool) -> None:
    """Compile the kernels that a short run on a warm-up instance does not call, by calling each of them once.

    These serve warm starts, the savings method, later coolings and large instances.

    Args:
        instance: The warm-up instance.
        scarce: Whether to compile the search for positions for unserved clients, too.
    """
    data = routing_data(instance, 2)
    plan = new_plan(instance, data)
    work = new_work(data, plan, 0)
    load_routes(instance, data, plan, work, [[node] for node in range(instance.depots, instance.n)])
    restore(data, plan, work, plan.prev[: data.clients].copy())
    for kind in (np.int32, np.int64):
        fill_keys(np.zeros((1, 1)), np.empty((1, 1), kind), 1.0)
    if not data.timed:
        savings_plan(instance, data)
    if scarce:
        unserved, unserved_counts = np.zeros(data.clients + 1, np.int32), np.zeros(data.clients, np.int64)
        max_routes = drop_route(data, plan, work, unserved, unserved_counts)
        insert_unserved(data, plan, work, unserved, unserved_counts, 1.0, int(max_routes), 3)
        list_unserved(data, plan, unserved)
        count_infeasible(data, plan)
