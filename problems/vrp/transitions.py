"""The pool of partial solutions and its kernels, which `corl.search` calls through `corl.hooks`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.kernels.sorted_lists import insert_nearest, too_far
from corl.routing.graph_pool import GraphPool, graph_metric
from corl.routing.metric import distance
from corl.tolerance import LIMIT

__all__ = [
    "CAPACITY",
    "DISTANCE",
    "DURATION",
    "ROUTE_COST",
    "SCALE",
    "UNIT_COST",
    "Position",
    "State",
    "at_depot",
    "mark_servable",
    "reset_rows",
    "serve",
    "vehicle_position",
]

CAPACITY, DISTANCE, DURATION, ROUTE_COST, UNIT_COST, SCALE = range(6)
"""Columns of State.limits."""
_SLACK = 0.5 * LIMIT  # half the judge's tolerance, so that the judge accepts all that is accepted here, despite rounding


class State(NamedTuple):
    """The pool of R partial solutions (rows) of I instances. Distances, times, prizes and costs are multiplied by `scale`.

    An instance has n nodes (N at most): node 0, the depot, and the clients 1..n-1.
    """

    graphs: GraphPool
    """Coordinates or matrices, and neighbour lists, of the instances."""
    limits: NDArray[np.float64]
    """[I, 6] the columns CAPACITY, greatest DISTANCE, greatest DURATION, ROUTE_COST, UNIT_COST of distance, and SCALE."""
    demand: NDArray[np.float64]
    """[sum of n] the demand of each node; the nodes of one instance follow those of another."""
    earliest: NDArray[np.float64]
    """[sum of n] the earliest begin of service."""
    latest: NDArray[np.float64]
    """[sum of n] the latest begin of service."""
    service: NDArray[np.float64]
    """[sum of n] the duration of service."""
    prize: NDArray[np.float64]
    """[sum of n] the prize of an optional client; 0 for required clients."""
    required: NDArray[np.bool_]
    """[sum of n] whether the client must be visited."""
    servable: NDArray[np.bool_]
    """[sum of n] whether the client can be served by a route without other clients."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    visited: NDArray[np.int32]
    """[R] the number of visited clients."""
    required_left: NDArray[np.int32]
    """[R] the number of required clients that are unvisited."""
    done: NDArray[np.bool_]
    """[R] whether all remaining clients are skipped, which ends the episode."""
    order: NDArray[np.int32]
    """[R, N] the visited clients in order, then the unvisited clients in any order."""
    place: NDArray[np.int32]
    """[R, N] the position of each client in `order`."""
    begins_route: NDArray[np.bool_]
    """[R, N] whether the t-th visit begins a route."""
    vehicle: NDArray[np.float64]
    """[R, 5] the Position of the current vehicle, after service at the last client."""
    from_depot: NDArray[np.bool_]
    """[1] whether the clients of a new vehicle are listed by their distance from the depot, not from the current vehicle."""


class Position(NamedTuple):
    """The state of a vehicle on its route, after service at the last client visited."""

    load: float
    """The sum of the demands so far."""
    distance: float
    """The distance so far."""
    ready: float
    """The earliest end of service at the last client."""
    busy: float
    """The time of travel and service so far, without waiting."""
    leave: float
    """The latest departure from the depot with which all windows so far are kept."""


@kernel
def _within(value: Any, limit: Any, size: Any) -> Any:
    """Return whether `value` keeps `limit` except for rounding; `size`: see corl.tolerance.keeps."""
    return value <= limit + _SLACK * max(abs(value), size)


@kernel
def at_depot(state: Any, instance: Any) -> Any:
    """Return the Position of a vehicle before it leaves the depot."""
    first = state.graphs.nodes_start[instance]
    return Position(0.0, 0.0, state.earliest[first], 0.0, state.latest[first])


@kernel
def vehicle_position(state: Any, row: Any) -> Any:
    """Return the Position of a row's current vehicle."""
    v = state.vehicle[row]
    return Position(v[0], v[1], v[2], v[3], v[4])


