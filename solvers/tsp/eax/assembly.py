"""From an E-set to a child: apply the E-set to parent A, merge the resulting sub-tours, measure the child, undo the changes.

An E-set is a set of AB-cycles (ab_cycles.py): edges of A to remove, and edges of B to add. This is Nagata & Kobayashi, INFORMS
J. Computing 25 (2013), section 2.2, steps 4 and 5. The time does not grow with n (their section 3.1): parent A's order of the
cities is cut into segments where the E-set removes an edge, and a sub-tour is a set of segments.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.search import bisect_left
from corl.kernels.sorted_lists import sort_keys
from corl.problems.tsp.metric import distance
from corl.solvers.tsp.eax.subtours import SEARCHED, absorb, smallest_subtour

__all__ = ["Assembly", "apply", "assemble", "assembly_of", "order_of"]


class Assembly(NamedTuple):
    """An E-set, the resulting child of parent A, and work arrays.

    Occurrence i is the i-th entry of the E-set's list of cities; a city with two removed edges occurs twice.
    """

    order: NDArray[np.int32]
    """[n] the cities in the order of parent A."""
    position: NDArray[np.int32]
    """[n] the position of each city in `order`."""
    city: NDArray[np.int32]
    """[2 n + 2] the city of each occurrence; occurrences 2 t and 2 t + 1 are the ends of a removed edge of A."""
    partner: NDArray[np.int32]
    """[2 n + 2] for each occurrence, the occurrence at the other end of the edge of B that is added to it."""
    changes: NDArray[np.int32]
    """[8 n, 3] the changes that turn A into the child: (city, old neighbour, new neighbour)."""
    chosen: NDArray[np.int32]
    """[8 n, 3] the changes of the best child so far."""
    key: NDArray[np.int64]
    """[n + 1] for each removed edge: its position in `order`, its number t, and whether it runs backwards, packed for sorting."""
    cut: NDArray[np.int32]
    """[n + 1] positions after which `order` is cut, sorted; segment r is order[cut[r] + 1 .. cut[r + 1]], cyclically."""
    end: NDArray[np.int32]
    """[2 n + 2] for each occurrence, its segment end: 2 r if it is the last city before cut r, 2 r + 1 if the first after it."""
    joined: NDArray[np.int32]
    """[2 n + 2] for each end of a segment, numbered as in `end`: the end to which the added edge of B leads."""
    subtour: NDArray[np.int32]
    """[n + 1] the sub-tour of each segment."""
    size: NDArray[np.int32]
    """[n + 1] the number of cities of each sub-tour; 0 once it is merged into another."""


def assembly_of(n: int) -> Assembly:
    """Return the memory for children of tours of n cities."""

    def empty(count: int) -> NDArray[np.int32]:
        return np.empty(count, np.int32)

    return Assembly(
        order=empty(n),
        position=empty(n),
        city=empty(2 * n + 2),
        partner=empty(2 * n + 2),
        changes=np.empty((8 * n, 3), np.int32),
        chosen=np.empty((8 * n, 3), np.int32),
        key=np.empty(n + 1, np.int64),
        cut=empty(n + 1),
        end=empty(2 * n + 2),
        joined=empty(2 * n + 2),
        subtour=empty(n + 1),
        size=empty(n + 1),
    )


@kernel
def order_of(links, order, position):
    """Write the cities of tour `links`, int32 [n, 2], in visiting order from city 0 to `order`, and the inverse to `position`."""
    previous, city = -1, 0
    for i in range(len(links)):
        order[i] = city
        position[city] = i
        following = links[city, 0]
        if following == previous or i == 0:
            following = links[city, 1]
        previous, city = city, following


@kernel
def apply(links, changes, count):
    """Turn the tour `links` into the child that the first `count` rows of `changes` describe, in place."""
    for i in range(count):
        _replace(links, changes[i, 0], changes[i, 1], changes[i, 2])


@kernel(inline=True)
def _replace(links, city, old, new):
    """Replace the neighbour `old` of a city by `new`, in place."""
    links[city, 0 if links[city, 0] == old else 1] = new


@kernel
def assemble(metric, neighbours, lengths, links, work, length, tolerance):
    """Evaluate the child of parent A by the E-set work.city[:length].

    An E-set that lengthens the tour before its sub-tours are merged is rejected at once.

    Args:
        metric: Metric of n cities.
        neighbours: int32 [n, K], candidate neighbours, nearest first.
        lengths: float64 [n, K], their distances.
        links: int32 [n, 2], parent A; unchanged afterwards.
        work: Assembly; `changes` receives the child.
        length: The number of occurrences in the E-set.
        tolerance: Gains up to this are treated as rounding errors.

    Returns (gain, number of changes); (0, 0) if the child is not shorter than A by more than `tolerance`.
    """
    gain = 0.0
    for i in range(0, length, 2):
        u, v = work.city[i], work.city[i + 1]
        gain += distance(metric, u, v) - distance(metric, v, work.city[work.partner[i + 1]])
    if gain <= tolerance:
        return 0.0, 0
    changes = work.changes
    for i in range(length):
        changes[i, 0], changes[i, 1], changes[i, 2] = work.city[i], work.city[i ^ 1], work.city[work.partner[i]]
    segments = length >> 1
    _cut(work, segments)
    subtours = _label(work, segments)
    if subtours == 1:
        return gain, length
    apply(links, changes, length)
    gain, count = _merge(metric, neighbours, lengths, links, work, segments, subtours, gain, length, tolerance)
    if gain <= 0.0:
        return 0.0, 0
    return gain, count


@kernel
def _cut(work, segments):
    """Sort the removed edges by their position in A's order; fill `cut`, `end` and `joined`."""
    n = len(work.order)
    key, city, position = work.key, work.city, work.position
    for t in range(segments):
        p, q = position[city[2 * t]], position[city[2 * t + 1]]
        if q == p + 1 or (p == n - 1 and q == 0):
            key[t] = (np.int64(p) << 32) | (t << 1)
        else:
            key[t] = (np.int64(q) << 32) | (t << 1) | 1
    sort_keys(key, segments)
    for r in range(segments):
        work.cut[r] = key[r] >> 32
        flipped = key[r] & 1
        occurrence = key[r] & 0xFFFFFFFE
        work.end[occurrence + flipped] = 2 * r
        work.end[occurrence + 1 - flipped] = 2 * r + 1
    for i in range(1, 2 * segments, 2):
        a, b = work.end[i], work.end[work.partner[i]]
        work.joined[a], work.joined[b] = b, a


