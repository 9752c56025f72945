"""Conversion of an instance to the arrays of the kernels, and of routes between these arrays and solutions.

A slot is a place for one route; a reload node stands for a visit to a depot between two trips of a vehicle: see state.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import by_reference
from corl.problems.vrp.evaluation import Route, routes_of
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.metric import metric_of
from corl.rng import random_state
from corl.routing.metric import EUCLIDEAN, EXPLICIT, ROUNDED, TENTHS, Metric
from corl.solvers.vrp.ruin.constraint_tables import new_segments
from corl.solvers.vrp.ruin.costs import nearest_by_cost
from corl.solvers.vrp.ruin.segments import refresh_all
from corl.solvers.vrp.ruin.side_constraints import constraint_tables, reload_nodes
from corl.solvers.vrp.ruin.state import OTHER, Plan, RoutingData, Work
from corl.tolerance import LIMIT

__all__ = ["load_routes", "new_plan", "new_work", "routes_in", "routing_data", "fixed_beginnings"]

# Metric kind -> RoutingData.slack: by how much distances may violate the triangle inequality; inf: by any amount.
_TRIANGLE_SLACK = {EUCLIDEAN: 1e-6, ROUNDED: 3.5, EXPLICIT: np.inf}
_TRIANGLE_SLACK_OTHER = 7.0  # the same for the other kinds, which truncate or round up to whole units
_EASE = 0.25 * LIMIT  # relative tolerance of limits: a quarter of the judge's
_MIN_UNIT_COST = 1e-300  # replaces a cost of 0 per unit of distance: 0 times an infinite slack would be NaN


def routing_data(instance: VrpInstance, neighbours: int, farther: int = 0) -> RoutingData:
    """Return the arrays of an instance. They take O(n * (neighbours + farther)) memory, not counting the instance's own arrays.

    Args:
        instance: The instance.
        neighbours: The number of a client's nearest clients: every insertion tries the positions next to them.
        farther: The number of clients sampled among those farther away: some insertions try the positions next to them, too.
    """
    vehicles, depots, metric = instance.vehicles, instance.depots, metric_of(instance)
    if metric.kind != EXPLICIT:  # read-only like explicit matrices: Numba would compile all kernels again for a writable array
        metric.matrix.flags.writeable = False
    owner = np.repeat(np.arange(vehicles.types), slot_counts(instance))
    reload_depots, rules = reload_nodes(instance), constraint_tables(instance, owner)
    clients = instance.clients + len(reload_depots)
    stays_out = None if instance.rules is None else instance.rules.stays_out
    last_depot = vehicles.end if stays_out is None else np.where(stays_out, -1, vehicles.end)
    first, last = (
        np.concatenate([np.arange(depots, instance.n), reload_depots, ends[owner]]) for ends in (vehicles.start, last_depot)
    )
    ends_elsewhere = bool((vehicles.start != last_depot).any())
    near, near_distance = (_padded(table, len(reload_depots)) for table in nearest_by_cost(instance, metric, neighbours, farther))
    service = np.zeros(instance.n) if instance.service is None else instance.service
    unused = np.zeros(1)
    timed, fixed_cost = instance.windows and rules is None, vehicles.fixed_cost + instance.route_weight
    duration_limited = bool(np.isfinite(vehicles.max_duration).any()) and rules is None
    limited = duration_limited or bool(np.isfinite(vehicles.max_distance).any())
    max_length = np.minimum(vehicles.max_distance, vehicles.max_duration) if rules is None else vehicles.max_distance
    latest = np.full(instance.n, np.inf) if instance.latest is None else _with_tolerance(instance.latest)
    planar = _is_planar(metric)
    # With costs of travel times, which need not satisfy the triangle inequality, a detour may reduce the cost.
    time_priced = (
        rules is not None
        and (rules.has_durations or rules.hourly_matrices)
        and (rules.has_time_costs or rules.structure.of_duration)
    )
    # A longer shortest route may reduce the cost, too.
    may_save = time_priced or (rules is not None and rules.structure.is_range)
    required = instance.required.copy()
    for route in fixed_beginnings(instance):
        required[route.visits] = True
    optional = ~required if rules is None else ~required & ~_in_required_group(instance)
    data = RoutingData(
        clients=clients,
        kind=metric.kind if (planar or metric.kind == EXPLICIT) and not ends_elsewhere else OTHER,
        slack=np.inf if stays_out is not None or may_save else _TRIANGLE_SLACK.get(metric.kind, _TRIANGLE_SLACK_OTHER),
        timed=timed,
        limited=limited,
        has_optional=bool(optional[depots:].any()),
        mixed=bool((vehicles.unit_cost != 1.0).any()),
        symmetric=instance.symmetric,
        metric=metric,
        metric_node=np.concatenate([first, last[clients:]]).astype(np.int32),
        points=np.ascontiguousarray(metric.points[first, :2]) if planar else np.zeros((0, 2)),
        near_count=min(neighbours, near.shape[1]),
        near=near,
        near_distance=near_distance,
        demand=_padded(instance.demand[depots:], len(reload_depots)),
        prize=_padded(np.where(required, np.inf, instance.prize)[depots:], len(reload_depots)),
        earliest=unused if instance.earliest is None else instance.earliest[first].copy(),
        latest=latest[last] if timed or (rules is not None and instance.windows) else unused,
        service=service[first] if timed else unused,
        added_length=(service[depots:].copy() if duration_limited else np.zeros(clients)) if limited else unused,
        fixed_cost=fixed_cost.copy(),
        unit_cost=np.maximum(vehicles.unit_cost, _MIN_UNIT_COST),
        max_length=_with_tolerance(max_length),
        windows=instance.windows,
        rules=rules,
    )
    return by_reference(data)


def _padded(table: NDArray[Any], more: int) -> NDArray[Any]:
    """Return `table` with `more` rows of zeros appended, which belong to the reload nodes."""
    return np.concatenate([table, np.zeros((more, *table.shape[1:]), table.dtype)])


def _in_required_group(instance: VrpInstance) -> NDArray[np.bool_]:
    """Return bool [instance.n]: whether the node belongs to a group of which one client must be served."""
    rules = instance.rules
    if rules is None or rules.groups is None or rules.group_required is None:
        return np.zeros(instance.n, bool)
    return np.asarray((rules.groups >= 0) & np.append(rules.group_required, False)[rules.groups])


def _with_tolerance(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return limits, float64, with a tolerance for rounding in sums; too small to matter if all values are integers."""
    return np.asarray(limit + np.where(np.isfinite(limit), _EASE * np.abs(limit), 0.0))