@kernel
def serve(state: Any, instance: Any, metric: Any, origin: Any, position: Any, client: Any) -> Any:
    """Return whether a vehicle at node `origin`, in `position`, can serve `client` next and return; and its new Position."""
    first, limits = state.graphs.nodes_start[instance], state.limits[instance]
    distance_out, distance_home = distance(metric, origin, client), distance(metric, client, 0)
    node = first + client
    begin = max(state.earliest[node], position.ready + distance_out)
    load, length, driving_and_service = (
        position.load + state.demand[node],
        position.distance + distance_out,
        position.busy + distance_out + state.service[node],
    )
    leave = min(position.leave, state.latest[node] - position.busy - distance_out)
    ready = begin + state.service[node]
    new_position = Position(load, length, ready, driving_and_service, leave)
    if not (_within(load, limits[CAPACITY], 0.0) and _within(length + distance_home, limits[DISTANCE], 0.0)):
        return False, new_position
    if not (_within(begin, state.latest[node], 0.0) and _within(ready + distance_home, state.latest[first], 0.0)):
        return False, new_position
    latest_departure = min(
        leave, state.latest[first] - driving_and_service - distance_home
    )  # so that windows are kept, the depot's included
    return _within(
        max(driving_and_service + distance_home, ready + distance_home - latest_departure),
        limits[DURATION],
        ready + distance_home,
    ), new_position


@kernel
def mark_servable(state: Any) -> None:
    """Write to `state.servable` whether each client can be served by a route without other clients."""
    for instance in range(len(state.graphs.size)):
        metric, first = graph_metric(state.graphs, instance), state.graphs.nodes_start[instance]
        for client in range(1, state.graphs.size[instance]):
            fits, _ = serve(state, instance, metric, 0, at_depot(state, instance), client)
            state.servable[first + client] = fits


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make rows[i] the empty solution of instances[i], and bases[i] its base value (before rewards): minus all prizes."""
    for i in range(len(rows)):
        row, instance = rows[i], instances[i]
        first, required_left, prizes = state.graphs.nodes_start[instance], 0, 0.0
        for client in range(1, state.graphs.size[instance]):
            state.order[row, client - 1], state.place[row, client] = client, client - 1
            required_left += state.required[first + client]
            prizes += state.prize[first + client]
        state.instance[row], state.visited[row], state.required_left[row], state.done[row] = instance, 0, required_left, False
        _set_position(state, row, at_depot(state, instance))
        bases[i] = -prizes / state.limits[instance, SCALE]


@kernel
def _set_position(state: Any, row: Any, position: Any) -> None:
    """Store the Position of a row's current vehicle."""
    v = state.vehicle[row]
    v[0], v[1], v[2], v[3], v[4] = position.load, position.distance, position.ready, position.busy, position.leave


@kernel
def _copy(state: Any, src: Any, dst: Any) -> None:
    """Copy row `src` to row `dst`."""
    n = state.graphs.size[state.instance[src]]
    state.instance[dst], state.visited[dst], state.required_left[dst] = (
        state.instance[src],
        state.visited[src],
        state.required_left[src],
    )
    state.done[dst] = state.done[src]
    state.order[dst, :n], state.place[dst, :n] = state.order[src, :n], state.place[src, :n]
    state.begins_route[dst, :n] = state.begins_route[src, :n]
    state.vehicle[dst] = state.vehicle[src]


