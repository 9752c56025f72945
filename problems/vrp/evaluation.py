"""The judge: the cost of routes, by the formulas of corl.routing.edge_weights, and their feasibility."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.vrp.evaluation_rules import (
    check_rules,
    check_single_route,
    has_breaks,
    leg_distances,
    path_windows,
    stays_out,
    time_cost,
    times_with_breaks,
    travel_times,
)  # fmt: skip
from corl.problems.vrp.evaluation_structure import check_rosters, structure_cost
from corl.problems.vrp.evaluation_times import best_times, earliest_times, legs_of, penalties
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.routing.edge_weights import edge_lengths
from corl.tolerance import keeps

__all__ = ["Route", "Schedule", "check", "check_route", "objective", "routes_of", "schedule"]


class Schedule(NamedTuple):
    """Distance, load and times of a route; distances and times are in the instance's units (times `scale`)."""

    distance: float
    load: float
    """The sum of the demands of the clients."""
    begin: NDArray[np.float64]
    """float64 [visits]: when service begins at each visit, if the vehicle leaves at `leave`."""
    leave: float
    """The latest departure that does not delay the return."""
    back: float
    """The earliest time at which the vehicle is back."""
    duration: float
    """The time from departure to return: the least possible, except that soft windows may make a longer one cheaper."""
    penalty: float = 0.0
    """The cost of services that begin outside their soft windows (times `scale`)."""


def check(instance: VrpInstance, solution: Any) -> list[Route]:
    """Return the routes of a feasible solution, see `routes_of`.

    Raises Infeasible, naming the first violated limit and the file's ids.
    """
    return _checked(instance, solution)[0]


def objective(instance: VrpInstance, solution: Any) -> float:
    """Return the objective value: (distance x unit cost + fixed costs + costs of time + prizes missed) / `scale`.

    The costs of unbalanced routes and of rosters are added, too.

    Raises Infeasible, naming the first violated limit and the file's ids.
    """
    (routes, lengths, schedules), vehicles = _checked(instance, solution), instance.vehicles
    used = np.bincount([route.vehicle for route in routes], minlength=vehicles.types)
    cost = float(vehicles.fixed_cost @ used) + instance.route_weight * len(routes)
    for route, length, times in zip(routes, lengths, schedules):
        cost += length * float(vehicles.unit_cost[route.vehicle])
        cost += _cost_of_times(instance, route.vehicle, times)
    if instance.rules is not None:
        cost += structure_cost(instance.rules, routes, np.array(lengths), _durations(instance, schedules))
    missed = np.ones(instance.n, bool)
    for route in routes:
        missed[route.visits] = False
    missed[: instance.depots] = False
    cost += float(instance.prize[missed & ~instance.required].sum())
    return cost / instance.scale


def _checked(instance: VrpInstance, solution: Any) -> tuple[list[Route], list[float], list[Schedule | None]]:
    """Return the routes of a solution, their distances and their schedules, as `_checked_routes` does.

    Raises Infeasible, naming the first violated limit.
    """
    routes, vehicles = routes_of(instance, solution), instance.vehicles
    _check_visits(instance, routes)
    used = np.bincount([route.vehicle for route in routes], minlength=vehicles.types)
    if (exceeded := (vehicles.count >= 0) & (used > vehicles.count)).any():
        kind = int(exceeded.argmax())
        name = "" if vehicles.types == 1 else f" of type {instance.vehicle_label(kind)}"
        raise Infeasible(f"{used[kind]} vehicles{name} are used; there are {vehicles.count[kind]}")
    if instance.rules is not None:
        check_rules(instance, routes)
    lengths, schedules = _checked_routes(instance, routes)
    if instance.rules is not None and instance.rules.roster is not None:
        check_rosters(instance, instance.rules, routes, _durations(instance, schedules), _driving(instance, routes))
    return routes, lengths, schedules


def _durations(instance: VrpInstance, schedules: list[Schedule | None]) -> NDArray[np.float64]:
    """Return float64 [routes]: the duration of each route; 0 if no rule measures it."""
    measured = instance.rules is not None and instance.rules.measures_duration
    return np.array([each.duration if measured and each is not None else 0.0 for each in schedules])


