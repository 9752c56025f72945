"""Reduced costs of the listed actions in the linear relaxation of the remaining clients (relaxation.py)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.vrp.environments.priced.relaxation import NEAREST, NO_ROUTE, new_relaxation, relax
from corl.problems.vrp.transitions import CAPACITY
from corl.routing.graph_pool import graph_metric
from corl.routing.metric import distance

__all__ = ["Prices", "instance_penalties", "observe"]

_MAX_UNITS = 60  # a capacity that is no whole number up to this is divided into so many units of load
_FIRST_STEPS = 60  # steps of the ascent for a whole instance
_STEPS = 10  # steps for a state, tuned, as the lengths are, on the right actions of 40 good solutions of 100 clients
_FIRST_LENGTH, _LENGTH = 0.3, 0.15  # of the first step, in mean distances to the nearest client


class Prices(NamedTuple):
    """The relaxation of R states with K listed actions. Costs are distances."""

    reduced: NDArray[np.float64]
    """[R, K] a lower bound on the increase of the bound by the action; inf if the relaxation has no such route."""
    fresh_reduced: NDArray[np.float64]
    """[R, K] the least reduced cost of a new route that begins at the action's client; inf if there is none."""
    price: NDArray[np.float64]
    """[R, K] the price of the client."""
    penalty: NDArray[np.float64]
    """[R, K] the Lagrange multiplier of the client."""
    taken: NDArray[np.float64]
    """[R, K] how often the current route visits the client, in the mean over the steps of the ascent."""
    through: NDArray[np.float64]
    """[R, K] the load of the cheapest route through the client, as a share of the capacity."""
    shares: NDArray[np.float64]
    """[R, K + 2, K + 2] how often routes lead from slot to slot, in the same mean; the last two slots are origin and depot."""
    bound: NDArray[np.float64]
    """[R] the lower bound on the cost of the rest."""
    onward: NDArray[np.float64]
    """[R] the reduced cost of the rest of the current route."""

    @classmethod
    def empty(cls, rows: int, width: int) -> Prices:
        """Return arrays of zeros for `rows` rows and `width` (K) action slots."""
        by_action, slots = (rows, width), width + 2
        return cls(
            np.zeros(by_action), np.zeros(by_action), np.zeros(by_action), np.zeros(by_action), np.zeros(by_action),
            np.zeros(by_action), np.zeros((rows, slots, slots)), np.zeros(rows), np.zeros(rows),
        )  # fmt: skip


@kernel
def instance_penalties(state: Any, instance: Any, penalties: Any) -> None:
    """Write the Lagrange multipliers of a whole instance's nodes, from which the ascents for its states begin.

    Args:
        state: The pool.
        instance: The number of the instance.
        penalties: float64 [n], overwritten; that of the depot is 0.
    """
    first, n = state.graphs.nodes_start[instance], state.graphs.size[instance]
    capacity = state.limits[instance, CAPACITY]
    work = new_relaxation(n - 1, _units(state, instance), 2)
    nodes = np.arange(1, n)
    work.slot[: n + 1] = -1
    edge = _measure(state, instance, nodes, 0, work)
    for i in range(n - 1):
        work.penalty[i] = work.near_distance[i, 0] if work.near_count[i] > 0 else 0.0
        work.penalty[i] += 2.0 * work.home[i] * state.demand[first + nodes[i]] / capacity
    relax(work, n - 1, -1, 0.0, _FIRST_STEPS, _FIRST_LENGTH * edge)
    penalties[0] = 0.0
    penalties[1:] = work.penalty[: n - 1]


@kernel
def observe(state: Any, rows: Any, actions: Any, penalties: Any, prices: Any) -> None:
    """Write the relaxation of `rows` to `prices`.

    Args:
        state: The pool.
        rows: int [R], rows of the pool.
        actions: int32 [R, K], the listed actions.
        penalties: float64, the result of `instance_penalties` for the nodes of all instances, one after another.
        prices: Prices, written in place.
    """
    width = actions.shape[1]
    for r in range(len(rows)):
        row = rows[r]
        instance, t = state.instance[row], state.visited[row]
        n, first = state.graphs.size[instance], state.graphs.nodes_start[instance]
        m, origin = n - 1 - t, state.order[row, t - 1] if t > 0 else 0
        if m == 0:
            continue
        units, capacity = _units(state, instance), state.limits[instance, CAPACITY]
        work = new_relaxation(m, units, width + 2)
        nodes = state.order[row, t : n - 1].astype(np.int64)
        edge = _measure(state, instance, nodes, origin, work)
        clients = _assign_slots(state, row, actions[r], n, work)
        for i in range(m):
            work.penalty[i] = penalties[first + nodes[i]]
        room, back = -1, 0.0
        if t > 0:
            room = int(np.floor((capacity - state.vehicle[row, 0]) * units / capacity + 1e-9))
            back = distance(graph_metric(state.graphs, instance), origin, 0)
        prices.bound[r], prices.onward[r] = relax(work, m, room, back, _STEPS, _LENGTH * edge)
        _describe_actions(actions[r], n, t > 0, back, clients, work, prices, r)