@kernel
def _skip_unvisited(state: Any, src: Any, dst: Any) -> Any:
    """Return to the depot and skip all unvisited clients; return the reward."""
    instance, t = state.instance[src], state.visited[src]
    if src != dst:
        _copy(state, src, dst)
    state.done[dst] = True
    back = distance(graph_metric(state.graphs, instance), state.order[src, t - 1], 0) if t > 0 else 0.0
    return -state.limits[instance, UNIT_COST] * back / state.limits[instance, SCALE]


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Serve a client next (action 1..n-1) or by a new vehicle (n + client), or skip all unvisited clients (0); return the reward.

    The reward of an illegal action is NaN. Skipping is legal if no unvisited client is required.
    """
    instance, t = state.instance[src], state.visited[src]
    n, limits = state.graphs.size[instance], state.limits[instance]
    if state.done[src] or t >= n - 1 or action < 0 or action >= 2 * n or action == n:
        return math.nan
    if action == 0:
        return _skip_unvisited(state, src, dst) if state.required_left[src] == 0 else math.nan
    new_vehicle = action >= n
    client = action - n if new_vehicle else action
    if state.place[src, client] < t or (new_vehicle and t == 0):
        return math.nan
    metric, origin = graph_metric(state.graphs, instance), state.order[src, t - 1] if t > 0 else 0
    length = distance(metric, origin, 0) if new_vehicle else 0.0
    if new_vehicle:
        origin = 0
    fits, new_position = serve(
        state, instance, metric, origin, at_depot(state, instance) if origin == 0 else vehicle_position(state, src), client
    )
    if not fits:
        return math.nan
    if src != dst:
        _copy(state, src, dst)
    order, place = state.order[dst], state.place[dst]
    displaced, old_place = order[t], place[client]  # the unvisited client at position t takes the old place of `client`
    order[t], order[old_place], place[client], place[displaced] = client, displaced, t, old_place
    node = state.graphs.nodes_start[instance] + client
    state.begins_route[dst, t], state.visited[dst] = origin == 0, t + 1
    state.required_left[dst] -= state.required[node]
    _set_position(state, dst, new_position)
    length += distance(metric, origin, client)
    if t + 1 == n - 1:
        length += distance(metric, client, 0)
    cost = limits[UNIT_COST] * length + (limits[ROUTE_COST] if origin == 0 else 0.0)
    return (state.prize[node] - cost) / limits[SCALE]


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the nearest clients that can be served next, then the nearest clients for a new vehicle, then 0 if it is legal.

    Each of the two kinds of actions has half of the slots, and the slots that the other kind does not use.
    """
    instance, t = state.instance[row], state.visited[row]
    n = state.graphs.size[instance]
    if state.done[row] or t >= n - 1:
        return 0
    client_slots = len(out) - (1 if state.required_left[row] == 0 else 0)
    next_clients, new_vehicle_clients = np.empty(max(0, client_slots), np.int32), np.empty(max(0, client_slots), np.int32)
    next_count = _nearest(state, row, False, next_clients)
    new_vehicle_count = _nearest(state, row, True, new_vehicle_clients) if t > 0 else 0
    listed_next = max(min(next_count, client_slots - client_slots // 2), min(next_count, client_slots - new_vehicle_count))
    new_vehicle_count = min(new_vehicle_count, client_slots - listed_next)
    for i in range(listed_next):
        out[i] = next_clients[i]
    for i in range(new_vehicle_count):
        out[listed_next + i] = n + new_vehicle_clients[i]
    if client_slots < len(out):
        out[listed_next + new_vehicle_count] = 0
        return listed_next + new_vehicle_count + 1
    return listed_next + new_vehicle_count


@kernel
def _nearest(state: Any, row: Any, new_vehicle: Any, out: Any) -> Any:
    """Write to `out` the nearest clients that the current vehicle, or a new one (`new_vehicle`), can serve; return their number.

    They come from the neighbour list or, if the list has too few, from a scan of all unvisited clients. Of clients at equal
    distances, the one with the lower number is first.
    """
    instance, t = state.instance[row], state.visited[row]
    graphs, metric = state.graphs, graph_metric(state.graphs, instance)
    n, listed, first = graphs.size[instance], graphs.listed[instance], graphs.nodes_start[instance]
    origin = state.order[row, t - 1] if t > 0 and not (new_vehicle and state.from_depot[0]) else 0
    position = vehicle_position(state, row) if t > 0 else at_depot(state, instance)
    wanted, count = min(len(out), n - 1 - t), 0
    begin = graphs.lists_start[instance] + origin * listed
    for i in range(begin, begin + listed):
        if count == wanted:
            return count
        client = graphs.lists[i]
        if client == 0 or state.place[row, client] < t or not state.servable[first + client]:
            continue
        if new_vehicle or serve(state, instance, metric, origin, position, client)[0]:
            out[count] = client
            count += 1
    if count == wanted or listed == n - 1:
        return count
    lengths, count = np.empty(len(out)), 0
    for client in state.order[row, t : n - 1]:
        if not state.servable[first + client]:
            continue
        length = distance(metric, origin, client)
        if too_far(lengths, out, count, length, client):
            continue
        if new_vehicle or serve(state, instance, metric, origin, position, client)[0]:
            count = insert_nearest(lengths, out, count, length, client)
    return count
