"""How many clients the vehicles that there are can serve at the most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.problems.vrp.alone import NO_RULES, Ways, hours, latest_back
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import Rules
from corl.tolerance import LIMIT, keeps

__all__ = ["Asking", "too_many"]

_MOST_POINTS, _MOST_MATRIX = 300, 3000  # nodes up to which the way to each client is counted, besides its service
_NAMED = 10  # clients in a message
_MOST_SETS = 64  # of vehicle types that are looked at together

_Floats = NDArray[np.float64]


class _Measure(NamedTuple):
    """What a vehicle has a limited amount of."""

    name: str
    weight: _Floats
    """float64 [n]: what each client takes of it, at the least."""
    budget: float
    size: float
    """Of what the budget is a difference: the judge lets a route pass its limits by the tolerance's share of this."""

    @property
    def most(self) -> float:
        """What a vehicle takes of it in the judge's eyes at the most, with as much again for the rounding here."""
        return self.budget + 2.0 * LIMIT * self.size


class Asking(NamedTuple):
    """Lists of nodes of which one must be served each, one after the other: where each begins in `nodes`."""

    nodes: NDArray[np.int64]
    begin: NDArray[np.int64]

    def least(self, values: _Floats) -> _Floats:
        """float64 [lists]: the least of float64 [n] in each."""
        return np.asarray(np.minimum.reduceat(values[self.nodes], self.begin)) if len(self.begin) else np.zeros(0)

    def able(self, possible: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """bool [kinds, lists]: who of bool [kinds, n] can serve one of each."""
        if not len(self.begin):
            return np.zeros((len(possible), 0), bool)
        return np.asarray(np.logical_or.reduceat(possible[:, self.nodes], self.begin, axis=1))

    def only(self, chosen: NDArray[np.bool_]) -> Asking:
        """Those of bool [lists]."""
        sizes = np.diff(np.append(self.begin, len(self.nodes)))
        kept = sizes[chosen]
        return Asking(self.nodes[np.repeat(chosen, sizes)], np.cumsum(kept) - kept)


def too_many(instance: VrpInstance, kinds: list[Ways], possible: NDArray[np.bool_], asking: Asking) -> str:
    """Whether clients that only some vehicles can serve are more than these have time, way and room for; "" if not proven.

    possible: bool [len(kinds), n], who may be able to serve whom.
    """
    rules, counts = instance.rules or NO_RULES, instance.vehicles.count[[ways.kind for ways in kinds]]
    if not len(asking.begin):
        return ""
    if rules.backhauls_last and (reason := _uncollected(instance, rules, asking)):
        return reason
    if (counts < 0).all():
        return ""
    able = asking.able(possible)
    measures: dict[int, list[_Measure]] = {}
    for kept in np.unique(np.column_stack([np.ones(len(kinds), bool), able]), axis=1).T[:_MOST_SETS]:
        chosen = np.flatnonzero(kept)
        if (counts[chosen] < 0).any():
            continue
        measures |= {k: _measures(instance, kinds[k]) for k in chosen.tolist() if k not in measures}
        inside = asking.only(~able[~kept].any(axis=0))
        if reason := _overfull(instance, inside, {k: int(counts[k]) for k in chosen.tolist()}, measures, possible):
            return reason
    return ""


def _uncollected(instance: VrpInstance, rules: Rules, asking: Asking) -> str:
    """Whether more is to be collected than fits into as many vehicles as can be brought something first."""
    trips = int((rules.of("demands", instance.demand[:, None]) > 0).any(axis=1).sum())
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(instance.vehicles.capacity[:, None], q, axis=1))[instance.vehicles.count != 0]
    pickups = rules.of("pickups", np.zeros((instance.n, q)))
    for d in range(q):
        load, most = float(asking.least(pickups[:, d]).sum()), trips * float(capacity[:, d].max(initial=0.0))
        if not keeps(load, most if trips else 0.0):
            what = f"{load:.10g} is to be collected"
            return f"{what}; {trips} clients are brought something before, and so many trips hold {most:.10g}"
    return ""


def _overfull(
    instance: VrpInstance, asking: Asking, counts: dict[int, int], measures: dict[int, list[_Measure]],
    possible: NDArray[np.bool_],
) -> str:  # fmt: skip
    if not len(asking.begin):
        return ""
    names = [instance.labels[node] for node in asking.nodes[asking.begin]]
    who = f"{len(names)} clients must be served ({', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''})"
    total, most = sum(counts.values()), dict.fromkeys(counts, len(names))
    for m in range(len(next(iter(measures.values())))):
        weights = {k: asking.least(np.where(possible[k], measures[k][m].weight, np.inf)) for k in counts}
        supply = sum(count * max(0.0, measures[k][m].most) for k, count in counts.items())
        needed = float(np.min(list(weights.values()), axis=0).sum())
        if not keeps(needed, supply):
            what, needed = measures[next(iter(counts))][m].name, needed / instance.scale
            have = sum(count * max(0.0, measures[k][m].budget) for k, count in counts.items()) / instance.scale
            return f"{who}: their {what} is {needed:.10g} at the least; the {total} vehicles that can serve them have {have:.10g}"
        for k in counts:
            taken = np.cumsum(np.sort(weights[k]))
            most[k] = min(most[k], int((keeps(taken, measures[k][m].most) & (taken < np.inf)).sum()))
    can = sum(count * most[k] for k, count in counts.items())
    if can >= len(names):
        return ""
    return f"{who}; the {total} vehicles that can serve them have time, way and room for {can} at the most"


def _measures(instance: VrpInstance, ways: Ways) -> list[_Measure]:
    rules, vehicles, kind = instance.rules or NO_RULES, instance.vehicles, ways.kind
    trips = 1 + (int(rules.reloads[kind]) if rules.reloads is not None else 0)
    first, _, _, home_by = hours(ways)
    service = np.zeros(instance.n) if instance.service is None else instance.service
    timed, far = _least(instance, ways, True), _least(instance, ways, False)
    limits = (home_by - first, home_by), (float(vehicles.max_duration[kind]), latest_back(ways))
    time, size = min(limits, key=lambda each: each[0] + LIMIT * each[1])
    longest = float(vehicles.max_distance[kind])
    found = [_Measure("time", service + timed[0], time - timed[1], size), _Measure("way", far[0], longest - far[1], longest)]
    q = rules.dimensions
    capacity = rules.of("capacities", np.repeat(vehicles.capacity[:, None], q, axis=1))[kind]
    loads = [("demand", rules.of("demands", instance.demand[:, None]))]
    loads += [] if rules.pickups is None else [("load to hand over", rules.pickups)]
    scale = instance.scale  # times and distances are held so many times as large as they are, loads are not
    return found + [
        _Measure(name, scale * load[:, d], scale * trips * float(capacity[d]), 0.0) for name, load in loads for d in range(q)
    ]


def _least(instance: VrpInstance, ways: Ways, time: bool) -> tuple[_Floats, float]:
    """The least time, or distance, of the last leg to each node; and what the way home and out take beside these."""
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
    least = np.where(least < np.inf, least, 0.0)
    if stops.any():  # the first leg is none of those between stops
        home += max(0.0, float(ways.row(time, ways.start, False)[stops].min()) - float(least[stops].max()))
    return least, home
