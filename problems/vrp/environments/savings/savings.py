"""Lookahead by the savings heuristic: the cost of completing a partial solution after each listed action.

G. Clarke and J. Wright, Scheduling of vehicles from a central depot to a number of delivery points, Operations Research 12, 1964:
each client begins with a separate route, and routes are merged in the order of their savings while the capacity suffices. P.
Yellow (Operational Research Quarterly 21, 1970) multiplies the distance between the clients by a shape parameter in the
savings. A plan is the cheapest of the completions with the different shape parameters.
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
"""The shape parameters of the savings by which pairs of clients are sorted (tuned on instances of 100 clients)."""
_LESS = 1.0 - 1e-9  # a cost counts as lower if it is below this multiple of another cost; smaller differences are rounding
_MAX_NEIGHBOURS = 100  # a client forms pairs with so many nearest nodes


class Savings(NamedTuple):
    """P pairs of clients, of I instances and S shapes in all; the pairs of an instance and shape by decreasing saving."""

    start: NDArray[np.int64]
    """[S, I + 1] the index of the first pair of each shape and instance; its pairs end where those of the next instance begin."""
    tails: NDArray[np.int32]
    """[P] the client with the lower number."""
    heads: NDArray[np.int32]
    """[P] the other client of the pair."""
    saved: NDArray[np.float64]
    """[P] the saving without the shape parameter."""


class SavingsLookahead(NamedTuple):
    """Observations of R states with K listed actions. A plan is the completion of a partial solution by the savings heuristic."""

    plans: NDArray[np.float64]
    """[R, K] the cost of the action plus that of the plan after it."""
    by_shape: NDArray[np.float64]
    """[R, K, S] the same with the completion of each shape parameter instead of the cheapest one."""
    plan: NDArray[np.float64]
    """[R] the cost of the state's plan."""
    loads: NDArray[np.float64]
    """[R, K] the final load of the current vehicle in the plan after the action, as a share of the capacity."""
    joined: NDArray[np.float64]
    """[R, K] the load of the route that serves the action's client in the state's plan, as a share of the capacity."""
    ends: NDArray[np.bool_]
    """[R, K] whether the action's client is the first or the last of its route in the state's plan."""
    following: NDArray[np.bool_]
    """[R, K + 2, K + 2] whether the nodes of two slots (clients, or the origin) are neighbours in the state's plan."""
    routes: NDArray[np.float64]
    """[R] the number of new vehicles in the state's plan minus the unvisited demand in units of the capacity."""
    near: NDArray[np.float64]
    """[R, K, 2] the distances of the action's client to its two nearest unvisited clients or, if smaller, to the depot."""

    @classmethod
    def empty(cls, rows: int, width: int) -> SavingsLookahead:
        """Return arrays of zeros for `rows` rows and `width` (K) action slots."""
        by_action, slots = (rows, width), width + 2
        return cls(
            np.zeros(by_action), np.zeros((*by_action, len(SHAPES))), np.zeros(rows), np.zeros(by_action), np.zeros(by_action),
            np.zeros(by_action, bool), np.zeros((rows, slots, slots), bool), np.zeros(rows), np.zeros((*by_action, 2)),
        )  # fmt: skip


def sorted_savings(metrics: Sequence[Metric]) -> Savings:
    """Return the pairs of the instances with these metrics; node 0 is the depot."""
    parts: list[list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]]] = [[] for _ in SHAPES]
    for metric in metrics:
        n = len(metric.points) or len(metric.matrix)
        neighbours = nearest_cities(metric, min(n - 1, _MAX_NEIGHBOURS))
        tails, heads = np.repeat(np.arange(n, dtype=np.int32), neighbours.shape[1]), neighbours.ravel().astype(np.int32)
        between_clients = (tails > 0) & (heads > 0)
        pairs = np.unique(np.sort(np.stack([tails[between_clients], heads[between_clients]], axis=1), axis=1), axis=0)
        lengths = np.empty((len(pairs), 3))
        _lengths(metric, pairs, lengths)
        for part, shape in zip(parts, SHAPES):
            weighted = lengths[:, 0] + lengths[:, 1] - shape * lengths[:, 2]
            order = np.argsort(-weighted, kind="stable")
            order = order[weighted[order] > 0.0]
            saved = lengths[:, 0] + lengths[:, 1] - lengths[:, 2]
            part.append((pairs[order, 0], pairs[order, 1], saved[order]))
    all_parts = [each for part in parts for each in part]
    ends = np.cumsum([0, *(len(each[0]) for each in all_parts)])
    instances = len(metrics)
    start = np.stack([ends[s * instances : (s + 1) * instances + 1] for s in range(len(SHAPES))])
    tails, heads, saved = (np.concatenate([each[k] for each in all_parts]) for k in range(3))
    return Savings(start, tails, heads, saved)


