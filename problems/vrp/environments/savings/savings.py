"""Lookahead by savings: the cost of completing a partial solution after each listed action.

G. Clarke and J. Wright, Scheduling of vehicles from a central depot to a number of delivery points, Operations Research 12, 1964:
each client begins with its own route, and routes are joined in the order of their savings while the capacity suffices. P. Yellow
(Operational Research Quarterly 21, 1970) weights the distance in a saving by a shape; the cheapest completion of all shapes
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.savings import merge_routes
from corl.problems.vrp.transitions import CAPACITY
from corl.routing.graph_pool import graph_metric
from corl.routing.metric import Metric, distance
from corl.routing.neighbours import nearest_cities

__all__ = ["Savings", "SavingsLookahead", "observe", "sorted_savings"]

SHAPES = (0.8, 1.0, 1.2, 1.4)
"""Weights of the distance between two clients in the order of their savings (tuned on fresh instances of 100 clients)."""
_LESS = 1.0 - 1e-9  # a cost must be below this multiple of another to be less: otherwise it differs by rounding
_LISTED = 100  # nearest clients with which a client may be joined


class Savings(NamedTuple):
    """Pairs of clients of I instances, sorted by decreasing saving, for each of S shapes."""

    start: NDArray[np.int64]
    """int64 [S, I + 1]: where the pairs of an instance begin and end."""
    tails: NDArray[np.int32]
    heads: NDArray[np.int32]
    saved: NDArray[np.float64]
    """[P] each: the two clients, and the saving without the shape."""


class SavingsLookahead(NamedTuple):
    """Observations of R states with K listed actions. A state's plan is the completion of its partial solution by savings."""

    plans: NDArray[np.float64]
    """[R, K] the cost of the action and of the plan after it."""
    plan: NDArray[np.float64]
    """[R] the cost of the state's plan."""
    loads: NDArray[np.float64]
    """[R, K] the load of the current vehicle in the plan after the action, as a share of the capacity."""
    joined: NDArray[np.float64]
    """[R, K] the load of the route of the action's client in the state's plan, as a share of the capacity."""
    ends: NDArray[np.bool_]
    """[R, K] whether the client is the first or the last of a route in the state's plan."""
    following: NDArray[np.bool_]
    """[R, K + 2, K + 2] which clients, and the origin, are neighbours in the state's plan."""
    routes: NDArray[np.float64]
    """[R] the number of new vehicles in the state's plan, less the unvisited demand in units of the capacity."""
    near: NDArray[np.float64]
    """[R, K, 2] the distances of the client to its two nearest unvisited clients; that to the depot if there are fewer."""

    @classmethod
    def empty(cls, rows: int, width: int) -> SavingsLookahead:
        """Return zeros for this many rows and action slots."""
        each, slots = (rows, width), width + 2
        return cls(
            np.zeros(each), np.zeros(rows), np.zeros(each), np.zeros(each), np.zeros(each, bool),
            np.zeros((rows, slots, slots), bool), np.zeros(rows), np.zeros((*each, 2)),
        )  # fmt: skip


def sorted_savings(metrics: Sequence[Metric]) -> Savings:
    """Return the pairs of instances with these distances, whose node 0 is the depot."""
    parts: list[list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]]] = [[] for _ in SHAPES]
    for metric in metrics:
        n = len(metric.points) or len(metric.matrix)
        near = nearest_cities(metric, min(n - 1, _LISTED))
        tails, heads = np.repeat(np.arange(n, dtype=np.int32), near.shape[1]), near.ravel().astype(np.int32)
        inner = (tails > 0) & (heads > 0)
        pairs = np.unique(np.sort(np.stack([tails[inner], heads[inner]], axis=1), axis=1), axis=0)
        lengths = np.empty((len(pairs), 3))
        _lengths(metric, pairs, lengths)
        for part, shape in zip(parts, SHAPES):
            weighted = lengths[:, 0] + lengths[:, 1] - shape * lengths[:, 2]
            order = np.argsort(-weighted, kind="stable")
            order = order[weighted[order] > 0.0]
            saved = lengths[:, 0] + lengths[:, 1] - lengths[:, 2]
            part.append((pairs[order, 0], pairs[order, 1], saved[order]))
    everything = [each for part in parts for each in part]
    ends = np.cumsum([0, *(len(each[0]) for each in everything)])
    counts = len(metrics)
    start = np.stack([ends[s * counts : (s + 1) * counts + 1] for s in range(len(SHAPES))])
    tails, heads, saved = (np.concatenate([each[k] for each in everything]) for k in range(3))
    return Savings(start, tails, heads, saved)


