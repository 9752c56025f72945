"""The partial tours of an environment (its pool), and the kernels that `corl.search` calls through `corl.hooks`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel
from corl.kernels.sorted_lists import insert_nearest
from corl.problems.tsp.metric import distance
from corl.routing.graph_pool import GraphPool, graph_metric

__all__ = ["State", "reset_rows", "surroundings"]


class State(NamedTuple):
    """The pool of an environment: I instances, each with its number n of cities (at most N), and R rows, each a partial tour."""

    graphs: GraphPool
    """The instances' distances and neighbour lists; for a matrix, the lists are ordered by distance minus price."""
    priced_start: NDArray[np.int64]
    """[I] the index in `prices` and `successor` at which a matrix instance begins; -1 for an instance with coordinates."""
    prices: NDArray[np.float64]
    """[2, sum of n over matrix instances] dual prices of the cities, as tails (row 0) and as heads of arcs (row 1), in the
    assignment problem of the whole instance."""
    successor: NDArray[np.int32]
    """[sum of n over matrix instances] the successor of each city in an optimal assignment of the whole instance."""
    instance: NDArray[np.int32]
    """[R] the index of the row's instance."""
    visited: NDArray[np.int32]
    """[R] the number of cities in the partial tour."""
    order: NDArray[np.int32]
    """[R, N] the partial tour, then the unvisited cities in any order."""
    place: NDArray[np.int32]
    """[R, N] the position of each city in `order`."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any, starts: Any) -> None:
    """Make row rows[i] the partial tour of instance instances[i] that holds city starts[i] alone, in place."""
    for i in range(len(rows)):
        order, place = state.order[rows[i]], state.place[rows[i]]
        for city in range(state.graphs.size[instances[i]]):
            order[city] = place[city] = city
        start = starts[i]
        order[0], order[start], place[0], place[start] = start, 0, start, 0
        state.instance[rows[i]], state.visited[rows[i]] = instances[i], 1


@kernel
def surroundings(state: Any, rows: Any, wanted: Any, cities: Any, out: Any) -> None:
    """Write the coordinates of the nearest unvisited cities that have no slot in an observation, nearest first, to `out`.

    Args:
        state: State.
        rows: int [R], some rows of the pool.
        wanted: bool [R], which rows to write; other rows, and rows whose unvisited cities all have slots, are left unchanged.
        cities: int32 [R, K + 2], the city of each slot.
        out: float64 [R, A, 3], receives the coordinates of up to A cities.
    """
    listed = cities.shape[1] - 2
    wide = np.empty(listed + out.shape[1], np.int32)
    for i in range(len(rows)):
        if not wanted[i] or state.graphs.size[state.instance[rows[i]]] - state.visited[rows[i]] <= listed:
            continue
        count, found = 0, hooks.actions(state, rows[i], wide)
        for city in wide[:found]:
            if count < out.shape[1] and not (cities[i, :-2] == city).any():
                out[i, count] = state.graphs.points[state.graphs.points_start[state.instance[rows[i]]] + city]
                count += 1


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Go to an unvisited city. The reward is minus the distance, which includes the return to the first city on the last step."""
    instance, visited = state.instance[src], state.visited[src]
    n = state.graphs.size[instance]
    if visited >= n or action < 0 or action >= n or state.place[src, action] < visited:
        return math.nan
    order, place = state.order[dst], state.place[dst]
    if src != dst:
        state.instance[dst] = instance
        order[:n], place[:n] = state.order[src, :n], state.place[src, :n]
    moved, hole = order[visited], place[action]  # `action` changes places with the unvisited city at position `visited`
    order[visited], order[hole], place[action], place[moved] = action, moved, visited, hole
    state.visited[dst] = visited + 1
    metric = graph_metric(state.graphs, instance)
    length = distance(metric, order[visited - 1], action)
    if visited + 1 == n:
        length += distance(metric, action, order[0])
    return -length


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the nearest unvisited cities: from the origin's neighbour list, or by a scan if too few of the list are unvisited.

    On a matrix, cities are ordered by reduced cost in the assignment problem of the whole instance. In random matrices of 200
    cities closed under shortest paths, 1 in 100 arcs of the best tours is not among the 32 shortest arcs out of its city; but all
    arcs of the best tours are among the 16 of least reduced cost.
    """
    instance, t = state.instance[row], state.visited[row]
    n, listed = state.graphs.size[instance], state.graphs.listed[instance]
    wanted = min(len(out), n - t)
    if wanted == 0:
        return 0
    first = state.graphs.lists_start[instance] + state.order[row, t - 1] * listed
    count = 0
    for i in range(first, first + listed):
        city = state.graphs.lists[i]
        if state.place[row, city] >= t:
            out[count] = city
            count += 1
            if count == wanted:
                return count
    priced = max(0, state.priced_start[instance])
    prices = state.prices[1, priced : priced + (n if state.priced_start[instance] >= 0 else 0)]
    return _scan(graph_metric(state.graphs, instance), prices, state.order[row, t - 1], state.order[row, t:n], out[:wanted])


@kernel
def _scan(metric: Any, prices: Any, origin: Any, cities: Any, out: Any) -> Any:
    """Write the nearest of `cities` to `out`, nearest first, ties by the lower number; return their number.

    Args:
        metric: Metric of n cities.
        prices: float64 [n], subtracted from the distances to the cities; empty if there are none.
        origin: The city from which distances are measured.
        cities: int32 [m], in any order.
        out: int32 [k], k <= m, receives the cities.
    """
    lengths = np.empty(len(out))
    count = 0
    for city in cities:
        length = distance(metric, origin, city)
        if len(prices):
            length -= prices[city]
        count = insert_nearest(lengths, out, count, length, city)
    return count
