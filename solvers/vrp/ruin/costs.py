"""What ways cost: which clients are near by it, and the scale of all costs, by which temperatures are told."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.instance import VrpInstance
from corl.routing.metric import EXPLICIT, Metric
from corl.solvers.vrp.ruin.neighbours import nearest
from corl.solvers.vrp.ruin.pairs import pair_distances

__all__ = ["nearest_by_cost", "scale_of"]

_NEAREST = 10  # neighbours, the mean way to which is the scale
_FLOOR = 1e-4  # of the mean way from the depot: clients at one place tell nothing
_RARE = 0.05  # of a fixed cost or a prize, where ways cost nothing
_LEAST = 1e-9  # where nothing costs anything


def nearest_by_cost(
    instance: VrpInstance, metric: Metric, count: int, farther: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """As `nearest`; where time costs and ways take another time than their length, it is both that make clients near."""
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
    """The mean cost of the way to one of the ten nearest clients, in distance and in time; where that is nothing, a share of
    what fixed costs or prizes are. near, apart: [clients, K] each, the neighbours and the distances to them."""
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
    """The mean of some ways, or what is left of the mean way home where these are next to nothing."""
    return max(float(close.mean()) if close.size else float(home.mean()), _FLOOR * float(home.mean()))


def _rate(instance: VrpInstance) -> float:
    """What a unit of time costs, in the mean of the types; where that is nothing, of overtime."""
    rules, none = instance.rules, np.zeros(1)
    if rules is None:
        return 0.0
    return float(rules.of("duration_cost", none).mean()) or float(rules.of("overtime_cost", none).mean())
