"""The epochs of a day and the requests that must go, by the rules of EURO meets NeurIPS 2022.

A day is divided into epochs of an hour. At the beginning of an epoch its requests become known; routes that are dispatched in it
leave `MARGIN` later. The first and the last epoch follow from the earliest times of the customers' windows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["EPOCH", "MARGIN", "Epochs", "Requests", "departure", "drivable", "epochs", "reachable"]

EPOCH = 3600.0
"""The length of an epoch, in the instance's units of time (seconds)."""
MARGIN = 3600.0
"""The time from the beginning of an epoch until the departure of its routes, in the same units."""

_Floats = NDArray[np.float64]


class Epochs(NamedTuple):
    """The numbers of the first and the last epoch of a day; epoch e begins at e * EPOCH."""

    first: int
    last: int


class Requests(NamedTuple):
    """R requests. `customer` int64 [R] is a node of the customers' matrix; the others are float64 [R], loads and times."""

    customer: NDArray[np.int64]
    demand: _Floats
    earliest: _Floats
    latest: _Floats
    service: _Floats

    def take(self, which: NDArray[np.integer] | NDArray[np.bool_]) -> Requests:
        """Return the requests with these indices."""
        customer, demand, earliest, latest, service = self
        return Requests(customer[which], demand[which], earliest[which], latest[which], service[which])

    def join(self, other: Requests) -> Requests:
        """Return these requests, followed by the others."""
        return Requests(*(np.concatenate(pair) for pair in zip(self, other)))


def epochs(earliest: _Floats) -> Epochs:
    """Return the epochs of a day.

    earliest: float64 [C], the beginnings of the customers' windows, without the depot's.
    """
    first, last = (int(max((time - MARGIN) // EPOCH, 0.0)) for time in (earliest.min(), earliest.max()))
    return Epochs(first, last)


def departure(epoch: int) -> float:
    """Return the time at which the routes dispatched in an epoch leave the depot."""
    return epoch * EPOCH + MARGIN


def reachable(requests: Requests, matrix: _Floats, closing: float, time: float) -> NDArray[np.bool_]:
    """Return bool [R]: whether a vehicle of its own that leaves the depot at `time` can serve each request and be back.

    Args:
        requests: The requests.
        matrix: float64 [C + 1, C + 1], travel times between the depot (0) and the customers.
        closing: When vehicles must be back.
        time: The departure.
    """
    begin = np.maximum(time + matrix[0, requests.customer], requests.earliest)
    back = begin + requests.service + matrix[requests.customer, 0]
    return np.asarray((begin <= requests.latest) & (back <= closing))


def drivable(route: Requests, matrix: _Floats, closing: float, time: float) -> bool:
    """Return whether a vehicle that leaves at `time` serves these requests, in this order, within their windows, and is back.

    The other arguments are those of `reachable`.
    """
    node = 0
    for customer, _, earliest, latest, service in zip(*(values.tolist() for values in route)):
        time = max(time + float(matrix[node, customer]), earliest)
        if time > latest:
            return False
        time, node = time + service, customer
    return bool(time + matrix[node, 0] <= closing)
