"""Edge assembly crossover for the ATSP (Nagata & Soler 2012), localised as in Nagata & Kobayashi 2013.

A tour is a successor array. Between parents A and B the AB-cycles are unique: they are the cycles of the permutation
u -> pred_B(succ_A(u)); applying a set of them gives its cities B's successors:

    u ==> v <-- w ==> x <-- u        ==> arcs of A, removed       the AB-cycle (u, w): succ(u) becomes x,
                                     --> arcs of B, added         and succ(w) becomes v

Sub-tours are merged, the smallest first, by the best exchange of two successors, which joins two directed cycles.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.search import bisect_left
from corl.rng import shuffle, uniform
from corl.solvers.tsp.eax.population import count_changes, gain_per_entropy
from corl.solvers.tsp.eax.subtours import SEARCHED, absorb, smallest_subtour

__all__ = ["Work", "mate", "new_work", "tour_of"]


class Work(NamedTuple):
    """Scratch arrays of `mate`, for n cities; int32 unless noted."""

    order: NDArray[np.int32]  # [n] tour of A
    pos: NDArray[np.int32]  # [n]
    before: NDArray[np.int32]  # [n] predecessors in the child
    before_b: NDArray[np.int32]  # [n] predecessors in B
    cycles: NDArray[np.int32]  # [n] cities of the AB-cycles, one cycle after another
    starts: NDArray[np.int32]  # [n + 1]
    cycle_of: NDArray[np.int32]  # [n], -1 on common arcs
    picks: NDArray[np.int32]  # [n] order in which cycles are tried
    chosen: NDArray[np.int32]  # [n] cycles of an E-set
    stamp: NDArray[np.int32]  # [n] marks cycles already considered
    tails: NDArray[np.int32]  # [n] cities of the E-set
    cuts: NDArray[np.int32]  # [n] their positions, sorted
    segment_of: NDArray[np.int32]  # [n] cut -> sub-tour
    size: NDArray[np.int32]  # [n] sub-tour -> cities
    log: NDArray[np.int32]  # [4 n, 3] city, old, new successor
    best: NDArray[np.int32]  # [4 n, 3]


def new_work(n: int) -> Work:
    """Return the scratch arrays for n cities."""
    flat = [np.full(n + 1, -1, np.int32) for _ in range(14)]
    return Work._make([*flat, np.empty((4 * n + 4, 3), np.int32), np.empty((4 * n + 4, 3), np.int32)])


@kernel
def tour_of(after, order, pos):
    """Write the tour of a successor array to `order`, from city 0, and its inverse to `pos`."""
    c = 0
    for p in range(len(after)):
        order[p] = c
        pos[c] = p
        c = after[c]


@kernel
def _ab_cycles(after_a, after_b, work):
    """Fill `cycles`, `starts`, `cycle_of`, `before` and `before_b`; return the number of AB-cycles."""
    n = len(after_a)
    for i in range(n):
        work.before[after_a[i]] = i
        work.before_b[after_b[i]] = i
        work.cycle_of[i] = -1
    count = 0
    at = 0
    work.starts[0] = 0
    for s in range(n):
        if work.cycle_of[s] >= 0 or after_a[s] == after_b[s]:
            continue
        u = s
        while work.cycle_of[u] < 0:
            work.cycle_of[u] = count
            work.cycles[at] = u
            at += 1
            u = work.before_b[after_a[u]]
        count += 1
        work.starts[count] = at
    return count


@kernel
def _segment(cuts, k, p):
    """Return the index of the first of the k sorted cuts at or after position p, cyclically, which ends p's segment."""
    low = bisect_left(cuts, 0, k, p)
    return low if low < k else 0


@kernel
def _label(after_b, work, k):
    """Label each of the k segments between cuts with its sub-tour and count its cities; returns the number of sub-tours."""
    n = len(after_b)
    cuts = work.cuts
    for r in range(k):
        work.segment_of[r] = -1
    found = 0
    for r0 in range(k):
        if work.segment_of[r0] >= 0:
            continue
        r = r0
        cities = 0
        while work.segment_of[r] < 0:
            work.segment_of[r] = found
            cities += cuts[r] - cuts[r - 1] if r > 0 else cuts[0] - cuts[k - 1] + n
            r = _segment(cuts, k, work.pos[after_b[work.order[cuts[r]]]])
        work.size[found] = cities
        found += 1
    return found


@kernel
def _best_join(cost, near, near_in, after, work, k, sub):
    """Return the best exchange of successors between a city of sub-tour `sub` and one outside: gain, and the two cities."""
    n = len(after)
    best = -np.inf
    bu = -1
    bv = -1
    before = work.before
    for r in range(k):
        if work.segment_of[r] != sub:
            continue
        last = work.cuts[r]
        length = last - work.cuts[r - 1] if r > 0 else last - work.cuts[k - 1] + n
        i = 0
        while i < length:
            if i == SEARCHED and length > 2 * SEARCHED:
                i = length - SEARCHED
            p = last - i
            if p < 0:
                p += n
            i += 1
            u = work.order[p]
            su = after[u]
            uu = cost[u, su]
            for q in range(near.shape[1] * 2):
                if q < near.shape[1]:
                    v = before[near[u, q]]
                else:
                    v = near_in[su, q - near.shape[1]]
                sv = after[v]
                gain = uu + cost[v, sv] - cost[u, sv] - cost[v, su]
                if gain <= best or u == sv or v == su:
                    continue
                if work.segment_of[_segment(work.cuts, k, work.pos[v])] != sub:
                    best = gain
                    bu = u
                    bv = v
    return best, bu, bv


