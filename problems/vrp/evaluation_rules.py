"""The judge of side constraints: loads, order of visits, shipments, groups, reloads, and the times of a route with breaks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from corl.errors import Infeasible
from corl.problems.vrp.evaluation_structure import check_clusters
from corl.problems.vrp.instance import VrpInstance
from corl.problems.vrp.routes import Route
from corl.problems.vrp.rules import SideConstraints
from corl.tolerance import keeps

__all__ = [
    "check_loads",
    "check_rules",
    "check_single_route",
    "has_breaks",
    "leg_distances",
    "next_open",
    "path_windows",
    "stays_out",
    "time_cost",
    "times_with_breaks",
    "travel_times",
]  # fmt: skip

_Floats = NDArray[np.float64]


def check_rules(instance: VrpInstance, routes: Sequence[Route]) -> None:
    """Check all side constraints on assignment, order and loads. Raises Infeasible, naming the first violated one."""
    rules = instance.rules
    assert rules is not None
    _check_groups(instance, rules, routes)
    check_clusters(instance, rules, routes)
    for number, route in enumerate(routes, 1):
        _check_route(instance, rules, number, route)
    _check_shipments(instance, rules, routes)
    _check_begun(instance, rules, routes, range(instance.vehicles.types))


def check_single_route(instance: VrpInstance, route: Route) -> None:
    """Check the side constraints of one route, regardless of the others. Raises Infeasible."""
    rules = instance.rules
    assert rules is not None
    check_clusters(instance, rules, [route])
    _check_route(instance, rules, 1, route)
    _check_shipments(instance, rules, [route])
    _check_begun(instance, rules, [route], [route.vehicle])


def _check_route(instance: VrpInstance, rules: SideConstraints, number: int, route: Route) -> None:
    """Check that the vehicle may serve the route's clients, and that the loads of all trips fit into it."""
    clients = route.visits[route.visits >= instance.depots]
    if rules.allowed is not None and not rules.allowed[route.vehicle, clients].all():
        client = clients[int((~rules.allowed[route.vehicle, clients]).argmax())]
        raise Infeasible(f"route {number} serves client {instance.labels[client]}, which its vehicle may not")
    for trip in _trips(instance, rules, number, route):
        check_loads(instance, rules, f"route {number}", route.vehicle, trip)


def _check_groups(instance: VrpInstance, rules: SideConstraints, routes: Sequence[Route]) -> None:
    """Check that at most one client of every group is served, and exactly one of every required group."""
    if rules.groups is None or rules.group_required is None:
        return
    served = np.concatenate([np.zeros(0, np.int64), *(rules.groups[route.visits] for route in routes)])
    counts = np.bincount(served[served >= 0], minlength=len(rules.group_required))
    for bad, words in (((counts > 1), "more than one client is"), (rules.group_required & (counts == 0), "no client is")):
        if bad.any():
            group = int(bad.argmax())
            names = ", ".join(instance.labels[i] for i in np.flatnonzero(rules.groups == group)[:10])
            raise Infeasible(f"of the group {names}, {words} served")


def _trips(instance: VrpInstance, rules: SideConstraints, number: int, route: Route) -> list[NDArray[np.int32]]:
    """Return the visits of each trip. Raises Infeasible for a forbidden reload, and for a trip without clients."""
    reload_positions = np.flatnonzero(route.visits < instance.depots)
    if not len(reload_positions):
        return [route.visits]
    kind = route.vehicle
    max_reloads = 0 if rules.reloads is None else int(rules.reloads[kind])
    if len(reload_positions) > max_reloads:
        raise Infeasible(f"route {number} reloads {len(reload_positions)} times; the limit is {max_reloads}")
    allowed_depots = np.zeros(instance.depots, bool)
    allowed_depots[instance.vehicles.start[kind]] = True
    allowed_depots = allowed_depots if rules.reload_depots is None else rules.reload_depots[kind]
    for depot in route.visits[reload_positions]:
        if not allowed_depots[depot]:
            raise Infeasible(f"route {number} reloads at depot {instance.labels[depot]}, where its vehicle may not")
    trips = np.split(route.visits, reload_positions)
    trips = [trips[0], *(trip[1:] for trip in trips[1:])]
    if not all(len(trip) for trip in trips):
        raise Infeasible(f"route {number} reloads without a client before or after it")
    return trips


