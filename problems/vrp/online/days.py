"""A day as an instance: the customers of the past, and the requests of the day at their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from corl.errors import InputError
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.online.epochs import EPOCH, MARGIN, Requests, departure, epochs
from corl.problems.vrp.rules import SideConstraints

__all__ = ["customers_of", "day_instance", "requests_of", "why_no_day"]


def why_no_day(instance: VrpInstance) -> str:
    """Return why an instance is no day of requests; "" if it is one, as far as its fields show."""
    if instance.depots != 1 or instance.vehicles.types != 1 or instance.vehicles.count[0] >= 0:
        return "a day has one depot and one type of vehicles, whose number is unlimited"
    if instance.earliest is None or instance.latest is None or instance.matrix is None:
        return "a day has time windows and a matrix of distances"
    if instance.rules is None or instance.rules.names != ["release times"] or instance.rules.release is None:
        return "a day has release times and no other side constraints"
    past = ~instance.required
    past[0] = False
    if not past.any() or instance.prize[past].any():
        return "a day has customers of the past: optional clients without a prize"
    return ""


def day_instance(
    customers: VrpInstance, requests: Sequence[Requests], first: int, name: str = "", comment: str = ""
) -> VrpInstance:
    """Return the instance of a day.

    Args:
        customers: An instance with one depot, a matrix and time windows.
        requests: The requests of each epoch.
        first: The number of the first of these epochs.
        name: The name of the instance.
        comment: Its comment.
    """
    assert customers.matrix is not None and customers.earliest is not None and customers.latest is not None
    release = np.concatenate([np.full(len(each.customer), departure(first + k)) for k, each in enumerate(requests)])
    every = Requests(*(np.concatenate(values) for values in zip(*requests)))
    past = customers.n
    nodes = np.concatenate([np.arange(past), every.customer])
    service = np.zeros(past) if customers.service is None else customers.service
    return VrpInstance(
        name=name,
        edge_weight_type="EXPLICIT",
        demand=np.concatenate([customers.demand, every.demand]),
        vehicles=replace(customers.vehicles, count=np.array([-1])),
        matrix=customers.matrix[np.ix_(nodes, nodes)],
        earliest=np.concatenate([customers.earliest, every.earliest]),
        latest=np.concatenate([customers.latest, every.latest]),
        service=np.concatenate([service, every.service]),
        required=np.arange(len(nodes)) >= past,
        comment=comment,
        rules=SideConstraints(release=np.concatenate([np.zeros(past), release])),
    )


def customers_of(day: VrpInstance) -> tuple[NDArray[np.int64], VrpInstance]:
    """Return the nodes of the depot and the customers of the past, int64 [C + 1], and the instance of these nodes."""
    nodes = np.flatnonzero(~day.required)
    assert day.matrix is not None and day.earliest is not None and day.latest is not None
    return nodes, VrpInstance(
        name=day.name,
        edge_weight_type="EXPLICIT",
        demand=day.demand[nodes],
        vehicles=day.vehicles,
        matrix=day.matrix[np.ix_(nodes, nodes)],
        earliest=day.earliest[nodes],
        latest=day.latest[nodes],
        service=None if day.service is None else day.service[nodes],
        ids=day.ids[nodes],
    )


def requests_of(day: VrpInstance) -> tuple[NDArray[np.int64], NDArray[np.int64], Requests]:
    """Return the nodes of the R requests, int64 [R], the epochs in which they become known, int64 [R], and the requests.

    Places refer to the nodes of the instance that `customers_of` returns. Raises InputError for a request that is at no
    customer's place, or is released at another time than the departure of an epoch of the day.
    """
    past, customers = customers_of(day)
    nodes = np.flatnonzero(day.required)
    matrix, rules = day.matrix, day.rules
    assert matrix is not None and rules is not None and rules.release is not None
    assert day.earliest is not None and day.latest is not None and customers.earliest is not None
    place = np.array([_customer_at(matrix, past, node, int(day.ids[node])) for node in nodes.tolist()], np.int64)
    known = (rules.release[nodes] - MARGIN) / EPOCH
    accepted = epochs(customers.earliest[1:])
    wrong = (known != np.floor(known)) | (known < accepted.first) | (known > accepted.last)
    if wrong.any():
        times = f"{departure(accepted.first):g}, then every {EPOCH:g}, up to {departure(accepted.last):g}"
        raise InputError(f"request {day.ids[nodes[wrong.argmax()]]} has another release time; accepted: {times}", field="release")
    service = np.zeros(len(nodes)) if day.service is None else day.service[nodes]
    return nodes, known.astype(np.int64), Requests(place, day.demand[nodes], day.earliest[nodes], day.latest[nodes], service)


def _customer_at(matrix: NDArray[np.float64], past: NDArray[np.int64], node: int, label: int) -> int:
    """Return the position in `past` of the first customer with the same distances as a request. Raises InputError."""
    for position in range(1, len(past)):
        customer = past[position]
        if matrix[node, customer] == 0.0 == matrix[customer, node] and (
            np.array_equal(matrix[node, past], matrix[customer, past])
            and np.array_equal(matrix[past, node], matrix[past, customer])
        ):
            return position
    raise InputError(f"request {label} is at no customer's place; accepted: the distances of an optional client", field="matrix")
