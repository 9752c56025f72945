"""Time windows: the search moves only the operations of one window, and recomputes only their longest paths.

A move can change the longest paths of all operations before and after it. With 10,000 operations these are thousands, while the
choice of the move examines only a few hundred. Therefore the operations are sorted by start time, and the search is restricted to
a range of this order, the window. The makespan after a move is still exact: the longest paths up to operations before the window,
and those from operations after it, do not change. Schedules also become better, because good parts outside the window are kept
(the principle of POPMUSIC, Taillard and Voss, 2002; Singer, Computers & Operations Research 28, 2001, uses time windows in large
shops).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.jobshop.tabu.setups import after_setup

if TYPE_CHECKING:
    from corl.solvers.jobshop.tabu.selection import Selection, Shop

__all__ = ["FIRST", "JOBS", "MACHINES", "STOP", "Window", "longest_path", "new_window", "open_window", "sort_order"]

FIRST, STOP, JOBS, MACHINES, OUTSIDE = range(5)
"""Indices into `Window.span`."""


class Window(NamedTuple):
    """A range of a topological order, and the operations at which paths leave the range."""

    span: NDArray[np.int64]
    """[5] FIRST, STOP: the window is the ranks FIRST..STOP - 1. JOBS, MACHINES: the numbers of valid entries of `last_of_jobs`
    and `last_of_machines`. OUTSIDE: the length of the longest path that avoids the window."""
    last_of_jobs: NDArray[np.uint32]
    """[J] for each job with operations in the window, the last of these operations."""
    last_of_machines: NDArray[np.int32]
    """[M] for each machine with operations in and after the window, the place in `sequence` of the machine's last operation in
    the window."""


def new_window(jobs: int, machines: int) -> Window:
    """Allocate a window; `open_window` fills it."""
    return Window(np.zeros(5, np.int64), np.zeros(jobs, np.uint32), np.zeros(machines, np.int32))


def sort_order(order: NDArray[np.uint32], rank: NDArray[np.int32], start: NDArray[np.int32]) -> None:
    """Sort a topological order by start time, in place; because the sort is stable, the result is a topological order, too.

    Args:
        order: uint32 [N], the operations in a topological order.
        rank: int32 [N], the position of each operation in `order`, updated in place.
        start: int32 [N], the start time of each operation.
    """
    order[:] = order[np.argsort(start[order], kind="stable")]
    rank[order] = np.arange(len(order), dtype=np.int32)


@kernel
def open_window(shop: Shop, selection: Selection, window: Window, first: int | np.int64, stop: int | np.int64) -> None:
    """Set `window` to the ranks first..stop - 1 of a selection whose `end` and `to_end` are exact."""
    span, rank, machine_succ = window.span, selection.rank, selection.machine_succ
    end, to_end, n = selection.end, selection.to_end, len(selection.rank)
    span[FIRST], span[STOP], span[JOBS], span[MACHINES], span[OUTSIDE] = first, stop, 0, 0, 0
    for i in range(n):
        x, y = shop.job_succ[i], machine_succ[i]
        by_job, by_machine = x >= n or rank[x] >= stop, y < n and rank[y] >= stop
        if rank[i] < first:  # an arc from before the window to after it
            after_window = max(to_end[x] if by_job else 0, after_setup(to_end[y], shop.setups, i, i, y) if by_machine else 0)
            span[OUTSIDE] = max(span[OUTSIDE], end[i] + after_window if by_job | by_machine else 0)
        elif rank[i] >= stop:
            if shop.job_pred[i] >= n:  # the path that begins with the job's release date
                span[OUTSIDE] = max(span[OUTSIDE], end[shop.job_pred[i]] + to_end[i])
        else:
            if by_job:
                window.last_of_jobs[span[JOBS]] = i
                span[JOBS] += 1
            if by_machine:
                window.last_of_machines[span[MACHINES]] = selection.place[i]
                span[MACHINES] += 1


@kernel(borrow=True)
def longest_path(shop: Shop, selection: Selection, window: Window) -> int:
    """Return the makespan; `end` must be exact up to the end of the window, `to_end` after it."""
    job_succ, sequence = shop.job_succ, selection.sequence
    machine_succ, end, to_end = selection.machine_succ, selection.end, selection.to_end
    longest: int = window.span[OUTSIDE]
    for k in range(window.span[JOBS]):
        i = window.last_of_jobs[k]
        longest = max(longest, end[i] + to_end[job_succ[i]])
    for k in range(window.span[MACHINES]):
        i = sequence[window.last_of_machines[k]]
        longest = max(longest, end[i] + after_setup(to_end[machine_succ[i]], shop.setups, i, i, machine_succ[i]))
    return longest
