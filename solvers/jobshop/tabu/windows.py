"""Time windows: the search moves only the operations of one window, and recomputes only their ends and rests.

A move can change the longest paths of all operations before and after it: thousands out of 10,000, while the choice of the move
examines a few hundred. Therefore the operations are sorted by start time, and a stretch of this order, the window, is searched
alone. Operations before the window keep their ends and operations after it keep their rests, so the makespan after a move is
exact. The search improves as well: only few operations have to be improved at a time, and good parts elsewhere stay as they are
(the parts of POPMUSIC, Taillard and Voss, 2002; Singer, Computers & Operations Research 28, 2001, uses time windows in large
shops).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

if TYPE_CHECKING:
    from corl.solvers.jobshop.tabu.selection import Selection, Shop

__all__ = ["FIRST", "JOBS", "MACHINES", "STOP", "Window", "longest_path", "new_window", "open_window", "sort_order"]

FIRST, STOP, JOBS, MACHINES, OUTSIDE = range(5)  # entries of `span`


class Window(NamedTuple):
    """A stretch of a topological order, and the operations where paths leave it."""

    span: NDArray[np.int64]
    """[5] FIRST and STOP: the window is the ranks FIRST..STOP - 1; JOBS and MACHINES: the lengths of `leaving` and `closing`;
    OUTSIDE: the longest path that does not enter the window."""
    leaving: NDArray[np.uint32]
    """[J] the last operation inside, for each job with operations inside."""
    closing: NDArray[np.int32]
    """[M] the place in `sequence` of the last operation inside, for each machine with operations inside and after the window."""


def new_window(jobs: int, machines: int) -> Window:
    """Allocate a window; `open_window` fills it."""
    return Window(np.zeros(5, np.int64), np.zeros(jobs, np.uint32), np.zeros(machines, np.int32))


def sort_order(order: NDArray[np.uint32], rank: NDArray[np.int32], start: NDArray[np.int32]) -> None:
    """Sort a topological order by start time, in place; it remains a topological order, because the sort is stable.

    Args:
        order: uint32 [N], the operations in a topological order.
        rank: int32 [N], the position of each operation in `order`; updated.
        start: int32 [N], the start time of each operation.
    """
    order[:] = order[np.argsort(start[order], kind="stable")]
    rank[order] = np.arange(len(order), dtype=np.int32)


@kernel
def open_window(shop: Shop, selection: Selection, window: Window, first: int | np.int64, stop: int | np.int64) -> None:
    """Set `window` to the ranks first..stop - 1 of a selection whose ends and rests are exact."""
    span, rank, after = window.span, selection.rank, selection.after
    end, rest, n = selection.end, selection.rest, len(selection.rank)
    span[FIRST], span[STOP], span[JOBS], span[MACHINES], span[OUTSIDE] = first, stop, 0, 0, 0
    for i in range(n):
        x, y = shop.later[i], after[i]
        by_job, by_machine = x >= n or rank[x] >= stop, y < n and rank[y] >= stop
        if rank[i] < first:  # a path that bypasses the window
            past = max(rest[x] if by_job else 0, rest[y] if by_machine else 0)
            span[OUTSIDE] = max(span[OUTSIDE], end[i] + past if by_job | by_machine else 0)
        elif rank[i] >= stop:
            if shop.earlier[i] >= n:  # a path from the job's release date
                span[OUTSIDE] = max(span[OUTSIDE], end[shop.earlier[i]] + rest[i])
        else:
            if by_job:
                window.leaving[span[JOBS]] = i
                span[JOBS] += 1
            if by_machine:
                window.closing[span[MACHINES]] = selection.place[i]
                span[MACHINES] += 1


@kernel(borrow=True)
def longest_path(shop: Shop, selection: Selection, window: Window) -> int:
    """Return the makespan, given ends that are exact up to the end of the window and rests that are exact after it."""
    later, sequence, after, end, rest = shop.later, selection.sequence, selection.after, selection.end, selection.rest
    longest: int = window.span[OUTSIDE]
    for k in range(window.span[JOBS]):
        i = window.leaving[k]
        longest = max(longest, end[i] + rest[later[i]])
    for k in range(window.span[MACHINES]):
        i = sequence[window.closing[k]]
        longest = max(longest, end[i] + rest[after[i]])
    return longest
