"""Kernels on the graph of a selection: a topological order and its repair, and longest paths, recomputed where they change.

`order` [N] is a topological order and `rank` [N] where an operation stands in it. The other arrays are those of
corl.solvers.jobshop.tabu.selection: an operation that is not there has a number from N on.
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

__all__ = ["job_links", "latest", "reorder_backward", "reorder_forward", "sweep_ends", "sweep_rests", "topological"]


def job_links(instance: JobShopInstance) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """earlier, later [N]: the operations before and after in the job, N + 1 + j before the first of job j, N after the last.

    The third, [J], is the last operation of each job.
    """
    n, last = instance.operations, (instance.first[1:] - 1).astype(np.uint32)
    earlier, later = np.arange(n, dtype=np.uint32) - np.uint32(1), np.arange(1, n + 1, dtype=np.uint32)
    earlier[instance.first[:-1]], later[last] = np.arange(n + 1, n + 1 + instance.jobs), n
    return earlier, later, last


@kernel(borrow=True)
def topological(earlier, later, before, after, order, rank, waits):
    """A topological order (Kahn, 1962); False if there is none."""
    n, filled = len(order), 0
    for i in range(n):
        waits[i] = (earlier[i] < n) + (before[i] < n)
        if waits[i] == 0:
            order[filled] = i
            filled += 1
    done = 0
    while done < filled:
        i = order[done]
        rank[i] = done
        done += 1
        x, y = later[i], after[i]
        if x < n:
            waits[x] -= 1
            if waits[x] == 0:
                order[filled] = x
                filled += 1
        if y < n:
            waits[y] -= 1
            if waits[y] == 0:
                order[filled] = y
                filled += 1
    return filled == n


@kernel(borrow=True)
def reorder_forward(earlier, before, order, rank, marked, spare, u, v):
    """Repair the topological order after u has become a successor of v: u and its successors are moved to after v."""
    to, kept = rank[u], 0
    marked[u] = 1
    for k in range(rank[u], rank[v] + 1):
        i = order[k]
        if marked[i] | marked[earlier[i]] | marked[before[i]]:
            marked[i] = 1
            spare[kept] = i
            kept += 1
        else:
            order[to] = i
            rank[i] = to
            to += 1
    for k in range(kept):
        i = spare[k]
        marked[i] = 0
        order[to + k] = i
        rank[i] = to + k


@kernel(borrow=True)
def reorder_backward(later, after, order, rank, marked, spare, v, u):
    """Repair the topological order where v now precedes u: v and what precedes it go before u."""
    to, kept = rank[v], 0
    marked[v] = 1
    for k in range(rank[v], rank[u] - 1, -1):
        i = order[k]
        if marked[i] | marked[later[i]] | marked[after[i]]:
            marked[i] = 1
            spare[kept] = i
            kept += 1
        else:
            order[to] = i
            rank[i] = to
            to -= 1
    for k in range(kept):
        i = spare[k]
        marked[i] = 0
        order[to - k] = i
        rank[i] = to - k


@kernel(borrow=True)
def sweep_ends(order, earlier, before, end, p, first, stop):
    """Recompute the ends of the ranks first..stop - 1."""
    for k in range(first, stop):
        i = order[k]
        x, y = end[earlier[i]], end[before[i]]
        end[i] = max(x, y) + p[i]


@kernel(borrow=True)
def sweep_rests(order, later, after, rest, p, last, first):
    """Recompute the rests of the ranks first..last."""
    for k in range(last, first - 1, -1):
        i = order[k]
        x, y = rest[later[i]], rest[after[i]]
        rest[i] = max(x, y) + p[i]


@kernel(borrow=True)
def latest(last: NDArray[np.uint32], end: NDArray[np.int32]) -> int:
    """The latest end of a job: the makespan."""
    c = 0
    for i in last:
        c = max(c, end[i])
    return c
