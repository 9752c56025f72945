"""The assignment problem of the rest of a tour on a matrix, and the effect that each next city has on it.

The rest of the tour is a path from the origin through the unvisited cities to the destination. If origin and destination are
merged into node 0, whose outgoing arcs are the origin's and whose incoming arcs are the destination's, that path is a tour of m
nodes. A solution of its assignment problem is a path from origin to destination and, usually, further cycles:

    origin --> a --> b --> destination      c --> d --> c      joining them: exchange the heads of (a b) and (c d),
    origin --> a --> d --> c --> b --> destination             which gives the arcs (a d) and (c b)

Joining two cycles by exchanging the heads of two arcs is Karp's patching (SIAM Journal on Computing 8, 1979).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.assignment import assign_rows

__all__ = ["Remainder", "new_remainder", "relax", "try_action"]


class Remainder(NamedTuple):
    """Scratch arrays and results for up to M nodes."""

    city: NDArray[np.int32]
    """[M] the city of each node; node 0 is the origin as a tail and the destination as a head."""
    cost: NDArray[np.float64]
    """[M, M] reduced arc costs, at least 0; infinite on the diagonal, which at node 0 is the arc from origin to destination."""
    out: NDArray[np.float64]
    """[M] dual prices as tails."""
    into: NDArray[np.float64]
    """[M] dual prices as heads."""
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
    """[M] the least cost of an alternating path to the origin's head: each node takes the head that the next one gives up."""
    moves: NDArray[np.int32]
    """[M] the head that the node takes on this path."""
    trial: NDArray[np.int32]
    """[2, M] successors and cycle numbers while an action is tried."""


@kernel
def new_remainder(most: Any) -> Any:
    """Return the memory for `most` nodes."""
    line, whole = np.empty(most), np.empty(most, np.int32)
    return Remainder(
        whole, np.empty((most, most)), line, line.copy(), whole.copy(), whole.copy(), whole.copy(), line.copy(), line.copy(),
        line.copy(), whole.copy(), np.empty((2, most), np.int32),
    )  # fmt: skip


@kernel
def relax(work: Any, matrix: Any, m: Any) -> None:
    """Solve the assignment problem of m >= 2 nodes, in place; then compute reduced costs, detours, cycles and joints.

    Args:
        work: Remainder; city[:m + 1] holds the nodes' cities and the destination; `out`, `into` and `head` hold feasible initial
            prices and successors, -1 for a node without one.
        matrix: float64 [n, n], distances of the instance.
        m: The number of nodes.
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
    """Write work.joint and work.patch for the assignment's `count` cycles."""
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
        if patch[c] == np.inf:  # it can only be joined by the origin's arc
            patch[c] = 0.0


@kernel
def _cycles(head: Any, cycle: Any) -> Any:
    """Number the cycles of the permutation `head` by their least nodes in `cycle`; return the number of cycles."""
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
    """Write work.detour and work.moves, by Dijkstra's algorithm backwards from the origin's head."""
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
    """Replace the dual prices by the mean of two extreme optimal ones, so that they do not depend on the algorithm.

    On an alternating path each node gives up its head and takes the next node's, at the cost of its new arc. The lengths of
    shortest such paths from node 0 (Dijkstra) and to node 0 (work.detour) are the shifts to the two extreme optimal prices.
    """
    cost, head, tail = work.cost, work.head, work.tail
    reach = work.joint  # scratch until `_joints` fills it
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
        reach[i] = shift if abs(shift) < np.inf else 0.0  # with one city left there is no alternating path
    for i in range(m):
        work.out[i] -= reach[i]
        work.into[i] += reach[tail[i]]
        work.detour[i] += reach[i] - reach[0]
        for j in range(m):
            cost[i, j] = max(0.0, cost[i, j] + reach[i] - reach[tail[j]])


@kernel
def try_action(work: Any, m: Any, node: Any) -> Any:
    """Return the effect on the assignment of going from the origin to `node` next.

    Args:
        work: Remainder, solved by `relax`.
        m: Its nodes.
        node: 1 to m - 1.

    Returns (regret, cycles, joining): the increase in the cost of the assignment, the number of cycles besides the path, and an
    estimate of the cost of joining them.
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
    """Return the least cost of joining cycle c of the trial to the rest without the origin's arc; 0 if that is impossible."""
    cost, trial, cycle = work.cost, work.trial[0], work.trial[1]
    first = 1
    while cycle[first] != c:
        first += 1
    i, same = first, True
    while same:  # is it a cycle of the assignment itself?
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
