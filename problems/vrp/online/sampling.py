"""Random requests from the customers of the past."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.online.epochs import Requests, departure, reachable

__all__ = ["REQUESTS_PER_EPOCH", "sample_epoch"]

REQUESTS_PER_EPOCH = 100
"""Requests sampled in an epoch, before those are dropped that can no longer be served."""


def sample_epoch(customers: VrpInstance, epoch: int, count: int, random: np.random.Generator) -> Requests:
    """Return the requests that become known in one epoch.

    Place, window, demand and service time of each request are those of four customers, sampled uniformly and independently.
    Requests that no vehicle could serve any more are dropped.

    Args:
        customers: An instance with one depot and time windows; the customers of the past.
        epoch: The number of the epoch.
        count: The number of requests, before any is dropped.
        random: The generator; four times `count` integers are drawn from it.
    """
    place, window, demand, service = (random.integers(customers.n - 1, size=count) + 1 for _ in range(4))
    drawn = Requests(
        place,
        customers.demand[demand],
        _of(customers.earliest)[window],
        _of(customers.latest)[window],
        np.zeros(count) if customers.service is None else customers.service[service],
    )
    matrix = _of(customers.matrix)
    return drawn.take(reachable(drawn, matrix, float(_of(customers.latest)[0]), departure(epoch)))


def _of(values: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return values that such an instance has."""
    assert values is not None
    return values
