"""One tabu search: moves of the neighbourhood N7, whether they make the schedule better or not, until none has for long.

The tabu search of TS/PR (Peng, Lu and Cheng, Computers & Operations Research 53, 2015), with the tenures of Zhang, Li, Rao and
Guan (Computers & Operations Research 35, 2008).
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

__all__ = ["IDLE", "MOVES", "NOW", "VALUE", "WRAP", "Search", "advance", "begin", "forbid", "new_search", "next_window"]

MOVES, IDLE, NOW, VALUE = range(4)  # what `counts` holds
WRAP = 2**30  # moves after which the tabu table is reset


class Search(NamedTuple):
    """The state of a search over N operations; `advance` goes on from it."""

    shop: Shop
    selection: Selection
    """Where it is."""
    window: Window
    """The operations that it moves."""
    scan: Scan
    tabu: NDArray[np.int32]
    """[pairs] entry of (x, y): the move up to which x must not come before y again."""
    best: NDArray[np.uint32]
    """[N] the best sequence since `begin`, of equal ones the first."""
    latest: NDArray[np.uint32]
    """[N] in windows, of equal ones the latest: the next window goes on from it, so that it drifts where nothing is gained."""
    counts: NDArray[np.int64]
    """[4] moves made in all, moves since `best` improved, objective values of `selection` and `best`."""
    random: NDArray[np.uint64]
    """[1]"""


def new_search(shop: Shop, random: NDArray[np.uint64]) -> Search:
    """Memory for a search; fill `selection.sequence` and `begin`."""
    n = len(shop.machine)
    window, tabu = new_window(len(shop.last), len(shop.first) - 1), np.zeros(int(shop.pair[-1]), np.int32)
    best, latest, counts = np.zeros(n, np.uint32), np.zeros(n, np.uint32), np.zeros(4, np.int64)
    return Search(shop, new_selection(shop), window, new_scan(n), tabu, best, latest, counts, random)


@kernel
def begin(search: Search) -> None:
    """Start from the orders in `search.selection.sequence`, with all operations in the window."""
    search.counts[NOW] = search.counts[VALUE] = rebuild(search.shop, search.selection)
    search.counts[IDLE] = 0
    open_window(search.shop, search.selection, search.window, np.int64(0), np.int64(len(search.best)))
    copy(search.selection.sequence, search.best, len(search.selection.sequence))
    copy(search.selection.sequence, search.latest, len(search.selection.sequence))


def next_window(search: Search, first: int, stop: int) -> None:
    """Go on from the best so far, among the operations that are from `first` to `stop` - 1 by their starts."""
    selection, shop = search.selection, search.shop
    selection.sequence[:] = search.latest
    search.counts[NOW] = rebuild(shop, selection)
    search.counts[IDLE] = 0
    sort_order(selection.order, selection.rank, selection.end[: len(search.best)] - shop.duration)
    open_window(shop, selection, search.window, first, stop)


@kernel(nogil=True)
def advance(search: Search, cut: int, shortest: int, longest: int, units: int) -> int:
    """Make up to `units` moves in the window, fewer where `cut` of them made it no better; returns how many are left.

    A pair reversed stays so for shortest..longest moves, at random.
    """
    counts, tabu, random = search.counts, search.tabu, search.random
    shop, selection, window, scan = search.shop, search.selection, search.window, search.scan
    part = window.span[STOP] - window.span[FIRST] < len(search.best)
    while units > 0 and counts[IDLE] < cut:
        units -= 1
        counts[MOVES] += 1
        if counts[MOVES] % WRAP == 0:
            tabu[:] = 0
        now = counts[MOVES] % WRAP
        a, b = choose_move(shop, selection, window, scan, tabu, now, counts[VALUE], counts[NOW], random)
        if a < 0:  # the critical path has no block, or no move in one is sure to be feasible
            counts[IDLE] = cut
            break
        forbid(shop, selection.sequence, tabu, a, b, now + shortest + below(random, longest - shortest + 1))
        counts[NOW] = shift(shop, selection, window, a, b)
        counts[IDLE] += 1
        if counts[NOW] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[NOW], 0
            copy(selection.sequence, search.best, len(selection.sequence))
        if part and counts[NOW] == counts[VALUE]:
            copy(selection.sequence, search.latest, len(selection.sequence))
    return units


@kernel(borrow=True)
def forbid(shop: Shop, sequence: NDArray[np.uint32], tabu: NDArray[np.int32], a: int, b: int, until: int) -> None:
    """Let no move undo a pair that the move of place a to place b reverses, up to the move `until`."""
    m, member = shop.machine[sequence[a]], shop.member
    k, base, moved = shop.able[m], shop.pair[m], member[sequence[a]]
    if a < b:
        for at in range(a + 1, b + 1):
            tabu[base + moved * k + member[sequence[at]]] = until
    else:
        for at in range(b, a):
            tabu[base + member[sequence[at]] * k + moved] = until