def _driving(instance: VrpInstance, routes: list[Route]) -> NDArray[np.float64]:
    """Return float64 [routes]: the travel time of each route."""
    paths = zip(routes, _paths(instance, routes))
    return np.array([float(travel_times(instance, route, path, legs).sum()) for route, (path, legs) in paths])


def check_route(instance: VrpInstance, route: Route) -> float:
    """Return the cost of a route (times `scale`), regardless of the other routes.

    Raises Infeasible, naming the first violated limit.
    """
    if instance.rules is not None:
        check_single_route(instance, route)
    kind, vehicles = route.vehicle, instance.vehicles
    (length,), (times,) = _checked_routes(instance, [route])
    cost = length * float(vehicles.unit_cost[kind]) + float(vehicles.fixed_cost[kind]) + instance.route_weight
    return cost + _cost_of_times(instance, kind, times)


def _cost_of_times(instance: VrpInstance, kind: int, times: Schedule | None) -> float:
    """Return the cost of a route's duration and of its services outside soft windows (times `scale`)."""
    if instance.rules is None or not instance.rules.prices_times or times is None:
        return 0.0
    return time_cost(instance, kind, times.duration) + times.penalty


def routes_of(instance: VrpInstance, solution: Any) -> list[Route]:
    """Return the routes of a solution.

    A solution is a list of Route tuples, or of sequences of client nodes (for vehicles of the first type). Raises Infeasible for
    an invalid route: no clients, an unknown node, an unknown vehicle type.
    """
    if not isinstance(solution, (Sequence, np.ndarray)) or isinstance(solution, (str, bytes)):
        raise Infeasible("a solution is a list of routes")
    routes = []
    for number, each in enumerate(solution, 1):
        vehicle, given = each if isinstance(each, Route) else (0, each)
        try:
            visits = np.asarray(given)
        except ValueError:  # ragged
            raise Infeasible(f"route {number} is no list of clients") from None
        if visits.ndim != 1 or not len(visits):
            raise Infeasible(f"route {number} visits no client; omit it" if visits.ndim == 1 else f"route {number} is no list")
        if visits.dtype.kind not in "iu":
            raise Infeasible(f"route {number} is a list of integers, not of {visits.dtype}")
        lowest_node = 0 if instance.rules is not None and instance.rules.reloads is not None else instance.depots
        if (bad := (visits < lowest_node) | (visits >= instance.n)).any():
            node = visits[int(bad.argmax())]
            raise Infeasible(f"route {number} visits node index {node}; clients are {instance.depots} to {instance.n - 1}")
        if not isinstance(vehicle, (int, np.integer)) or not 0 <= vehicle < instance.vehicles.types:
            message = f"route {number} has vehicle type {vehicle!r}; accepted: 0 to {instance.vehicles.types - 1}"
            raise Infeasible(message)
        routes.append(Route(int(vehicle), visits.astype(np.int32)))
    return routes