def check_loads(instance: VrpInstance, rules: SideConstraints, route: str, kind: int, trip: NDArray[np.int32]) -> None:
    """Check the load after every visit of a trip, in every dimension, and the order of deliveries and pickups.

    Args:
        instance: The instance.
        rules: Its side constraints.
        route: The name of the route in messages.
        kind: The vehicle type.
        trip: int32 [visits], the nodes of the trip.
    """
    demands = rules.of("demands", instance.demand[:, None])
    capacity = rules.of("capacities", np.repeat(instance.vehicles.capacity[:, None], rules.dimensions, axis=1))[kind]
    change = -demands[trip]
    if rules.pickups is not None:
        change = change + rules.pickups[trip]
        if rules.backhauls_last:
            _check_order(instance, route, trip, demands[trip], rules.pickups[trip])
    if rules.shipments is not None and rules.amounts is not None:
        for (start, end), amount in zip(rules.shipments, rules.amounts):
            change[trip == start] += amount
            change[trip == end] -= amount
    initial_load = demands[trip].sum(axis=0) + (0.0 if rules.aboard is None else rules.aboard[kind])
    aboard = np.concatenate([[initial_load], initial_load + np.cumsum(change, axis=0)])
    if not (fits := keeps(aboard, capacity[None, :])).all():
        visits_done, dimension = np.unravel_index(int((~fits).argmax()), fits.shape)
        where = f"after client {instance.labels[trip[visits_done - 1]]}" if visits_done else "when it leaves"
        dimension_words = "" if rules.dimensions == 1 else f" in dimension {dimension + 1}"
        message = f"{route} has load {aboard[visits_done, dimension]:.10g}{dimension_words} {where}"
        raise Infeasible(f"{message}; the capacity is {capacity[dimension]:.10g}")


def _check_order(instance: VrpInstance, route: str, trip: NDArray[np.int32], demands: _Floats, pickups: _Floats) -> None:
    """Check that a trip with pickups makes all of its deliveries, at least one, before its first pickup."""
    delivers, collects = np.asarray(demands.any(axis=1)), np.asarray(pickups.any(axis=1))
    collected = np.logical_or.accumulate(collects) if len(collects) else collects
    if (delivers_late := delivers & collected).any():
        client = instance.labels[trip[int(delivers_late.argmax())]]
        raise Infeasible(f"{route} delivers to client {client} after a pickup; deliveries come first")
    if collects.any() and not delivers.any():
        raise Infeasible(f"{route} collects without delivering anything; accepted: a delivery first")


def _check_shipments(instance: VrpInstance, rules: SideConstraints, routes: Sequence[Route]) -> None:
    """Check that each shipment is picked up and then delivered on the same route."""
    if rules.shipments is None:
        return
    route_of, position = np.full(instance.n, -1), np.zeros(instance.n, np.int64)
    for number, route in enumerate(routes):
        route_of[route.visits], position[route.visits] = number, np.arange(len(route.visits))
    for start, end in rules.shipments:
        if route_of[start] != route_of[end] or position[start] > position[end]:
            message = (
                f"the shipment from client {instance.labels[start]} is not delivered to client {instance.labels[end]} after it"
            )
            raise Infeasible(f"{message}, on the same route")


def _check_begun(instance: VrpInstance, rules: SideConstraints, routes: Sequence[Route], kinds: Iterable[int]) -> None:
    """Check that the routes of vehicles under way visit their fixed first nodes (`begun`) first."""
    for kind in kinds:
        if rules.begun is None or not len(begun := rules.begun[kind]):
            continue
        visits = next((route.visits for route in routes if route.vehicle == kind), np.zeros(0, np.int32))
        if not np.array_equal(visits[: len(begun)], begun):
            names = ", ".join(instance.labels[node] for node in begun[:10])
            raise Infeasible(
                f"the vehicle of type {instance.vehicle_label(kind)} is under way to {names}; its route does not go there first"
            )


