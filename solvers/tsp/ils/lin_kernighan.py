"""Lin-Kernighan search of bounded depth on an array tour, which changes only when an improving move is found.

S. Lin and B. W. Kernighan, An effective heuristic algorithm for the traveling-salesman problem, Oper. Res. 21 (1973), the basic
algorithm with limited backtracking. Remove an edge x_1 = (t_1 t_2) of the tour, which leaves a Hamiltonian path from t_2 to t_1.
Step i changes the path: add an edge y_i = (t_2i t_2i+1) from the end t_2i to a near city, and remove an edge x_i+1 = (t_2i+1
t_2i+2) at that city; t_2i+2 is the new end. The gain criterion keeps G_i = |x_1| - |y_1| + ... + |x_i| - |y_i| positive. Adding
the edge (t_2i+2 t_1) closes a tour, which gains G_i + |x_i+1| - |t_2i+2 t_1|. There are two kinds of step (here i = 1):

    the path            t2 ------ t4   t3 ------ t1        add (t2 t3), remove (t4 t3); t4 is the city before t3
    after the step      t4 ------ t2 - t3 ------ t1        t2 .. t4 is reversed; (t4 t1) closes a tour: a 2-opt move

    the path            t2 ------ t3   t4 ------ t1        add (t2 t3), remove (t3 t4); t4 is the city after t3
    after the step      (t2 ---- t3)   t4 ------ t1        t2 .. t3 is a cycle, which the next step must open by joining
                                                           t4 to one of its cities: or-opt and pure 3-opt moves

The path is stored as a short list of segments of the tour. A step thus takes O(depth) time, and the array changes only once a
move is known to improve: then all segments except the longest are moved. Level l of the search, from 0, is step i = l + 1.
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

# Kinds of step: the removed edge x_i+1 is before or after t_2i+1 on the path; the last two kinds open a cycle.
_BEFORE, _AFTER, _OPEN_AFTER, _OPEN_BEFORE = range(4)


class LinKernighan(NamedTuple):
    """A tour under local search, and work arrays for L levels, paths of at most L + 2 segments and B steps a level.

    Positions on the path are relative: 0 is t_2, and they increase in the direction from t_1 to t_2.
    """

    tour: ArrayTour
    queue: CityQueue
    """The cities from which moves are still to be searched."""
    breadth: NDArray[np.int64]
    """[L] the greatest number of steps tried at each level."""
    first: NDArray[np.int32]
    """[L + 1, L + 3] by level and segment of the path: the segment's first position."""
    last: NDArray[np.int32]
    """[L + 1, L + 3] by level and segment: the segment's last position, less than `first` if the segment is reversed."""
    shape: NDArray[np.int64]
    """[L + 1, 5] by level: the number of segments, how many of them form a cycle, the end t_2i, steps found, steps tried."""
    gain: NDArray[np.float64]
    """[L + 1] by level: G_i-1 + |x_i|, the length removed minus the length added so far."""
    step: NDArray[np.int64]
    """[L + 1, B + 1] steps by level and rank, best first, packed by `_packed`; entry `breadth` is the step that closes the best
    tour."""
    step_gain: NDArray[np.float64]
    """[L + 1, B + 1] G_i + |x_i+1| for each entry of `step`."""


def lin_kernighan(n: int, breadth: tuple[int, ...]) -> LinKernighan:
    """Return the memory of a search on tours of n cities that tries `breadth[l]` steps at level l."""
    levels, widest = len(breadth), max(breadth)
    return LinKernighan(
        array_tour(n, levels + 2), city_queue(n), np.array(breadth, np.int64), np.zeros((levels + 1, levels + 3), np.int32),
        np.zeros((levels + 1, levels + 3), np.int32), np.zeros((levels + 1, 5), np.int64), np.zeros(levels + 1),
        np.zeros((levels + 1, widest + 1), np.int64), np.zeros((levels + 1, widest + 1)),
    )  # fmt: skip


@kernel(borrow=True)
def settle(metric, neighbours, lengths, search, tolerance, most_shifted, cities):
    """Make improving moves from up to `cities` queued cities, in place, and return the total gain.

    The search ends early when the queue is empty or the tour's log is full.

    Args:
        metric: Metric of n cities.
        neighbours: int32 [n, K], candidate neighbours, nearest first.
        lengths: float64 [n, K], their distances.
        search: LinKernighan; its tour and queue change.
        tolerance: Gains up to this are treated as rounding errors.
        most_shifted: Moves that would shift more cities than this in the array are skipped.
        cities: The greatest number of cities to take from the queue.
    """
    total = 0.0
    for _ in range(cities):
        if search.queue.ring[1] == 0:
            break
        city = next_in_queue(search.queue)
        while not log_is_full(search.tour, 0):
            gain = _improve_city(metric, neighbours, lengths, search, city, tolerance, most_shifted)
            if gain == 0.0:
                break
            total += gain
    return total


