"""What an observation of a matrix instance shows, by slots, of the assignment problem of what remains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.remaining_assignment import new_remainder, relax, try_action
from corl.routing.graph_pool import graph_metric

__all__ = ["ANY_ARC", "CYCLES", "HEAD", "JOINING", "OWN_ARC", "REGRET", "TAIL", "Outlook", "describe", "least_estimate"]

REGRET, CYCLES, JOINING = range(3)  # columns of `actions`
TAIL, HEAD = range(2)  # of `prices`
OWN_ARC, ANY_ARC = range(2)  # of `patches`


class Outlook(NamedTuple):
    """What `describe` shows of R remainders, K + 2 slots each."""

    bound: NDArray[np.float64]
    """[R] the cost of the assignment: no way to the destination is shorter."""
    prices: NDArray[np.float64]
    """[R, K + 2, 2] as tails (origin and cities) and as heads (cities and destination); otherwise 0."""
    successors: NDArray[np.int32]
    """[R, K + 2] the city that comes next in the assignment; -1 for the destination and empty slots."""
    cycles: NDArray[np.int32]
    """[R, K + 2] the number of its cycle: 0 for the path from origin to destination; -1 for empty slots."""
    joints: NDArray[np.float64]
    """[R, K + 2, K + 2] what exchanging the heads of two cities' arcs costs; infinite where there is no such exchange."""
    patches: NDArray[np.float64]
    """[R, K + 2, 2] the least cost of joining its cycle to another by its own arc (infinite: impossible), and by any arc."""
    actions: NDArray[np.float64]
    """[R, K, 3] of each action as `try_action` has it: regret, cycles left beside the path, cost of joining them."""

    @classmethod
    def empty(cls, rows: int, slots: int) -> Outlook:
        """Nothing seen yet; `slots` is K."""
        line = (rows, slots + 2)
        return cls(
            np.zeros(rows), np.zeros((*line, 2)), np.full(line, -1, np.int32), np.full(line, -1, np.int32),
            np.full((*line, slots + 2), np.inf), np.full((*line, 2), np.inf), np.zeros((rows, slots, 3)),
        )  # fmt: skip


def least_estimate(seen: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """[R, K] what the assignment problem says each action prolongs the tour by: the longer assignment, and joining its cycles.

    Going where it is least is the best rule by hand that we know. Infinite in empty slots.
    """
    return np.where(seen["mask"][:, :-2], seen["actions"][..., REGRET] + seen["actions"][..., JOINING], np.inf)


@kernel
def describe(state: Any, rows: Any, slots: Any, seen: Any) -> None:
    """The remainders of rows of the pool (State) into `seen`, an Outlook.

    slots: int32 [R, K + 2] cities. Rows of instances without a matrix, and those at the end, are left as they are.
    """
    largest = 1
    for row in rows:
        largest = max(largest, state.graphs.size[state.instance[row]] - state.visited[row] + 1)
    work = new_remainder(largest + 1)
    node = np.empty(state.order.shape[1], np.int32)
    for r in range(len(rows)):
        instance, t = state.instance[rows[r]], state.visited[rows[r]]
        n, start = state.graphs.size[instance], state.priced_start[instance]
        if start >= 0 and t < n:
            matrix = graph_metric(state.graphs, instance).matrix
            last = start + n
            m = n - t + 1
            node[:n] = -1
            work.city[0], work.city[m] = state.order[rows[r], t - 1], state.order[rows[r], 0]
            work.city[1:m] = np.sort(state.order[rows[r], t:n])  # for the order of the tour so far must not matter
            for i in range(1, m):
                node[work.city[i]] = i
            node[work.city[m]] = 0
            prices, successor = state.prices[:, start:last], state.successor[start:last]
            for i in range(m):
                work.out[i] = prices[0, work.city[i]]
                work.into[i] = prices[1, work.city[i if i else m]]
                head = node[successor[work.city[i]]]
                work.head[i] = head if head != i else -1
            relax(work, matrix, m)
            _show(work, m, node, slots[r], seen, r)


@kernel
def _show(work: Any, m: Any, node: Any, slots: Any, seen: Any, r: Any) -> None:
    """One remainder by slots: the listed cities, origin, destination."""
    k = len(slots) - 2
    cost, head = work.cost, work.head
    for i in range(m):
        seen.bound[r] += work.out[i] + work.into[i]
    for a in range(k + 1):
        if slots[a] < 0:
            continue
        i = node[slots[a]] if a < k else 0
        seen.prices[r, a, TAIL] = work.out[i]
        seen.prices[r, a if i else k + 1, HEAD] = work.into[i]
        seen.successors[r, a] = work.city[head[i] if head[i] else m]
        seen.cycles[r, a] = work.cycle[i]
        seen.patches[r, a, OWN_ARC] = work.joint[i]
        seen.patches[r, a, ANY_ARC] = work.patch[work.cycle[i]]
        if a < k:
            known = seen.actions[r, a]
            known[REGRET], known[CYCLES], known[JOINING] = try_action(work, m, i)
        for b in range(a):
            if slots[b] >= 0:
                j = node[slots[b]]
                seen.joints[r, a, b] = seen.joints[r, b, a] = cost[i, head[j]] + cost[j, head[i]]
    seen.cycles[r, k + 1] = 0
