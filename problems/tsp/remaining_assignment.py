"""The assignment problem of the rest of a tour on a matrix, and the effect that each next city has on it.

The rest of the tour is a path from the origin (the last city of the partial tour) through the unvisited cities to the destination
(its first city). If both are merged into node 0, with the arcs out of the origin and the arcs into the destination, the path is a
tour of m nodes. A solution of the assignment problem of these nodes (a different head for every tail, at the least total cost) is
a path from origin to destination and, usually, further cycles:

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
    """Results and work arrays for up to M nodes."""

    city: NDArray[np.int32]
    """[M] the city of each node; node 0 is the origin as a tail and the destination as a head, and its entry is the origin."""
    cost: NDArray[np.float64]
    """[M, M] reduced arc costs, at least 0; infinite on the diagonal, which at node 0 is the arc from origin to destination."""
    out: NDArray[np.float64]
    """[M] the dual prices of the nodes as tails of arcs."""
    into: NDArray[np.float64]
    """[M] the dual prices of the nodes as heads of arcs."""
    head: NDArray[np.int32]
    """[M] the successor of each node in the assignment."""
    tail: NDArray[np.int32]
    """[M] the predecessor of each node in the assignment."""
    cycle: NDArray[np.int32]
    """[M] the number of the cycle that contains each node; the cycle of node 0, which is the path, has number 0."""
    patch: NDArray[np.float64]
    """[M] for each cycle: the least cost of joining it to another without changing the origin's arc; 0 for the path, and for a
    cycle that can be joined only by changing the origin's arc."""
    joint: NDArray[np.float64]
    """[M] for each node: the least cost of joining its cycle to another by the arc out of the node; infinite for node 0."""
    detour: NDArray[np.float64]
    """[M] for each node: the least cost of getting another head after the origin has given up head[0]. On this path the
    node takes the head of a second node, which takes that of a third node, and so on, until a node takes head[0]."""
    moves: NDArray[np.int32]
    """[M] the head that each node takes on its path of `detour`."""
    trial: NDArray[np.int32]
    """[2, M] successors and cycle numbers while an action is tried; a work array at other times."""


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
        work: Remainder, with initial values: city[:m] the nodes' cities, city[m] the destination; `out` and `into` feasible dual
            prices; `head` successors that fit these prices, -1 for a node without one.
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
            cost[i, j] = max(0.0, cost[i, j] - out[i] - into[j])  # rounding errors may make it negative
        cost[i, i] = np.inf
    _detours(work, m)
    _centre(work, m)
    _joints(work, m, _cycles(head, work.cycle[:m]))


@kernel
def _joints(work: Any, m: Any, count: Any) -> None:
    """Compute work.joint and work.patch for the assignment's `count` cycles."""
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
        if patch[c] == np.inf:  # the cycle can be joined only by changing the origin's arc
            patch[c] = 0.0


@kernel
def _cycles(head: Any, cycle: Any) -> Any:
    """Write the number of each node's cycle in the permutation `head` to `cycle`; return the number of cycles.

    Cycles are numbered in the order of their least nodes.
    """
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
    """Compute work.detour and work.moves, by Dijkstra's algorithm backwards from the origin's head."""
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
    """Replace the dual prices by the mean of two extreme optimal solutions, so that they do not depend on the algorithm.

    On an alternating path each node gives up its head and takes that of the next node, at the cost of its new arc. The lengths of
    shortest alternating paths from node 0 (computed here by Dijkstra's algorithm) and to node 0 (work.detour) are the differences
    between the current prices and the two extreme ones.
    """
    cost, head, tail = work.cost, work.head, work.tail
    reach = work.joint  # used as a work array until `_joints` fills it
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
        reach[i] = shift if abs(shift) < np.inf else 0.0  # with one unvisited city there is no alternating path
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
        m: The number of its nodes.
        node: The node of the next city, 1 to m - 1.

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
    """Return the least cost of joining cycle c of `trial` to another cycle without the origin's arc; 0 if that is impossible."""
    cost, trial, cycle = work.cost, work.trial[0], work.trial[1]
    first = 1
    while cycle[first] != c:
        first += 1
    i, unchanged = first, True
    while unchanged:  # does the assignment itself contain this cycle?
        unchanged = trial[i] == work.head[i]
        i = trial[i]
        if i == first:
            break
    if unchanged:
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
