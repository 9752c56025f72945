"""`Situation`: what is known at the beginning of an epoch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.online.epochs import EPOCH, Requests, departure, reachable

__all__ = ["Situation", "must_go", "situation"]


class Situation(NamedTuple):
    """The requests that wait at the beginning of an epoch. Routes dispatched now leave at `start`."""

    customers: VrpInstance
    """The customers of the past; the requests' places refer to its nodes."""
    epoch: int
    last: int
    """The number of the last epoch."""
    requests: Requests
    """The R waiting requests."""
    must: NDArray[np.bool_]
    """bool [R]: the requests that must be dispatched in this epoch."""

    @property
    def start(self) -> float:
        """The departure of the routes dispatched in this epoch."""
        return departure(self.epoch)


def must_go(customers: VrpInstance, requests: Requests, epoch: int, last: int) -> NDArray[np.bool_]:
    """Return bool [R]: the requests that a vehicle of its own could not serve an epoch later; in the last epoch all."""
    if epoch >= last:
        return np.ones(len(requests.customer), np.bool_)
    assert customers.matrix is not None and customers.latest is not None
    return ~reachable(requests, customers.matrix, float(customers.latest[0]), departure(epoch) + EPOCH)


def situation(customers: VrpInstance, requests: Requests, epoch: int, last: int) -> Situation:
    """Return the situation with these waiting requests."""
    return Situation(customers, epoch, last, requests, must_go(customers, requests, epoch, last))
