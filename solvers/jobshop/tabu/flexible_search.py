"""One tabu search of a flexible job shop for the makespan: moves on a machine (N7) and to other machines (reassignment.py).

Both kinds of move are generated on one critical path, and estimated by the longest path through the operations that they move.
The best move of either kind is made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import below
from corl.solvers.jobshop.tabu import neighbourhood, reassignment
from corl.solvers.jobshop.tabu.makespan_search import IDLE, MOVES, NOW, VALUE, WRAP, TabuState, begin, forbid
from corl.solvers.jobshop.tabu.neighbourhood import choose_move
from corl.solvers.jobshop.tabu.reassignment import Choices, choose_reassignment, reassign
from corl.solvers.jobshop.tabu.selection import shift, update

__all__ = ["advance_flexible", "begin_flexible"]

_ON, _FREE, _TABU = 0, reassignment.OPERATION, reassignment.TABU_OPERATION


@kernel
def begin_flexible(search: TabuState, choices: Choices) -> None:
    """Start from `choices.taken` and the machine orders in `search.selection.sequence`."""
    begin(search)
    copy(choices.taken, choices.best, len(choices.taken))


@kernel(nogil=True)
def advance_flexible(search: TabuState, choices: Choices, weight: int, cut: int, shortest: int, longest: int, units: int) -> int:
    """Make up to `units` moves on and between machines; end early after `cut` moves without an improvement.

    Args:
        search: The state, updated in place.
        choices: The assignment of operations to machines, updated in place.
        weight: The weight of the work that a move adds, in halves (`choose_reassignment`).
        cut: Moves without an improvement after which the search ends.
        shortest: Least tenure: moves for which a pair stays reversed, or an operation on its new machine; drawn uniformly from
            shortest..longest.
        longest: Greatest tenure.
        units: The most moves to make.

    Returns:
        The number of units that are left.
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
        until, at = now + shortest + below(random, longest - shortest + 1), _choose_kind(scan.found, choices.found, random)
        if at != _ON:
            v, c, to = np.uint32(choices.found[at]), np.int32(choices.found[at + 1]), choices.found[at + 2]
            choices.tabu[v] = until
            lowest, highest = reassign(shop, selection, choices, v, c, to)
            counts[NOW] = update(shop, selection, window, lowest, highest)
        elif a >= 0:
            forbid(shop, selection.sequence, tabu, a, b, until)
            counts[NOW] = shift(shop, selection, window, a, b)
        else:  # the critical path has no move that is sure to be feasible
            counts[IDLE] = cut
            break
        counts[IDLE] += 1
        if counts[NOW] < counts[VALUE]:
            counts[VALUE], counts[IDLE] = counts[NOW], 0
            copy(selection.sequence, search.best, len(selection.sequence))
            copy(choices.taken, choices.best, len(choices.taken))
    return units


@kernel(borrow=True)
def _choose_kind(on: NDArray[np.int64], other: NDArray[np.int64], random: NDArray[np.uint64]) -> int:
    """Choose between the best move on a machine and the best move to another machine.

    A move that is not tabu is preferred, then the smaller estimate; ties are broken at random, with equal chances.

    Args:
        on: int64 [8], `Scan.found`.
        other: int64 [9], `Choices.found`.
        random: uint64 [1], the state of the random number generator.

    Returns:
        _ON for the move on a machine; otherwise the index in `other` where the move begins, _FREE or _TABU.
    """
    free_on, free_other = on[neighbourhood.FROM] >= 0, other[reassignment.OPERATION] >= 0
    if free_on and free_other:
        ties, gain = on[neighbourhood.TIES], on[neighbourhood.ESTIMATE] - other[reassignment.ESTIMATE]
        if gain == 0:
            return _ON if below(random, ties + other[reassignment.TIES]) < ties else _FREE
        return _FREE if gain > 0 else _ON
    if free_on or free_other:
        return _FREE if free_other else _ON
    tabu_on, tabu_all = on[neighbourhood.TABU_COUNT], on[neighbourhood.TABU_COUNT] + other[reassignment.TABU_COUNT]
    return _ON if tabu_all == 0 or below(random, tabu_all) < tabu_on else _TABU
