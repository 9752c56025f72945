"""One tabu search for the makespan: each step makes the best move of the neighbourhood N7, even if the makespan grows.

It is the tabu search of TS/PR (Peng, Lu and Cheng, Computers & Operations Research 53, 2015), with the tenures of Zhang, Li, Rao
and Guan (Computers & Operations Research 35, 2008). It ends after a given number of moves without an improvement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import below
from corl.solvers.jobshop.tabu.neighbourhood import Scan, choose_move, new_scan
from corl.solvers.jobshop.tabu.selection import Selection, Shop, new_selection, rebuild, shift
from corl.solvers.jobshop.tabu.windows import FIRST, STOP, Window, new_window, open_window, sort_order

__all__ = ["IDLE", "MOVES", "NOW", "VALUE", "WRAP", "TabuState", "advance", "begin", "forbid", "new_search", "next_window"]

MOVES, IDLE, NOW, VALUE = range(4)
"""Indices into `TabuState.counts`."""
WRAP = 2**30
"""The number of moves after which the tabu table is reset, because its entries are int32."""


class TabuState(NamedTuple):
    """The state of a tabu search over N operations; `advance` continues the search."""

    shop: Shop
    selection: Selection
    """The current schedule."""
    window: Window
    """The operations that may be moved."""
    scan: Scan
    tabu: NDArray[np.int32]
    """[pairs] for each ordered pair (x, y) of operations of a machine: moves with a smaller number must not put x before y."""
    best: NDArray[np.uint32]
    """[N] the best sequence since `begin`; of several equally good ones, the first."""
    latest: NDArray[np.uint32]
    """[N] of several equally good best sequences, the last. The next window starts from it, so that the search also moves between
    schedules of equal makespan. Only used with windows."""
    counts: NDArray[np.int64]
    """[4] MOVES: the number of moves made; IDLE: that of moves since `best` improved; NOW: the makespan (or other objective
    value) of `selection`; VALUE: that of `best`."""
    random: NDArray[np.uint64]
    """[1] the state of the random number generator."""


def new_search(shop: Shop, random: NDArray[np.uint64]) -> TabuState:
    """Allocate a search. The caller then fills `selection.sequence` and calls `begin`."""
    n = len(shop.machine)
    window, tabu = new_window(len(shop.last), len(shop.first) - 1), np.zeros(int(shop.pair[-1]), np.int32)
    best, latest, counts = np.zeros(n, np.uint32), np.zeros(n, np.uint32), np.zeros(4, np.int64)
    return TabuState(shop, new_selection(shop), window, new_scan(n), tabu, best, latest, counts, random)


@kernel
def begin(search: TabuState) -> None:
    """Start the search from the machine orders in `search.selection.sequence`, with all operations in the window."""
    search.counts[NOW] = search.counts[VALUE] = rebuild(search.shop, search.selection)
    search.counts[IDLE] = 0
    open_window(search.shop, search.selection, search.window, np.int64(0), np.int64(len(search.best)))
    copy(search.selection.sequence, search.best, len(search.selection.sequence))
    copy(search.selection.sequence, search.latest, len(search.selection.sequence))


def next_window(search: TabuState, first: int, stop: int) -> None:
    """Continue from the best schedule; the window is the operations first..stop - 1 in the order of start times."""
    selection, shop = search.selection, search.shop
    selection.sequence[:] = search.latest
    search.counts[NOW] = rebuild(shop, selection)
    search.counts[IDLE] = 0
    sort_order(selection.order, selection.rank, selection.end[: len(search.best)] - shop.duration)
    open_window(shop, selection, search.window, first, stop)


@kernel(nogil=True)
def advance(search: TabuState, cut: int, shortest: int, longest: int, units: int) -> int:
    """Make up to `units` moves in the window; end earlier after `cut` moves without an improvement.

    Args:
        search: The state, updated in place.
        cut: The number of moves without an improvement after which the search ends.
        shortest: The minimum tenure: the number of moves for which a reversed pair is not reversed back. A tenure is drawn
            uniformly from shortest..longest.
        longest: The maximum tenure.
        units: The maximum number of moves.

    Returns:
        `units` minus the number of moves made.
    """
    counts, tabu, random = search.counts, search.tabu, search.random
    shop, selection, window, scan = search.shop, search.selection, search.window, search.scan
    is_partial_window = window.span[STOP] - window.span[FIRST] < len(search.best)
    while units > 0 and counts[IDLE] < cut:
        units -= 1
        counts[MOVES] += 1
        if counts[MOVES] % WRAP == 0:
            tabu[:] = 0
        now = counts[MOVES] % WRAP
        a, b = choose_move(shop, selection, window, scan, tabu, now, counts[VALUE], counts[NOW], random)
        if a < 0:  # the critical path has no block, or no move is provably feasible
            counts[IDLE] = cut
            break
        forbid(shop, selection.sequence, tabu, a, b, now + shortest + below(random, longest - shortest + 1))
        counts[NOW] = shift(shop, selection, window, a, b)
        counts[IDLE] += 1
        if counts[NOW] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[NOW], 0
            copy(selection.sequence, search.best, len(selection.sequence))
        if is_partial_window and counts[NOW] == counts[VALUE]:
            copy(selection.sequence, search.latest, len(selection.sequence))
    return units


@kernel(borrow=True)
def forbid(shop: Shop, sequence: NDArray[np.uint32], tabu: NDArray[np.int32], a: int, b: int, until: int) -> None:
    """Forbid, up to move `until`, to restore the pairs that moving place a of `sequence` to place b reverses.

    Called before the move is made. tabu: int32 [pairs], `TabuState.tabu`.
    """
    m, member = shop.machine[sequence[a]], shop.member
    k, base, moved = shop.eligible[m], shop.pair[m], member[sequence[a]]
    if a < b:
        for at in range(a + 1, b + 1):
            tabu[base + moved * k + member[sequence[at]]] = until
    else:
        for at in range(b, a):
            tabu[base + member[sequence[at]] * k + moved] = until
