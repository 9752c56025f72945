"""AB-cycles of two tours: Nagata & Kobayashi, A powerful genetic algorithm using edge assembly crossover for the TSP,
INFORMS J. Computing 25 (2013), section 2.2, steps 1 and 2.

E_A and E_B are the edges of tours A and B, and G_AB is the graph of (E_A | E_B) - (E_A & E_B), the edges that are not common. An
AB-cycle is a closed walk in G_AB whose edges alternate between A and B:

    a ===== b        === edges of A      a = b - c = d - a is an AB-cycle. To apply it to A means to remove its
    |       |         |  edges of B      A-edges, (a b) and (c d), and to add its B-edges, (b c) and (d a). Every city
    d ===== c                            keeps two edges, but the result may consist of several sub-tours.

Tours are `links` int32 [n, 2]: the two neighbours of every city.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.rng import below, next_u64

__all__ = ["Cycles", "cycles_of", "find_cycles"]


class Cycles(NamedTuple):
    """AB-cycles, stored one after another, and the work arrays of `find_cycles`."""

    cities: NDArray[np.int32]
    """[2 n + 2] cycle c is cities[starts[c]:starts[c + 1]]: its first edge is of A, the next of B, and so on in turn."""
    starts: NDArray[np.int32]
    """[n + 2] the index in `cities` at which each cycle begins."""
    unused: NDArray[np.int32]
    """[n, 2, 2] by city and parent (0: A, 1: B): the neighbours along edges of G_AB that are in no cycle and not in the walk."""
    degree: NDArray[np.int8]
    """[n, 2] by city and parent: how many of the two entries of `unused` are valid."""
    reached: NDArray[np.int32]
    """[n, 2] the even (column 0) and odd step (column 1) at which the walk reaches each city, else -1. All -1 between calls."""
    walk: NDArray[np.int32]
    """[2 n + 2] the cities of the walk."""
    active: NDArray[np.int32]
    """[n] cities with an edge in `unused`."""


def cycles_of(n: int) -> Cycles:
    """Return the memory for AB-cycles of tours of n cities."""
    int32 = np.int32
    return Cycles(
        cities=np.empty(2 * n + 2, int32),
        starts=np.zeros(n + 2, int32),
        unused=np.empty((n, 2, 2), int32),
        degree=np.zeros((n, 2), np.int8),
        reached=np.full((n, 2), -1, int32),
        walk=np.empty(2 * n + 2, int32),
        active=np.empty(n, int32),
    )


@kernel
def find_cycles(links_a: NDArray[np.int32], links_b: NDArray[np.int32], cycles: Cycles, state: NDArray[np.uint64]) -> int:
    """Partition the edges of G_AB into AB-cycles at random; return the number of cycles.

    A walk from a random city follows edges of A and B in turn; if a city has two such edges, one is chosen at random. When the
    walk returns to a city that it reached at an earlier step of the same parity, the part between the two steps is an AB-cycle,
    which is removed from the walk.

    Args:
        links_a: int32 [n, 2], parent A.
        links_b: int32 [n, 2], parent B.
        cycles: Receives the cycles in `cities` and `starts`.
        state: uint64 [1], the state of the random numbers (corl.rng).
    """
    cities, starts, unused, degree, reached, walk, active = cycles
    count = _differences(links_a, links_b, cycles)
    found = written = 0
    starts[0] = 0
    if count == 0:
        return 0
    first = below(state, count)
    bits, used_bits = np.uint64(0), 64
    for q in range(count):
        origin = active[first + q if first + q < count else first + q - count]
        while degree[origin, 0] > 0:
            step = 0
            walk[0] = origin
            reached[origin, 0] = 0
            while True:
                parent = step & 1
                u = walk[step]
                side = np.int64(0)
                if degree[u, parent] == 2:
                    if used_bits == 64:
                        bits, used_bits = next_u64(state), 0
                    side = np.int64(bits & np.uint64(1))
                    bits >>= np.uint64(1)
                    used_bits += 1
                v = unused[u, parent, side]
                degree[u, parent] -= 1
                if side == 0:
                    unused[u, parent, 0] = unused[u, parent, 1]
                degree[v, parent] -= 1
                if unused[v, parent, 0] == u:
                    unused[v, parent, 0] = unused[v, parent, 1]
                step += 1
                walk[step] = v
                before = reached[v, step & 1]
                if before < 0:
                    reached[v, step & 1] = step
                    continue
                for i in range(before + (before & 1), step):  # a cycle is stored from an even step, where an edge of A follows
                    cities[written] = walk[i]
                    written += 1
                if before & 1:
                    cities[written] = walk[before]
                    written += 1
                found += 1
                starts[found] = written
                for i in range(before + 1, step):
                    reached[walk[i], i & 1] = -1
                step = before
                if before == 0:
                    reached[origin, 0] = -1
                    break
    return found


@kernel
def _differences(links_a: NDArray[np.int32], links_b: NDArray[np.int32], cycles: Cycles) -> int:
    """Fill `unused`, `degree` and `active` with the edges of G_AB; return the number of active cities."""
    _cities, _starts, unused, degree, _reached, _walk, active = cycles
    count = 0
    for v in range(len(links_a)):
        a0, a1, b0, b1 = links_a[v, 0], links_a[v, 1], links_b[v, 0], links_b[v, 1]
        d = 0
        if a0 != b0 and a0 != b1:
            unused[v, 0, 0] = a0
            d = 1
        if a1 != b0 and a1 != b1:
            unused[v, 0, d] = a1
            d += 1
        degree[v, 0] = degree[v, 1] = d
        if d > 0:
            e = 0
            if b0 != a0 and b0 != a1:
                unused[v, 1, 0] = b0
                e = 1
            if b1 != a0 and b1 != a1:
                unused[v, 1, e] = b1
            active[count] = v
            count += 1
    return count
