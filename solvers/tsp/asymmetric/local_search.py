"""Or-3opt for the ATSP: the one 3-exchange that reverses nothing (segment insertion of any length), with candidate lists.

A tour is an array `tour` with `pos[tour[p]] = p`. `cost` is any float64 [n, n] matrix of arc costs; with prices taken off
(asymmetric_bound) the gain criterion prunes best.
"""

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.rng import below, uniform

__all__ = ["iterate", "local_search", "nearest_unvisited", "perturb", "start_tours", "swap_segments"]

_NEAREST = 0.9  # probability with which a start tour goes on to the nearest unvisited candidate


@kernel
def swap_segments(tour, pos, buffer, start, first, second):
    """Swap the adjacent segments of `first` and `second` cities that begin at position `start` (cyclically).

    swap_segments(..., start, second, first) undoes it. Costs the length of the two.
    """
    n = len(tour)
    p = start
    for k in range(first):
        buffer[k] = tour[p]
        p += 1
        if p == n:
            p = 0
    q = start
    for _ in range(second):
        c = tour[p]
        tour[q] = c
        pos[c] = q
        p += 1
        if p == n:
            p = 0
        q += 1
        if q == n:
            q = 0
    for k in range(first):
        c = buffer[k]
        tour[q] = c
        pos[c] = q
        q += 1
        if q == n:
            q = 0


@kernel(inline=True)
def _exchange(tour, pos, buffer, start, s1, s2, undo, logged):
    """From the segments S1 S2 S3 of the cycle (S1 begins at `start`) make S2 S1 S3, leaving the longest in place."""
    n = len(tour)
    s3 = n - s1 - s2
    if s1 >= s2 and s1 >= s3:
        start += s1
        s1 = s2
        s2 = s3
    elif s2 >= s1 and s2 >= s3:
        start += s1 + s2
        s2 = s1
        s1 = s3
    if start >= n:
        start -= n
    swap_segments(tour, pos, buffer, start, s1, s2)
    if logged >= 0:
        undo[logged, 0] = start
        undo[logged, 1] = s2
        undo[logged, 2] = s1


@kernel
def _improve(cost, near, near_cost, tour, pos, buffer, a, eps, ends, undo, logged):
    """Make the first improving move that removes a's arc: (a, b), (c, d), (e, f) become (a, d), (c, f), (e, b).

    Partial sums stay positive, which loses no improving move, for one of its three rotations has that. Returns the gain.
    """
    n = len(tour)
    pa = pos[a]
    b = tour[pa + 1] if pa + 1 < n else tour[0]
    ab = cost[a, b]
    degree = near.shape[1]
    for k in range(degree):
        g1 = ab - near_cost[a, k]
        if g1 <= eps:
            break
        d = near[a, k]
        pd = pos[d]
        c = tour[pd - 1] if pd > 0 else tour[n - 1]
        if d == b:
            continue
        od = pd - pa
        if od < 0:
            od += n
        g2 = g1 + cost[c, d]
        for q in range(degree):
            g3 = g2 - near_cost[c, q]
            if g3 <= eps:
                break
            f = near[c, q]
            of = pos[f] - pa
            if of <= 0:
                of += n
            if of <= od:  # f lies behind d on the way back to a
                continue
            pf = pos[f]
            e = tour[pf - 1] if pf > 0 else tour[n - 1]
            gain = g3 + cost[e, f] - cost[e, b]
            if gain > eps:
                start = pa + 1 if pa + 1 < n else 0
                _exchange(tour, pos, buffer, start, od - 1, of - od, undo, logged)
                ends[0], ends[1], ends[2], ends[3], ends[4], ends[5] = a, b, c, d, e, f
                return gain
    return 0.0


@kernel
def local_search(cost, near, near_cost, tour, pos, buffer, queue, queued, queue_ends, eps, undo, logged):
    """Improve until no queued city has a move left; returns the gain and the new length of the undo log.

    int32 queue[n] is a ring whose head and count are in int64 queue_ends[2]; bool queued[n] tells who is in it.
    `logged` < 0 keeps no log; a full log (undo[m, 3]) ends the search early.
    """
    n = len(tour)
    ends = np.empty(6, np.int64)
    head = queue_ends[0]
    count = queue_ends[1]
    total = 0.0
    while count > 0 and logged < len(undo):
        city = queue[head]
        head = head + 1 if head + 1 < n else 0
        count -= 1
        queued[city] = False
        while logged < len(undo):
            gain = _improve(cost, near, near_cost, tour, pos, buffer, city, eps, ends, undo, logged)
            if gain == 0.0:
                break
            total += gain
            if logged >= 0:
                logged += 1
            for k in range(6):
                e = ends[k]
                if not queued[e]:
                    queued[e] = True
                    at = head + count
                    if at >= n:
                        at -= n
                    queue[at] = e
                    count += 1
    while count > 0:
        queued[queue[head]] = False
        head = head + 1 if head + 1 < n else 0
        count -= 1
    queue_ends[0] = head
    queue_ends[1] = 0
    return total, logged


