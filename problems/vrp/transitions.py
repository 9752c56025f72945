"""The pool of partial solutions and its kernels: what `corl.search` calls through `corl.hooks`."""

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
_SLACK = 0.5 * LIMIT  # half the judge's tolerance: whatever is accepted here, the judge accepts despite rounding


class State(NamedTuple):
    """The pool. I instances, each of node 0, the depot, and clients 1..n-1 (n at most N); R rows. Costs are times `scale`."""

    graphs: GraphPool
    limits: NDArray[np.float64]
    """[I, 6] CAPACITY, the longest DISTANCE and DURATION, ROUTE_COST, UNIT_COST of distance, and the SCALE."""
    demand: NDArray[np.float64]
    """[sum of n], as the next six."""
    earliest: NDArray[np.float64]
    latest: NDArray[np.float64]
    service: NDArray[np.float64]
    prize: NDArray[np.float64]
    """0 where required."""
    required: NDArray[np.bool_]
    servable: NDArray[np.bool_]
    """Whether the client can be served by a route with no other client."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    visited: NDArray[np.int32]
    """[R] the number of visited clients."""
    required_left: NDArray[np.int32]
    """[R] the number of required clients that are unvisited."""
    done: NDArray[np.bool_]
    """[R] whether the remaining clients are skipped."""
    order: NDArray[np.int32]
    """[R, N] the clients visited in order, then the others in any order."""
    place: NDArray[np.int32]
    """[R, N] the position of each client in `order`."""
    begins_route: NDArray[np.bool_]
    """[R, N] whether the t-th visit begins a route."""
    vehicle: NDArray[np.float64]
    """[R, 5] the Position of the vehicle that is under way, after service at the last client."""
    from_depot: NDArray[np.bool_]
    """[1] whether a new vehicle's clients are listed by their distance from the depot instead of from the vehicle under way."""


class Position(NamedTuple):
    """The state of a route under way."""

    load: float
    distance: float
    ready: float
    """The earliest time at which service ends."""
    busy: float
    """Travel and service so far."""
    leave: float
    """The latest departure from the depot that keeps all windows so far."""


@kernel
def _within(value: Any, limit: Any, size: Any) -> Any:
    """Return whether a limit is kept, except for rounding; size: as in corl.tolerance.keeps."""
    return value <= limit + _SLACK * max(abs(value), size)


@kernel
def at_depot(state: Any, instance: Any) -> Any:
    """Return the Position of a vehicle at the depot."""
    first = state.graphs.nodes_start[instance]
    return Position(0.0, 0.0, state.earliest[first], 0.0, state.latest[first])


@kernel
def vehicle_position(state: Any, row: Any) -> Any:
    """Return the Position of a row's vehicle."""
    v = state.vehicle[row]
    return Position(v[0], v[1], v[2], v[3], v[4])


@kernel
def serve(state: Any, instance: Any, metric: Any, origin: Any, at: Any, client: Any) -> Any:
    """Return whether a vehicle at `origin` in Position `at` can serve `client` next and be back in time; and its new Position."""
    first, limits = state.graphs.nodes_start[instance], state.limits[instance]
    there, back = distance(metric, origin, client), distance(metric, client, 0)
    node = first + client
    begin = max(state.earliest[node], at.ready + there)
    load, length, busy = at.load + state.demand[node], at.distance + there, at.busy + there + state.service[node]
    leave = min(at.leave, state.latest[node] - at.busy - there)
    ready = begin + state.service[node]
    after = Position(load, length, ready, busy, leave)
    if not (_within(load, limits[CAPACITY], 0.0) and _within(length + back, limits[DISTANCE], 0.0)):
        return False, after
    if not (_within(begin, state.latest[node], 0.0) and _within(ready + back, state.latest[first], 0.0)):
        return False, after
    late = min(leave, state.latest[first] - busy - back)  # the latest departure of all
    return _within(max(busy + back, ready + back - late), limits[DURATION], ready + back), after


