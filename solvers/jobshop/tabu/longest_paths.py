"""Kernels on the graph of a selection: a topological order and its repair, and longest paths, recomputed where they change.

`order` [N] is a topological order, and `rank` [N] the position of each operation in it. The other arrays are those of
corl.solvers.jobshop.tabu.selection: a predecessor or successor that does not exist has a number from N on.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = ["job_links", "makespan", "reorder_backward", "reorder_forward", "sweep_ends", "sweep_rests", "topological"]


def job_links(instance: JobShopInstance) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the links of the jobs' operations.

    Returns:
        earlier: uint32 [N], the job predecessor; N + 1 + j for the first operation of job j.
        later: uint32 [N], the job successor; N for the last operation of a job.
        last: uint32 [J], the last operation of each job.
    """
    n, last = instance.operations, (instance.first[1:] - 1).astype(np.uint32)
    earlier, later = np.arange(n, dtype=np.uint32) - np.uint32(1), np.arange(1, n + 1, dtype=np.uint32)
    earlier[instance.first[:-1]], later[last] = np.arange(n + 1, n + 1 + instance.jobs), n
    return earlier, later, last


@kernel(borrow=True)
def topological(earlier, later, before, after, order, rank, predecessors):
    """Write a topological order (Kahn, 1962) to `order` and `rank`; return False if there is none.

    `predecessors` [N] is scratch: the number of predecessors that are not in the order yet.
    """
    n, filled = len(order), 0
    for i in range(n):
        predecessors[i] = (earlier[i] < n) + (before[i] < n)
        if predecessors[i] == 0:
            order[filled] = i
            filled += 1
    done = 0
    while done < filled:
        i = order[done]
        rank[i] = done
        done += 1
        x, y = later[i], after[i]
        if x < n:
            predecessors[x] -= 1
            if predecessors[x] == 0:
                order[filled] = x
                filled += 1
        if y < n:
            predecessors[y] -= 1
            if predecessors[y] == 0:
                order[filled] = y
                filled += 1
    return filled == n


@kernel(borrow=True)
def reorder_forward(earlier, before, order, rank, marked, scratch, u, v):
    """Repair the topological order, in place, after u has become a successor of v: move u and its successors after v."""
    to, kept = rank[u], 0
    marked[u] = 1
    for k in range(rank[u], rank[v] + 1):
        i = order[k]
        if marked[i] | marked[earlier[i]] | marked[before[i]]:
            marked[i] = 1
            scratch[kept] = i
            kept += 1
        else:
            order[to] = i
            rank[i] = to
            to += 1
    for k in range(kept):
        i = scratch[k]
        marked[i] = 0
        order[to + k] = i
        rank[i] = to + k


@kernel(borrow=True)
def reorder_backward(later, after, order, rank, marked, scratch, v, u):
    """Repair the topological order, in place, after v has become a predecessor of u: move v and its predecessors before u."""
    to, kept = rank[v], 0
    marked[v] = 1
    for k in range(rank[v], rank[u] - 1, -1):
        i = order[k]
        if marked[i] | marked[later[i]] | marked[after[i]]:
            marked[i] = 1
            scratch[kept] = i
            kept += 1
        else:
            order[to] = i
            rank[i] = to
            to -= 1
    for k in range(kept):
        i = scratch[k]
        marked[i] = 0
        order[to - k] = i
        rank[i] = to - k


@kernel(borrow=True)
def sweep_ends(order, earlier, before, end, p, first, stop):
    """Recompute the ends of the operations at ranks first..stop - 1, in place."""
    for k in range(first, stop):
        i = order[k]
        x, y = end[earlier[i]], end[before[i]]
        end[i] = max(x, y) + p[i]


@kernel(borrow=True)
def sweep_rests(order, later, after, rest, p, last, first):
    """Recompute the rests of the operations at ranks last down to first, in place."""
    for k in range(last, first - 1, -1):
        i = order[k]
        x, y = rest[later[i]], rest[after[i]]
        rest[i] = max(x, y) + p[i]


@kernel(borrow=True)
def makespan(last: NDArray[np.uint32], end: NDArray[np.int32]) -> int:
    """Return the makespan: the latest end of the jobs' last operations `last` [J]."""
    c = 0
    for i in last:
        c = max(c, end[i])
    return c
