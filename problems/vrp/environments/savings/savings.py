"""What savings say of the rest of a partial solution: the cost of the plan by savings after each listed action.

G. Clarke and J. Wright, Scheduling of vehicles from a central depot to a number of delivery points, Operations Research 12, 1964:
every client has a route of its own, and routes are joined where that saves most, as long as the capacity suffices. Savings are
weighed by shapes as P. Yellow has them (Operational Research Quarterly 21, 1970); of the plans by all shapes the cheapest counts.
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

__all__ = ["Outlook", "Savings", "observe", "savings_of"]

SHAPES = (0.8, 1.0, 1.2, 1.4)
"""Weights of the distance between two clients in the order of their savings (tuned on fresh instances of 100 clients)."""
_LESS = 1.0 - 1e-9  # times a cost: what is not below that differs by rounding
_LISTED = 100  # nearest clients of a client that it may be joined with


class Savings(NamedTuple):
    """Pairs of clients of I instances, those that save most first, in the order of each of S shapes."""

    first: NDArray[np.int64]
    """[S, I + 1] where the pairs of an instance begin and end."""
    tails: NDArray[np.int32]
    heads: NDArray[np.int32]
    saved: NDArray[np.float64]
    """What joining the two saves, whatever the shape."""


class Outlook(NamedTuple):
    """Of R states with K listed actions; the plan of a state is that of all who are unvisited and the vehicle under way."""

    plans: NDArray[np.float64]
    """[R, K] the cost of an action and of the plan of the state after it."""
    plan: NDArray[np.float64]
    """[R] the cost of the state's own plan."""
    loads: NDArray[np.float64]
    """[R, K] what the vehicle under way after an action carries in its plan, as a share of the capacity."""
    joined: NDArray[np.float64]
    """[R, K] what the route of the action's client carries in the state's own plan, likewise."""
    ends: NDArray[np.bool_]
    """[R, K] whether the client is the first or the last of a route in that plan."""
    following: NDArray[np.bool_]
    """[R, K + 2, K + 2] which clients (the origin among them) are neighbours in that plan."""
    routes: NDArray[np.float64]
    """[R] how many new vehicles that plan has, less the unvisited demand in capacities."""
    near: NDArray[np.float64]
    """[R, K, 2] the distances of a client to its two nearest unvisited others; that to the depot where there are fewer."""

    @classmethod
    def empty(cls, rows: int, width: int) -> Outlook:
        """For so many rows, nothing in them yet."""
        each, slots = (rows, width), width + 2
        return cls(
            np.zeros(each), np.zeros(rows), np.zeros(each), np.zeros(each), np.zeros(each, bool),
            np.zeros((rows, slots, slots), bool), np.zeros(rows), np.zeros((*each, 2)),
        )  # fmt: skip


def savings_of(metrics: Sequence[Metric]) -> Savings:
    """The pairs of instances with these distances, of which node 0 is the depot."""
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
            worth = lengths[:, 0] + lengths[:, 1] - shape * lengths[:, 2]
            order = np.argsort(-worth, kind="stable")
            order = order[worth[order] > 0.0]
            saved = lengths[:, 0] + lengths[:, 1] - lengths[:, 2]
            part.append((pairs[order, 0], pairs[order, 1], saved[order]))
    everything = [each for part in parts for each in part]
    ends = np.cumsum([0, *(len(each[0]) for each in everything)])
    counts = len(metrics)
    first = np.stack([ends[s * counts : (s + 1) * counts + 1] for s in range(len(SHAPES))])
    tails, heads, saved = (np.concatenate([each[k] for each in everything]) for k in range(3))
    return Savings(first, tails, heads, saved)


@kernel
def _lengths(metric: Any, pairs: Any, out: Any) -> None:
    """Fill out [P, 3] with the distances of both clients to the depot and to each other."""
    for k in range(len(pairs)):
        i, j = pairs[k]
        out[k, 0], out[k, 1], out[k, 2] = distance(metric, 0, i), distance(metric, 0, j), distance(metric, i, j)


class _Work(NamedTuple):
    """Unvisited clients are 0..m-1, the origin is m."""

    pairs: NDArray[np.int32]
    """[S, P, 2] pairs of them, those that save most first."""
    saved: NDArray[np.float64]
    """[S, P]"""
    counts: NDArray[np.int64]
    """[S] how many there are."""
    demand: NDArray[np.float64]
    """[m + 1]"""
    home: NDArray[np.float64]
    """[m + 1] distances to the depot."""
    links: NDArray[np.int32]
    """[m + 1, 2] neighbours in a plan, -1 for the depot."""
    degree: NDArray[np.int32]
    """[m + 1] how many of them are there, with the way behind of a vehicle under way."""
    other: NDArray[np.int32]
    """[m + 1] the other end of a route, for its ends."""
    load: NDArray[np.float64]
    """[m + 1] of a route, for its ends."""


@kernel
def _join(work: Any, m: Any, shape: Any, start: Any, load: Any, capacity: Any) -> Any:
    """Make a plan of the clients 0..m-1 (without `start` if it is one) and a vehicle at `start` that carries `load`; its cost.

    start: -1 where there is no vehicle under way.
    """
    links, degree, other, loads = work.links, work.degree, work.other, work.load
    total = 0.0
    for i in range(m + 1):
        links[i, 0] = links[i, 1] = -1
        degree[i], other[i], loads[i] = 0, i, work.demand[i]
        if i < m:
            total += 2.0 * work.home[i]
    degree[m] = 2  # no part of the plan, unless the vehicle is there
    if start >= 0:
        total += work.home[start] if start == m else -work.home[start]
        degree[start], loads[start] = 1, load
    pairs, saved, count = work.pairs[shape], work.saved[shape], work.counts[shape]
    return merge_routes(pairs, saved, count, capacity, links, degree, other, loads, total)