def _is_planar(metric: Metric) -> bool:
    """Return whether routes.py computes the distances itself, from two coordinates per node."""
    return metric.kind in (EUCLIDEAN, ROUNDED, TENTHS) and not metric.points[:, 2].any()


def slot_counts(instance: VrpInstance) -> NDArray[np.int64]:
    """Return int64 [types]: the number of slots of each type: one for each vehicle, but at most as many as clients."""
    count = instance.vehicles.count
    return np.where(count < 0, instance.clients, np.minimum(count, instance.clients))


def new_plan(instance: VrpInstance, data: RoutingData) -> Plan:
    """Return a plan in which no client is served."""
    n, counts = data.clients, slot_counts(instance)
    slots = int(counts.sum())
    stack_start = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
    kind = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    ring = np.full(n + slots, -1, np.int32)
    ring[n:] = np.arange(n, n + slots)
    route = np.full(n + slots, -1, np.int32)
    route[n:] = np.arange(slots)
    times = n + slots if data.timed else 1
    earliest_start, latest_start = np.zeros(times), np.zeros(times)
    if data.timed:
        earliest_start[n:], latest_start[n:] = data.earliest[n:], data.latest[n:]
    stacks = [np.arange(at, at + count)[::-1] for at, count in zip(stack_start, counts)]
    plan = Plan(
        next=ring,
        prev=ring.copy(),
        route=route,
        leg=np.zeros(n + slots),
        earliest_start=earliest_start,
        latest_start=latest_start,
        spare_capacity=_with_tolerance(instance.vehicles.capacity)[kind] if data.rules is None else np.full(slots, np.inf),
        length=np.zeros(slots),
        size=np.zeros(slots, np.int32),
        type=kind,
        free=np.concatenate([*stacks, np.zeros(0)]).astype(np.int32),
        free_size=counts.astype(np.int32),
        stack_start=stack_start,
        cost=np.zeros(2),
        counts=np.zeros(4, np.int64),
        best=np.full(n, -1, np.int32),
        segments=None if data.rules is None else new_segments(data.rules, slots),
    )
    plan = by_reference(plan)
    if data.rules is not None:
        refresh_all(data, plan, data.rules)
    return plan