@kernel
def _label(work, segments):
    """Find the sub-tours by walking from segment to segment, fill `subtour` and `size`, and return the number of sub-tours."""
    n = len(work.order)
    cut, subtour, size, joined = work.cut, work.subtour, work.size, work.joined
    for r in range(segments):
        subtour[r] = -1
    found = 0
    for first in range(segments):
        if subtour[first] >= 0:
            continue
        r, leave, total = first, 2 * (first + 1) if first + 1 < segments else 0, 0
        while subtour[r] < 0:
            subtour[r] = found
            total += (cut[r + 1] if r + 1 < segments else cut[0] + n) - cut[r]
            enter = joined[leave]
            if enter & 1:  # enter the segment at its first city, leave it at its last
                r = enter >> 1
                leave = 2 * (r + 1) if r + 1 < segments else 0
            else:
                r = (enter >> 1) - 1 if enter > 0 else segments - 1
                leave = 2 * r + 1
        size[found] = total
        found += 1
    return found


@kernel
def _merge(metric, neighbours, lengths, links, work, segments, subtours, gain, count, tolerance):
    """Merge the smallest sub-tour into another by the best 2-exchange until one is left, then undo all changes.

    Returns (gain, number of changes); (0, 0) if at some point the child is not shorter than A by more than `tolerance`.
    """
    changes, size, subtour = work.changes, work.size, work.subtour
    remaining = subtours
    while remaining > 1:
        smallest = smallest_subtour(size, subtours)
        best, u, u2, v, v2, other = _best_exchange(metric, neighbours, lengths, links, work, segments, smallest, tolerance - gain)
        if u < 0:
            gain = 0.0
            break
        gain += best
        for city, old, new in ((u, u2, v), (u2, u, v2), (v, v2, u), (v2, v, u2)):
            _replace(links, city, old, new)
            changes[count, 0], changes[count, 1], changes[count, 2] = city, old, new
            count += 1
        absorb(subtour, size, segments, smallest, other)
        remaining -= 1
    for i in range(count - 1, -1, -1):
        _replace(links, changes[i, 0], changes[i, 2], changes[i, 1])
    return gain, (count if remaining == 1 else 0)


@kernel
def _best_exchange(metric, neighbours, lengths, links, work, segments, smallest, above):
    """Return the best 2-exchange of (u u2) in sub-tour `smallest` and (v v2) in another sub-tour for (u v) and (u2 v2).

    Candidates v of u are tried only as long as the longer edge at u exceeds (u v) by more than half of the best gain so far. Both
    ends of (u u2) are tried as u. Of a long segment only the first and the last SEARCHED cities are tried.

    Returns (gain, u, u2, v, v2, sub-tour of v); u is -1 if no exchange gains more than `above`, which is usually negative.
    """
    n = len(work.order)
    cut, subtour = work.cut, work.subtour
    best, bu, bu2, bv, bv2, other = above, -1, -1, -1, -1, -1
    for r in range(segments):
        if subtour[r] != smallest:
            continue
        cities = (cut[r + 1] if r + 1 < segments else cut[0] + n) - cut[r]
        i = 0
        while i < cities:
            if i == SEARCHED and cities > 2 * SEARCHED:
                i = cities - SEARCHED
            p = cut[r] + 1 + i
            i += 1
            u = work.order[p if p < n else p - n]
            d0, d1 = distance(metric, u, links[u, 0]), distance(metric, u, links[u, 1])
            longer = max(d0, d1)
            for c in range(neighbours.shape[1]):
                if 2.0 * (longer - lengths[u, c]) <= best:
                    break
                v = neighbours[u, c]
                segment = _segment(cut, segments, work.position[v])
                if subtour[segment] == smallest:
                    continue
                for h in range(2):
                    v2 = links[v, h]
                    base = distance(metric, v, v2) - lengths[u, c]
                    gain = base + d0 - distance(metric, links[u, 0], v2)
                    if gain > best:
                        best, bu, bu2, bv, bv2, other = gain, u, links[u, 0], v, v2, subtour[segment]
                    gain = base + d1 - distance(metric, links[u, 1], v2)
                    if gain > best:
                        best, bu, bu2, bv, bv2, other = gain, u, links[u, 1], v, v2, subtour[segment]
    return best, bu, bu2, bv, bv2, other


@kernel(inline=True)
def _segment(cut, segments, position):
    """Return the segment that contains a position of A's order."""
    low = bisect_left(cut, 0, segments, position)
    return low - 1 if low > 0 else segments - 1
