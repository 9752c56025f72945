"""Observations of partial tours on a matrix: the solution of the assignment problem of the rest of the tour, slot by slot.

A slot is a place in the environment's list of next cities; the origin (last city of the partial tour) and the destination (its
first city) have two more. remaining_assignment.py solves the assignment problem, and explains cycles and how they are joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.remaining_assignment import new_remainder, relax, try_action
from corl.routing.graph_pool import graph_metric

__all__ = [
    "ANY_ARC",
    "CYCLES",
    "HEAD",
    "JOINING",
    "OWN_ARC",
    "REGRET",
    "TAIL",
    "AssignmentLookahead",
    "least_estimate",
    "observe",
]

REGRET, CYCLES, JOINING = range(3)  # columns of `actions`
TAIL, HEAD = range(2)  # columns of `prices`
OWN_ARC, ANY_ARC = range(2)  # columns of `patches`


class AssignmentLookahead(NamedTuple):
    """The assignment problems of R partial tours, by K + 2 slots: K listed cities, the origin, the destination."""

    bound: NDArray[np.float64]
    """[R] the cost of the optimal assignment: a lower bound on the length of the rest of the tour."""
    prices: NDArray[np.float64]
    """[R, K + 2, 2] the dual price of each slot's city as a tail (0 for the destination) and as a head (0 for the origin)."""
    successors: NDArray[np.int32]
    """[R, K + 2] the city that follows the slot's city in the assignment; -1 for the destination and for empty slots."""
    cycles: NDArray[np.int32]
    """[R, K + 2] the number of the cycle of the slot's city; 0 is the path from origin to destination, -1 an empty slot."""
    joints: NDArray[np.float64]
    """[R, K + 2, K + 2] by how much the assignment's cost grows if the cities of two slots exchange their successors; infinite if
    they cannot."""
    patches: NDArray[np.float64]
    """[R, K + 2, 2] the least cost of joining the slot's cycle to another cycle: OWN_ARC, by the arc out of the slot's city
    (infinite if that is impossible); ANY_ARC, by any arc of the cycle."""
    actions: NDArray[np.float64]
    """[R, K, 3] the effect of choosing each listed city next (`try_action`): REGRET, by how much the assignment's cost grows;
    CYCLES, the number of cycles besides the path; JOINING, an estimate of the cost of joining them."""

    @classmethod
    def empty(cls, rows: int, slots: int) -> AssignmentLookahead:
        """Return arrays for R = `rows` states with K = `slots` listed cities; every slot has the values of an empty slot."""
        line = (rows, slots + 2)
        return cls(
            np.zeros(rows), np.zeros((*line, 2)), np.full(line, -1, np.int32), np.full(line, -1, np.int32),
            np.full((*line, slots + 2), np.inf), np.full((*line, 2), np.inf), np.zeros((rows, slots, 3)),
        )  # fmt: skip


def least_estimate(observation: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return an estimate of how much each action lengthens the tour, float64 [R, K]; infinite in empty slots.

    The estimate is the increase in cost of the assignment plus the cost of joining its cycles. Choosing the action with the least
    estimate is the best hand-written rule that we know.
    """
    return np.where(
        observation["mask"][:, :-2], observation["actions"][..., REGRET] + observation["actions"][..., JOINING], np.inf
    )


@kernel
def observe(state: Any, rows: Any, slots: Any, lookahead: Any) -> None:
    """Solve the assignment problems of some rows of an environment and write the results to `lookahead`, in place.

    For rows of instances without a matrix, and for rows at the end of their episode, nothing is written.

    Args:
        state: State: the partial tours of all rows of the environment.
        rows: int [R], the rows to observe.
        slots: int32 [R, K + 2], the city of each slot, -1 if the slot is empty.
        lookahead: AssignmentLookahead.empty(R, K), receives the results.
    """
    largest = 1
    for row in rows:
        largest = max(largest, state.graphs.size[state.instance[row]] - state.visited[row] + 1)
    work = new_remainder(largest + 1)
    node = np.empty(state.order.shape[1], np.int32)
    for r in range(len(rows)):
        instance, visited = state.instance[rows[r]], state.visited[rows[r]]
        n, start = state.graphs.size[instance], state.priced_start[instance]
        if start >= 0 and visited < n:
            matrix = graph_metric(state.graphs, instance).matrix
            last = start + n
            m = n - visited + 1
            node[:n] = -1
            work.city[0], work.city[m] = state.order[rows[r], visited - 1], state.order[rows[r], 0]
            # sorted, as the result must not depend on the order of the partial tour
            work.city[1:m] = np.sort(state.order[rows[r], visited:n])
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
            _show(work, m, node, slots[r], lookahead, r)


@kernel
def _show(work: Any, m: Any, node: Any, slots: Any, lookahead: Any, r: Any) -> None:
    """Write the solved assignment problem `work` of m nodes to row r of `lookahead`.

    Args:
        work: Remainder.
        m: The number of its nodes.
        node: int32 [n], the node of each city; -1 for visited cities.
        slots: int32 [K + 2], the city of each slot, -1 if empty.
        lookahead: AssignmentLookahead.
        r: The row of `lookahead`.
    """
    k = len(slots) - 2
    cost, head = work.cost, work.head
    for i in range(m):
        lookahead.bound[r] += work.out[i] + work.into[i]
    for a in range(k + 1):
        if slots[a] < 0:
            continue
        i = node[slots[a]] if a < k else 0
        lookahead.prices[r, a, TAIL] = work.out[i]
        lookahead.prices[r, a if i else k + 1, HEAD] = work.into[i]
        lookahead.successors[r, a] = work.city[head[i] if head[i] else m]
        lookahead.cycles[r, a] = work.cycle[i]
        lookahead.patches[r, a, OWN_ARC] = work.joint[i]
        lookahead.patches[r, a, ANY_ARC] = work.patch[work.cycle[i]]
        if a < k:
            effect = lookahead.actions[r, a]
            effect[REGRET], effect[CYCLES], effect[JOINING] = try_action(work, m, i)
        for b in range(a):
            if slots[b] >= 0:
                j = node[slots[b]]
                lookahead.joints[r, a, b] = lookahead.joints[r, b, a] = cost[i, head[j]] + cost[j, head[i]]
    lookahead.cycles[r, k + 1] = 0
