"""Neighbours by cost rather than distance, and the scale of costs, in which temperatures are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.routing.metric import EXPLICIT, Metric
from corl.solvers.vrp.ruin.neighbours import nearest
from corl.solvers.vrp.ruin.pairs import pair_distances

__all__ = ["nearest_by_cost", "scale_of"]

_NEAREST = 10  # neighbours; the mean cost of going to them is the scale
_FLOOR = 1e-4  # of the mean distance from the depot: least scale if clients lie at the same place
_RARE = 0.05  # of a fixed cost or a prize, if distance and time cost nothing
_LEAST = 1e-9  # if nothing costs anything


def nearest_by_cost(
    instance: VrpInstance, metric: Metric, count: int, farther: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the neighbours and their distances, as `nearest` does.

    If time costs something and travel times differ from distances, neighbours are those of the least weighted sum of both.
    """
    rules = instance.rules
    unit, rate = float(instance.vehicles.unit_cost.mean()), _rate(instance)
    if rules is None or rules.durations is None or rate == 0.0:
        return nearest(instance, metric, count, farther)
    lengths = np.stack([instance.distances_from(node) for node in range(instance.n)])
    both = (unit * lengths + rate * rules.durations.mean(axis=0)) / (unit + rate)
    np.fill_diagonal(both, 0.0)
    both.flags.writeable = False
    near, _ = nearest(instance, metric._replace(kind=EXPLICIT, matrix=both), count, farther)
    rows = np.arange(instance.depots, instance.n)
    return near, pair_distances(metric, rows, near.astype(np.int64) + instance.depots)


def scale_of(instance: VrpInstance, near: NDArray[np.int32], apart: NDArray[np.float64]) -> float:
    """Return the mean cost, in distance and time, of going to one of the ten nearest clients.

    If that is 0, a share of the fixed costs or the prizes is returned.

    Args:
        instance: The instance.
        near: int32 [clients, K], the neighbours.
        apart: float64 [clients, K], the distances to them.
    """
    depots, rules = instance.depots, instance.rules
    close = apart[: instance.clients, :_NEAREST]
    length = _mean_way(close, instance.distances_from(0)[depots:])
    cost = length * float(instance.vehicles.unit_cost.mean())
    if rules is not None and (rate := _rate(instance)) > 0.0:
        if rules.durations is not None:
            ways = rules.durations.mean(axis=0)
            rows = np.arange(instance.clients)[:, None] + depots
            length = _mean_way(ways[rows, near[: instance.clients, :_NEAREST] + depots], ways[0, depots:])
        cost += length * rate
    if cost > 0.0:
        return cost
    prizes = instance.prize[~instance.required]
    fixed = instance.vehicles.fixed_cost + instance.route_weight
    means = [float(part[part > 0.0].mean()) for part in (fixed, prizes) if (part > 0.0).any()]
    return _RARE * min(means, default=_LEAST / _RARE)


def _mean_way(close: NDArray[np.float64], home: NDArray[np.float64]) -> float:
    """Return the mean of `close`; at least a small share of the mean of `home`, the distances from the depot."""
    return max(float(close.mean()) if close.size else float(home.mean()), _FLOOR * float(home.mean()))


def _rate(instance: VrpInstance) -> float:
    """Return the cost of a unit of time, the mean over the types; if it is 0, that of overtime."""
    rules, none = instance.rules, np.zeros(1)
    if rules is None:
        return 0.0
    return float(rules.of("duration_cost", none).mean()) or float(rules.of("overtime_cost", none).mean())
