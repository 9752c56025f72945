"""One tabu search of a flexible job shop for the makespan: moves on a machine (N7), to another one (reassignment.py), exchanges.

Moves of all kinds are generated on one critical path, and estimated by the longest path through the operations that they move.
Each step makes the move with the smallest estimate. Some searches also exchange operations of two machines (exchange.py).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import below
from corl.solvers.jobshop.tabu import exchange, neighbourhood, reassignment
from corl.solvers.jobshop.tabu.exchange import choose_exchange
from corl.solvers.jobshop.tabu.makespan_search import IDLE, MOVES, NOW, VALUE, WRAP, TabuState, begin, forbid
from corl.solvers.jobshop.tabu.neighbourhood import choose_move
from corl.solvers.jobshop.tabu.reassignment import Choices, choose_reassignment, reassign
from corl.solvers.jobshop.tabu.selection import shift, update

__all__ = ["advance_flexible", "begin_flexible"]

_ON_MACHINE, _TO_OTHER, _TO_OTHER_TABU = 0, reassignment.OPERATION, reassignment.TABU_OPERATION
"""Results of `_choose_kind`: the move on a machine, the best move to another machine, or a tabu one to another machine."""
_INFINITY = 2**40


@kernel
def begin_flexible(search: TabuState, choices: Choices) -> None:
    """Start the search from the choices `choices.taken` and the machine orders in `search.selection.sequence`."""
    begin(search)
    copy(choices.taken, choices.best, len(choices.taken))


@kernel(nogil=True)
def advance_flexible(
    search: TabuState, choices: Choices, weight: int, exchanges: bool, cut: int, shortest: int, longest: int, units: int
) -> int:
    """Make up to `units` moves on and between machines; end earlier after `cut` moves without an improvement.

    Args:
        search: The state, updated in place.
        choices: The assignment of operations to machines, updated in place.
        weight: The weight of a move's added work, in halves (`choose_reassignment`).
        exchanges: Whether exchanges are considered; without them, moves are faster.
        cut: The number of moves without an improvement after which the search ends.
        shortest: The minimum tenure: the number of moves for which a reversed pair, or a changed machine, is not changed back. A
            tenure is drawn uniformly from shortest..longest.
        longest: The maximum tenure.
        units: The maximum number of moves.

    Returns:
        `units` minus the number of moves made.
    """
    counts, tabu, random = search.counts, search.tabu, search.random
    shop, selection, window, scan = search.shop, search.selection, search.window, search.scan
    while units > 0 and counts[IDLE] < cut:
        units -= 1
        counts[MOVES] += 1
        if counts[MOVES] % WRAP == 0:
            tabu[:] = 0
            choices.tabu[:] = 0
        now, best = counts[MOVES] % WRAP, counts[VALUE]
        a, b = choose_move(shop, selection, window, scan, tabu, now, best, counts[NOW], random)
        length = scan.found[neighbourhood.LENGTH]
        choose_reassignment(shop, selection, choices, scan.path, length, weight, now, best, random)
        until = now + shortest + below(random, longest - shortest + 1)
        if exchanges and _prefers_exchange(search, choices, length, weight, now, best):
            choices.tabu[choices.exchange[exchange.FIRST]] = choices.tabu[choices.exchange[exchange.SECOND]] = until
            counts[NOW] = exchange.exchange(shop, selection, choices)
        elif not _move(search, choices, a, b, until):
            counts[IDLE] = cut
            break
        counts[IDLE] += 1
        if counts[NOW] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[NOW], 0
            copy(selection.sequence, search.best, len(selection.sequence))
            copy(choices.taken, choices.best, len(choices.taken))
    return units


@kernel(borrow=True)
def _prefers_exchange(search: TabuState, choices: Choices, length: int, weight: int, now: int, best: int) -> bool:
    """Generate the exchanges; return whether the best one has a smaller estimate than all other moves that are not tabu.

    Ties are broken at random, each tied move with the same probability. The best move of each of the other two kinds must be in
    `search.scan.found` and `choices.found`; the remaining arguments are those of `choose_exchange`.
    """
    on, other, found, limit, ties = search.scan.found, choices.found, choices.exchange, np.int64(_INFINITY), np.int64(0)
    if on[neighbourhood.FROM] >= 0:
        limit, ties = on[neighbourhood.ESTIMATE], on[neighbourhood.TIES]
    if other[reassignment.OPERATION] >= 0 and other[reassignment.ESTIMATE] <= limit:
        ties = other[reassignment.TIES] + (ties if other[reassignment.ESTIMATE] == limit else 0)
        limit = other[reassignment.ESTIMATE]
    choose_exchange(search.shop, search.selection, choices, search.scan.path, length, weight, limit, now, best, search.random)
    if found[exchange.FIRST] < 0 or found[exchange.ESTIMATE] < limit:
        return bool(found[exchange.FIRST] >= 0)
    return bool(below(search.random, ties + found[exchange.TIES]) >= ties)


@kernel(borrow=True)
def _move(search: TabuState, choices: Choices, a: int, b: int, until: int) -> bool:
    """Make the best move on a machine, from place a to place b of the sequence, or to another machine, and make it tabu.

    Returns False, without a move, if a is negative and there is no move to another machine.
    """
    counts, shop, selection, window = search.counts, search.shop, search.selection, search.window
    kind = _choose_kind(search.scan.found, choices.found, search.random)
    if kind != _ON_MACHINE:
        v, c, to = np.uint32(choices.found[kind]), np.int32(choices.found[kind + 1]), choices.found[kind + 2]
        choices.tabu[v] = until
        lowest, highest = reassign(shop, selection, choices, v, c, to)
        counts[NOW] = update(shop, selection, window, lowest, highest)
    elif a >= 0:
        forbid(shop, selection.sequence, search.tabu, a, b, until)
        counts[NOW] = shift(shop, selection, window, a, b)
    return kind != _ON_MACHINE or a >= 0


@kernel(borrow=True)
def _choose_kind(on: NDArray[np.int64], other: NDArray[np.int64], random: NDArray[np.uint64]) -> int:
    """Choose between the best move on a machine and the best move to another machine.

    A move that is not tabu is preferred, then the smaller estimate. Ties are broken at random, each tied move with the same
    probability.

    Args:
        on: int64 [8], the moves on a machine, `Scan.found`.
        other: int64 [9], the moves to another machine, `Choices.found`.
        random: uint64 [1], the state of the random number generator.

    Returns:
        _ON_MACHINE, _TO_OTHER or _TO_OTHER_TABU; the last two are the index in `other` at which the move begins.
    """
    free_on, free_other = on[neighbourhood.FROM] >= 0, other[reassignment.OPERATION] >= 0
    if free_on and free_other:
        ties, gain = on[neighbourhood.TIES], on[neighbourhood.ESTIMATE] - other[reassignment.ESTIMATE]
        if gain == 0:
            return _ON_MACHINE if below(random, ties + other[reassignment.TIES]) < ties else _TO_OTHER
        return _TO_OTHER if gain > 0 else _ON_MACHINE
    if free_on or free_other:
        return _TO_OTHER if free_other else _ON_MACHINE
    tabu_on, tabu_all = on[neighbourhood.TABU_COUNT], on[neighbourhood.TABU_COUNT] + other[reassignment.TABU_COUNT]
    return _ON_MACHINE if tabu_all == 0 or below(random, tabu_all) < tabu_on else _TO_OTHER_TABU