@kernel
def _randomised_greedy(cost, near, state, tour, unvisited, place):
    """A walk to the nearest unvisited candidate, sometimes past it to a later one; without any, to the nearest unvisited."""
    n = len(tour)
    for i in range(n):
        unvisited[i] = i
        place[i] = i
    left = n
    c = below(state, n)
    for step in range(n):
        tour[step] = c
        left -= 1
        moved = unvisited[left]
        unvisited[place[c]] = moved
        place[moved] = place[c]
        place[c] = -1
        if left == 0:
            return
        following = -1
        for k in range(near.shape[1]):
            j = near[c, k]
            if place[j] >= 0:
                following = j
                if uniform(state) < _NEAREST:
                    break
        if following < 0:
            following = unvisited[0]
            for k in range(1, left):
                if cost[c, unvisited[k]] < cost[c, following]:
                    following = unvisited[k]
        c = following


@kernel
def nearest_unvisited(cost, first):
    """The nearest-neighbour tour from `first`, int32 [n]. O(n^2)."""
    n = len(cost)
    tour = np.empty(n, np.int32)
    left = np.arange(n)
    c = first
    left[c] = n - 1
    for step in range(n - 1):
        tour[step] = c
        best = 0
        for k in range(n - 1 - step):
            if cost[c, left[k]] < cost[c, left[best]]:
                best = k
        c = left[best]
        left[best] = left[n - 2 - step]
    tour[n - 1] = c
    return tour


@kernel
def start_tours(cost, near, near_cost, tours, lengths, eps, state):
    """Fill int32 tours[m, n] with locally optimal tours from randomised walks, and float64 lengths[m]."""
    n = tours.shape[1]
    buffer = np.empty(n, np.int32)
    pos = np.empty(n, np.int32)
    queue = np.empty(n, np.int32)
    queued = np.empty(n, np.bool_)
    queue_ends = np.empty(2, np.int64)
    no_undo = np.empty((1, 3), np.int32)
    for k in range(len(tours)):
        tour = tours[k]
        _randomised_greedy(cost, near, state, tour, buffer, pos)
        for p in range(n):
            pos[tour[p]] = p
            queue[p] = tour[p]
            queued[p] = True
        queue_ends[0] = 0
        queue_ends[1] = n
        local_search(cost, near, near_cost, tour, pos, buffer, queue, queued, queue_ends, eps, no_undo, -1)
        length = 0.0
        for p in range(n):
            length += cost[tour[p - 1], tour[p]]
        lengths[k] = length


@kernel
def perturb(cost, tour, pos, buffer, state, undo, ends, window):
    """A random double bridge within `window` cities: A B C D becomes A D C B. For n >= 8.

    (A C B D is a single 3-exchange, which the local search would undo.) Logs its two swaps in undo[0:2], writes the eight
    touched cities to int64 ends[8] and returns the change of length.
    """
    n = len(tour)
    w = min(window, n - 2)
    start = below(state, n)
    s1 = 1 + below(state, w // 3)
    s2 = 1 + below(state, w // 3)
    s3 = 1 + below(state, w // 3)
    p = start - 1 if start > 0 else n - 1
    for k in range(4):
        ends[2 * k] = tour[p % n]
        ends[2 * k + 1] = tour[(p + 1) % n]
        p += s1 if k == 0 else (s2 if k == 1 else s3)
    a, b0, b1, c0, c1, d0, d1, e = ends[0], ends[1], ends[2], ends[3], ends[4], ends[5], ends[6], ends[7]
    swap_segments(tour, pos, buffer, start, s1, s2 + s3)
    undo[0, 0], undo[0, 1], undo[0, 2] = start, s2 + s3, s1
    swap_segments(tour, pos, buffer, start, s2, s3)
    undo[1, 0], undo[1, 1], undo[1, 2] = start, s3, s2
    new = cost[a, d0] + cost[d1, c0] + cost[c1, b0] + cost[b1, e]
    return new - cost[a, b0] - cost[b1, c0] - cost[c1, d0] - cost[d1, e]


@kernel
def iterate(cost, near, near_cost, tour, pos, best, buffer, queue, queued, undo, state, window, eps, kicks):
    """`kicks` double bridges, each followed by a local search from the touched cities and undone if the tour became longer.

    `best` receives the tour whenever it became shorter, so that it does not depend on where a call ends among equals.
    Returns the total gain.
    """
    ends = np.empty(8, np.int64)
    queue_ends = np.zeros(2, np.int64)
    total = 0.0
    for _ in range(kicks):
        change = perturb(cost, tour, pos, buffer, state, undo, ends, window)
        queue_ends[0] = 0
        queue_ends[1] = 0
        for k in range(8):
            e = ends[k]
            if not queued[e]:
                queued[e] = True
                queue[queue_ends[1]] = e
                queue_ends[1] += 1
        gain, logged = local_search(cost, near, near_cost, tour, pos, buffer, queue, queued, queue_ends, eps, undo, 2)
        gain -= change
        if gain >= 0.0:
            total += gain
            if gain > eps:
                best[:] = tour
        else:
            for z in range(logged - 1, -1, -1):
                swap_segments(tour, pos, buffer, undo[z, 0], undo[z, 1], undo[z, 2])
    return total
