"""The judge of every rule against another one that shows no cleverness: it loads and unloads, drives and waits step by step."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from corl.errors import Infeasible
from corl.problems.vrp.evaluation import objective
from corl.problems.vrp.routes import Route
from support.families import vrp_rules as cases

NAMES = [name for name in (*cases.RULES, *cases.MIXES) if name not in cases.OF_TIME]
"""Without those whose best times are sought: test_vrp_times.py has their judge beside brute force."""
FEW = 6
"""Instances of each rule of structure in the gate."""


@pytest.mark.parametrize(
    ("name", "count"),
    [(name, 16) for name in NAMES]
    + [(name, FEW) for name in cases.STRUCTURE]
    + [pytest.param(name, 60, marks=pytest.mark.long) for name in (*NAMES, *cases.STRUCTURE)],
)
def test_the_judge(name, count):
    """Random routes of random instances: feasible for both or for neither, at the same cost."""
    random, feasible, refused = np.random.default_rng(7), 0, 0
    for seed in range(count):
        instance = cases.make_rules(name, 4, seed)
        for _ in range(12):
            routes = _random_routes(instance, random)
            try:
                found = objective(instance, routes)
            except Infeasible:
                found = math.inf
            assert found == pytest.approx(_simulated(instance, routes), rel=1e-12), (name, seed, routes)
            feasible, refused = feasible + (found < math.inf), refused + (found == math.inf)
    assert feasible > count / 6 and refused > count / 6


def _random_routes(instance, random):
    """Most clients in a few routes, pairs mostly in order, reloads here and there."""
    left = [node for node in random.permutation(np.arange(instance.depots, instance.n)).tolist() if random.random() < 0.97]
    rules, routes = instance.rules, []
    if rules.groups is not None:  # mostly one of each group
        of = rules.groups.tolist()
        left = [
            node for node in left if of[node] < 0 or random.random() < 0.2 or node == next(n for n in left if of[n] == of[node])
        ]
    for nodes in () if rules.begun is None else rules.begun:
        left = [*nodes.tolist(), *(node for node in left if node not in nodes)] if len(nodes) else left
    for start, end in () if rules.shipments is None else rules.shipments.tolist():
        if start in left and end in left and random.random() < 0.9:
            left.remove(end)
            left.insert(left.index(start) + 1 + int(random.integers(0, 2)), end)
    while left:
        size = int(random.integers(1, 4))
        visits, left = left[:size], left[size:]
        if rules.reloads is not None and random.random() < 0.6:
            visits.insert(int(random.integers(1, len(visits) + 1)), int(random.integers(0, instance.depots)))
        routes.append(Route(int(random.integers(0, instance.vehicles.types)), np.array(visits, np.int32)))
    if rules.begun is not None and random.random() < 0.8 and routes:
        routes[0] = Route(1, routes[0].visits)
    return routes


def _simulated(instance, routes):
    """What the routes cost; inf where a rule is broken."""
    rules, vehicles = instance.rules, instance.vehicles
    visited = [int(node) for route in routes for node in route.visits if node >= instance.depots]
    if len(set(visited)) < len(visited) or not set(np.flatnonzero(instance.required).tolist()) <= set(visited):
        return math.inf
    for kind in range(vehicles.types):
        if 0 <= vehicles.count[kind] < sum(route.vehicle == kind for route in routes):
            return math.inf
    for group in range(0 if rules.groups is None else len(rules.group_required)):
        count = sum(rules.groups[node] == group for node in visited)
        if count > 1 or (count == 0 and rules.group_required[group]):
            return math.inf
    for kind, nodes in enumerate(rules.begun or ()):
        if len(nodes) and not any(route.vehicle == kind and _begins(route.visits.tolist(), nodes.tolist()) for route in routes):
            return math.inf
    cost = sum(instance.prize[node] for node in range(instance.n) if node >= instance.depots and node not in visited)
    facts = [_route(instance, route.vehicle, route.visits.tolist()) for route in routes]
    if any(each == math.inf for each in facts) or not _clusters_kept(instance, routes):
        return math.inf
    return float(cost + sum(each[0] for each in facts) + _together(instance, routes, facts)) / instance.scale


def _clusters_kept(instance, routes):
    """Each client is met in turn; a cluster is left for good when its route ends or, in a row, when another visit comes."""
    rules, left = instance.rules, set()
    if rules.clusters is None:
        return True
    for route in routes:
        met, now = set(), -1
        for node in route.visits.tolist():
            cluster = int(rules.clusters[node])
            if cluster != now and now >= 0 and rules.cluster_in_a_row[now]:
                left.add(now)
            if cluster in left:
                return False
            now = cluster
            met |= {cluster} - {-1}
        left |= met
    return True


def _together(instance, routes, facts):
    """What the routes cost beyond what each of them does."""
    rules, cost, totals, driven = instance.rules, 0.0, {}, {}
    if rules.balance is not None:
        amounts = sorted(each[1 if rules.balance.of == "distance" else 2] for each in facts)
        if amounts:
            cost += rules.balance.weight * (amounts[-1] - (amounts[0] if rules.balance.measure == "range" else 0))
    for route, (_, _, duration, way) in zip(routes, facts) if rules.roster is not None else ():
        vehicle = int(rules.roster[route.vehicle])
        totals[vehicle], driven[vehicle] = totals.get(vehicle, 0) + duration, driven.get(vehicle, 0) + way
    for vehicle in totals.keys() - {-1}:
        if rules.roster_duration is not None and totals[vehicle] > rules.roster_duration[vehicle]:
            return math.inf
        if driven[vehicle] > rules.roster_driving[vehicle]:
            return math.inf
        cost += rules.roster_cost[vehicle]
    return cost


def _begins(visits, nodes):
    return visits[: len(nodes)] == nodes


def _route(instance, kind, visits):
    rules, vehicles = instance.rules, instance.vehicles
    for start, end in [] if rules.shipments is None else rules.shipments.tolist():
        if (start in visits) != (end in visits) or (start in visits and visits.index(start) > visits.index(end)):
            return math.inf
    if rules.allowed is not None and any(node >= instance.depots and not rules.allowed[kind, node] for node in visits):
        return math.inf
    trips = [[]]
    for node in visits:
        if node < instance.depots:
            where = [vehicles.start[kind]] if rules.reload_depots is None else np.flatnonzero(rules.reload_depots[kind])
            if rules.reloads is None or node not in where:
                return math.inf
            trips.append([])
        else:
            trips[-1].append(node)
    if not all(trips) or (len(trips) > 1 and len(trips) - 1 > rules.reloads[kind]):
        return math.inf
    if not all(_fits(instance, kind, trip) for trip in trips):
        return math.inf
    path = [int(vehicles.start[kind]), *visits, int(vehicles.end[kind])]
    out = rules.stays_out is not None and bool(rules.stays_out[kind])
    legs = [_leg(instance, i, j) for i, j in pairwise(path)]
    times = legs if rules.durations is None else [rules.durations[rules.profile[kind], i, j] for i, j in pairwise(path)]
    if out:
        legs, times = [*legs[:-1], 0], [*times[:-1], 0]
    if sum(legs) > vehicles.max_distance[kind]:
        return math.inf
    duration = _least_duration(instance, kind, path, times, trips, out)
    cost = sum(legs) * vehicles.unit_cost[kind] + vehicles.fixed_cost[kind]
    if duration == math.inf or duration > vehicles.max_duration[kind]:
        return math.inf
    if rules.duration_cost is not None:
        cost += rules.duration_cost[kind] * duration
    if rules.overtime_from is not None:
        cost += rules.overtime_cost[kind] * max(0, duration - rules.overtime_from[kind])
    return cost, sum(legs), duration, sum(times)


def _leg(instance, i, j):
    if instance.matrix is not None:
        return float(instance.matrix[i, j])
    return math.floor(math.dist(instance.points[i], instance.points[j]) + 0.5)


def _fits(instance, kind, trip):
    """Boxes for everybody are loaded, then each stop is made: first it is brought its own, then it hands over."""
    rules, q = instance.rules, instance.rules.dimensions
    for d in range(q):
        demand = [float((instance.demand[:, None] if rules.demands is None else rules.demands)[node, d]) for node in trip]
        pickup = [0.0 if rules.pickups is None else float(rules.pickups[node, d]) for node in trip]
        capacity = (instance.vehicles.capacity[:, None] if rules.capacities is None else rules.capacities)[kind, d]
        load = sum(demand) + (0.0 if rules.aboard is None else rules.aboard[kind, d])
        if load > capacity:
            return False
        for node, less, more in zip(trip, demand, pickup):
            load += more - less
            for shipment, ends in enumerate([] if rules.shipments is None else rules.shipments.tolist()):
                load += rules.amounts[shipment, d] * ((node == ends[0]) - (node == ends[1]))
            if load > capacity:
                return False
        if rules.backhauls_last:
            takes = [more > 0 for more in pickup]
            if any(takes) and (not any(demand) or any(less > 0 and any(takes[:k]) for k, less in enumerate(demand))):
                return False
    return True


def _least_duration(instance, kind, path, times, trips, out):
    """Over all whole times of departure; the earliest alone where there are pauses, beside which nothing asks for durations."""
    rules = instance.rules
    opens = [0.0 if instance.earliest is None else float(instance.earliest[node]) for node in path]
    closes = [math.inf if instance.latest is None else float(instance.latest[node]) for node in path]
    if out:
        opens[-1], closes[-1] = 0.0, math.inf
    if rules.shift is not None:
        opens[0], closes[-1] = max(opens[0], float(rules.shift[kind, 0])), min(closes[-1], float(rules.shift[kind, 1]))
    at = 0
    for trip in trips:
        if rules.release is not None:
            opens[at] = max(opens[at], *(float(rules.release[node]) for node in trip))
        at += 1 + len(trip)
    service = [0.0 if instance.service is None else float(instance.service[node]) for node in path]
    windows = list(zip(opens, closes))
    if rules.closed is None and rules.breaks is None and rules.max_driving is None:
        ends = [(leave, _driven(windows, service, times, leave)) for leave in range(int(opens[0]), 1000)]
        return min((back - leave for leave, back in ends), default=math.inf)
    if opens[0] > closes[0]:
        return math.inf
    back = _explored(instance, kind, path, windows, service, times)
    return back - opens[0]


def _driven(windows, service, times, leave):
    now = leave
    if leave > windows[0][1]:
        return math.inf
    for k, way in enumerate(times):
        now = max(now + (service[k] if k else 0) + way, windows[k + 1][0])
        if now > windows[k + 1][1]:
            return math.inf
    return now


def _explored(instance, kind, path, windows, service, times):
    """Every way to wait and to pause, moment by moment (those at which something begins or ends); the first time to be back."""
    rules = instance.rules
    closed = [] if rules.closed is None else rules.closed.tolist()
    rows = [] if rules.breaks is None else rules.breaks.tolist()
    breaks = sorted((row[1:] for row in rows if row[0] == kind), key=lambda each: each[1])
    most = math.inf if rules.max_driving is None else float(rules.max_driving[kind])
    rest = math.inf if rules.max_driving is None else float(rules.rest[kind])
    best, seen, todo = math.inf, set(), [(0, True, windows[0][0], 0, 0.0)]
    while todo:
        state = todo.pop()
        if state in seen:
            continue
        seen.add(state)
        stop, done, now, taken, driven = state
        if done and driven + times[stop] <= most:
            there = now + times[stop]
            if stop + 2 == len(path):
                there = max(there, windows[-1][0])
                if there <= windows[-1][1] and all(there <= late for _, late, _ in breaks[taken:]):
                    best = min(best, there)
            else:
                todo.append((stop + 1, False, there, taken, driven + times[stop]))
        if stop == 0:
            continue
        moments = [windows[stop][0], *(end for node, _, end in closed if node == path[stop]), *(early for early, _, _ in breaks)]
        todo += [(stop, done, moment, taken, driven) for moment in moments if moment > now]
        shut = any(node == path[stop] and begin < now < end for node, begin, end in closed)
        if not done and windows[stop][0] <= now <= windows[stop][1] and not shut:
            todo.append((stop, True, now + service[stop], taken, driven))
        if taken < len(breaks) and breaks[taken][0] <= now <= breaks[taken][1]:
            long = breaks[taken][2]
            todo.append((stop, done, now + long, taken + 1, 0.0 if long >= rest else driven))
        if rest < math.inf and driven:
            todo.append((stop, done, now + rest, taken, 0.0))
    return best