def schedule(instance: VrpInstance, route: Route) -> Schedule:
    """Return distance, load and times of a route, even if they violate limits; missed windows are ignored.

    With reloads, the load is the sum over all trips. With breaks, rests or several windows, the schedule is one with the earliest
    return. With soft windows it is one with the least cost of times; if travel times depend on the hour, one with the least
    duration; in both cases, if some window is missed in every schedule, it is the earliest one. Raises Infeasible if no schedule
    exists.
    """
    path, legs = _paths(instance, [route])[0]
    service = np.zeros(len(path)) if instance.service is None else instance.service[path]
    opens = np.zeros(len(path)) if instance.earliest is None else instance.earliest[path]
    closes = np.full(len(path), np.inf) if instance.latest is None else instance.latest[path]
    load, travel = float(instance.demand[path].sum()), legs
    if instance.rules is not None:
        opens, closes = path_windows(instance, route, path, opens, closes)
        travel = travel_times(instance, route, path, legs)
        if has_breaks(instance.rules, route.vehicle):
            times = times_with_breaks(instance, route, path, opens, closes, service, travel)
            return Schedule(float(legs.sum()), load, times[1:-1], float(times[0]), float(times[-1]), float(times[-1] - times[0]))
        if instance.rules.soft_windows is not None or instance.rules.hourly:
            times, penalty = _chosen_times(instance, route, path, opens, closes, service, travel)
            leave, back = float(times[0]), float(times[-1])
            return Schedule(float(legs.sum()), load, times[1:-1], leave, back, back - leave, penalty)
    begin = opens.copy()  # the earliest times: the vehicle leaves when the depot opens
    for i in range(1, len(path)):
        begin[i] = max(opens[i], begin[i - 1] + service[i - 1] + travel[i - 1])
    last = closes.copy()  # the latest times at which the rest of the route is still in time
    for i in range(len(path) - 2, -1, -1):
        last[i] = min(closes[i], last[i + 1] - travel[i] - service[i])
    driving_and_service = float(travel.sum() + service.sum())
    # A vehicle that leaves at t is back at max(back, t + driving_and_service), so a later departure (up to last[0]) is better.
    back = float(begin[-1])
    leave = max(float(begin[0]), min(float(last[0]), back - driving_and_service))
    begin[0] = leave
    for i in range(1, len(path) - 1):
        begin[i] = max(opens[i], begin[i - 1] + service[i - 1] + travel[i - 1])
    return Schedule(float(legs.sum()), load, begin[1:-1], leave, back, max(driving_and_service, back - leave))


