"""The assignment problem of what remains of a tour on a matrix, and what it says of each next city.

The remainder is a path from the origin through the unvisited cities to the destination. Taken as node 0 that leaves as the
origin and is reached as the destination, the two make it a tour, of m nodes, and its assignment problem is a path from origin
to destination and cycles beside it. Joining two cycles by exchanging the heads of two arcs is Karp's patching (SIAM Journal
on Computing 8, 1979).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.assignment import assign_rows

__all__ = ["Remainder", "new_remainder", "relax", "try_action"]


class Remainder(NamedTuple):
    """Work space and result for up to M nodes."""

    city: NDArray[np.int32]
    """[M] the cities of the nodes; node 0 is the origin (its head is the destination's)."""
    cost: NDArray[np.float64]
    """[M, M] arc costs less the prices, at least 0; infinite on the diagonal, from origin to destination that is."""
    out: NDArray[np.float64]
    """[M] prices as tails."""
    into: NDArray[np.float64]
    """[M] prices as heads."""
    head: NDArray[np.int32]
    """[M] the successors in the assignment."""
    tail: NDArray[np.int32]
    """[M] the predecessors."""
    cycle: NDArray[np.int32]
    """[M] the number of a node's cycle; that of node 0, the path, is 0."""
    patch: NDArray[np.float64]
    """[M] by cycle: the least cost of joining it to another without touching the origin's arc; 0 for the path."""
    joint: NDArray[np.float64]
    """[M] the least cost of joining a node's cycle to another by this node's arc; infinite for node 0."""
    detour: NDArray[np.float64]
    """[M] the least cost of giving a node the head that the origin gives up, with all that moves for it."""
    moves: NDArray[np.int32]
    """[M] the head that a node then takes."""
    trial: NDArray[np.int32]
    """[2, M] successors, and marks, when an action is tried."""


@kernel
def new_remainder(most: Any) -> Any:
    """Memory for `most` nodes."""
    line, whole = np.empty(most), np.empty(most, np.int32)
    return Remainder(
        whole, np.empty((most, most)), line, line.copy(), whole.copy(), whole.copy(), whole.copy(), line.copy(), line.copy(),
        line.copy(), whole.copy(), np.empty((2, most), np.int32),
    )  # fmt: skip


@kernel
def relax(work: Any, matrix: Any, m: Any) -> None:
    """Solve the assignment problem of the cities work.city[:m]; work.city[m] is the destination. m >= 2.

    `out`, `into` and `head` hold feasible prices and successors in them to begin with; a head of -1 is open.
    """
    cost, out, into, head, tail = work.cost[:m, :m], work.out[:m], work.into[:m], work.head[:m], work.tail[:m]
    for i in range(m):
        row = matrix[work.city[i]]
        cost[i, 0] = row[work.city[m]]
        for j in range(1, m):
            cost[i, j] = row[work.city[j]]
    tail[:] = -1
    for i in range(m):
        if head[i] >= 0:
            tail[head[i]] = i
    assign_rows(cost, out, into, head, tail, 0, np.iinfo(np.int64).max)
    for i in range(m):
        for j in range(m):
            cost[i, j] = max(0.0, cost[i, j] - out[i] - into[j])  # rounding
        cost[i, i] = np.inf
    _detours(work, m)
    _centre(work, m)
    _joints(work, m, _cycles(head, work.cycle[:m]))


@kernel
def _joints(work: Any, m: Any, count: Any) -> None:
    """Fill work.joint and work.patch for the assignment's `count` cycles."""
    cost, head, cycle, joint, patch = work.cost, work.head, work.cycle, work.joint, work.patch
    joint[:m] = np.inf
    for i in range(1, m):
        for j in range(1, i):
            if cycle[i] != cycle[j]:
                joined = cost[i, head[j]] + cost[j, head[i]]
                joint[i], joint[j] = min(joint[i], joined), min(joint[j], joined)
    patch[:count] = np.inf
    for i in range(1, m):
        patch[cycle[i]] = min(patch[cycle[i]], joint[i])
    patch[0] = 0.0
    for c in range(1, count):
        if patch[c] == np.inf:  # only the origin's arc is left to join it to
            patch[c] = 0.0


@kernel
def _cycles(head: Any, cycle: Any) -> Any:
    """Number the cycles of a permutation by their least nodes; returns how many there are."""
    cycle[:] = -1
    count = 0
    for i in range(len(head)):
        j = i
        while cycle[j] < 0:
            cycle[j] = count
            j = head[j]
        count += cycle[i] == count
    return count


@kernel
def _detours(work: Any, m: Any) -> None:
    """Dijkstra from the head that the origin has, against the alternating paths of the other nodes to it."""
    cost, head, detour, moves = work.cost, work.head, work.detour, work.moves
    done = work.trial[1]
    detour[:m] = np.inf
    done[:m] = 0
    done[0] = 1
    detour[0] = 0.0
    at, reach = head[0], 0.0
    for _ in range(1, m):
        nearest, least = -1, np.inf
        for i in range(1, m):
            if done[i]:
                continue
            if reach + cost[i, at] < detour[i]:
                detour[i], moves[i] = reach + cost[i, at], at
            if detour[i] < least or nearest < 0:
                nearest, least = i, detour[i]
        done[nearest] = 1
        at, reach = head[nearest], least


@kernel
def _centre(work: Any, m: Any) -> None:
    """Make the prices the mean of the two optimal ones that are extreme for the origin's arc: no accident of the algorithm.

    A node gives up its head and takes that of another at the cost of its new arc. Prices stay optimal by shortest such ways
    from node 0 (Dijkstra) and to it (work.detour).
    """
    cost, head, tail = work.cost, work.head, work.tail
    reach = work.joint  # free until _joints
    done = work.trial[1]
    reach[:m] = np.inf
    done[:m] = 0
    reach[0] = 0.0
    for _ in range(m):
        at, least = -1, np.inf
        for i in range(m):
            if not done[i] and (at < 0 or reach[i] < least):
                at, least = i, reach[i]
        done[at] = 1
        for i in range(m):
            reach[i] = min(reach[i], least + cost[at, head[i]])
    for i in range(m):
        shift = 0.5 * (reach[i] - work.detour[i])
        reach[i] = shift if abs(shift) < np.inf else 0.0  # with one city left there is nothing to give up
    for i in range(m):
        work.out[i] -= reach[i]
        work.into[i] += reach[tail[i]]
        work.detour[i] += reach[i] - reach[0]
        for j in range(m):
            cost[i, j] = max(0.0, cost[i, j] + reach[i] - reach[tail[j]])


@kernel
def try_action(work: Any, m: Any, node: Any) -> Any:
    """What going from the origin to `node` next makes of the assignment: how much longer it gets, how many cycles beside the
    path it then has, and what joining them costs about.
    """
    cost, head, trial, cycle = work.cost, work.head, work.trial[0, :m], work.trial[1, :m]
    if node == head[0]:
        cycles, joining = 0, 0.0
        for i in range(m):
            cycles = max(cycles, work.cycle[i])
        for c in range(1, cycles + 1):
            joining += work.patch[c]
        return 0.0, cycles, joining
    trial[:] = head[:m]
    trial[0] = node
    i = work.tail[node]
    while True:
        trial[i] = work.moves[i]
        if trial[i] == head[0]:
            break
        i = work.tail[trial[i]]
    count = _cycles(trial, cycle)
    joining = 0.0
    for c in range(1, count):
        joining += _joining(work, m, c)
    return cost[0, node] + work.detour[work.tail[node]], count - 1, joining


@kernel
def _joining(work: Any, m: Any, c: Any) -> Any:
    """The least cost of joining cycle c of the trial to the rest, the origin's arc apart."""
    cost, trial, cycle = work.cost, work.trial[0], work.trial[1]
    first = 1
    while cycle[first] != c:
        first += 1
    i, same = first, True
    while same:  # a cycle of the assignment as it was
        same = trial[i] == work.head[i]
        i = trial[i]
        if i == first:
            break
    if same:
        return work.patch[work.cycle[first]]
    least = np.inf
    i = first
    while True:
        for j in range(1, m):
            if cycle[j] != c:
                change = cost[i, trial[j]] + cost[j, trial[i]] - cost[i, trial[i]] - cost[j, trial[j]]
                least = min(least, change)
        i = trial[i]
        if i == first:
            break
    return max(0.0, least) if least < np.inf else 0.0
