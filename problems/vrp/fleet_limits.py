"""How many clients the vehicles that there are can serve at the most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.alone import NO_RULES, Ways, hours
from corl.problems.vrp.instance import VrpInstance
from corl.tolerance import keeps

__all__ = ["too_many"]

_MOST_POINTS, _MOST_MATRIX = 300, 3000  # nodes up to which the way to each client is counted, besides its service
_NAMED = 10  # clients in a message

_Floats = NDArray[np.float64]


class _Measure(NamedTuple):
    """What a vehicle has a limited amount of."""

    name: str
    weight: _Floats
    """float64 [n]: what each client takes of it, at the least."""
    budget: float


def too_many(instance: VrpInstance, kinds: list[Ways], possible: NDArray[np.bool_], asking: list[list[int]]) -> str:
    """Whether clients that only some vehicles can serve are more than these have time, way and room for; "" if not proven.

    possible: bool [len(kinds), n], who may be able to serve whom; asking: lists of nodes of which one must be served each.
    """
    counts = instance.vehicles.count[[ways.kind for ways in kinds]]
    if not asking or (counts < 0).all():
        return ""
    able = np.array([possible[:, nodes].any(axis=1) for nodes in asking])  # [asking, kinds]
    measures: dict[int, list[_Measure]] = {}
    for kept in np.unique(np.vstack([able, np.ones((1, len(kinds)), bool)]), axis=0):
        chosen = np.flatnonzero(kept)
        if (counts[chosen] < 0).any():
            continue
        measures |= {k: _measures(instance, kinds[k]) for k in chosen.tolist() if k not in measures}
        inside = [nodes for nodes, row in zip(asking, able) if not row[~kept].any()]
        if reason := _overfull(instance, inside, {k: int(counts[k]) for k in chosen.tolist()}, measures, possible):
            return reason
    return ""


def _overfull(
    instance: VrpInstance, asking: list[list[int]], counts: dict[int, int], measures: dict[int, list[_Measure]],
    possible: NDArray[np.bool_],
) -> str:  # fmt: skip
    names = [instance.ids[nodes[0]] for nodes in asking]
    who = f"{len(names)} clients must be served ({', '.join(map(str, names[:_NAMED]))}{', ...' if len(names) > _NAMED else ''})"
    total = sum(counts.values())
    for m in range(min((len(each) for each in measures.values()), default=0)):
        weights = {k: _weights(measures[k][m], asking, possible[k]) for k in counts}
        supply = sum(count * measures[k][m].budget for k, count in counts.items() if count)
        needed = float(np.min([weights[k] for k in counts], axis=0).sum()) if asking else 0.0
        if supply < np.inf and not keeps(needed, supply, needed):
            what = measures[next(iter(counts))][m].name
            have, needed = max(0.0, supply) / instance.scale, needed / instance.scale
            return f"{who}: their {what} is {needed:.10g} at the least; the {total} vehicles that can serve them have {have:.10g}"
    most = sum(count * min(_most(each, asking, possible[k]) for each in measures[k]) for k, count in counts.items())
    if most >= len(asking):
        return ""
    return f"{who}; the {total} vehicles that can serve them have time, way and room for {most} at the most"


def _weights(measure: _Measure, asking: list[list[int]], possible: NDArray[np.bool_]) -> _Floats:
    """float64 [asking]: what each takes at the least; inf where the vehicle cannot serve it."""
    weight = np.where(possible, measure.weight, np.inf)
    return np.array([weight[nodes].min() for nodes in asking])


def _most(measure: _Measure, asking: list[list[int]], possible: NDArray[np.bool_]) -> int:
    """How many of them one vehicle can serve."""
    taken = np.cumsum(np.sort(_weights(measure, asking, possible)))
    return int((keeps(taken, measure.budget, taken) & (taken < np.inf)).sum())


def _measures(instance: VrpInstance, ways: Ways) -> list[_Measure]:
    rules, vehicles, kind = instance.rules or NO_RULES, instance.vehicles, ways.kind
    trips = 1 + (int(rules.reloads[kind]) if rules.reloads is not None else 0)
    first, _, _, home_by = hours(ways)
    service = np.zeros(instance.n) if instance.service is None else instance.service
    timed, far = _least(instance, ways, True), _least(instance, ways, False)
    time = min(home_by - first, float(vehicles.max_duration[kind])) - timed[1]
    found = [_Measure("time", service + timed[0], time)]
    found.append(_Measure("way", far[0], float(vehicles.max_distance[kind]) - far[1]))
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(vehicles.capacity[:, None], q, axis=1))[kind]
    loads = [("demand", rules.of("demands", instance.demand[:, None]))]
    loads += [] if rules.pickups is None else [("load to hand over", rules.pickups)]
    scale = instance.scale  # times and distances are held so many times as large as they are, loads are not
    return found + [
        _Measure(name, scale * load[:, d], scale * trips * float(capacity[d])) for name, load in loads for d in range(q)
    ]


def _least(instance: VrpInstance, ways: Ways, time: bool) -> tuple[_Floats, float]:
    """The least time, or distance, of the last leg to each node, and that of the way home."""
    places = np.append(np.flatnonzero(ways.stops), ways.start)
    least = np.zeros(instance.n)
    if instance.n <= (_MOST_POINTS if instance.matrix is None else _MOST_MATRIX):
        least[:] = np.inf
        for place in np.unique(places).tolist():
            row = ways.row(time, place, False).copy()
            row[place] = np.inf
            least = np.minimum(least, row)
    stops = ways.stops
    home = 0.0 if ways.out or not stops.any() else float(ways.row(time, ways.end, True)[stops].min())
    return np.where(least < np.inf, least, 0.0), home
