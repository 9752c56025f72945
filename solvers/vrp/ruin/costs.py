"""Neighbours by cost instead of distance, and the scale of costs: temperatures are multiples of this scale."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.routing.metric import EXPLICIT, Metric
from corl.solvers.vrp.ruin.neighbours import nearest
from corl.solvers.vrp.ruin.pairs import pair_distances

__all__ = ["nearest_by_cost", "scale_of"]

_NEAREST = 10  # the scale is the mean cost of going from a client to one of so many nearest neighbours
_MIN_SHARE = 1e-4  # lower limit of this mean, for clients at the same place, as a share of the mean distance from the depot
_FIXED_SHARE = 0.05  # the scale as a share of the mean fixed cost or prize, if distance and time cost nothing
_MIN_SCALE = 1e-9  # the scale if nothing costs anything


def nearest_by_cost(
    instance: VrpInstance, metric: Metric, count: int, farther: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the neighbours and their distances, as `neighbours.nearest` does, with the same arguments.

    If time costs something, and travel times differ from distances, clients are near if the cost of distance and time is small.
    """
    rules = instance.rules
    unit, rate = float(instance.vehicles.unit_cost.mean()), _time_rate(instance)
    if rules is None or rules.durations is None or rate == 0.0:
        return nearest(instance, metric, count, farther)
    lengths = np.stack([instance.distances_from(node) for node in range(instance.n)])
    weighted_costs = (unit * lengths + rate * rules.durations.mean(axis=0)) / (unit + rate)
    np.fill_diagonal(weighted_costs, 0.0)
    weighted_costs.flags.writeable = False
    near, _ = nearest(instance, metric._replace(kind=EXPLICIT, matrix=weighted_costs), count, farther)
    rows = np.arange(instance.depots, instance.n)
    return near, pair_distances(metric, rows, near.astype(np.int64) + instance.depots)


def scale_of(instance: VrpInstance, near: NDArray[np.int32], apart: NDArray[np.float64]) -> float:
    """Return the scale of costs: the mean cost, of distance and time, of going from a client to one of its ten nearest clients.

    If this mean is 0, the cost of the balance of routes replaces it. If that is 0, too, a share of the mean fixed cost or of the
    mean prize is returned, whichever is smaller.

    Args:
        instance: The instance.
        near: int32 [clients, K], the neighbours of each client, closest first.
        apart: float64 [clients, K], the distances to these neighbours.
    """
    depots, rules = instance.depots, instance.rules
    legs = apart[: instance.clients, :_NEAREST]
    length = _mean_leg(legs, instance.distances_from(0)[depots:])
    cost = length * float(instance.vehicles.unit_cost.mean())
    if rules is not None and (rate := _time_rate(instance)) > 0.0:
        if rules.durations is not None:
            durations = rules.durations.mean(axis=0)
            rows = np.arange(instance.clients)[:, None] + depots
            length = _mean_leg(durations[rows, near[: instance.clients, :_NEAREST] + depots], durations[0, depots:])
        cost += length * rate
    if cost == 0.0 and rules is not None and rules.balance is not None:
        cost = length * rules.balance.weight
    if cost > 0.0:
        return cost
    prizes = instance.prize[~instance.required]
    fixed = instance.vehicles.fixed_cost + instance.route_weight
    means = [float(part[part > 0.0].mean()) for part in (fixed, prizes) if (part > 0.0).any()]
    return _FIXED_SHARE * min(means, default=_MIN_SCALE / _FIXED_SHARE)


def _mean_leg(legs: NDArray[np.float64], home: NDArray[np.float64]) -> float:
    """Return the mean of `legs`, but at least a small share of the mean of `home`.

    Args:
        legs: float64 [clients, k], the lengths of the legs to the nearest neighbours.
        home: float64 [clients], the distances from the depot.
    """
    return max(float(legs.mean()) if legs.size else float(home.mean()), _MIN_SHARE * float(home.mean()))


def _time_rate(instance: VrpInstance) -> float:
    """Return the cost of a unit of time, as the mean over the vehicle types; if it is 0, the mean cost of a unit of overtime."""
    rules, zero = instance.rules, np.zeros(1)
    if rules is None:
        return 0.0
    return float(rules.of("duration_cost", zero).mean()) or float(rules.of("overtime_cost", zero).mean())