def _chosen_times(
    instance: VrpInstance, route: Route, path: NDArray[np.int64], opens: NDArray[np.float64], closes: NDArray[np.float64],
    service: NDArray[np.float64], travel: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:  # fmt: skip
    """Return the times of a route, float64 [len(path)], and their penalty, with soft windows or travel times by the hour.

    The other arguments, float64, are the windows and durations of service of the path's nodes, and the travel times of its legs.
    """
    rules = instance.rules
    assert rules is not None
    rate = 1.0  # of duration alone: the least duration costs least
    if rules.soft_windows is not None:
        rate = 0.0 if rules.duration_cost is None else float(rules.duration_cost[route.vehicle])
    legs = legs_of(instance, route, path, travel)
    times = best_times(instance, path, opens, closes, service, legs, rate)
    if times is None:
        times = earliest_times(opens, service, legs)
    if rules.early_cost is None or rules.late_cost is None:
        return times, 0.0
    early, late = penalties(instance, path, times)
    return times, float(rules.early_cost[path] @ early + rules.late_cost[path] @ late)


def _paths(instance: VrpInstance, routes: Sequence[Route]) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return the nodes of each route, from depot to depot, and the distances of its legs; all distances are computed in one call.

    The distance to the last depot is 0 if the vehicle need not return.
    """
    vehicles, rules = instance.vehicles, instance.rules
    parts: list[NDArray[np.integer]] = [np.zeros(0, np.int64)]
    for route in routes:
        kind = slice(route.vehicle, route.vehicle + 1)
        parts += [vehicles.start[kind], route.visits, vehicles.end[kind]]
    path = np.concatenate(parts)
    legs = edge_lengths(instance.edge_weight_type, instance.points, instance.matrix, path[:-1], path[1:])
    ends = np.cumsum([0, *(len(route.visits) + 2 for route in routes)]).tolist()
    paths = [(path[begin:end], legs[begin : end - 1]) for begin, end in pairwise(ends)]
    if rules is None:
        return paths
    return [(nodes, leg_distances(rules, route.vehicle, nodes, legs)) for route, (nodes, legs) in zip(routes, paths)]


def _check_visits(instance: VrpInstance, routes: list[Route]) -> None:
    """Check that every client is visited at most once, and every required client exactly once. Raises Infeasible."""
    visits = np.concatenate([np.zeros(0, np.int32), *(route.visits for route in routes)])
    visits = visits[visits >= instance.depots]
    counts = np.bincount(visits, minlength=instance.n)
    if (counts > 1).any():
        node = int((counts > 1).argmax())
        route_numbers = [number for number, route in enumerate(routes, 1) for _ in range(int((route.visits == node).sum()))]
        raise Infeasible(f"client {instance.labels[node]} is visited twice, in routes {route_numbers[0]} and {route_numbers[1]}")
    if (missing := instance.required & (counts == 0)).any():
        node = int(missing.argmax())
        raise Infeasible(f"client {instance.labels[node]} must be visited and is not ({int(missing.sum())} such)")


def _checked_routes(instance: VrpInstance, routes: Sequence[Route]) -> tuple[list[float], list[Schedule | None]]:
    """Check the limits of each route, and return the lengths of all routes, and their schedules; None if none was needed.

    Raises Infeasible, naming the violated limit.
    """
    vehicles, paths = instance.vehicles, _paths(instance, routes)
    kinds = np.array([route.vehicle for route in routes], np.int64)
    without_rules = instance.rules is None  # with side constraints, the loads have been checked trip by trip
    loads = np.array([instance.demand[path].sum() if without_rules else 0.0 for path, _ in paths])
    lengths = np.array([legs.sum() for _, legs in paths])
    within_limits = keeps(loads, vehicles.capacity[kinds]) & keeps(lengths, vehicles.max_distance[kinds])
    schedules: list[Schedule | None] = [None] * len(routes)
    # If time does not matter, only routes that violate a limit are examined one by one, which is slow.
    for k in range(len(routes)) if instance.timed or not without_rules else np.flatnonzero(~within_limits).tolist():
        schedules[k] = _check_limits(instance, k + 1, routes[k], float(loads[k]), float(lengths[k]))
    return [float(length) for length in lengths], schedules


def _check_limits(instance: VrpInstance, number: int, route: Route, load: float, length: float) -> Schedule | None:
    """Check that a route keeps all of its limits, and return its schedule if times matter. Raises Infeasible."""
    vehicles, kind = instance.vehicles, route.vehicle
    _within(load, float(vehicles.capacity[kind]), f"route {number} has load", "the capacity is", 1)
    _within(length, float(vehicles.max_distance[kind]), f"route {number} has length", "the limit is", instance.scale)
    return _check_times(instance, number, route) if instance.timed or instance.rules is not None else None


def _check_times(instance: VrpInstance, number: int, route: Route) -> Schedule:
    """Check that a route keeps its time windows and its maximum duration, and return its schedule. Raises Infeasible."""
    vehicles, kind, scale = instance.vehicles, route.vehicle, instance.scale
    times = schedule(instance, route)
    if instance.latest is not None:
        depot = int(vehicles.start[kind])
        event = f"route {number} leaves depot {instance.labels[depot]} at"
        _within(times.leave, float(instance.latest[depot]), event, "which closes at", scale)
        for node, begin in zip(route.visits, times.begin):
            event = f"route {number} comes to {'client' if node >= instance.depots else 'depot'} {instance.labels[node]} at"
            _within(float(begin), float(instance.latest[node]), event, "its window ends at", scale)
    if instance.latest is not None and not (instance.rules is not None and stays_out(instance.rules, kind)):
        depot = int(vehicles.end[kind])
        event = f"route {number} is back at depot {instance.labels[depot]} at"
        _within(times.back, float(instance.latest[depot]), event, "which closes at", scale)
    if instance.rules is not None and instance.rules.shift is not None:
        ends = float(instance.rules.shift[kind, 1])
        _within(times.back, ends, f"route {number} is back at", "the vehicle's shift ends at", scale)
    _within(times.duration, float(vehicles.max_duration[kind]), f"route {number} takes", "the limit is", scale, times.back)
    return times


def _within(value: float, limit: float, value_words: str, limit_words: str, scale: int, size: float = 0.0) -> None:
    """Raise Infeasible unless `value` keeps `limit`; `size`: see corl.tolerance.keeps."""
    if not keeps(value, limit, size):
        raise Infeasible(f"{value_words} {value / scale:.10g}; {limit_words} {limit / scale:.10g}")
