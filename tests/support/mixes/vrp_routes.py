"""The optimum of a small vehicle routing problem, in plain Python: every route of every vehicle, then every set of routes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.rules import SideConstraints
from support.mixes.vrp_times import latest_below, reach, soft_cost

__all__ = ["Routes", "least_cost", "least_structured"]

Amounts = tuple[float, float, float, float]
"""Cost, distance, duration and travel time of a route."""

_Trips = tuple[tuple[int, tuple[int, ...]], ...]
"""(the depot where it is loaded, clients in order) of each trip."""


def least_cost(instance: VrpInstance) -> float:
    """The least objective over all sets of routes; inf where none is feasible. For about five clients."""
    if (rules := instance.rules) is not None and (rules.clusters is not None or is_coupled(rules)):
        return least_structured(instance, Routes(instance)) / instance.scale
    routes, clients = Routes(instance), range(instance.depots, instance.n)
    plans: dict[frozenset[int], float] = {frozenset(): 0.0}
    for kind, count in enumerate(instance.vehicles.count.tolist()):
        best: dict[frozenset[int], float] = {}
        for size in range(1, len(clients) + 1):
            for order in itertools.permutations(clients, size):
                for trips in routes.trips(kind, order):
                    if (cost := routes.cost(kind, trips)) < best.get(frozenset(order), math.inf):
                        best[frozenset(order)] = cost
        plans = _with_type(plans, best, len(clients) if count < 0 else min(count, len(clients)), routes.under_way(kind))
    return min((cost + routes.missed(served) for served, cost in plans.items()), default=math.inf) / instance.scale


def _with_type(
    plans: dict[frozenset[int], float], best: dict[frozenset[int], float], count: int, needed: bool
) -> dict[frozenset[int], float]:
    """The least cost of each set of clients served once up to `count` routes of one more vehicle type may be used.

    needed: whether there is one at least.
    """
    found, last = {} if needed else dict(plans), plans
    for _ in range(count):
        more: dict[frozenset[int], float] = {}
        for served, cost in last.items():
            for part, further in best.items():
                if not served & part:
                    more[served | part] = min(cost + further, more.get(served | part, math.inf))
        for served, cost in more.items():
            found[served] = min(cost, found.get(served, math.inf))
        last = more
    return found


def is_coupled(rules: SideConstraints) -> bool:
    """Whether what a route costs depends on other routes."""
    return rules.balance is not None or rules.roster is not None


def least_structured(instance: VrpInstance, routes: Routes) -> float:
    """The least objective (times `scale`) with clusters, balance and rosters: every set of routes, one route after another."""
    clients, every = range(instance.depots, instance.n), dict[tuple[int, frozenset[int]], set[Amounts]]()
    for kind, size in itertools.product(range(instance.vehicles.types), range(1, len(clients) + 1)):
        for order in itertools.permutations(clients, size):
            found = {routes.amounts(kind, trips) for trips in routes.trips(kind, order)}
            every.setdefault((kind, frozenset(order)), set()).update(each for each in found if each[0] < math.inf)
    if instance.rules is not None and instance.rules.balance is None and instance.rules.roster is None:
        every = {key: {min(found)} for key, found in every.items() if found}
    return _least(instance, routes, every, [], list(clients), frozenset())


def _least(
    instance: VrpInstance, routes: Routes, every: dict[tuple[int, frozenset[int]], set[Amounts]],
    made: list[tuple[int, frozenset[int], Amounts]], left: list[int], missed: frozenset[int],
) -> float:  # fmt: skip
    """The least objective of the routes that are made and of routes for the clients that are left, without those missed."""
    if not left:
        return _total(instance, routes, made)
    first, rest = left[0], left[1:]
    best = _least(instance, routes, every, made, rest, missed | {first})
    for size in range(len(rest) + 1):
        for others in itertools.combinations(rest, size):
            served, then = frozenset((first, *others)), [node for node in rest if node not in others]
            for kind, count in enumerate(instance.vehicles.count.tolist()):
                if 0 <= count <= sum(kind == other for other, _, _ in made):
                    continue
                for amounts in every.get((kind, served), ()):
                    best = min(best, _least(instance, routes, every, [*made, (kind, served, amounts)], then, missed))
    return best


def _total(instance: VrpInstance, routes: Routes, made: list[tuple[int, frozenset[int], Amounts]]) -> float:
    """What these routes cost together (times `scale`); inf where they break a rule."""
    rules = instance.rules
    assert rules is not None
    served = frozenset(node for _, clients, _ in made for node in clients)
    if any(routes.under_way(kind) and all(kind != other for other, _, _ in made) for kind in range(instance.vehicles.types)):
        return math.inf
    for cluster in range(0 if rules.clusters is None else len(rules.cluster_in_a_row)):
        if sum(any(rules.clusters[node] == cluster for node in clients) for _, clients, _ in made) > 1:
            return math.inf
    cost = routes.missed(served) + sum(amounts[0] for _, _, amounts in made)
    if rules.balance is not None and made:
        lengths = [amounts[1 if rules.balance.of == "distance" else 2] for _, _, amounts in made]
        cost += rules.balance.weight * (max(lengths) - (min(lengths) if rules.balance.measure == "range" else 0.0))
    for roster in set() if rules.roster is None else set(rules.roster.tolist()) - {-1}:
        of = [amounts for kind, _, amounts in made if rules.roster[kind] == roster]
        for limits, at in ((rules.roster_duration, 2), (rules.roster_driving, 3)):
            if limits is not None and _above(sum(amounts[at] for amounts in of), float(limits[roster])):
                return math.inf
        cost += float(rules.roster_cost[roster]) if of and rules.roster_cost is not None else 0.0
    return cost


class Routes:
    """What single routes of an instance cost, by the definitions of its README."""

    def __init__(self, instance: VrpInstance) -> None:
        self._instance, rules = instance, instance.rules or SideConstraints()
        self._rules, self._q, n = rules, rules.dimensions, instance.n
        own = np.array([instance.distances_from(i) for i in range(n)])[None]
        self._distances = rules.of("distances", own).tolist()
        self._durations = rules.of("durations", rules.of("distances", own)).tolist()
        self._demands = rules.of("demands", instance.demand[:, None]).tolist()
        self._pickups = rules.of("pickups", np.zeros((n, self._q))).tolist()
        capacities = np.repeat(instance.vehicles.capacity[:, None], self._q, axis=1)
        self._capacities = rules.of("capacities", capacities).tolist()
        self._aboard = rules.of("aboard", np.zeros((instance.vehicles.types, self._q))).tolist()
        self._release = rules.of("release", np.zeros(n)).tolist()
        self._service = (np.zeros(n) if instance.service is None else instance.service).tolist()
        first = np.zeros(n) if instance.earliest is None else instance.earliest
        last = np.full(n, math.inf) if instance.latest is None else instance.latest
        self._windows = [self._windows_of(i, float(first[i]), float(last[i])) for i in range(n)]

    def _windows_of(self, node: int, first: float, last: float) -> list[tuple[float, float]]:
        closed = [] if self._rules.closed is None else self._rules.closed[self._rules.closed[:, 0] == node, 1:].tolist()
        ends = [first, *(time for spell in sorted(closed) for time in spell), last]
        return list(zip(ends[::2], ends[1::2]))

    def under_way(self, kind: int) -> bool:
        return self._rules.begun is not None and len(self._rules.begun[kind]) > 0

    def missed(self, served: frozenset[int]) -> float:
        """What it costs that only these clients are served; inf where others must be."""
        instance, rules = self._instance, self._rules
        left = [i for i in range(instance.depots, instance.n) if i not in served]
        if any(instance.required[i] for i in left):
            return math.inf
        for group, needed in enumerate(() if rules.group_required is None else rules.group_required.tolist()):
            members = sum(rules.groups[i] == group for i in served)
            if members > 1 or (needed and members == 0):
                return math.inf
        return float(sum(instance.prize[i] for i in left))

    def trips(self, kind: int, order: tuple[int, ...]) -> Iterator[_Trips]:
        """All ways to serve clients in this order with the reloads that the vehicle may make."""
        rules, start = self._rules, int(self._instance.vehicles.start[kind])
        most = 0 if rules.reloads is None else int(rules.reloads[kind])
        where = [start] if rules.reload_depots is None else np.flatnonzero(rules.reload_depots[kind]).tolist()
        for reloads in range(min(most, len(order) - 1) + 1):
            for cuts in itertools.combinations(range(1, len(order)), reloads):
                for depots in itertools.product(where, repeat=reloads):
                    ends = (0, *cuts, len(order))
                    parts = [order[a:b] for a, b in itertools.pairwise(ends)]
                    yield tuple(zip((start, *depots), parts))

    def cost(self, kind: int, trips: _Trips) -> float:
        """Of one route (times `scale`); inf where it breaks a rule."""
        return self.amounts(kind, trips)[0]

    def amounts(self, kind: int, trips: _Trips) -> Amounts:
        """Cost, distance, duration and travel time of one route (times `scale`); the cost is inf where it breaks a rule."""
        broken = (math.inf, 0.0, 0.0, 0.0)
        clients = [i for _, part in trips for i in part]
        if not self._in_rows([node for depot, part in trips for node in (depot, *part)][1:]):
            return broken
        if not (self._may_serve(kind, clients, trips[0][1]) and all(self._loads_fit(kind, part) for _, part in trips)):
            return broken
        vehicles, rules = self._instance.vehicles, self._rules
        path = [node for depot, part in trips for node in (depot, *part)] + [int(vehicles.end[kind])]
        profile = 0 if rules.profile is None else int(rules.profile[kind])
        out = rules.stays_out is not None and bool(rules.stays_out[kind])
        legs, times = ([table[profile if len(table) > 1 else 0][a][b] for a, b in itertools.pairwise(path)]
                       for table in (self._distances, self._durations))  # fmt: skip
        if out:
            legs[-1] = times[-1] = 0.0
        if _above(sum(legs), float(vehicles.max_distance[kind])):
            return broken
        cost = sum(legs) * float(vehicles.unit_cost[kind]) + float(vehicles.fixed_cost[kind]) + self._instance.route_weight
        if rules.soft_windows is not None:
            return cost + self._times_cost(kind, trips, path, times, out), sum(legs), 0.0, sum(times)
        duration = self._duration(kind, trips, path, times, out)
        if math.isinf(duration) or _above(duration, float(vehicles.max_duration[kind])):
            return broken
        if rules.duration_cost is not None:
            cost += float(rules.duration_cost[kind]) * duration
        if rules.overtime_cost is not None and rules.overtime_from is not None:
            cost += float(rules.overtime_cost[kind]) * max(0.0, duration - float(rules.overtime_from[kind]))
        return cost, sum(legs), duration, sum(times)

    # ---------------------------------------------------------------- who, in what order, with what load
    def _in_rows(self, visits: list[int]) -> bool:
        """Whether the visits, clients and depots, serve the clusters that ask for it one client after another."""
        rules = self._rules
        for number, asks in enumerate(() if rules.cluster_in_a_row is None else rules.cluster_in_a_row.tolist()):
            runs = [key for key, _ in itertools.groupby(rules.clusters[node] == number for node in visits)]
            if asks and sum(runs) > 1:
                return False
        return True

    def _may_serve(self, kind: int, clients: list[int], first: tuple[int, ...]) -> bool:
        """first: the clients before any reload, among which are those that the vehicle is under way to."""
        rules = self._rules
        if rules.allowed is not None and not rules.allowed[kind, clients].all():
            return False
        if self.under_way(kind) and list(first[: len(rules.begun[kind])]) != rules.begun[kind].tolist():
            return False
        pairs = [] if rules.shipments is None else rules.shipments.tolist()
        for one, other in pairs:
            if (one in clients) != (other in clients) or (one in clients and clients.index(one) > clients.index(other)):
                return False
        return True

    def _loads_fit(self, kind: int, trip: tuple[int, ...]) -> bool:
        rules = self._rules
        for q in range(self._q):
            change = {i: self._pickups[i][q] - self._demands[i][q] for i in trip}
            if rules.shipments is not None and rules.amounts is not None:
                for (one, other), amount in zip(rules.shipments.tolist(), rules.amounts[:, q].tolist()):
                    change |= {one: amount, other: -amount}
            load = self._aboard[kind][q] + sum(self._demands[i][q] for i in trip)
            aboard = itertools.accumulate((change[i] for i in trip), initial=load)
            if any(_above(each, self._capacities[kind][q]) for each in aboard):
                return False
        if rules.backhauls_last:
            brings, takes = ([k for k, i in enumerate(trip) if any(table[i])] for table in (self._demands, self._pickups))
            return not takes or (bool(brings) and brings[-1] < takes[0])
        return True

    # ---------------------------------------------------------------- times
    def _times_cost(self, kind: int, trips: _Trips, path: list[int], times: list[float], out: bool) -> float:
        """The least cost of duration and of services outside soft windows; inf where the vehicle cannot be in time."""
        rules = self._rules
        windows = self._open_windows(kind, trips, path, out)
        if not (windows[0] and all(windows)):
            return math.inf
        soft, early, late = (table[path].tolist() for table in (rules.soft_windows, rules.early_cost, rules.late_cost))
        rate = 0.0 if rules.duration_cost is None else float(rules.duration_cost[kind])
        return soft_cost(
            [each[0] for each in windows], times, [self._service[node] for node in path], soft, [*zip(early, late)], rate
        )

    def _hourly_duration(
        self, kind: int, path: list[int], times: list[float], windows: list[list[tuple[float, float]]], out: bool
    ) -> float:
        """The least duration with travel times by the hour; that of the first departure alone where no duration is asked for."""
        rules, starts = self._rules, self._rules.period_starts.tolist()
        if rules.speed_factors is not None:
            ways = [[way / factor for factor in rules.speed_factors[kind].tolist()] for way in times]
        else:
            ways = [rules.period_durations[:, a, b].tolist() for a, b in itertools.pairwise(path)]
            ways[-1] = [0.0] * len(starts) if out else ways[-1]

        def driven(leave: float) -> list[float]:
            """Departure, arrival, departure, ... of all legs; no window is seen to close."""
            found, time = [], leave
            for k, way in enumerate(ways):
                found += [time, reach(time, starts, way)]
                time = max(found[-1], windows[k + 1][0][0]) + self._service[path[k + 1]]
            return found

        first, last = windows[0][0]
        leaves = {first}
        if (
            rules.duration_cost is not None
            or rules.overtime_cost is not None
            or math.isfinite(self._instance.vehicles.max_duration[kind])
        ):
            events = starts[1:] + [time for (each,) in windows for time in each if time < math.inf]
            high = min(last, max([*events, first]))
            for k, event in itertools.product(range(2 * len(ways)), events):
                leaves.add(latest_below(lambda leave, k=k: driven(leave)[k], event, first, high))
            leaves.add(high)
        durations = []
        for leave in leaves:
            begins = [max(time, windows[k + 1][0][0]) for k, time in enumerate(driven(leave)[1::2])]
            if not _above(leave, last) and not any(_above(begin, each[0][1]) for begin, each in zip(begins, windows[1:])):
                durations.append(begins[-1] - leave)
        return min(durations, default=math.inf)

    def _open_windows(self, kind: int, trips: _Trips, path: list[int], out: bool) -> list[list[tuple[float, float]]]:
        """The windows of departure, services, reloads and return."""
        rules = self._rules
        windows = [self._windows[node] for node in path]
        if out:
            windows[-1] = [(0.0, math.inf)]
        at = 0
        for _, part in trips:
            windows[at] = _cut(windows[at], max(self._release[i] for i in part), math.inf)
            at += 1 + len(part)
        if rules.shift is not None:
            windows[0] = _cut(windows[0], float(rules.shift[kind, 0]), math.inf)
            windows[-1] = _cut(windows[-1], 0.0, float(rules.shift[kind, 1]))
        return windows

    def _duration(self, kind: int, trips: _Trips, path: list[int], times: list[float], out: bool) -> float:
        """The least time from leaving to being back; inf where the vehicle cannot be in time."""
        rules, service = self._rules, [self._service[node] for node in path]
        windows = self._open_windows(kind, trips, path, out)
        if not (windows[0] and all(windows)):
            return math.inf
        if rules.period_starts is not None:
            return self._hourly_duration(kind, path, times, windows, out)
        breaks = [] if rules.breaks is None else rules.breaks[rules.breaks[:, 0] == kind, 1:].tolist()
        driving = math.inf if rules.max_driving is None else float(rules.max_driving[kind])
        if breaks or driving < math.inf or any(len(each) > 1 for each in windows):
            rest = math.inf if rules.rest is None else float(rules.rest[kind])
            return 0.0 if self._in_time(windows, times, service, breaks, driving, rest) else math.inf
        reach = list(itertools.accumulate((a + b for a, b in zip(service, times)), initial=0.0))
        first, last = windows[0][0]
        leaves = {first} | {time - far for (each,), far in zip(windows, reach) for time in each if time < math.inf}
        durations = (_back(leave, windows, times, service) - leave for leave in leaves if first <= leave <= last)
        return min(durations, default=math.inf)

    @staticmethod
    def _in_time(
        windows: list[list[tuple[float, float]]], times: list[float], service: list[float], breaks: list[list[float]],
        driving: float, rest: float,
    ) -> bool:  # fmt: skip
        """Whether a route with pauses can be in time: all states (time, breaks made, driven since the last rest) at once."""
        breaks = sorted(breaks, key=lambda each: (each[1], each[0]))

        def paused(states: set[tuple[float, int, float]]) -> set[tuple[float, int, float]]:
            found, new = set(states), set(states)
            while new:
                further = set()
                for time, made, driven in new:
                    if made < len(breaks) and not _above(time, breaks[made][1]):
                        begin, _, long = breaks[made]
                        further.add((max(time, begin) + long, made + 1, 0.0 if long >= rest else driven))
                    if rest < math.inf and driven > 0.0:
                        further.add((time + rest, made, 0.0))
                new = further - found
                found |= new
            return found

        states = {(windows[0][0][0], 0, 0.0)}
        for k, way in enumerate(times):
            states = {(time + way, made, driven + way) for time, made, driven in states if not _above(driven + way, driving)}
            if k + 1 < len(times):
                served = {(max(time, begin) + service[k + 1], made, driven) for time, made, driven in paused(states)
                          for begin, end in windows[k + 1] if not _above(time, end)}  # fmt: skip
                states = paused(served)
        ((begin, end),) = windows[-1]
        return any(
            not _above(back, end) and all(not _above(back, late) for _, late, _ in breaks[made:])
            for time, made, _ in states for back in [max(time, begin)]
        )  # fmt: skip


def _back(leave: float, windows: list[list[tuple[float, float]]], times: list[float], service: list[float]) -> float:
    """When a vehicle that leaves then is back; inf where it is too late somewhere."""
    time = leave
    for k, way in enumerate(times):
        ((begin, end),) = windows[k + 1]
        time = max(begin, time + service[k] + way)
        if _above(time, end):
            return math.inf
    return time


def _cut(windows: list[tuple[float, float]], first: float, last: float) -> list[tuple[float, float]]:
    return [(max(a, first), min(b, last)) for a, b in windows if max(a, first) <= min(b, last)]


def _above(value: float, limit: float) -> bool:
    return value > limit + 1e-9 * max(1.0, abs(limit))