def new_work(data: RoutingData, plan: Plan, seed: int) -> Work:
    """Return the arrays that iterations overwrite, with a random number generator that starts from `seed`."""
    n, max_changes = data.clients, 5 * data.clients  # two routes may change vehicles between ruin and recreate
    work = Work(
        random=random_state(seed),
        counts=np.zeros(5, np.int64),
        removed=np.zeros(2 * n, np.int32),
        key=np.zeros(2 * n),
        client=np.zeros(max_changes, np.int32),
        after=np.zeros(max_changes, np.int32),
        slot=np.zeros(max_changes, np.int32),
        spare_capacity=np.zeros(max_changes),
        length=np.zeros(max_changes),
        touched=np.zeros(max_changes, np.int32),
        stamp=np.zeros(len(plan.size), np.int64),
    )
    return by_reference(work)


def routes_in(instance: VrpInstance, plan: Plan, before: NDArray[np.int32]) -> list[Route]:
    """Return the routes that an array of predecessors describes, sorted by vehicle type and first client.

    Args:
        instance: The instance; the routes contain its node numbers.
        plan: The plan, for the vehicle types of the slots.
        before: int32 [n], the predecessor of each client, -1 for unserved ones: `Plan.prev` or `Plan.best`.
    """
    n, instance_node = len(before), np.concatenate([np.arange(instance.depots, instance.n), reload_nodes(instance)])
    successor = np.full(len(plan.next), -1, np.int32)
    served = np.flatnonzero(before >= 0)
    successor[before[served]] = served
    routes, types, next_of = [], plan.type.tolist(), successor.tolist()  # single numbers are read faster from lists
    for slot in np.flatnonzero(successor[n:] >= 0).tolist():
        visits, node = [], next_of[n + slot]
        while node >= 0:
            visits.append(int(instance_node[node]) if node >= instance.clients else node + instance.depots)
            node = next_of[node]
        routes.append(Route(types[slot], np.array(visits, np.int32)))
    return sorted(routes, key=lambda route: (route.vehicle, route.visits[0]))


def load_routes(instance: VrpInstance, data: RoutingData, plan: Plan, work: Work, solution: object) -> None:
    """Insert the routes of `solution` into an empty plan, in place.

    The k-th reload at a depot becomes the k-th reload node of the depot.
    """
    from corl.solvers.vrp.ruin.construction import place_route

    reload_depots, used_nodes = reload_nodes(instance), [0] * instance.depots
    for route in routes_of(instance, solution):
        visits = route.visits - instance.depots
        for position in np.flatnonzero(visits < 0):
            depot = int(route.visits[position])
            visits[position] = instance.clients + np.flatnonzero(reload_depots == depot)[used_nodes[depot]]
            used_nodes[depot] += 1
        place_route(data, plan, work, np.asarray(visits, np.int32), route.vehicle)


def fixed_beginnings(instance: VrpInstance) -> list[Route]:
    """Return, for each vehicle type whose route must begin with certain visits (`rules.begun`), a route of these visits."""
    begun = () if instance.rules is None or instance.rules.begun is None else instance.rules.begun
    return [Route(kind, nodes.astype(np.int32)) for kind, nodes in enumerate(begun) if len(nodes)]