@kernel
def _units(state: Any, instance: Any) -> Any:
    """Return the units of load of a vehicle: the capacity if it is a small whole number."""
    capacity = state.limits[instance, CAPACITY]
    return int(capacity) if capacity <= _MAX_UNITS and capacity == np.floor(capacity) else _MAX_UNITS


@kernel
def _measure(state: Any, instance: Any, nodes: Any, origin: Any, work: Any) -> Any:
    """Write weights, distances and nearest clients of `nodes`, int64 [m], to `work`.

    Returns the mean distance to the nearest client, or to the depot and back if that is shorter.
    """
    metric, first = graph_metric(state.graphs, instance), state.graphs.nodes_start[instance]
    m, total, units = len(nodes), 0.0, len(work.best) - 1
    for i in range(m):
        weight = state.demand[first + nodes[i]] * units / state.limits[instance, CAPACITY]
        work.weight[i] = min(units, max(1, int(np.floor(weight + 1e-9))))
        work.home[i], work.away[i] = distance(metric, nodes[i], 0), distance(metric, nodes[i], origin)
        near, near_distance, count = work.near[i], work.near_distance[i], 0
        for j in range(m):
            if i == j:
                continue
            length = distance(metric, nodes[i], nodes[j])
            if count == NEAREST and length >= near_distance[count - 1]:
                continue
            at = count if count < NEAREST else NEAREST - 1
            while at > 0 and length < near_distance[at - 1]:
                near[at], near_distance[at] = near[at - 1], near_distance[at - 1]
                at -= 1
            near[at], near_distance[at] = j, length
            count = min(NEAREST, count + 1)
        work.near_count[i] = count
        total += min(near_distance[0], 2.0 * work.home[i]) if count > 0 else 2.0 * work.home[i]
    return total / m


@kernel
def _assign_slots(state: Any, row: Any, actions: Any, n: Any, work: Any) -> Any:
    """Write `slot` of `work`; return the number of each action's client among the unvisited ones, int64 [K]; -1: no action."""
    t, width = state.visited[row], len(actions)
    m, clients = n - 1 - t, np.full(width, -1)
    work.slot[:m] = -1
    work.slot[m], work.slot[m + 1] = width + 1, width
    for k in range(width):
        if actions[k] < 0:
            break
        client = actions[k] - n if actions[k] >= n else actions[k]
        i = state.place[row, client] - t
        clients[k] = i
        if work.slot[i] < 0:
            work.slot[i] = k
    return clients


@kernel
def _describe_actions(actions: Any, n: Any, under_way: Any, back: Any, clients: Any, work: Any, prices: Any, r: Any) -> None:
    """Write the results in `work` for one row's actions to row r of `prices`."""
    width, units = len(actions), len(work.best) - 1
    for k in range(width):
        i = clients[k]
        if i < 0:
            break
        prices.fresh_reduced[r, k] = work.onward[i, 1] if work.onward[i, 1] < NO_ROUTE else np.inf
        if not under_way:
            prices.reduced[r, k] = prices.fresh_reduced[r, k]
        elif actions[k] >= n:
            prices.reduced[r, k] = back - prices.onward[r] + prices.fresh_reduced[r, k]
        else:
            prices.reduced[r, k] = work.onward[i, 0] - prices.onward[r] if work.onward[i, 0] < NO_ROUTE else np.inf
        prices.price[r, k], prices.penalty[r, k], prices.taken[r, k] = work.price[i], work.penalty[i], work.current[i]
        prices.through[r, k] = (work.halves[i, 0] + work.halves[i, 1] - work.weight[i]) / units
        one = work.slot[i]
        for other in range(width + 2):
            two = other
            if other < width:
                if clients[other] < 0:
                    continue
                two = work.slot[clients[other]]
            prices.shares[r, k, other] = prices.shares[r, other, k] = work.share[one, two]
    prices.shares[r, width, width + 1] = prices.shares[r, width + 1, width] = work.share[width, width + 1]