# -------------------------------------------------------------------- distances and times
def stays_out(rules: SideConstraints, kind: int) -> bool:
    """Return whether the routes of a vehicle type end at their last client."""
    return rules.stays_out is not None and bool(rules.stays_out[kind])


def leg_distances(rules: SideConstraints, kind: int, path: NDArray[np.int64], legs: _Floats) -> _Floats:
    """Return the distances along a path for a vehicle type, float64 [len(path) - 1]; `legs` are the instance's distances."""
    if rules.distances is not None:
        legs = rules.distances[0 if rules.profile is None else rules.profile[kind], path[:-1], path[1:]]
    if stays_out(rules, kind):
        legs = np.concatenate([legs[:-1], [0.0]])
    return legs


def travel_times(instance: VrpInstance, route: Route, path: NDArray[np.int64], legs: _Floats) -> _Floats:
    """Return the travel time of each leg, float64 [len(path) - 1]; by default the distances, `legs`."""
    rules, kind = instance.rules, route.vehicle
    assert rules is not None
    if rules.durations is None:
        return legs
    times: _Floats = rules.durations[0 if rules.profile is None else rules.profile[kind], path[:-1], path[1:]].copy()
    if stays_out(rules, kind):
        times[-1] = 0.0
    return times


def path_windows(
    instance: VrpInstance, route: Route, path: NDArray[np.int64], opens: _Floats, closes: _Floats
) -> tuple[_Floats, _Floats]:
    """Return the openings and closings along a path: of the departure, of each service or reload, and of the return.

    Args:
        instance: The instance.
        route: The route.
        path: int64, the route's nodes from depot to depot.
        opens: float64 [len(path)], when the nodes open.
        closes: float64 [len(path)], when the nodes close.
    """
    rules = instance.rules
    assert rules is not None
    opens, closes = opens.copy(), closes.copy()
    if stays_out(rules, route.vehicle):
        opens[-1], closes[-1] = 0.0, np.inf
    if rules.shift is not None:
        opens[0] = max(opens[0], rules.shift[route.vehicle, 0])
        closes[-1] = min(closes[-1], rules.shift[route.vehicle, 1])
    if rules.release is not None:
        trip_starts = [0, *(1 + np.flatnonzero(route.visits < instance.depots)).tolist()]
        for begin, end in zip(trip_starts, [*trip_starts[1:], len(path) - 1]):
            opens[begin] = max(opens[begin], rules.release[path[begin + 1 : end]].max(initial=0.0))
    return opens, closes


def time_cost(instance: VrpInstance, kind: int, duration: float) -> float:
    """Return the cost of a route's duration (times `scale`)."""
    rules, cost = instance.rules, 0.0
    assert rules is not None
    if rules.duration_cost is not None:
        cost += float(rules.duration_cost[kind]) * duration
    if rules.overtime_from is not None and rules.overtime_cost is not None:
        cost += float(rules.overtime_cost[kind]) * max(0.0, duration - float(rules.overtime_from[kind]))
    return cost


def has_breaks(rules: SideConstraints, kind: int) -> bool:
    """Return whether a vehicle type has breaks or rests, or any client has several windows."""
    has_rests = rules.max_driving is not None and bool(np.isfinite(rules.max_driving[kind]))
    return has_rests or rules.closed is not None or (rules.breaks is not None and bool((rules.breaks[:, 0] == kind).any()))