@kernel
def observe(state: Any, rows: Any, actions: Any, savings: Any, seen: Any) -> None:
    """Fill `seen`, an Outlook, for `rows` of a pool of plans with capacities alone, whose listed actions are `actions` [R, K]."""
    shapes, most = len(savings.first), 0
    for r in range(len(rows)):
        instance = state.instance[rows[r]]
        for s in range(shapes):
            most = max(most, savings.first[s, instance + 1] - savings.first[s, instance])
    n = state.order.shape[1] + 1
    work = _Work(
        np.empty((shapes, most, 2), np.int32), np.empty((shapes, most)), np.zeros(shapes, np.int64), np.zeros(n), np.zeros(n),
        np.zeros((n, 2), np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n),
    )  # fmt: skip
    place = np.empty(n, np.int32)
    for r in range(len(rows)):
        _look(state, rows[r], actions[r], savings, work, place, seen, r)


@kernel
def _collect(state: Any, row: Any, savings: Any, work: Any, place: Any) -> Any:
    """Fill `work` but for a plan, and `place`, each node's number there or -1; how many clients are unvisited."""
    instance, t = state.instance[row], state.visited[row]
    n, first, metric = state.graphs.size[instance], state.graphs.nodes_start[instance], graph_metric(state.graphs, instance)
    m, origin = n - 1 - t, state.order[row, t - 1] if t > 0 else 0
    place[:n] = -1
    for i in range(m + 1):
        node = state.order[row, t + i] if i < m else origin
        place[node] = i
        work.demand[i], work.home[i] = state.demand[first + node], distance(metric, node, 0)
    for s in range(len(savings.first)):
        count = 0
        for k in range(savings.first[s, instance], savings.first[s, instance + 1]):
            i, j = place[savings.tails[k]], place[savings.heads[k]]
            if i >= 0 and j >= 0:
                work.pairs[s, count, 0], work.pairs[s, count, 1], work.saved[s, count] = i, j, savings.saved[k]
                count += 1
        work.counts[s] = count
    return m


@kernel
def _look(state: Any, row: Any, actions: Any, savings: Any, work: Any, place: Any, seen: Any, r: Any) -> None:
    """Fill `seen` for one row."""
    instance, t = state.instance[row], state.visited[row]
    n, capacity, width = state.graphs.size[instance], state.limits[instance, CAPACITY], len(actions)
    m = _collect(state, row, savings, work, place)
    if m == 0:
        return
    under_way = t > 0
    metric, load, shapes = graph_metric(state.graphs, instance), state.vehicle[row, 0], len(savings.first)
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
        seen.plans[r, k], seen.loads[r, k] = way + least, share
    least, best = np.inf, 0
    for s in range(shapes):
        cost = _join(work, m, s, m if under_way else -1, load, capacity)
        if cost < least * _LESS:
            least, best = cost, s
    seen.plan[r] = _join(work, m, best, m if under_way else -1, load, capacity)
    _describe(state, row, actions, work, place, m, capacity, seen, r)


@kernel
def _describe(state: Any, row: Any, actions: Any, work: Any, place: Any, m: Any, capacity: Any, seen: Any, r: Any) -> None:
    """What the plan in `work` says of the listed clients, and their nearest others."""
    instance, t, width = state.instance[row], state.visited[row], len(actions)
    n, metric = state.graphs.size[instance], graph_metric(state.graphs, instance)
    nodes = np.full(width + 2, -1)
    if t > 0:
        nodes[width] = m
    rest, vehicles = 0.0, 0
    for i in range(m):
        rest += work.demand[i]
        if work.degree[i] < 2:  # each route has two ends, or is one client
            vehicles += 1 if work.degree[i] == 1 else 2
    seen.routes[r] = (vehicles - 1 if t > 0 and work.degree[m] == 2 else vehicles) / 2.0 - rest / capacity
    for k in range(width):
        if actions[k] < 0:
            break
        client = actions[k] - n if actions[k] >= n else actions[k]
        i = place[client]
        nodes[k] = i
        seen.ends[r, k] = work.degree[i] < 2
        at, before = i, -1
        while work.degree[at] == 2 and at < m:  # to an end, which knows the load
            ahead = work.links[at, 0] if work.links[at, 0] != before else work.links[at, 1]
            if ahead < 0:
                break
            at, before = ahead, at
        seen.joined[r, k] = work.load[work.other[at] if at == m else at] / capacity
        a = b = work.home[i]
        for other in range(m):
            if other != i:
                apart = distance(metric, client, state.order[row, t + other])
                if apart < a:
                    a, b = apart, a
                elif apart < b:
                    b = apart
        seen.near[r, k, 0], seen.near[r, k, 1] = a, b
    for p in range(width + 2):
        for q in range(width + 2):
            if nodes[p] >= 0 and nodes[q] >= 0:
                seen.following[r, p, q] = nodes[q] in (work.links[nodes[p], 0], work.links[nodes[p], 1])
