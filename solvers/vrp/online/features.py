"""The features of waiting requests, for networks that set prizes. Distances are in units of the customers' mean round trip."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.online.epochs import EPOCH
from corl.problems.vrp.online.situation import Situation
from corl.solvers.vrp.online.dispatching import round_trips, waiting_epochs

__all__ = ["Column", "features", "length_unit"]

_FAR = 2.0  # stands for the distance to a request where there is none
_NEAREST = 5
_LIKELY = 10
_Floats = NDArray[np.float64]


class Column(IntEnum):
    """The columns of `features`."""

    ROUND_TRIP = 0
    WAITING_EPOCHS = 1
    """For how many epochs the request can be postponed, divided by four."""
    SLACK = 2
    """Hours until the last departure that can serve the request, divided by four."""
    WINDOW_BEGINS = 3
    """Hours from the departure to the beginning of the window, divided by four."""
    WIDTH = 4
    """The width of the rest of the window, likewise."""
    DEMAND = 5
    """The demand, as a multiple of a tenth of the capacity."""
    SERVICE = 6
    """The service time, in tenths of an hour."""
    NEAREST_MUST = 7
    """The distance to the nearest request that must go."""
    MEAN_MUST = 8
    """The mean distance to the five nearest of these."""
    NEAREST_WAITING = 9
    """The distance to the nearest other request."""
    MEAN_WAITING = 10
    """The mean distance to the five nearest."""
    NEAREST_POSTPONABLE = 11
    """The distance to the nearest other request that can be postponed."""
    SAVING_MUST = 12
    """The greatest saving with a request that must go, as a share of the round trip."""
    SAVING_WAITING = 13
    """The greatest saving with a request that can be postponed, likewise."""
    MEAN_CUSTOMERS = 14
    """The mean distance to the five nearest customers."""
    LIKELY_SAVING = 15
    """The mean of the ten greatest savings with customers, as a share of the round trip."""
    FITTING = 16
    """The distance to the nearest request that must go of those that a vehicle can serve before or after this one."""
    EPOCHS_LEFT = 17
    """The number of epochs after this one, divided by four."""
    WAITING = 18
    """The number of waiting requests, in hundreds."""
    MUST_SHARE = 19
    """The share of them that must go."""
    LOAD = 20
    """The demand of the requests that must go, in vehicle loads, modulo 1."""
    NEXT_MUST = 21
    """The share of the requests that must go in the next epoch."""


def length_unit(now: Situation) -> float:
    """Return the mean round trip of the customers; 1 if they are all at the depot."""
    matrix = _matrix(now)
    return float((matrix[0, 1:] + matrix[1:, 0]).mean()) or 1.0


def features(now: Situation) -> _Floats:
    """Return float64 [R, len(Column)]; the rows of requests that must go are not meaningful in all columns."""
    requests, must, waiting = now.requests, now.must, waiting_epochs(now)
    capacity, count, four_hours = float(now.customers.vehicles.capacity[0]), len(must), EPOCH * 4.0
    out = np.zeros((count, len(Column)))
    out[:, Column.WAITING_EPOCHS] = waiting / 4.0
    out[:, Column.SLACK] = (_last_departure(now) - now.start) / four_hours
    out[:, Column.WINDOW_BEGINS] = np.maximum(requests.earliest - now.start, 0.0) / four_hours
    out[:, Column.WIDTH] = (requests.latest - np.maximum(requests.earliest, now.start)) / four_hours
    out[:, Column.DEMAND] = 10.0 * requests.demand / capacity
    out[:, Column.SERVICE] = requests.service / (0.1 * EPOCH)
    out[:, Column.EPOCHS_LEFT] = (now.last - now.epoch) / 4.0
    out[:, Column.WAITING] = count / 100.0
    out[:, Column.MUST_SHARE] = must.mean()
    out[:, Column.LOAD] = requests.demand[must].sum() / capacity % 1.0
    out[:, Column.NEXT_MUST] = (waiting == 1).mean()
    _write_distances(now, out)
    return out


def _write_distances(now: Situation, out: _Floats) -> None:
    """Write the columns of distances and savings, in place; out: float64 [R, len(Column)]."""
    matrix, place, must, unit = _matrix(now), now.requests.customer, now.must, length_unit(now)
    symmetric = 0.5 * (matrix + matrix.T)
    between, from_depot = symmetric[np.ix_(place, place)], symmetric[0]
    np.fill_diagonal(between, np.inf)
    trip = np.maximum(round_trips(now), 1e-6 * unit)
    saving = from_depot[place][:, None] + from_depot[place][None, :] - between
    to_customers = symmetric[place][:, 1:]
    customer_savings = from_depot[place][:, None] + from_depot[None, 1:] - to_customers
    customer_savings[np.arange(len(place)), place - 1] = -np.inf
    likely = -np.sort(-customer_savings, axis=1)[:, : min(_LIKELY, to_customers.shape[1] - 1)]
    out[:, Column.ROUND_TRIP] = trip / unit
    for column, others, nearest in (
        (Column.NEAREST_MUST, must, 1), (Column.MEAN_MUST, must, _NEAREST), (Column.NEAREST_WAITING, must | True, 1),
        (Column.MEAN_WAITING, must | True, _NEAREST), (Column.NEAREST_POSTPONABLE, ~must, 1),
    ):  # fmt: skip
        out[:, column] = np.minimum(_nearest(between[:, others], nearest) / unit, _FAR)
    out[:, Column.SAVING_MUST] = saving[:, must].max(axis=1, initial=0.0) / trip
    out[:, Column.SAVING_WAITING] = saving[:, ~must].max(axis=1, initial=0.0) / trip
    out[:, Column.MEAN_CUSTOMERS] = _nearest(to_customers, _NEAREST + 1) / unit
    out[:, Column.LIKELY_SAVING] = likely.sum(axis=1) / max(1, likely.shape[1]) / trip
    out[:, Column.FITTING] = np.minimum(_fitting(now, between) / unit, _FAR)


def _last_departure(now: Situation) -> _Floats:
    """Return float64 [R]: the last departure with which a vehicle of its own serves each request and is back."""
    matrix, requests = _matrix(now), now.requests
    assert now.customers.latest is not None
    to, back = matrix[0, requests.customer], matrix[requests.customer, 0]
    return np.asarray(np.minimum(requests.latest, float(now.customers.latest[0]) - back - requests.service) - to)


def _fitting(now: Situation, between: _Floats) -> _Floats:
    """Return float64 [R]: see Column.FITTING; between: float64 [R, R], the distances of the requests, inf on the diagonal."""
    matrix, requests = _matrix(now), now.requests
    place = requests.customer
    begin = np.maximum(now.start + matrix[0, place], requests.earliest)
    arrival = (begin + requests.service)[:, None] + matrix[np.ix_(place, place)]  # [first, second]
    fits = arrival <= requests.latest[None, :]
    fits |= fits.T
    allowed = np.where(fits & now.must[None, :], between, np.inf)
    return np.asarray(allowed.min(axis=1, initial=np.inf))


def _nearest(distances: _Floats, count: int) -> _Floats:
    """Return float64 [R]: the mean of the `count` least finite distances of each row; inf if there is none."""
    if not distances.shape[1]:
        return np.full(len(distances), np.inf)
    least = np.sort(distances, axis=1)[:, :count]
    finite = np.isfinite(least)
    return np.where(finite.any(axis=1), np.where(finite, least, 0.0).sum(axis=1) / np.maximum(1, finite.sum(axis=1)), np.inf)


def _matrix(now: Situation) -> _Floats:
    """Return the customers' travel times."""
    assert now.customers.matrix is not None
    return now.customers.matrix
