"""One tabu search for the makespan: the best move of the neighbourhood N7, also if it is worse, until `cut` moves in a row fail.

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

__all__ = ["IDLE", "MOVES", "NOW", "VALUE", "WRAP", "TabuState", "advance", "begin", "forbid", "new_search", "next_window"]

MOVES, IDLE, NOW, VALUE = range(4)  # entries of `counts`
WRAP = 2**30  # moves after which the tabu table is reset


class TabuState(NamedTuple):
    """The state of a tabu search over N operations, which `advance` continues."""

    shop: Shop
    selection: Selection
    """The current schedule."""
    window: Window
    """The operations that may be moved."""
    scan: Scan
    tabu: NDArray[np.int32]
    """[pairs] for each ordered pair (x, y) of operations of a machine: the move up to which x must not precede y again."""
    best: NDArray[np.uint32]
    """[N] the best sequence since `begin`, the first one of several equally good."""
    latest: NDArray[np.uint32]
    """[N] with windows, the latest of equally good best sequences: the next window starts from it, so that the search drifts
    on a plateau."""
    counts: NDArray[np.int64]
    """[4] MOVES: moves made in all; IDLE: moves since `best` improved; NOW, VALUE: makespans of `selection` and of `best`."""
    random: NDArray[np.uint64]
    """[1] the state of the random number generator."""


def new_search(shop: Shop, random: NDArray[np.uint64]) -> TabuState:
    """Allocate a search; then fill `selection.sequence` and call `begin`."""
    n = len(shop.machine)
    window, tabu = new_window(len(shop.last), len(shop.first) - 1), np.zeros(int(shop.pair[-1]), np.int32)
    best, latest, counts = np.zeros(n, np.uint32), np.zeros(n, np.uint32), np.zeros(4, np.int64)
    return TabuState(shop, new_selection(shop), window, new_scan(n), tabu, best, latest, counts, random)


@kernel
def begin(search: TabuState) -> None:
    """Start from the machine orders in `search.selection.sequence`, with all operations in the window."""
    search.counts[NOW] = search.counts[VALUE] = rebuild(search.shop, search.selection)
    search.counts[IDLE] = 0
    open_window(search.shop, search.selection, search.window, np.int64(0), np.int64(len(search.best)))
    copy(search.selection.sequence, search.best, len(search.selection.sequence))
    copy(search.selection.sequence, search.latest, len(search.selection.sequence))


def next_window(search: TabuState, first: int, stop: int) -> None:
    """Continue from the best schedule in the window of the operations `first` to `stop` - 1 in the order of start times."""
    selection, shop = search.selection, search.shop
    selection.sequence[:] = search.latest
    search.counts[NOW] = rebuild(shop, selection)
    search.counts[IDLE] = 0
    sort_order(selection.order, selection.rank, selection.end[: len(search.best)] - shop.duration)
    open_window(shop, selection, search.window, first, stop)


@kernel(nogil=True)
def advance(search: TabuState, cut: int, shortest: int, longest: int, units: int) -> int:
    """Make up to `units` moves in the window; end early after `cut` moves without an improvement.

    Args:
        search: The state, updated in place.
        cut: Moves without an improvement after which the search ends.
        shortest: Least tenure: moves for which a reversed pair must stay reversed; drawn uniformly from shortest..longest.
        longest: Greatest tenure.
        units: The most moves to make.

    Returns:
        The number of units that are left.
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
    """Make the pairs that moving place a to b of `sequence` reverses tabu up to the move `until`; call it before `shift`."""
    m, member = shop.machine[sequence[a]], shop.member
    k, base, moved = shop.eligible[m], shop.pair[m], member[sequence[a]]
    if a < b:
        for at in range(a + 1, b + 1):
            tabu[base + moved * k + member[sequence[at]]] = until
    else:
        for at in range(b, a):
            tabu[base + member[sequence[at]] * k + moved] = until