def times_with_breaks(
    instance: VrpInstance, route: Route, path: NDArray[np.int64], opens: _Floats, closes: _Floats, service: _Floats,
    travel: _Floats,
) -> _Floats:  # fmt: skip
    """Return float64 [len(path)]: when the vehicle leaves, begins each service and is back, as early as its breaks allow.

    All break schedules are followed in parallel, as labels: (time, number of remaining breaks, driving time since the last rest,
    begins of the visits so far). Dominated labels are dropped. Raises Infeasible if no label remains.

    Args:
        instance: The instance.
        route: The route.
        path: int64, the route's nodes from depot to depot.
        opens: float64 [len(path)], the earliest time of each step of the path.
        closes: float64 [len(path)], the latest time of each step.
        service: float64 [len(path)], the durations of service.
        travel: float64 [len(path) - 1], the travel times of the legs.
    """
    rules = instance.rules
    assert rules is not None
    kind, breaks = route.vehicle, np.zeros((0, 3))
    if rules.breaks is not None:
        breaks = rules.breaks[rules.breaks[:, 0] == kind, 1:]
        breaks = breaks[np.lexsort((breaks[:, 0], breaks[:, 1]))]
    max_driving = np.inf if rules.max_driving is None else float(rules.max_driving[kind])
    rest_duration = np.inf if rules.rest is None else float(rules.rest[kind])
    labels: list[tuple[float, int, float, tuple[float, ...]]] = [(float(opens[0]), len(breaks), 0.0, (float(opens[0]),))]
    for i in range(1, len(path)):
        travel_time = float(travel[i - 1])
        arrived = [
            (time + travel_time, breaks_left, driven + travel_time, begins)
            for time, breaks_left, driven, begins in labels
            if keeps(driven + travel_time, max_driving)
        ]
        if i + 1 == len(path):
            latest_starts = [float(each[1]) for each in breaks]
            arrivals = [(max(time, float(opens[i])), begins) for time, breaks_left, _, begins in arrived]
            breaks_kept = [
                breaks_left == 0 or keeps(time, min(latest_starts[len(latest_starts) - breaks_left :]))
                for (time, _), (_, breaks_left, _, _) in zip(arrivals, arrived)
            ]
            returns = [
                (time, begins) for (time, begins), kept in zip(arrivals, breaks_kept) if kept and keeps(time, float(closes[i]))
            ]
            if not returns:
                raise Infeasible(f"a route of vehicle type {instance.vehicle_label(kind)} is not back in time with its breaks")
            time, begins = min(returns)
            return np.array([*begins, time])
        served = []
        for time, breaks_left, driven, begins in _add_breaks(arrived, breaks, rest_duration):
            begin = next_open(instance, int(path[i]), max(time, float(opens[i])))
            if keeps(begin, float(closes[i])):
                served.append((begin + float(service[i]), breaks_left, driven, (*begins, begin)))
        labels = _add_breaks(served, breaks, rest_duration)
        if not labels:
            node = instance.labels[path[i]]
            route_of = f"a route of vehicle type {instance.vehicle_label(kind)}"
            raise Infeasible(f"{route_of} does not reach {node} in time, with its breaks and rests")
    raise AssertionError("a path ends at a depot")


def next_open(instance: VrpInstance, node: int, time: float) -> float:
    """Return the first time, from `time` on, that is not between two windows of the node; it may be after the last window."""
    rules = instance.rules
    if rules is not None and rules.closed is not None:
        for _, begin, end in sorted(rules.closed[rules.closed[:, 0] == node].tolist()):
            if begin < time < end:
                time = end
    return time


def _add_breaks(
    labels: list[tuple[float, int, float, tuple[float, ...]]], breaks: _Floats, rest_duration: float
) -> list[tuple[float, int, float, tuple[float, ...]]]:
    """Return these labels and the labels after any breaks and rests taken here, without dominated labels."""
    reached, index = list(labels), 0
    while index < len(reached):
        time, breaks_left, driven, begins = reached[index]
        index += 1
        if breaks_left:
            earliest, latest, duration = breaks[len(breaks) - breaks_left].tolist()
            if keeps(time, latest):
                reached.append(
                    (max(time, earliest) + duration, breaks_left - 1, 0.0 if duration >= rest_duration else driven, begins)
                )
        if rest_duration < np.inf and driven > 0.0:
            reached.append((time + rest_duration, breaks_left, 0.0, begins))
    undominated: list[tuple[float, int, float, tuple[float, ...]]] = []
    for label in sorted(reached, key=lambda each: each[:3]):
        if not any(all(a <= b for a, b in zip(other[:3], label[:3])) for other in undominated):
            undominated.append(label)
    return undominated
