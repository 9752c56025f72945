"""TS/PR: tabu search from starts that path relinking makes of a small population (Peng, Lu and Cheng, 2015).

Everything lives in arrays, and one unit of work is one move, so that the path does not depend on how work is cut in chunks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.jobshop.transitions import JobShopState, reset_rows
from corl.rng import below
from corl.solvers.jobshop.dispatching import RULES, dispatch
from corl.solvers.jobshop.neighbourhood import Scan, choose_move, new_scan
from corl.solvers.jobshop.relink import distance, relink
from corl.solvers.jobshop.selection import Selection, Shop, new_selection, rebuild, shift, sort_starts

__all__ = ["Search", "advance", "begin", "best_of", "new_search"]

# What search.count holds.
_NOW, _IDLE, _MAKESPAN, _LOCAL, _BEST, _FILLED = range(6)

_SHARES = (0.3, 0.5)  # of the way from one parent to the other
_CLOSE = 10  # parents with fewer differences than this are not worth relinking
_NOISE = 0.3  # of the dispatching rules that fill the population
_FRESH_NOISE = 0.5  # of those that replace relinking where two parents are close
_WRAP = 2**30  # moves after which the tabu table begins anew
_RULES = (RULES.index("mwkr"), RULES.index("fdd/mwkr"), RULES.index("mor"))


class Search(NamedTuple):
    """The state of a search; `advance` goes on from it. N operations, P members of the population."""

    shop: Shop
    selection: Selection
    """Where the tabu search is."""
    scan: Scan
    pool: JobShopState
    """One row, for dispatching."""
    listed: NDArray[np.int32]
    """[K] scratch of dispatching."""
    starts: NDArray[np.int64]
    """[N] scratch of dispatching."""
    tabu: NDArray[np.int32]
    """[pairs] entry of (x, y): the move until which x must not come before y again."""
    local: NDArray[np.int32]
    """[N] the best sequence of the present tabu search."""
    best: NDArray[np.int32]
    """[N] the best sequence of all."""
    elite: NDArray[np.int32]
    """[P, N] the population."""
    values: NDArray[np.int64]
    """[P] its makespans."""
    count: NDArray[np.int64]
    """[6] moves made, moves since `local` got better, the makespans of `selection`, `local` and `best`, members of `elite`."""
    random: NDArray[np.uint64]
    """[1]"""


def new_search(shop: Shop, pool: JobShopState, width: int, population: int, random: NDArray[np.uint64]) -> Search:
    """Memory for a search; `begin` starts it. pool: a row of the dispatching environment, whose K is `width`."""
    n = len(shop.machine)
    return Search(
        shop=shop,
        selection=new_selection(n),
        scan=new_scan(n),
        pool=pool,
        listed=np.zeros(width, np.int32),
        starts=np.zeros(n, np.int64),
        tabu=np.zeros(int(shop.pair[-1]), np.int32),
        local=np.zeros(n, np.int32),
        best=np.zeros(n, np.int32),
        elite=np.zeros((population, n), np.int32),
        values=np.zeros(population, np.int64),
        count=np.array([0, 0, 0, 0, 2**62, 0]),
        random=random,
    )


def best_of(search: Search) -> int:
    """The makespan of `search.best`."""
    return int(search.count[_BEST])


@kernel
def begin(search):
    """Start a tabu search from the orders in `search.selection.sequence`."""
    count = search.count
    value = rebuild(search.shop, search.selection)
    count[_MAKESPAN] = count[_LOCAL] = value
    count[_IDLE] = 0
    search.local[:] = search.selection.sequence
    if value < count[_BEST]:
        count[_BEST] = value
        search.best[:] = search.local


@kernel
def advance(search, cut, shortest, longest, units):
    """Make `units` moves. A tabu search ends after `cut` moves that did not make it better, and another begins.

    A pair reversed stays so for shortest..longest moves, at random.
    """
    count = search.count
    for _ in range(units):
        if count[_IDLE] >= cut:
            _harvest(search)
            _new_start(search)
        count[_NOW] += 1
        if count[_NOW] >= _WRAP:
            count[_NOW] = 1
            search.tabu[:] = 0
        a, b = choose_move(
            search.shop, search.selection, search.scan, search.tabu, count[_NOW], count[_LOCAL], count[_MAKESPAN], search.random
        )
        if a < 0:  # every critical path is without a block, or no move in it is sure to be feasible
            count[_IDLE] = cut
            continue
        _forbid(search, a, b, count[_NOW] + shortest + below(search.random, longest - shortest + 1))
        count[_MAKESPAN] = shift(search.shop, search.selection, a, b)
        if count[_MAKESPAN] < count[_LOCAL]:
            count[_LOCAL] = count[_MAKESPAN]
            count[_IDLE] = 0
            search.local[:] = search.selection.sequence
            if count[_LOCAL] < count[_BEST]:
                count[_BEST] = count[_LOCAL]
                search.best[:] = search.local
        else:
            count[_IDLE] += 1


@kernel(inline=True)
def _forbid(search, a, b, until):
    """Let no move undo a pair that the move of place a to place b reverses, before the move `until`."""
    shop, sequence = search.shop, search.selection.sequence
    m = shop.machine[sequence[a]]
    k, base, moved = shop.first[m + 1] - shop.first[m], shop.pair[m], shop.member[sequence[a]]
    if a < b:
        for at in range(a + 1, b + 1):
            search.tabu[base + moved * k + shop.member[sequence[at]]] = until
    else:
        for at in range(b, a):
            search.tabu[base + shop.member[sequence[at]] * k + moved] = until


@kernel
def _harvest(search):
    """Put the outcome of a tabu search into the population: while it fills, or in place of the worst if no worse and new."""
    count, values = search.count, search.values
    filled, value = count[_FILLED], count[_LOCAL]
    for k in range(filled):
        if values[k] == value and distance(search.shop, search.elite[k], search.local, 1) == 0:
            return
    if filled < len(values):
        at = filled
        count[_FILLED] += 1
    else:
        at = values.argmax()
        if value > values[at]:
            return
    search.elite[at] = search.local
    values[at] = value


@kernel
def _new_start(search):
    """Between two members of the population; a noisy dispatching rule while it fills, or where the two are close."""
    members, filled = len(search.values), search.count[_FILLED]
    noise = _NOISE
    if filled == members and members > 1:
        i = below(search.random, members)
        j = below(search.random, members - 1)
        j += j >= i
        if distance(search.shop, search.elite[i], search.elite[j], _CLOSE) == _CLOSE:
            relink(
                search.shop, search.elite[i], search.elite[j], _SHARES[0], _SHARES[1], search.random, search.selection.sequence
            )
            begin(search)
            return
        noise = _FRESH_NOISE
    start_by_rule(search, _RULES[below(search.random, len(_RULES))], noise)


@kernel
def start_by_rule(search, rule, noise):
    """Start a tabu search from a dispatching rule (an index into RULES)."""
    reset_rows(search.pool, np.zeros(1, np.int64), np.zeros(1, np.int64), np.empty(1))
    dispatch(search.pool, 0, rule, noise, search.random, search.listed, search.starts)
    sort_starts(search.shop, search.starts, search.selection.sequence)
    begin(search)