@kernel
def mark_servable(state: Any) -> None:
    """Write to `state.servable` whether each client can be served by a route with no other client."""
    for instance in range(len(state.graphs.size)):
        metric, first = graph_metric(state.graphs, instance), state.graphs.nodes_start[instance]
        for client in range(1, state.graphs.size[instance]):
            fits, _ = serve(state, instance, metric, 0, at_depot(state, instance), client)
            state.servable[first + client] = fits


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, bases: Any) -> None:
    """Make each of `rows` the empty solution of instances[i]; write its base value, minus all prizes, to `bases`."""
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
def _set_position(state: Any, row: Any, at: Any) -> None:
    """Store the Position of a row's vehicle."""
    v = state.vehicle[row]
    v[0], v[1], v[2], v[3], v[4] = at.load, at.distance, at.ready, at.busy, at.leave


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
def _skip_rest(state: Any, src: Any, dst: Any) -> Any:
    """Return to the depot and skip all unvisited clients."""
    instance, t = state.instance[src], state.visited[src]
    if src != dst:
        _copy(state, src, dst)
    state.done[dst] = True
    back = distance(graph_metric(state.graphs, instance), state.order[src, t - 1], 0) if t > 0 else 0.0
    return -state.limits[instance, UNIT_COST] * back / state.limits[instance, SCALE]


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Serve a client next (1..n-1), or by a new vehicle (n + client); 0 skips the others, if none of them is required."""
    instance, t = state.instance[src], state.visited[src]
    n, limits = state.graphs.size[instance], state.limits[instance]
    if state.done[src] or t >= n - 1 or action < 0 or action >= 2 * n or action == n:
        return math.nan
    if action == 0:
        return _skip_rest(state, src, dst) if state.required_left[src] == 0 else math.nan
    fresh = action >= n
    client = action - n if fresh else action
    if state.place[src, client] < t or (fresh and t == 0):
        return math.nan
    metric, origin = graph_metric(state.graphs, instance), state.order[src, t - 1] if t > 0 else 0
    length = distance(metric, origin, 0) if fresh else 0.0
    if fresh:
        origin = 0
    fits, after = serve(
        state, instance, metric, origin, at_depot(state, instance) if origin == 0 else vehicle_position(state, src), client
    )
    if not fits:
        return math.nan
    if src != dst:
        _copy(state, src, dst)
    order, place = state.order[dst], state.place[dst]
    moved, hole = order[t], place[client]  # replaces the unvisited client at position t
    order[t], order[hole], place[client], place[moved] = client, moved, t, hole
    node = state.graphs.nodes_start[instance] + client
    state.begins_route[dst, t], state.visited[dst] = origin == 0, t + 1
    state.required_left[dst] -= state.required[node]
    _set_position(state, dst, after)
    length += distance(metric, origin, client)
    if t + 1 == n - 1:
        length += distance(metric, client, 0)
    cost = limits[UNIT_COST] * length + (limits[ROUTE_COST] if origin == 0 else 0.0)
    return (state.prize[node] - cost) / limits[SCALE]


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the nearest clients that can be served next, then the nearest that a new vehicle can serve, then 0 if it is legal.

    Each kind has half the slots, and those that the other leaves of its half.
    """
    instance, t = state.instance[row], state.visited[row]
    n = state.graphs.size[instance]
    if state.done[row] or t >= n - 1:
        return 0
    room = len(out) - (1 if state.required_left[row] == 0 else 0)
    near, far = np.empty(max(0, room), np.int32), np.empty(max(0, room), np.int32)
    direct = _nearest(state, row, False, near)
    fresh = _nearest(state, row, True, far) if t > 0 else 0
    some = max(min(direct, room - room // 2), min(direct, room - fresh))
    fresh = min(fresh, room - some)
    for i in range(some):
        out[i] = near[i]
    for i in range(fresh):
        out[some + i] = n + far[i]
    if room < len(out):
        out[some + fresh] = 0
        return some + fresh + 1
    return some + fresh


@kernel
def _nearest(state: Any, row: Any, fresh: Any, out: Any) -> Any:
    """Fill `out` with the clients nearest to the vehicle that it, or a `fresh` one, can serve; return their number.

    They are taken from the neighbour list or, if that has too few, from a scan; ties by the lower number.
    """
    instance, t = state.instance[row], state.visited[row]
    graphs, metric = state.graphs, graph_metric(state.graphs, instance)
    n, listed, first = graphs.size[instance], graphs.listed[instance], graphs.nodes_start[instance]
    origin = state.order[row, t - 1] if t > 0 and not (fresh and state.from_depot[0]) else 0
    at = vehicle_position(state, row) if t > 0 else at_depot(state, instance)
    wanted, count = min(len(out), n - 1 - t), 0
    begin = graphs.lists_start[instance] + origin * listed
    for i in range(begin, begin + listed):
        if count == wanted:
            return count
        client = graphs.lists[i]
        if client == 0 or state.place[row, client] < t or not state.servable[first + client]:
            continue
        if fresh or serve(state, instance, metric, origin, at, client)[0]:
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
        if fresh or serve(state, instance, metric, origin, at, client)[0]:
            count = insert_nearest(lengths, out, count, length, client)
    return count
