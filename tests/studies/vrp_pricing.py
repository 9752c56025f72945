"""What the relaxation of the remaining routes says of each listed action (see vrp_remaining_routes)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from vrp_remaining_routes import NEAREST, new_relaxation, relax

from corl.jit import kernel
from corl.problems.vrp.environments.savings.environment import SavingsEnvironment
from corl.problems.vrp.instance import VrpInstance
from corl.routing.graph_pool import graph_metric
from corl.routing.metric import distance

__all__ = ["PricedEnvironment", "Prices"]

_UNITS = 60  # units of load that a vehicle carries at most in the relaxation, where demands are no whole numbers below that
_FIRST_STEPS = 60  # of the ascent from the beginning
_STEPS = 10  # in a state, from the penalties of the beginning (tuned, as the lengths are, by right actions of 40 good solutions)
_FIRST_LENGTH, _LENGTH = 0.3, 0.15  # of the first step, in mean distances to the nearest client


class Prices(NamedTuple):
    """Of R states with K listed actions. Costs are distances."""

    reduced: NDArray[np.float64]
    """[R, K] how much the bound on the rest rises by an action at least; inf where the relaxation has no such way."""
    fresh_reduced: NDArray[np.float64]
    """[R, K] the least reduced cost of a new route that begins at the action's client; inf likewise."""
    price: NDArray[np.float64]
    """[R, K] what the client pays."""
    penalty: NDArray[np.float64]
    """[R, K] its Lagrange multiplier."""
    taken: NDArray[np.float64]
    """[R, K] how often the rest of the route under way visits the client, in the mean of the ascent."""
    through: NDArray[np.float64]
    """[R, K] the load of the cheapest route through the client, as a share of the capacity."""
    shares: NDArray[np.float64]
    """[R, K + 2, K + 2] how often routes go from slot to slot, likewise; the last two are the vehicle's place and the depot."""
    bound: NDArray[np.float64]
    """[R] the bound on the cost of what remains."""
    onward: NDArray[np.float64]
    """[R] the cost of the rest of the route under way, less what its clients pay."""

    @classmethod
    def empty(cls, rows: int, width: int) -> Prices:
        """For so many rows, nothing in them yet."""
        each, slots = (rows, width), width + 2
        return cls(
            np.zeros(each), np.zeros(each), np.zeros(each), np.zeros(each), np.zeros(each), np.zeros(each),
            np.zeros((rows, slots, slots)), np.zeros(rows), np.zeros(rows),
        )  # fmt: skip


class PricedEnvironment(SavingsEnvironment):
    """SavingsEnvironment, and a linear relaxation of all that remains says what each action adds to a lower bound. Its ascent
    begins from the penalties of the whole instance, which are found when the instance is first reset to."""

    def __init__(self, instances: Sequence[VrpInstance], rows: int, width: int = 24) -> None:
        self._penalties = np.full(sum(instance.n for instance in instances), np.nan)
        super().__init__(instances, rows, width)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        for number in np.unique(which).tolist():
            first, n = int(self.state.graphs.nodes_start[number]), int(self.state.graphs.size[number])
            if n > 1 and np.isnan(self._penalties[first]):
                _price_clients(self.state, number, self._penalties[first : first + n])
        return super()._reset(rows, which, keys)

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """What SavingsEnvironment has, and the arrays of Prices."""
        seen = Prices.empty(len(rows), self.width)
        _price_actions(self.state, rows, actions, self._penalties, seen)
        return super()._observe(rows, actions) | seen._asdict()


@kernel
def _price_clients(state: Any, instance: Any, penalties: Any) -> None:
    """Fill the penalties [n] of an instance's nodes: those of the whole instance."""
    first, n = state.graphs.nodes_start[instance], state.graphs.size[instance]
    capacity = state.limits[instance, 0]
    work = new_relaxation(n - 1, _units(state, instance), 2)
    nodes = np.arange(1, n)
    work.slot[: n + 1] = -1
    edge = _measure(state, instance, nodes, 0, work)
    for i in range(n - 1):
        work.penalty[i] = work.apart[i, 0] if work.count[i] > 0 else 0.0
        work.penalty[i] += 2.0 * work.home[i] * state.demand[first + nodes[i]] / capacity
    relax(work, n - 1, -1, 0.0, _FIRST_STEPS, _FIRST_LENGTH * edge)
    penalties[0] = 0.0
    penalties[1:] = work.penalty[: n - 1]


