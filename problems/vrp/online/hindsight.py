"""A day as one static instance: requests with release dates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import Vehicles, VrpInstance
from corl.problems.vrp.online.epochs import Requests, departure, drivable, reachable
from corl.problems.vrp.rules import SideConstraints

__all__ = ["dispatch_epochs", "planning_instance"]

_Floats = NDArray[np.float64]


def planning_instance(
    customers: VrpInstance,
    requests: Requests,
    *,
    start: float = 0.0,
    release: _Floats | None = None,
    prize: _Floats | None = None,
    vehicles: int = -1,
) -> VrpInstance:
    """Return the static instance whose clients 1..R are the requests.

    Args:
        customers: The instance that the requests' places refer to.
        requests: R requests.
        start: The earliest departure. Windows that begin before it begin with it.
        release: float64 [R], the earliest departure for each request; None: `start` for all.
        prize: float64 [R], the cost of not serving a request; inf for requests that must be served. None: all must be served.
        vehicles: The number of vehicles; -1: unlimited.
    """
    nodes = np.append(0, requests.customer)
    assert customers.matrix is not None and customers.latest is not None
    choice: dict[str, Any] = {}
    if prize is not None:
        optional = np.append(False, np.isfinite(prize))
        choice = {"required": ~optional & (np.arange(len(nodes)) > 0), "prize": np.where(optional, np.append(0.0, prize), 0.0)}
    return VrpInstance(
        name=customers.name,
        edge_weight_type="EXPLICIT",
        demand=np.append(0.0, requests.demand),
        vehicles=Vehicles(customers.vehicles.capacity, np.array([vehicles])),
        matrix=customers.matrix[np.ix_(nodes, nodes)],
        earliest=np.append(start, np.maximum(requests.earliest, start)),
        latest=np.append(customers.latest[0], requests.latest),
        service=np.append(0.0, requests.service),
        rules=None if release is None else SideConstraints(release=np.append(0.0, release)),
        **choice,
    )


def dispatch_epochs(
    customers: VrpInstance, requests: Requests, known: NDArray[np.int64], routes: list[NDArray[np.int64]], last: int
) -> NDArray[np.int64]:
    """Return int64 [routes]: the epoch in which each route of a hindsight plan is dispatched.

    It is the first epoch in which all requests of the route are known and the route must leave: one of its requests must go, or
    the route could not be driven an hour later.

    Args:
        customers: The instance that the requests' places refer to.
        requests: All R requests of the day.
        known: int64 [R], the epoch in which each request becomes known.
        routes: The routes, as indices of requests.
        last: The last epoch.
    """
    assert customers.matrix is not None and customers.latest is not None
    closing, chosen = float(customers.latest[0]), np.zeros(len(routes), np.int64)
    for number, route in enumerate(routes):
        each, epoch = requests.take(route), int(known[route].max())
        while epoch < last:
            later = departure(epoch + 1)
            arguments = (each, customers.matrix, closing, later)
            if not reachable(*arguments).all() or not drivable(*arguments):
                break
            epoch += 1
        chosen[number] = epoch
    return chosen