@kernel
def _lengths(metric: Any, pairs: Any, out: Any) -> None:
    """Write float64 `out` [P, 3]: for each pair the distances of both clients to the depot, and to each other."""
    for k in range(len(pairs)):
        i, j = pairs[k]
        out[k, 0], out[k, 1], out[k, 2] = distance(metric, 0, i), distance(metric, 0, j), distance(metric, i, j)


class _Work(NamedTuple):
    """Work arrays for one state, overwritten. The m unvisited clients have the numbers 0..m-1; the origin has the number m."""

    pairs: NDArray[np.int32]
    """[S, P, 2] pairs of unvisited clients, sorted by decreasing saving."""
    saved: NDArray[np.float64]
    """[S, P] the saving of each pair, without the shape parameter."""
    counts: NDArray[np.int64]
    """[S] the number of pairs."""
    demand: NDArray[np.float64]
    """[m + 1] the demand of each client; at m that of the origin, which has been served."""
    home: NDArray[np.float64]
    """[m + 1] distances to the depot."""
    links: NDArray[np.int32]
    """[m + 1, 2] the two neighbours in a plan; -1 is the depot."""
    degree: NDArray[np.int32]
    """[m + 1] the number of neighbours that are clients; the current vehicle's partial route counts as a neighbour."""
    other: NDArray[np.int32]
    """[m + 1] for each end of a route its other end; undefined for inner clients."""
    load: NDArray[np.float64]
    """[m + 1] for each end of a route the load of the route; undefined for inner clients."""


@kernel
def _plan_routes(work: Any, m: Any, shape: Any, start: Any, load: Any, capacity: Any) -> Any:
    """Plan routes of clients 0..m-1 by savings, in `work`; return the cost.

    Args:
        work: _Work, overwritten.
        m: The number of unvisited clients.
        shape: The index of the shape.
        start: The position of the current vehicle, a client or m (the origin); -1 if there is no current vehicle.
        load: The load of the current vehicle.
        capacity: The capacity of a vehicle.
    """
    links, degree, other, loads = work.links, work.degree, work.other, work.load
    total = 0.0
    for i in range(m + 1):
        links[i, 0] = links[i, 1] = -1
        degree[i], other[i], loads[i] = 0, i, work.demand[i]
        if i < m:
            total += 2.0 * work.home[i]
    degree[m] = 2  # the origin is part of the plan only if the current vehicle is there
    if start >= 0:
        total += work.home[start] if start == m else -work.home[start]
        degree[start], loads[start] = 1, load
    pairs, saved, count = work.pairs[shape], work.saved[shape], work.counts[shape]
    return merge_routes(pairs, saved, count, capacity, links, degree, other, loads, total)


@kernel
def observe(state: Any, rows: Any, actions: Any, savings: Any, lookahead: Any) -> None:
    """Write the observation of `rows` to `lookahead`.

    Args:
        state: The pool of a SavingsEnvironment.
        rows: int [R], rows of the pool.
        actions: int32 [R, K], the listed actions.
        savings: Savings of the instances.
        lookahead: SavingsLookahead, written in place.
    """
    shapes, max_pairs = len(savings.start), 0
    for r in range(len(rows)):
        instance = state.instance[rows[r]]
        for s in range(shapes):
            max_pairs = max(max_pairs, savings.start[s, instance + 1] - savings.start[s, instance])
    n = state.order.shape[1] + 1
    work = _Work(
        np.empty((shapes, max_pairs, 2), np.int32), np.empty((shapes, max_pairs)), np.zeros(shapes, np.int64), np.zeros(n),
        np.zeros(n), np.zeros((n, 2), np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n),
    )  # fmt: skip
    place = np.empty(n, np.int32)
    for r in range(len(rows)):
        _observe_row(state, rows[r], actions[r], savings, work, place, lookahead, r)