@kernel
def _price_actions(state: Any, rows: Any, actions: Any, penalties: Any, seen: Any) -> None:
    """Fill `seen`, Prices, for `rows` of a pool of plans with capacities alone, whose listed actions are `actions` [R, K].

    penalties [sum of n]: of the nodes of all instances, where the ascent begins.
    """
    width = actions.shape[1]
    for r in range(len(rows)):
        row = rows[r]
        instance, t = state.instance[row], state.visited[row]
        n, first = state.graphs.size[instance], state.graphs.nodes_start[instance]
        m, origin = n - 1 - t, state.order[row, t - 1] if t > 0 else 0
        if m == 0:
            continue
        units, capacity = _units(state, instance), state.limits[instance, 0]
        work = new_relaxation(m, units, width + 2)
        nodes = state.order[row, t : n - 1].astype(np.int64)
        edge = _measure(state, instance, nodes, origin, work)
        slots = _list(state, row, actions[r], n, work)
        for i in range(m):
            work.penalty[i] = penalties[first + nodes[i]]
        room, back = -1, 0.0
        if t > 0:
            room = int(np.floor((capacity - state.vehicle[row, 0]) * units / capacity + 1e-9))
            back = distance(graph_metric(state.graphs, instance), origin, 0)
        seen.bound[r], seen.onward[r] = relax(work, m, room, back, _STEPS, _LENGTH * edge)
        _describe(actions[r], n, t > 0, back, units, slots, work, seen, r)


@kernel
def _units(state: Any, instance: Any) -> Any:
    """The units of load of a vehicle: the capacity, if it is a whole number and small."""
    capacity = state.limits[instance, 0]
    return int(capacity) if capacity <= _UNITS and capacity == np.floor(capacity) else _UNITS


@kernel
def _measure(state: Any, instance: Any, nodes: Any, origin: Any, work: Any) -> Any:
    """Fill weights, distances and nearest clients of `nodes`; returns the mean distance to the nearest client, or the depot and
    back where that is nearer."""
    metric, first = graph_metric(state.graphs, instance), state.graphs.nodes_start[instance]
    m, total, units = len(nodes), 0.0, len(work.best) - 1
    for i in range(m):
        weight = state.demand[first + nodes[i]] * units / state.limits[instance, 0]
        work.weight[i] = min(units, max(1, int(np.floor(weight + 1e-9))))
        work.home[i], work.away[i] = distance(metric, nodes[i], 0), distance(metric, nodes[i], origin)
        near, apart, count = work.near[i], work.apart[i], 0
        for j in range(m):
            if i == j:
                continue
            length = distance(metric, nodes[i], nodes[j])
            if count == NEAREST and length >= apart[count - 1]:
                continue
            at = count if count < NEAREST else NEAREST - 1
            while at > 0 and length < apart[at - 1]:
                near[at], apart[at] = near[at - 1], apart[at - 1]
                at -= 1
            near[at], apart[at] = j, length
            count = min(NEAREST, count + 1)
        work.count[i] = count
        total += min(apart[0], 2.0 * work.home[i]) if count > 0 else 2.0 * work.home[i]
    return total / m


@kernel
def _list(state: Any, row: Any, actions: Any, n: Any, work: Any) -> Any:
    """Fill `slot`; returns the number among the remaining of each listed action's client, int64 [K], -1 for empty slots."""
    t, width = state.visited[row], len(actions)
    m, found = n - 1 - t, np.full(width, -1)
    work.slot[:m] = -1
    work.slot[m], work.slot[m + 1] = width + 1, width
    for k in range(width):
        if actions[k] < 0:
            break
        client = actions[k] - n if actions[k] >= n else actions[k]
        i = state.place[row, client] - t
        found[k] = i
        if work.slot[i] < 0:
            work.slot[i] = k
    return found


@kernel
def _describe(actions: Any, n: Any, begun: Any, back: Any, units: Any, slots: Any, work: Any, seen: Any, r: Any) -> None:
    """What `work` says of a row's actions."""
    width = len(actions)
    for k in range(width):
        i = slots[k]
        if i < 0:
            break
        seen.fresh_reduced[r, k] = work.onward[i, 1] if work.onward[i, 1] < 1e299 else np.inf
        if not begun:
            seen.reduced[r, k] = seen.fresh_reduced[r, k]
        elif actions[k] >= n:
            seen.reduced[r, k] = back - seen.onward[r] + seen.fresh_reduced[r, k]
        else:
            seen.reduced[r, k] = work.onward[i, 0] - seen.onward[r] if work.onward[i, 0] < 1e299 else np.inf
        seen.price[r, k], seen.penalty[r, k], seen.taken[r, k] = work.price[i], work.penalty[i], work.under_way[i]
        seen.through[r, k] = (work.halves[i, 0] + work.halves[i, 1] - work.weight[i]) / units
        one = work.slot[i]
        for other in range(width + 2):
            two = other
            if other < width:
                if slots[other] < 0:
                    continue
                two = work.slot[slots[other]]
            seen.shares[r, k, other] = seen.shares[r, other, k] = work.share[one, two]
    seen.shares[r, width, width + 1] = seen.shares[r, width + 1, width] = work.share[width, width + 1]
