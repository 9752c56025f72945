"""Kernels on the graph of a selection: a topological order and its repair, and longest paths.

`order` [N] is a topological order of the N operations, and `rank` [N] the position of each operation in it. `p` [N] are
durations, `setups` the Setups or None (setups.py). The other arrays are those of Shop and Selection (selection.py). A predecessor
or successor that does not exist has a number of N or more.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.jobshop.tabu.setups import after_setup

if TYPE_CHECKING:
    from corl.problems.jobshop.instance import JobShopInstance

__all__ = [
    "job_links",
    "makespan",
    "recompute_ends",
    "recompute_to_end",
    "reorder_backward",
    "reorder_forward",
    "topological_order",
]


def job_links(instance: JobShopInstance) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return (job_pred, job_succ, last) of an instance with N operations.

    Returns:
        job_pred: uint32 [N], the job predecessor of each operation; N + 1 + j for the first operation of job j.
        job_succ: uint32 [N], the job successor of each operation; N for the last operation of a job.
        last: uint32 [J], the last operation of each job.
    """
    n, last = instance.operations, (instance.first[1:] - 1).astype(np.uint32)
    job_pred, job_succ = np.arange(n, dtype=np.uint32) - np.uint32(1), np.arange(1, n + 1, dtype=np.uint32)
    job_pred[instance.first[:-1]], job_succ[last] = np.arange(n + 1, n + 1 + instance.jobs), n
    return job_pred, job_succ, last


@kernel(borrow=True)
def topological_order(job_pred, job_succ, machine_pred, machine_succ, order, rank, predecessors):
    """Write a topological order (Kahn, 1962) to `order` and `rank`; return False if the graph has a cycle.

    predecessors: uint32 [N], a work array: the number of predecessors that are not in the order yet.
    """
    n, filled = len(order), 0
    for i in range(n):
        predecessors[i] = (job_pred[i] < n) + (machine_pred[i] < n)
        if predecessors[i] == 0:
            order[filled] = i
            filled += 1
    done = 0
    while done < filled:
        i = order[done]
        rank[i] = done
        done += 1
        x, y = job_succ[i], machine_succ[i]
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
def reorder_forward(job_pred, machine_pred, order, rank, marked, scratch, u, v):
    """Repair the topological order after u has become a successor of v: move u and its successors behind v, in place.

    marked: uint8, a work array that is 0 before and after the call. scratch: uint32 [N], a work array.
    """
    to, count = rank[u], 0
    marked[u] = 1
    for k in range(rank[u], rank[v] + 1):
        i = order[k]
        if marked[i] | marked[job_pred[i]] | marked[machine_pred[i]]:
            marked[i] = 1
            scratch[count] = i
            count += 1
        else:
            order[to] = i
            rank[i] = to
            to += 1
    for k in range(count):
        i = scratch[k]
        marked[i] = 0
        order[to + k] = i
        rank[i] = to + k


@kernel(borrow=True)
def reorder_backward(job_succ, machine_succ, order, rank, marked, scratch, v, u):
    """Repair the topological order after v has become a predecessor of u: move v and its predecessors before u, in place.

    marked: uint8, a work array that is 0 before and after the call. scratch: uint32 [N], a work array.
    """
    to, count = rank[v], 0
    marked[v] = 1
    for k in range(rank[v], rank[u] - 1, -1):
        i = order[k]
        if marked[i] | marked[job_succ[i]] | marked[machine_succ[i]]:
            marked[i] = 1
            scratch[count] = i
            count += 1
        else:
            order[to] = i
            rank[i] = to
            to -= 1
    for k in range(count):
        i = scratch[k]
        marked[i] = 0
        order[to - k] = i
        rank[i] = to - k


@kernel(borrow=True)
def recompute_ends(order, job_pred, machine_pred, end, p, setups, first, stop):
    """Recompute `end`, the longest path to an operation's end, for the operations at ranks first..stop - 1, in place."""
    for k in range(first, stop):
        i = order[k]
        x, y = end[job_pred[i]], after_setup(end[machine_pred[i]], setups, i, machine_pred[i], i)
        end[i] = max(x, y) + p[i]


@kernel(borrow=True)
def recompute_to_end(order, job_succ, machine_succ, to_end, p, setups, last, first):
    """Recompute `to_end`, the longest path from an operation's start, for the operations at ranks last..first, in place."""
    for k in range(last, first - 1, -1):
        i = order[k]
        x, y = to_end[job_succ[i]], after_setup(to_end[machine_succ[i]], setups, i, i, machine_succ[i])
        to_end[i] = max(x, y) + p[i]


@kernel(borrow=True)
def makespan(last: NDArray[np.uint32], end: NDArray[np.int32]) -> int:
    """Return the makespan: the latest end of the jobs' last operations `last` [J]."""
    latest = 0
    for i in last:
        latest = max(latest, end[i])
    return latest
