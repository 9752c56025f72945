"""One tabu search: moves of the neighbourhood N7, whether they make the schedule better or not, until none has for long.

The tabu search of TS/PR (Peng, Lu and Cheng, Computers & Operations Research 53, 2015), with the tenures of Zhang, Li, Rao and
Guan (Computers & Operations Research 35, 2008).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.rng import below
from corl.solvers.jobshop.tabu.longest_paths import copy_into
from corl.solvers.jobshop.tabu.neighbourhood import Scan, choose_move, new_scan
from corl.solvers.jobshop.tabu.selection import Selection, Shop, new_selection, rebuild, shift

__all__ = ["IDLE", "MOVES", "NOW", "VALUE", "WRAP", "Search", "advance", "begin", "new_search"]

MOVES, IDLE, NOW, VALUE = range(4)  # what `counts` holds
WRAP = 2**30  # moves after which the tabu table begins anew


class Search(NamedTuple):
    """The state of a search over N operations; `advance` goes on from it."""

    shop: Shop
    selection: Selection
    """Where it is."""
    scan: Scan
    tabu: NDArray[np.int32]
    """[pairs] entry of (x, y): the move up to which x must not come before y again."""
    best: NDArray[np.uint32]
    """[N] the best sequence since `begin`."""
    counts: NDArray[np.int64]
    """[4] moves made in all, moves since `best` got better, what `selection` and `best` are worth."""
    random: NDArray[np.uint64]
    """[1]"""


def new_search(shop: Shop, random: NDArray[np.uint64]) -> Search:
    """Memory for a search; fill `selection.sequence` and `begin`."""
    n = len(shop.machine)
    tabu = np.zeros(int(shop.pair[-1]), np.int32)
    return Search(shop, new_selection(shop), new_scan(n), tabu, np.zeros(n, np.uint32), np.zeros(4, np.int64), random)


@kernel
def begin(search: Search) -> None:
    """Start from the orders in `search.selection.sequence`."""
    search.counts[NOW] = search.counts[VALUE] = rebuild(search.shop, search.selection)
    search.counts[IDLE] = 0
    copy_into(search.best, search.selection.sequence)


@kernel(nogil=True)
def advance(search: Search, cut: int, shortest: int, longest: int, units: int) -> int:
    """Make up to `units` moves, fewer where `cut` of them made it no better, which ends the search; returns how many are left.

    A pair reversed stays so for shortest..longest moves, at random.
    """
    counts, tabu, random = search.counts, search.tabu, search.random
    shop, selection, scan = search.shop, search.selection, search.scan
    while units > 0 and counts[IDLE] < cut:
        units -= 1
        counts[MOVES] += 1
        if counts[MOVES] % WRAP == 0:
            tabu[:] = 0
        now = counts[MOVES] % WRAP
        a, b = choose_move(shop, selection, scan, tabu, now, counts[VALUE], counts[NOW], random)
        if a < 0:  # the critical path has no block, or no move in one is sure to be feasible
            counts[IDLE] = cut
            break
        _forbid(shop, selection.sequence, tabu, a, b, now + shortest + below(random, longest - shortest + 1))
        counts[NOW] = shift(shop, selection, a, b)
        counts[IDLE] += 1
        if counts[NOW] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[NOW], 0
            copy_into(search.best, selection.sequence)
    return units


@kernel(borrow=True)
def _forbid(shop, sequence, tabu, a, b, until):
    """Let no move undo a pair that the move of place a to place b reverses, up to the move `until`."""
    m, member = shop.machine[sequence[a]], shop.member
    k, base, moved = shop.first[m + 1] - shop.first[m], shop.pair[m], member[sequence[a]]
    if a < b:
        for at in range(a + 1, b + 1):
            tabu[base + moved * k + member[sequence[at]]] = until
    else:
        for at in range(b, a):
            tabu[base + member[sequence[at]] * k + moved] = until