@kernel
def _child(cost, near, near_in, after, after_b, work, k, eps):
    """Apply the E-set tails[:k] to A (`after`), merge sub-tours, and undo all but the log. Returns gain, log length."""
    gain = 0.0
    for t in range(k):
        u = work.tails[t]
        gain += cost[u, after[u]] - cost[u, after_b[u]]
        work.cuts[t] = work.pos[u]
    if gain <= eps:
        return 0.0, 0
    work.cuts[:k].sort()
    count = _label(after_b, work, k)
    for t in range(k):
        u = work.tails[t]
        work.log[t, 0] = u
        work.log[t, 1] = after[u]
        work.log[t, 2] = after_b[u]
    logged = k
    if count == 1:
        return gain, logged
    _apply(after, work.before, work.log, logged)
    subs = count
    while count > 1 and gain > eps:
        sub = smallest_subtour(work.size, subs)
        join, u, v = _best_join(cost, near, near_in, after, work, k, sub)
        gain += join
        if u < 0 or gain <= eps:
            break
        su, sv = after[u], after[v]
        for x, old, new in ((u, su, sv), (v, sv, su)):
            work.log[logged, 0] = x
            work.log[logged, 1] = old
            work.log[logged, 2] = new
            after[x] = new
            work.before[new] = x
            logged += 1
        absorb(work.segment_of, work.size, k, sub, work.segment_of[_segment(work.cuts, k, work.pos[v])])
        count -= 1
    _revert(after, work.before, work.log, logged)
    if count > 1:
        return 0.0, 0
    return gain, logged


@kernel
def _apply(after, before, log, logged):
    for z in range(logged):
        after[log[z, 0]] = log[z, 2]
        before[log[z, 2]] = log[z, 0]


@kernel
def _revert(after, before, log, logged):
    for z in range(logged - 1, -1, -1):
        after[log[z, 0]] = log[z, 1]
    for z in range(logged - 1, -1, -1):
        before[log[z, 1]] = log[z, 0]


@kernel
def _gather(work, near, centre, stage, state, stamp):
    """Write the E-set's cities to `tails`; return their number. In stage 2 each touching cycle joins it with probability 1/2."""
    work.chosen[0] = centre
    m = 1
    if stage == 2:
        work.stamp[centre] = stamp
        for z in range(work.starts[centre], work.starts[centre + 1]):
            u = work.cycles[z]
            for q in range(-1, min(near.shape[1], 10)):
                v = work.order[(work.pos[u] + 1) % len(near)] if q < 0 else near[u, q]
                c = work.cycle_of[v]
                if c >= 0 and work.stamp[c] != stamp:
                    work.stamp[c] = stamp
                    if uniform(state) < 0.5:
                        work.chosen[m] = c
                        m += 1
    k = 0
    for i in range(m):
        for z in range(work.starts[work.chosen[i]], work.starts[work.chosen[i] + 1]):
            work.tails[k] = work.cycles[z]
            k += 1
    return k


@kernel
def mate(cost, near, near_in, population, first, last, children, stage, eps, work, state):
    """Mate pairs first..last-1 of a generation, in place: parent A is replaced by its best child with parent B.

    The best child has the largest gain per loss of entropy. Returns (pairs with different parents, parents A replaced).
    """
    size = len(population.turn)
    successors = population.links.reshape((size, len(cost)))
    different = 0
    replaced = 0
    for i in range(first, last):
        a = population.turn[i]
        after, after_b = successors[a], successors[population.turn[i + 1 if i + 1 < size else 0]]
        cycles = _ab_cycles(after, after_b, work)
        if cycles < 2:  # with one cycle the child is B
            continue
        different += 1
        gain, logged = _best_child(cost, near, near_in, population, after, after_b, cycles, children, stage, eps, work, state)
        if logged:
            count_changes(population, work.best, logged)
            for z in range(logged):
                after[work.best[z, 0]] = work.best[z, 2]
            population.lengths[a] -= gain
            replaced += 1
    return different, replaced


@kernel
def _best_child(cost, near, near_in, population, after, after_b, cycles, children, stage, eps, work, state):
    """Try `children` E-sets in random order and write the best child's changes to work.best; return its gain and their number."""
    tour_of(after, work.order, work.pos)
    for c in range(cycles):
        work.picks[c] = c
        work.stamp[c] = -1
    shuffle(state, work.picks[:cycles])
    best = best_gain = 0.0
    best_logged = 0
    for t in range(min(cycles, children)):
        k = _gather(work, near, work.picks[t], stage, state, t)
        gain, logged = _child(cost, near, near_in, after, after_b, work, k, eps)
        if logged == 0:
            continue
        value = gain_per_entropy(population, work.log, logged, gain)
        if value > best:
            best, best_gain, best_logged = value, gain, logged
            work.best[:logged] = work.log[:logged]
    return best_gain, best_logged