@kernel
def _collect(state: Any, row: Any, savings: Any, work: Any, place: Any) -> Any:
    """Write a row's unvisited clients and their savings to `work`; return the number of clients.

    place: int32 [n], overwritten: each node's number among the unvisited clients, m for the origin, -1 for other nodes.
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
    """Write the observation of one row of the pool to row r of `lookahead`."""
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
        new_vehicle = action >= n
        client = action - n if new_vehicle else action
        i = place[client]
        step_cost = work.home[m] + work.home[i] if new_vehicle else distance(metric, origin, client)
        carried = work.demand[i] if new_vehicle or not under_way else load + work.demand[i]
        least_cost, load_share = np.inf, 0.0
        for s in range(shapes):
            cost = _plan_routes(work, m, s, i, carried, capacity)
            lookahead.by_shape[r, k, s] = step_cost + cost
            if cost < least_cost * _LESS:
                least_cost, load_share = cost, work.load[work.other[i]] / capacity
        lookahead.plans[r, k], lookahead.loads[r, k] = step_cost + least_cost, load_share
    least_cost, best_shape = np.inf, 0
    for s in range(shapes):
        cost = _plan_routes(work, m, s, m if under_way else -1, load, capacity)
        if cost < least_cost * _LESS:
            least_cost, best_shape = cost, s
    lookahead.plan[r] = _plan_routes(work, m, best_shape, m if under_way else -1, load, capacity)
    _observe_plan(state, row, actions, work, place, m, capacity, lookahead, r)


@kernel
def _observe_plan(
    state: Any, row: Any, actions: Any, work: Any, place: Any, m: Any, capacity: Any, lookahead: Any, r: Any
) -> None:
    """Write the features of the plan in `work`, and the nearest clients, for each action to row r of `lookahead`."""
    instance, t, width = state.instance[row], state.visited[row], len(actions)
    n, metric = state.graphs.size[instance], graph_metric(state.graphs, instance)
    nodes = np.full(width + 2, -1)
    if t > 0:
        nodes[width] = m
    unvisited_demand, half_routes = 0.0, 0
    for i in range(m):
        unvisited_demand += work.demand[i]
        if work.degree[i] < 2:  # ends of routes: a route has two, or consists of a single client
            half_routes += 1 if work.degree[i] == 1 else 2
    lookahead.routes[r] = (half_routes - 1 if t > 0 and work.degree[m] == 2 else half_routes) / 2.0 - unvisited_demand / capacity
    for k in range(width):
        if actions[k] < 0:
            break
        client = actions[k] - n if actions[k] >= n else actions[k]
        i = place[client]
        nodes[k] = i
        lookahead.ends[r, k] = work.degree[i] < 2
        member, previous = i, -1
        while work.degree[member] == 2 and member < m:  # walk to an end of the route, where its load is stored
            following = work.links[member, 0] if work.links[member, 0] != previous else work.links[member, 1]
            if following < 0:
                break
            member, previous = following, member
        lookahead.joined[r, k] = work.load[work.other[member] if member == m else member] / capacity
        nearest = second = work.home[i]
        for other in range(m):
            if other != i:
                length = distance(metric, client, state.order[row, t + other])
                if length < nearest:
                    nearest, second = length, nearest
                elif length < second:
                    second = length
        lookahead.near[r, k, 0], lookahead.near[r, k, 1] = nearest, second
    for p in range(width + 2):
        for q in range(width + 2):
            if nodes[p] >= 0 and nodes[q] >= 0:
                lookahead.following[r, p, q] = nodes[q] in (work.links[nodes[p], 0], work.links[nodes[p], 1])
