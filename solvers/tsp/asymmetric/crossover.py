"""Edge assembly crossover for the ATSP (Nagata & Soler, A new genetic algorithm for the asymmetric TSP, Expert Systems with
Applications 39, 2012). As in Nagata & Kobayashi, INFORMS J. Computing 25 (2013), sections 2.2 and 3.1, only the parts of a tour
that an E-set changes are examined.

A tour is a successor array. An AB-cycle alternates between arcs of parent A, followed forwards, and arcs of parent B, followed
backwards. There is only one way to partition the arcs that are not common to both parents into AB-cycles: they are the cycles of
u -> predecessor_B(successor_A(u)). An E-set is a set of AB-cycles. Applying it to A gives its cities their successors in B:

    u ==> v <-- w ==> x <-- u        ==> arcs of A, removed       the AB-cycle (u, w): the successor of u
                                     --> arcs of B, added         becomes x, and that of w becomes v

The result may consist of several sub-tours. They are merged, the smallest first, by the best exchange of two successors:

    (u --> after_u ... u)   (v --> after_v ... v)       two directed cycles; exchanging the successors of u and v
    (u --> after_v ... v --> after_u ... u)             joins them
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
    """Work arrays of `mate`, for n cities; their contents between calls have no meaning. `log` and `best` have three columns.

    The order of parent A is cut after each city of the E-set; the pieces are the segments.
    """

    order: NDArray[np.int32]  # [n] the cities in the order of A
    position: NDArray[np.int32]  # [n] the position of each city in `order`
    before: NDArray[np.int32]  # [n] predecessors in the child
    before_b: NDArray[np.int32]  # [n] predecessors in B
    cycles: NDArray[np.int32]  # [n] cities of the AB-cycles, one cycle after another
    starts: NDArray[np.int32]  # [n + 1] the index in `cycles` at which each AB-cycle begins
    cycle_of: NDArray[np.int32]  # [n] the AB-cycle of each city, -1 if its arc is common to A and B
    picks: NDArray[np.int32]  # [n] the order in which AB-cycles are tried
    chosen: NDArray[np.int32]  # [n] the AB-cycles of an E-set
    stamp: NDArray[np.int32]  # [n] the number of the last E-set for which an AB-cycle was considered
    tails: NDArray[np.int32]  # [n] the cities whose successors the E-set changes
    cuts: NDArray[np.int32]  # [n] the positions of `tails`, sorted: the last position of each segment
    segment_of: NDArray[np.int32]  # [n] the sub-tour of each segment
    size: NDArray[np.int32]  # [n] the number of cities of each sub-tour; 0 once merged into another
    log: NDArray[np.int32]  # [4 n, 3] the changes of a child: city, old successor, new successor
    best: NDArray[np.int32]  # [4 n, 3] the changes of the best child


def new_work(n: int) -> Work:
    """Return the work arrays for n cities."""
    flat = [np.full(n + 1, -1, np.int32) for _ in range(14)]
    return Work._make([*flat, np.empty((4 * n + 4, 3), np.int32), np.empty((4 * n + 4, 3), np.int32)])


@kernel
def tour_of(after, order, position):
    """Write the tour of a successor array to `order`, from city 0, and its inverse to `position`; all are int32 [n]."""
    c = 0
    for p in range(len(after)):
        order[p] = c
        position[c] = p
        c = after[c]


@kernel
def _ab_cycles(after_a, after_b, work):
    """Find the AB-cycles of two successor arrays, int32 [n]; return their number.

    Fills `cycles`, `starts`, `cycle_of`, `before` and `before_b` of `work`.
    """
    n = len(after_a)
    for i in range(n):
        work.before[after_a[i]] = i
        work.before_b[after_b[i]] = i
        work.cycle_of[i] = -1
    count = 0
    end = 0
    work.starts[0] = 0
    for s in range(n):
        if work.cycle_of[s] >= 0 or after_a[s] == after_b[s]:
            continue
        u = s
        while work.cycle_of[u] < 0:
            work.cycle_of[u] = count
            work.cycles[end] = u
            end += 1
            u = work.before_b[after_a[u]]
        count += 1
        work.starts[count] = end
    return count


@kernel
def _segment(cuts, k, p):
    """Return the segment of position p: the index of the first of the k sorted cuts at or after p; 0 after the last cut."""
    low = bisect_left(cuts, 0, k, p)
    return low if low < k else 0


@kernel
def _label(after_b, work, k):
    """Write the sub-tour of each of k segments to `segment_of` and its size to `size`; return the number of sub-tours."""
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
            r = _segment(cuts, k, work.position[after_b[work.order[cuts[r]]]])
        work.size[found] = cities
        found += 1
    return found


@kernel
def _best_join(cost, near, near_in, after, work, k, sub):
    """Return the best exchange of successors between a city u of sub-tour `sub` and a city v of another sub-tour.

    Of a long segment only the first and the last SEARCHED cities are tried as u.

    Args:
        cost: float64 [n, n], arc costs.
        near: int32 [n, K], heads of the cheapest arcs out of each city.
        near_in: int32 [n, K], tails of the cheapest arcs into each city.
        after: int32 [n], successors in the child.
        work: Work; read.
        k: The number of segments.
        sub: The sub-tour.

    Returns (gain, u, v); u is -1 if no candidate arc allows an exchange.
    """
    n = len(after)
    best = -np.inf
    best_u = -1
    best_v = -1
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
            after_u = after[u]
            removed = cost[u, after_u]
            for q in range(near.shape[1] * 2):
                if q < near.shape[1]:
                    v = before[near[u, q]]
                else:
                    v = near_in[after_u, q - near.shape[1]]
                after_v = after[v]
                gain = removed + cost[v, after_v] - cost[u, after_v] - cost[v, after_u]
                if gain <= best or u == after_v or v == after_u:
                    continue
                if work.segment_of[_segment(work.cuts, k, work.position[v])] != sub:
                    best = gain
                    best_u = u
                    best_v = v
    return best, best_u, best_v


@kernel
def _child(cost, near, near_in, after, after_b, work, k, tolerance):
    """Evaluate the child of parent A by the E-set work.tails[:k]: apply it, merge sub-tours, and undo all changes.

    Args:
        cost: float64 [n, n], arc costs.
        near: int32 [n, K], heads of the cheapest arcs out of each city.
        near_in: int32 [n, K], tails of the cheapest arcs into each city.
        after: int32 [n], parent A; unchanged afterwards.
        after_b: int32 [n], parent B.
        work: Work; `log` receives the changes.
        k: The number of cities of the E-set.
        tolerance: Gains up to this are treated as rounding errors.

    Returns (gain, number of changes in `log`); (0, 0) if the child is not shorter than A by more than `tolerance`.
    """
    gain = 0.0
    for t in range(k):
        u = work.tails[t]
        gain += cost[u, after[u]] - cost[u, after_b[u]]
        work.cuts[t] = work.position[u]
    if gain <= tolerance:
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
    subtours = count
    while count > 1 and gain > tolerance:
        sub = smallest_subtour(work.size, subtours)
        join, u, v = _best_join(cost, near, near_in, after, work, k, sub)
        gain += join
        if u < 0 or gain <= tolerance:
            break
        after_u, after_v = after[u], after[v]
        for x, old, new in ((u, after_u, after_v), (v, after_v, after_u)):
            work.log[logged, 0] = x
            work.log[logged, 1] = old
            work.log[logged, 2] = new
            after[x] = new
            work.before[new] = x
            logged += 1
        absorb(work.segment_of, work.size, k, sub, work.segment_of[_segment(work.cuts, k, work.position[v])])
        count -= 1
    _revert(after, work.before, work.log, logged)
    if count > 1:
        return 0.0, 0
    return gain, logged


@kernel
def _apply(after, before, log, logged):
    """Make the first `logged` changes of `log`, in place."""
    for z in range(logged):
        after[log[z, 0]] = log[z, 2]
        before[log[z, 2]] = log[z, 0]


@kernel
def _revert(after, before, log, logged):
    """Undo the first `logged` changes of `log`, in place."""
    for z in range(logged - 1, -1, -1):
        after[log[z, 0]] = log[z, 1]
    for z in range(logged - 1, -1, -1):
        before[log[z, 1]] = log[z, 0]


@kernel
def _gather(work, near, centre, stage, state, stamp):
    """Write the cities of an E-set to `tails`, and return their number.

    In stage 1 the E-set is the AB-cycle `centre` alone. In stage 2 each AB-cycle that contains a city near the centre is added
    with probability 1/2. A city is near the centre if it is the successor in A, or one of 10 candidate heads, of a city of
    `centre`. `stamp` is the number of the E-set; it marks the AB-cycles that have been considered for this E-set.
    """
    work.chosen[0] = centre
    m = 1
    if stage == 2:
        work.stamp[centre] = stamp
        for z in range(work.starts[centre], work.starts[centre + 1]):
            u = work.cycles[z]
            for q in range(-1, min(near.shape[1], 10)):
                v = work.order[(work.position[u] + 1) % len(near)] if q < 0 else near[u, q]
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
def mate(cost, near, near_in, population, first, last, children, stage, tolerance, work, state):
    """Mate pairs first..last-1 of a generation, in place: parent A is replaced by its best child with parent B.

    The best child has the largest ratio of its gain to the entropy that the population loses (`gain_per_entropy`).

    Args:
        cost: float64 [n, n], arc costs.
        near: int32 [n, K], heads of the cheapest arcs out of each city.
        near_in: int32 [n, K], tails of the cheapest arcs into each city.
        population: Population of directed tours; pair i is tours turn[i] (A) and turn[i + 1] (B).
        first: The index of the first pair.
        last: The index after the last pair.
        children: The greatest number of E-sets tried for a pair.
        stage: 1: an E-set is one AB-cycle; 2: an AB-cycle and some that touch it.
        tolerance: Gains up to this are treated as rounding errors.
        work: Work of n cities.
        state: uint64 [1], the state of the random numbers.

    Returns (pairs with different parents, parents A replaced).
    """
    size = len(population.turn)
    successors = population.links.reshape((size, len(cost)))
    different = 0
    replaced = 0
    for i in range(first, last):
        a = population.turn[i]
        after, after_b = successors[a], successors[population.turn[i + 1 if i + 1 < size else 0]]
        cycles = _ab_cycles(after, after_b, work)
        if cycles < 2:  # none: the parents are equal; one: the child would be B
            continue
        different += 1
        gain, logged = _best_child(
            cost, near, near_in, population, after, after_b, cycles, children, stage, tolerance, work, state
        )
        if logged:
            count_changes(population, work.best, logged)
            for z in range(logged):
                after[work.best[z, 0]] = work.best[z, 2]
            population.lengths[a] -= gain
            replaced += 1
    return different, replaced


@kernel
def _best_child(cost, near, near_in, population, after, after_b, cycles, children, stage, tolerance, work, state):
    """Try up to `children` E-sets in random order, and write the changes of the best child to work.best.

    Returns (gain, number of changes); zeros if there is no better child.
    """
    tour_of(after, work.order, work.position)
    for c in range(cycles):
        work.picks[c] = c
        work.stamp[c] = -1
    shuffle(state, work.picks[:cycles])
    best = best_gain = 0.0
    best_logged = 0
    for t in range(min(cycles, children)):
        k = _gather(work, near, work.picks[t], stage, state, t)
        gain, logged = _child(cost, near, near_in, after, after_b, work, k, tolerance)
        if logged == 0:
            continue
        value = gain_per_entropy(population, work.log, logged, gain)
        if value > best:
            best, best_gain, best_logged = value, gain, logged
            work.best[:logged] = work.log[:logged]
    return best_gain, best_logged
