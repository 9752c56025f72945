"""Path relinking: a sequence between two others; two operations keep their order if both sequences agree on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.rng import uniform
from corl.solvers.jobshop.tabu.selection import Selection, Shop, rebuild, set_sequence

__all__ = ["distance", "relink"]

_DENOMINATOR = 1024  # of shares of the path, which are integers in the kernels


def relink(
    shop: Shop,
    one: NDArray[np.uint32],
    other: NDArray[np.uint32],
    low: float,
    high: float,
    random: NDArray[np.uint64],
    selection: Selection,
) -> None:
    """Write a sequence between `one` and `other` to `selection.sequence`.

    Peng, Lu and Cheng (Computers & Operations Research 53, 2015) walk the path by swaps and repair infeasible schedules. Here the
    operations are sorted by the weighted mean of their heads in the two parents; ties are broken by the weighted mean of their
    positions in a topological order. If x precedes y in both parents or in a job, x precedes y in the result, which has therefore
    no cycle.

    Args:
        shop: The Shop of the instance.
        one: uint32 [N], the sequence of the first parent.
        other: uint32 [N], the sequence of the second parent.
        low: The minimum share of the path from `one` to `other`; the share is drawn uniformly from low..high.
        high: The maximum share.
        random: uint64 [1], the state of the random number generator.
        selection: The Selection, overwritten; only its sequence is valid afterwards.
    """
    share = int(_DENOMINATOR * (low + (high - low) * uniform(random)))
    key = np.zeros(len(one), np.int64)
    _add_times(shop, one, _DENOMINATOR - share, selection, key)
    _add_times(shop, other, share, selection, key)
    set_sequence(shop, np.argsort(key, kind="stable"), selection.sequence)


@kernel
def _add_times(shop: Shop, sequence: NDArray[np.uint32], share: int, selection: Selection, key: NDArray[np.int64]) -> None:
    """Add to `key` [N] `share` times the sort key of each operation in the schedule of `sequence`.

    The sort key is N times the operation's head plus its rank in a topological order, which breaks ties. `selection` is
    overwritten.
    """
    copy(sequence, selection.sequence, len(sequence))
    rebuild(shop, selection)
    end, rank, p = selection.end, selection.rank, shop.duration
    for i in range(len(key)):
        key[i] += share * (np.int64(end[i] - p[i]) * len(key) + rank[i])


@kernel
def distance(shop: Shop, one: NDArray[np.uint32], other: NDArray[np.uint32], enough: int) -> int:
    """Return the number of pairs of operations of a machine that two sequences [N] order differently, at most `enough`."""
    place, count = np.empty(len(one), np.int32), 0
    for at in range(len(other)):
        place[other[at]] = at
    for m in range(len(shop.first) - 1):
        begin, end = shop.first[m], shop.first[m + 1]
        for a in range(begin, end):
            for b in range(a + 1, end):
                count += place[one[a]] > place[one[b]]
            if count >= enough:
                return enough
    return count