@kernel
def _lengths(metric: Any, pairs: Any, out: Any) -> None:
    """Write to out [P, 3] the distances of both clients of each pair to the depot, and to each other."""
    for k in range(len(pairs)):
        i, j = pairs[k]
        out[k, 0], out[k, 1], out[k, 2] = distance(metric, 0, i), distance(metric, 0, j), distance(metric, i, j)


class _Work(NamedTuple):
    """Scratch arrays for one state. The m unvisited clients are 0..m-1; the origin is m."""

    pairs: NDArray[np.int32]
    """[S, P, 2] pairs of unvisited clients, sorted by decreasing saving."""
    saved: NDArray[np.float64]
    """[S, P]"""
    counts: NDArray[np.int64]
    """[S] the number of pairs."""
    demand: NDArray[np.float64]
    """[m + 1]"""
    home: NDArray[np.float64]
    """[m + 1] distances to the depot."""
    links: NDArray[np.int32]
    """[m + 1, 2] neighbours in a plan, -1 for the depot."""
    degree: NDArray[np.int32]
    """[m + 1] the number of neighbours that are clients; the partial route of the current vehicle counts as one."""
    other: NDArray[np.int32]
    """[m + 1] the other end of the route, for its ends."""
    load: NDArray[np.float64]
    """[m + 1] the load of the route, for its ends."""


@kernel
def _join(work: Any, m: Any, shape: Any, start: Any, load: Any, capacity: Any) -> Any:
    """Complete the routes of clients 0..m-1 by savings, in `work`; return the cost.

    Args:
        work: _Work.
        m: The number of unvisited clients.
        shape: The index of the shape.
        start: The position of the current vehicle, a client or m; -1 if there is no current vehicle.
        load: Its load.
        capacity: Of a vehicle.
    """
    links, degree, other, loads = work.links, work.degree, work.other, work.load
    total = 0.0
    for i in range(m + 1):
        links[i, 0] = links[i, 1] = -1
        degree[i], other[i], loads[i] = 0, i, work.demand[i]
        if i < m:
            total += 2.0 * work.home[i]
    degree[m] = 2  # not in the plan, unless the vehicle is there
    if start >= 0:
        total += work.home[start] if start == m else -work.home[start]
        degree[start], loads[start] = 1, load
    pairs, saved, count = work.pairs[shape], work.saved[shape], work.counts[shape]
    return merge_routes(pairs, saved, count, capacity, links, degree, other, loads, total)


@kernel
def observe(state: Any, rows: Any, actions: Any, savings: Any, lookahead: Any) -> None:
    """Write the observation of `rows` to `lookahead`, a SavingsLookahead.

    Args:
        state: State, of instances with capacities alone.
        rows: int [R].
        actions: int32 [R, K], the listed actions.
        savings: Savings of the instances.
        lookahead: SavingsLookahead, written in place.
    """
    shapes, most = len(savings.start), 0
    for r in range(len(rows)):
        instance = state.instance[rows[r]]
        for s in range(shapes):
            most = max(most, savings.start[s, instance + 1] - savings.start[s, instance])
    n = state.order.shape[1] + 1
    work = _Work(
        np.empty((shapes, most, 2), np.int32), np.empty((shapes, most)), np.zeros(shapes, np.int64), np.zeros(n), np.zeros(n),
        np.zeros((n, 2), np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n),
    )  # fmt: skip
    place = np.empty(n, np.int32)
    for r in range(len(rows)):
        _observe_row(state, rows[r], actions[r], savings, work, place, lookahead, r)