@kernel(inline=True, borrow=True)
def _improve_city(metric, neighbours, lengths, search, t1, tolerance, most_shifted):
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
            if shape[level, 4] == 0:  # the level was just entered: find its steps
                closing = _find_steps(metric, neighbours, lengths, search, level, t1, zero, backwards, tolerance)
                if closing > tolerance:
                    _take(search, level, search.breadth[level])
                    if _carry_out(search, level + 1, zero, backwards, most_shifted):
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
def _find_steps(metric, neighbours, lengths, search, level, t1, zero, backwards, tolerance):
    """Write the steps of largest G_i + |x_i+1| to step[level], and the step that closes the best tour to entry `breadth` there.

    Args:
        metric: Metric of n cities.
        neighbours: int32 [n, K], candidate neighbours, nearest first.
        lengths: float64 [n, K], their distances.
        search: LinKernighan.
        level: i - 1.
        t1: The city t_1.
        zero: The position of t_2 in the array.
        backwards: Whether t_2 is the city before t_1 in the array.
        tolerance: Gains up to this are treated as rounding errors.

    Returns the gain of the best closed tour; -inf if no step closes a tour.
    """
    order, position, first, last = search.tour.order, search.tour.position, search.first, search.last
    step, step_gain = search.step, search.step_gain
    n, width, levels = len(order), neighbours.shape[1], len(search.breadth)
    cycle, t_2i = search.shape[level, 1], search.shape[level, 2]
    gain, breadth = search.gain[level], search.breadth[level]
    inner = level + 1 < levels  # steps are listed only if there is a next level
    found, best = 0, -np.inf
    for k in range(width):
        gain_i = gain - lengths[t_2i, k]
        if gain_i <= tolerance:
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
                if r == first[level, segment]:  # the edge before t_2i+1 was added by an earlier step
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
    """Write the path after step number `rank` of `level` to `up`, which is level + 1."""
    step = search.step[level, rank]
    r, segment, kind, end = step >> 35, (step >> 30) & 31, (step >> 28) & 3, step & 0xFFFFFFF
    first, last, up = search.first, search.last, level + 1
    segments, cycle = search.shape[level, 0], search.shape[level, 1]
    after = _AFTER <= kind <= _OPEN_AFTER
    other = r + 1 if (first[level, segment] <= last[level, segment]) == after else r - 1  # the relative position of the new end
    m = 0
    if kind == _BEFORE:
        first[up, 0], last[up, 0], m = other, first[level, segment], 1
        for j in range(segment - 1, -1, -1):
            first[up, m], last[up, m] = last[level, j], first[level, j]
            m += 1
        first[up, m], last[up, m] = r, last[level, segment]
        untouched = segment + 1
    elif kind == _AFTER:
        for j in range(segment):
            first[up, j], last[up, j] = first[level, j], last[level, j]
        first[up, segment], last[up, segment] = first[level, segment], r
        m, untouched = segment + 1, segment + 1
        first[up, m], last[up, m] = other, last[level, segment]
    elif kind == _OPEN_AFTER:
        first[up, 0], last[up, 0], m = other, last[level, segment], 1
        for q in range(1, cycle):
            j = segment + q if segment + q < cycle else segment + q - cycle
            first[up, m], last[up, m] = first[level, j], last[level, j]
            m += 1
        first[up, m], last[up, m] = first[level, segment], r
        untouched = cycle
    else:
        first[up, 0], last[up, 0], m = other, first[level, segment], 1
        for q in range(1, cycle):
            j = segment - q if segment >= q else segment - q + cycle
            first[up, m], last[up, m] = last[level, j], first[level, j]
            m += 1
        first[up, m], last[up, m] = last[level, segment], r
        untouched = cycle
    m += 1
    for j in range(untouched, segments):
        first[up, m], last[up, m] = first[level, j], last[level, j]
        m += 1
    search.shape[up, 0], search.shape[up, 1], search.shape[up, 2] = m, (segment + 1 if kind == _AFTER else 0), end
    search.gain[up] = search.step_gain[level, rank]


@kernel(borrow=True)
def _carry_out(search, level, zero, backwards, most_shifted):
    """Write the closed path of `level` to the tour, in place: the longest segment stays, the other segments are rearranged.

    If the other segments have more than `most_shifted` cities together, changes nothing and returns False.
    """
    tour, m = search.tour, search.shape[level, 0]
    first, last = search.first[level], search.last[level]
    n = len(tour.order)
    longest, size = 0, 0
    for i in range(m):
        if abs(last[i] - first[i]) + 1 > size:
            longest, size = i, abs(last[i] - first[i]) + 1
    if n - size > most_shifted:
        return False
    for i in range(m):
        enqueue(search.queue, _at(tour.order, zero, backwards, first[i]))
        enqueue(search.queue, _at(tour.order, zero, backwards, last[i]))
    # Read the segments in the cyclic direction in which the longest one has the direction of the array.
    ahead = first[longest] <= last[longest]  # in relative positions
    along = ahead != backwards
    low, high = min(first[longest], last[longest]), max(first[longest], last[longest])
    start = zero - low + 1 if backwards else zero + high + 1  # the array position after the longest segment
    start = start - n if start >= n else (start + n if start < 0 else start)
    for q in range(1, m):
        i = longest + q if along else longest - q
        i = i - m if i >= m else (i + m if i < 0 else i)
        low = max(first[i], last[i]) if backwards else min(first[i], last[i])  # relative; where segment i begins in the array
        at = zero - low if backwards else zero + low
        offset = at - start
        while offset < 0:
            offset += n
        while offset >= n:
            offset -= n
        tour.pieces[q - 1, 0], tour.pieces[q - 1, 1] = offset, abs(last[i] - first[i]) + 1
        tour.pieces[q - 1, 2] = (first[i] <= last[i]) != ahead
    rearrange(tour, start, m - 1)
    return True
