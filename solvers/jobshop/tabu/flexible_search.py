"""One tabu search of a flexible job shop for the makespan: moves on a machine (N7) and to other machines (reassignment.py).

Both are judged on one critical path by the longest path through what they move, and the best of all is made.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import below
from corl.solvers.jobshop.tabu import neighbourhood, reassignment
from corl.solvers.jobshop.tabu.makespan_search import IDLE, MOVES, NOW, VALUE, WRAP, Search, begin, forbid
from corl.solvers.jobshop.tabu.neighbourhood import choose_move
from corl.solvers.jobshop.tabu.reassignment import Choices, choose_reassignment, reassign
from corl.solvers.jobshop.tabu.selection import shift, update

__all__ = ["advance_flexible", "begin_flexible"]

_ON, _FREE, _BARRED = 0, reassignment.OPERATION, reassignment.BARRED_OPERATION


@kernel
def begin_flexible(search: Search, choices: Choices) -> None:
    """Start from the choices taken and the orders in `search.selection.sequence`."""
    begin(search)
    copy(choices.taken, choices.best, len(choices.taken))


@kernel(nogil=True)
def advance_flexible(search: Search, choices: Choices, weight: int, cut: int, shortest: int, longest: int, units: int) -> int:
    """As `makespan_search.advance`; an operation that went to another machine stays there as long as a pair that is reversed.

    weight: of the work that a move adds (`choose_reassignment`).
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
        until, at = now + shortest + below(random, longest - shortest + 1), _preferred(scan.found, choices.found, random)
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
def _preferred(on: NDArray[np.int64], other: NDArray[np.int64], random: NDArray[np.uint64]) -> int:
    """Which move to make: _ON, that on a machine, or where that to another stands in `other`; any that is not tabu before tabu
    ones, then the least estimate, then each with the same chance."""
    free_on, free_other = on[neighbourhood.FROM] >= 0, other[reassignment.OPERATION] >= 0
    if free_on and free_other:
        ties, gain = on[neighbourhood.TIES], on[neighbourhood.ESTIMATE] - other[reassignment.ESTIMATE]
        if gain == 0:
            return _ON if below(random, ties + other[reassignment.TIES]) < ties else _FREE
        return _FREE if gain > 0 else _ON
    if free_on or free_other:
        return _FREE if free_other else _ON
    barred, all_barred = on[neighbourhood.BARRED], on[neighbourhood.BARRED] + other[reassignment.BARRED]
    return _ON if all_barred == 0 or below(random, all_barred) < barred else _BARRED
