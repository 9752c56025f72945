"""Path relinking: a selection between two others, which keeps every order of two operations that these have in common."""

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.rng import below, uniform
from corl.solvers.jobshop.selection import set_sequence

__all__ = ["distance", "relink"]

_WHOLE = 2**20  # parts of the way


@kernel
def relink(shop, one, other, low, high, random, result):
    """A sequence between `one` and `other` into `result`, at a random share low..high of the way.

    Peng, Lu and Cheng (Computers & Operations Research 53, 2015) walk the path by swaps and repair what they break. Here
    both selections give random topological orders, and the operations are sorted by the weighted mean of their two ranks:
    what precedes in both precedes in the result, jobs included, so it has no cycle.
    """
    n = len(one)
    share = np.int64(_WHOLE * (low + (high - low) * uniform(random)))
    key, rank = np.zeros(n, np.int64), np.empty(n, np.int32)
    _random_ranks(shop, one, random, rank)
    for i in range(n):
        key[i] = (_WHOLE - share) * rank[i]
    _random_ranks(shop, other, random, rank)
    for i in range(n):
        key[i] += share * rank[i]
    set_sequence(shop, np.argsort(key, kind="mergesort"), result)


@kernel
def _random_ranks(shop, sequence, random, rank):
    """A random topological order of the selection `sequence`: what stands where, into `rank`."""
    n, later = len(sequence), shop.later
    after, waits, ready = np.full(n, -1, np.int32), np.zeros(n, np.int32), np.empty(n, np.int32)
    for m in range(len(shop.first) - 1):
        for at in range(shop.first[m] + 1, shop.first[m + 1]):
            after[sequence[at - 1]] = sequence[at]
            waits[sequence[at]] = 1
    count = 0
    for i in range(n):
        waits[i] += shop.earlier[i] >= 0
        if waits[i] == 0:
            ready[count] = i
            count += 1
    for k in range(n):
        pick = below(random, count)
        i = ready[pick]
        count -= 1
        ready[pick] = ready[count]
        rank[i] = k
        x, y = later[i], after[i]
        if x >= 0:
            waits[x] -= 1
            if waits[x] == 0:
                ready[count] = x
                count += 1
        if y >= 0:
            waits[y] -= 1
            if waits[y] == 0:
                ready[count] = y
                count += 1


@kernel
def distance(shop, one, other, enough):
    """How many pairs of operations of one machine the two sequences order differently; counted up to `enough`."""
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
