"""Lin-Kernighan search of bounded depth on an array tour, which changes only when an improving move is found.

S. Lin and B. W. Kernighan, An effective heuristic algorithm for the traveling-salesman problem, Oper. Res. 21 (1973), the basic
algorithm with limited backtracking. Remove an edge x_1 = (t_1 t_2) of the tour, which leaves a Hamiltonian path from t_2 to t_1.
Step i changes the path: add an edge y_i = (t_2i t_2i+1) from its end to a near city, and remove an edge x_i+1 = (t_2i+1 t_2i+2)
there; t_2i+2 is the new end. The gain criterion keeps G_i = |x_1| - |y_1| + ... + |x_i| - |y_i| positive. Adding the edge
(t_2i+2 t_1) closes a tour, which gains G_i + |x_i+1| - |t_2i+2 t_1|. There are two kinds of step (i = 1):

    the path            t2 ------ t4   t3 ------ t1        add (t2 t3), remove (t4 t3); t4 is the city before t3
    after the step      t4 ------ t2 - t3 ------ t1        the front is reversed; (t4 t1) closes a tour: a 2-opt move

    the path            t2 ------ t3   t4 ------ t1        add (t2 t3), remove (t3 t4); t4 is the city after t3
    after the step      (t2 ---- t3)   t4 ------ t1        the front is a cycle, which the next step must open by joining
                                                           t4 to a city of it: or-opt and pure 3-opt moves

The path is a short list of segments of the tour, so that a step takes O(depth) time, and no array is reversed before a move is
known to improve. An improving tour is written by moving all its segments but the longest. Level l of the search, from 0, is step
i = l + 1.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.metric import distance
from corl.solvers.tsp.tours.array_tour import ArrayTour, array_tour, log_is_full, rearrange
from corl.solvers.tsp.tours.city_queue import CityQueue, city_queue, enqueue, next_in_queue

__all__ = ["LinKernighan", "lin_kernighan", "settle"]

_BEFORE, _AFTER, _OPEN_AFTER, _OPEN_BEFORE = range(4)  # on which side of t_2i+1 x_i+1 is; the last two open a cycle


class LinKernighan(NamedTuple):
    """A tour, the queue of cities still to examine, and scratch arrays for L levels and at most L + 2 segments."""

    tour: ArrayTour
    queue: CityQueue
    breadth: NDArray[np.int64]
    """[L] steps tried at each level."""
    first: NDArray[np.int32]
    """[L + 1, L + 3] by level and segment of the path: its first position, relative to t_2 in the direction t_1 -> t_2."""
    last: NDArray[np.int32]
    """[L + 1, L + 3] its last position, which is less than `first` if the segment is reversed."""
    shape: NDArray[np.int64]
    """[L + 1, 5] by level: segments, segments of the open cycle (0: none), the end t_2i, steps found, steps tried."""
    gain: NDArray[np.float64]
    """[L + 1] by level: G_i-1 + |x_i|, the gain of the path without its closing edge."""
    step: NDArray[np.int64]
    """[L + 1, B + 1] steps by level and rank, best first, packed by `_packed`. Slot `breadth` holds the step that closes best."""
    step_gain: NDArray[np.float64]
    """[L + 1, B + 1] G_i + |x_i+1| for each step."""


def lin_kernighan(n: int, breadth: tuple[int, ...]) -> LinKernighan:
    """Return the memory of a search on tours of n cities that tries `breadth[l]` steps at level l."""
    levels, widest = len(breadth), max(breadth)
    return LinKernighan(
        array_tour(n, levels + 2), city_queue(n), np.array(breadth, np.int64), np.zeros((levels + 1, levels + 3), np.int32),
        np.zeros((levels + 1, levels + 3), np.int32), np.zeros((levels + 1, 5), np.int64), np.zeros(levels + 1),
        np.zeros((levels + 1, widest + 1), np.int64), np.zeros((levels + 1, widest + 1)),
    )  # fmt: skip


@kernel(borrow=True)
def settle(metric, neighbours, lengths, search, least, most, cities):
    """Make improving moves from up to `cities` queued cities, in place, and return the total gain.

    It ends early when the queue is empty or the tour's log is full.

    Args:
        metric: Metric of n cities.
        neighbours: int32 [n, K], candidate neighbours, nearest first.
        lengths: float64 [n, K], their distances.
        search: LinKernighan; its tour and queue change.
        least: Gains up to this are treated as rounding errors.
        most: Moves that shift more cities than this in the array are skipped.
        cities: The greatest number of cities to take from the queue.
    """
    total = 0.0
    for _ in range(cities):
        if search.queue.ring[1] == 0:
            break
        city = next_in_queue(search.queue)
        while not log_is_full(search.tour, 0):
            gain = _improve_city(metric, neighbours, lengths, search, city, least, most)
            if gain == 0.0:
                break
            total += gain
    return total


@kernel(inline=True, borrow=True)
def _improve_city(metric, neighbours, lengths, search, t1, least, most):
    """Make the first improving move found from t_1, queue the cities at its edges, and return its gain; 0 if there is no move.

    x_1 is first the edge to the next city, then the edge to the previous one (`backwards`). Other arguments as in `settle`.
    """
    order, position = search.tour.order, search.tour.position
    n, levels = len(order), len(search.breadth)
    for backwards in range(2):
        zero = position[t1] - 1 if backwards else position[t1] + 1
        if zero < 0:
            zero = n - 1
        elif zero == n:
            zero = 0
        t2 = order[zero]
        search.first[0, 0], search.last[0, 0] = 0, n - 1
        shape = search.shape
        shape[0, 0], shape[0, 1], shape[0, 2], shape[0, 4] = 1, 0, t2, 0
        search.gain[0] = distance(metric, t1, t2)
        level = 0
        while level >= 0:
            if shape[level, 4] == 0:  # new: find its steps
                closing = _find_steps(metric, neighbours, lengths, search, level, t1, zero, backwards, least)
                if closing > least:
                    _take(search, level, search.breadth[level])
                    if _carry_out(search, level + 1, zero, backwards, most):
                        return closing
            rank = shape[level, 4]
            if level + 1 == levels or rank == shape[level, 3]:
                level -= 1
                continue
            shape[level, 4] = rank + 1
            _take(search, level, rank)
            level += 1
            shape[level, 4] = 0
    return 0.0


@kernel(inline=True, borrow=True)
def _at(order, zero, backwards, r):
    """Return the city at position r relative to t_2, in the direction t_1 -> t_2; `zero` is the position of t_2 in the array."""
    n = len(order)
    at = zero - r if backwards else zero + r
    if at < 0:
        at += n
    elif at >= n:
        at -= n
    return order[at]


@kernel(inline=True, borrow=True)
def _find_steps(metric, neighbours, lengths, search, level, t1, zero, backwards, least):
    """Write the steps of largest G_i + |x_i+1| to step[level], and to slot `breadth` the step whose closed tour gains most.

    Args:
        metric: Metric of n cities.
        neighbours: int32 [n, K], candidate neighbours, nearest first.
        lengths: float64 [n, K], their distances.
        search: LinKernighan.
        level: i - 1.
        t1: The city t_1.
        zero: The position of t_2 in the array.
        backwards: Whether t_2 is the city before t_1 in the array.
        least: Gains up to this are treated as rounding errors.

    Returns the gain of that closed tour; -inf if no step closes a tour.
    """
    order, position, first, last = search.tour.order, search.tour.position, search.first, search.last
    step, step_gain = search.step, search.step_gain
    n, width, levels = len(order), neighbours.shape[1], len(search.breadth)
    cycle, t_2i = search.shape[level, 1], search.shape[level, 2]
    gain, breadth = search.gain[level], search.breadth[level]
    inner = level + 1 < levels  # more levels follow, so that steps are worth listing
    found, best = 0, -np.inf
    for k in range(width):
        gain_i = gain - lengths[t_2i, k]
        if gain_i <= least:
            break
        t_2i1 = neighbours[t_2i, k]
        r = zero - position[t_2i1] if backwards else position[t_2i1] - zero
        if r < 0:
            r += n
        segment = 0
        while not (first[level, segment] <= r <= last[level, segment] or last[level, segment] <= r <= first[level, segment]):
            segment += 1
        if cycle and segment >= cycle:
            continue
        forward = first[level, segment] <= last[level, segment]
        for side in range(2):
            if side == 0:
                if r == first[level, segment]:  # that edge was added by an earlier step
                    continue
                kind = _OPEN_BEFORE if cycle else _BEFORE
            else:
                if r == last[level, segment] or (not cycle and not inner):
                    continue
                kind = _OPEN_AFTER if cycle else _AFTER
            t_2i2 = _at(order, zero, backwards, r + 1 if forward == (side == 1) else r - 1)
            total = gain_i + distance(metric, t_2i1, t_2i2)
            if kind != _AFTER:
                closing = total - distance(metric, t_2i2, t1)
                if closing > best:
                    best = closing
                    step[level, breadth] = _packed(r, segment, kind, t_2i2)
                    step_gain[level, breadth] = total
            if inner and (found < breadth or total > step_gain[level, found - 1]):
                at = min(found, breadth - 1)
                found = at + 1
                while at > 0 and step_gain[level, at - 1] < total:
                    step_gain[level, at] = step_gain[level, at - 1]
                    step[level, at] = step[level, at - 1]
                    at -= 1
                step_gain[level, at] = total
                step[level, at] = _packed(r, segment, kind, t_2i2)
    search.shape[level, 3] = found
    return best


@kernel(inline=True, borrow=True)
def _packed(r, segment, kind, t_2i2):
    """Pack a step in an int64: relative position r of t_2i+1 (28 bits), its `segment` (5), the kind (2), t_2i+2 (28)."""
    return (np.int64(r) << 35) | (np.int64(segment) << 30) | (np.int64(kind) << 28) | np.int64(t_2i2)


@kernel(inline=True, borrow=True)
def _take(search, level, rank):
    """Write the path that follows from step `rank` of `level` to level + 1."""
    step = search.step[level, rank]
    r, segment, kind, end = step >> 35, (step >> 30) & 31, (step >> 28) & 3, step & 0xFFFFFFF
    x, y, up = search.first, search.last, level + 1
    segments, cycle = search.shape[level, 0], search.shape[level, 1]
    after = _AFTER <= kind <= _OPEN_AFTER
    other = r + 1 if (x[level, segment] <= y[level, segment]) == after else r - 1  # the relative position of the new end
    m = 0
    if kind == _BEFORE:
        x[up, 0], y[up, 0], m = other, x[level, segment], 1
        for j in range(segment - 1, -1, -1):
            x[up, m], y[up, m] = y[level, j], x[level, j]
            m += 1
        x[up, m], y[up, m] = r, y[level, segment]
        kept = segment + 1
    elif kind == _AFTER:
        for j in range(segment):
            x[up, j], y[up, j] = x[level, j], y[level, j]
        x[up, segment], y[up, segment] = x[level, segment], r
        m, kept = segment + 1, segment + 1
        x[up, m], y[up, m] = other, y[level, segment]
    elif kind == _OPEN_AFTER:
        x[up, 0], y[up, 0], m = other, y[level, segment], 1
        for q in range(1, cycle):
            j = segment + q if segment + q < cycle else segment + q - cycle
            x[up, m], y[up, m] = x[level, j], y[level, j]
            m += 1
        x[up, m], y[up, m] = x[level, segment], r
        kept = cycle
    else:
        x[up, 0], y[up, 0], m = other, x[level, segment], 1
        for q in range(1, cycle):
            j = segment - q if segment >= q else segment - q + cycle
            x[up, m], y[up, m] = y[level, j], x[level, j]
            m += 1
        x[up, m], y[up, m] = y[level, segment], r
        kept = cycle
    m += 1
    for j in range(kept, segments):
        x[up, m], y[up, m] = x[level, j], y[level, j]
        m += 1
    search.shape[up, 0], search.shape[up, 1], search.shape[up, 2] = m, (segment + 1 if kind == _AFTER else 0), end
    search.gain[up] = search.step_gain[level, rank]


@kernel(borrow=True)
def _carry_out(search, level, zero, backwards, most):
    """Write the closed path of `level` to the tour in place: its longest segment stays, the others are rearranged.

    Returns False, and changes nothing, if the other segments hold more than `most` cities.
    """
    tour, m = search.tour, search.shape[level, 0]
    x, y = search.first[level], search.last[level]
    n = len(tour.order)
    longest, size = 0, 0
    for i in range(m):
        if abs(y[i] - x[i]) + 1 > size:
            longest, size = i, abs(y[i] - x[i]) + 1
    if n - size > most:
        return False
    for i in range(m):
        enqueue(search.queue, _at(tour.order, zero, backwards, x[i]))
        enqueue(search.queue, _at(tour.order, zero, backwards, y[i]))
    # Read the cyclic sequence so that the longest segment runs in the array's own direction.
    ahead = x[longest] <= y[longest]  # in relative positions
    along = ahead != backwards
    low, high = min(x[longest], y[longest]), max(x[longest], y[longest])
    start = zero - low + 1 if backwards else zero + high + 1  # the array position after its end
    start = start - n if start >= n else (start + n if start < 0 else start)
    for q in range(1, m):
        i = longest + q if along else longest - q
        i = i - m if i >= m else (i + m if i < 0 else i)
        low = max(x[i], y[i]) if backwards else min(x[i], y[i])  # its lowest array position, relative
        at = zero - low if backwards else zero + low
        offset = at - start
        while offset < 0:
            offset += n
        while offset >= n:
            offset -= n
        tour.pieces[q - 1, 0], tour.pieces[q - 1, 1] = offset, abs(y[i] - x[i]) + 1
        tour.pieces[q - 1, 2] = (x[i] <= y[i]) != ahead
    rearrange(tour, start, m - 1)
    return True