@kernel
def _collect(state: Any, row: Any, savings: Any, work: Any, place: Any) -> Any:
    """Write a row's unvisited clients and their savings to `work`; return the number of clients.

    place: int32 [n], receives each node's number among the unvisited clients, -1 for visited ones.
    """
    instance, t = state.instance[row], state.visited[row]
    n, first, metric = state.graphs.size[instance], state.graphs.nodes_start[instance], graph_metric(state.graphs, instance)
    m, origin = n - 1 - t, state.order[row, t - 1] if t > 0 else 0
    place[:n] = -1
    for i in range(m + 1):
        node = state.order[row, t + i] if i < m else origin
        place[node] = i
        work.demand[i], work.home[i] = state.demand[first + node], distance(metric, node, 0)
    for s in range(len(savings.start)):
        count = 0
        for k in range(savings.start[s, instance], savings.start[s, instance + 1]):
            i, j = place[savings.tails[k]], place[savings.heads[k]]
            if i >= 0 and j >= 0:
                work.pairs[s, count, 0], work.pairs[s, count, 1], work.saved[s, count] = i, j, savings.saved[k]
                count += 1
        work.counts[s] = count
    return m


@kernel
def _observe_row(state: Any, row: Any, actions: Any, savings: Any, work: Any, place: Any, lookahead: Any, r: Any) -> None:
    """Write the observation of one row to `lookahead`[r]."""
    instance, t = state.instance[row], state.visited[row]
    n, capacity, width = state.graphs.size[instance], state.limits[instance, CAPACITY], len(actions)
    m = _collect(state, row, savings, work, place)
    if m == 0:
        return
    under_way = t > 0
    metric, load, shapes = graph_metric(state.graphs, instance), state.vehicle[row, 0], len(savings.start)
    origin = state.order[row, t - 1] if under_way else 0
    for k in range(width):
        action = actions[k]
        if action < 0:
            break
        fresh = action >= n
        client = action - n if fresh else action
        i = place[client]
        way = work.home[m] + work.home[i] if fresh else distance(metric, origin, client)
        carried = work.demand[i] if fresh or not under_way else load + work.demand[i]
        least, share = np.inf, 0.0
        for s in range(shapes):
            cost = _join(work, m, s, i, carried, capacity)
            if cost < least * _LESS:
                least, share = cost, work.load[work.other[i]] / capacity
        lookahead.plans[r, k], lookahead.loads[r, k] = way + least, share
    least, best = np.inf, 0
    for s in range(shapes):
        cost = _join(work, m, s, m if under_way else -1, load, capacity)
        if cost < least * _LESS:
            least, best = cost, s
    lookahead.plan[r] = _join(work, m, best, m if under_way else -1, load, capacity)
    _observe_plan(state, row, actions, work, place, m, capacity, lookahead, r)


@kernel
def _observe_plan(
    state: Any, row: Any, actions: Any, work: Any, place: Any, m: Any, capacity: Any, lookahead: Any, r: Any
) -> None:
    """Write what the plan in `work` says of the listed clients, and their nearest others, to `lookahead`[r]."""
    instance, t, width = state.instance[row], state.visited[row], len(actions)
    n, metric = state.graphs.size[instance], graph_metric(state.graphs, instance)
    nodes = np.full(width + 2, -1)
    if t > 0:
        nodes[width] = m
    rest, vehicles = 0.0, 0
    for i in range(m):
        rest += work.demand[i]
        if work.degree[i] < 2:  # a route has two ends, or is a single client
            vehicles += 1 if work.degree[i] == 1 else 2
    lookahead.routes[r] = (vehicles - 1 if t > 0 and work.degree[m] == 2 else vehicles) / 2.0 - rest / capacity
    for k in range(width):
        if actions[k] < 0:
            break
        client = actions[k] - n if actions[k] >= n else actions[k]
        i = place[client]
        nodes[k] = i
        lookahead.ends[r, k] = work.degree[i] < 2
        at, before = i, -1
        while work.degree[at] == 2 and at < m:  # walk to an end, where the load is stored
            following = work.links[at, 0] if work.links[at, 0] != before else work.links[at, 1]
            if following < 0:
                break
            at, before = following, at
        lookahead.joined[r, k] = work.load[work.other[at] if at == m else at] / capacity
        a = b = work.home[i]
        for other in range(m):
            if other != i:
                apart = distance(metric, client, state.order[row, t + other])
                if apart < a:
                    a, b = apart, a
                elif apart < b:
                    b = apart
        lookahead.near[r, k, 0], lookahead.near[r, k, 1] = a, b
    for p in range(width + 2):
        for q in range(width + 2):
            if nodes[p] >= 0 and nodes[q] >= 0:
                lookahead.following[r, p, q] = nodes[q] in (work.links[nodes[p], 0], work.links[nodes[p], 1])
