"""Windows of time: the search moves operations within one only, and recomputes only their ends and rests.

A move changes the longest paths of what lies behind and before it, anywhere: of 10,000 operations, thousands, while the choice
of the move looks at a few hundred. So operations are sorted by their starts, and a stretch of this order, a window, is searched
alone. What lies before it keeps its ends and what lies behind it its rests, so the makespan after a move is still exact. It
helps the search too: within a window only few operations have to be good at a time, and what is good elsewhere stays (the parts
of POPMUSIC, Taillard and Voss, 2002; Singer, Computers & Operations Research 28, 2001, does so with time windows of large shops).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

if TYPE_CHECKING:
    from corl.solvers.jobshop.tabu.selection import Selection, Shop

__all__ = ["FIRST", "JOBS", "MACHINES", "STOP", "Window", "longest_path", "new_window", "open_window", "sort_order"]

FIRST, STOP, JOBS, MACHINES, OUTSIDE = range(5)  # what `span` holds


class Window(NamedTuple):
    """A stretch of a topological order, and where paths leave it."""

    span: NDArray[np.int64]
    """[5] the ranks FIRST..STOP - 1 are within; how many `leaving` and `closing` hold; the longest path that does not enter."""
    leaving: NDArray[np.uint32]
    """[J] the last operation within, of each job that has any."""
    closing: NDArray[np.int32]
    """[M] the place of the last operation within, of each machine that has any and goes on behind."""


def new_window(jobs: int, machines: int) -> Window:
    """Memory for a window; `open_window` fills it."""
    return Window(np.zeros(5, np.int64), np.zeros(jobs, np.uint32), np.zeros(machines, np.int32))


def sort_order(order: NDArray[np.uint32], rank: NDArray[np.int32], start: NDArray[np.int32]) -> None:
    """Sort a topological order by starts [N]; equal ones keep their places, so it is one afterwards."""
    order[:] = order[np.argsort(start[order], kind="stable")]
    rank[order] = np.arange(len(order), dtype=np.int32)


@kernel
def open_window(shop: Shop, selection: Selection, window: Window, first: int | np.int64, stop: int | np.int64) -> None:
    """Let `window` be the ranks first..stop - 1 of a selection whose ends and rests are right."""
    span, rank, after = window.span, selection.rank, selection.after
    end, rest, n = selection.end, selection.rest, len(selection.rank)
    span[FIRST], span[STOP], span[JOBS], span[MACHINES], span[OUTSIDE] = first, stop, 0, 0, 0
    for i in range(n):
        x, y = shop.later[i], after[i]
        by_job, by_machine = x >= n or rank[x] >= stop, y < n and rank[y] >= stop
        if rank[i] < first:  # a path that goes past the window
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
