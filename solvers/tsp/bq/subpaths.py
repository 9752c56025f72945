"""States on the way of known tours: any stretch of an optimal tour is an optimal path through its cities.

So a tour of n cities gives a state for each start, direction and number of cities left: about 2 n^2 (Drakulic et al., NeurIPS
2023, section 4).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["Paths", "States", "draw"]


class Paths(NamedTuple):
    """Shortest paths or closed tours, as cities in order."""

    points: NDArray[np.float64]
    """[sum of sizes, 3] coordinates."""
    first: NDArray[np.int64]
    """[P] where a path begins in `points`."""
    size: NDArray[np.int64]
    """[P] how many points it has."""
    closed: NDArray[np.bool_]
    """[P] whether it is a tour; otherwise its last point is the destination of every state on it."""


class States(NamedTuple):
    """R states with the way an optimal path goes on."""

    observation: dict[str, NDArray[Any]]
    """As TspEnvironment.observe has it: mask, remaining, coordinates."""
    slot: NDArray[np.int64]
    """[R] of the next city; -1 where it is not among the nearest."""
    length: NDArray[np.float64]
    """[R] of the whole remaining path."""


def draw(paths: Paths, rows: int, nearest: int, around: int, random: np.random.Generator) -> States:
    """`rows` random states on random paths, at least two cities left; each shows the `nearest` cities, then `around` more."""
    which = random.integers(0, len(paths.size), rows)
    chances = random.random((rows, 3))
    seen = {
        "mask": np.zeros((rows, nearest + 2), np.bool_),
        "remaining": np.zeros(rows, np.int32),
        "coordinates": np.zeros((rows, nearest + 2, 3)),
        "surroundings": np.zeros((rows, around, 3)),
    }
    slot, length = np.full(rows, -1), np.zeros(rows)
    _draw(
        paths, which, chances, seen["mask"], seen["remaining"], seen["coordinates"], seen["surroundings"], slot, length
    )
    return States(seen, slot, length)


@kernel
def _draw(
    paths: Any, which: Any, chances: Any, mask: Any, remaining: Any, coordinates: Any, around: Any, slot: Any, length: Any
) -> None:
    """See `draw`; chances [R, 3] are uniform on [0, 1): start, number of cities left, direction."""
    nearest = mask.shape[1] - 2
    window = nearest + around.shape[1]
    for row in range(len(which)):
        n, begin = paths.size[which[row]], paths.first[which[row]]
        points = paths.points[begin : begin + n]
        if paths.closed[which[row]]:
            left = 2 + int(chances[row, 1] * (n - 2))  # 2..n-1: with n - 1 left the destination is the origin
            origin, step = int(chances[row, 0] * n), 1 if chances[row, 2] < 0.5 else -1
        else:
            left, step = n - 2 - int(chances[row, 1] ** 2 * (n - 3)), 1  # 2..n-2, rather early on the path
            origin = n - 2 - left
        remaining[row] = left
        lengths, cities = np.full(window, np.inf), np.full(window, -1)
        here = points[origin]
        before = here
        for k in range(1, left + 2):
            city = (origin + step * k) % n
            there = points[city]
            length[row] += math.sqrt(((there - before) ** 2).sum())
            before = there
            if k == left + 1:
                coordinates[row, nearest + 1] = there
                break
            away = ((there - here) ** 2).sum()
            if away < lengths[-1]:
                i = window - 1
                while i > 0 and lengths[i - 1] > away:
                    lengths[i], cities[i] = lengths[i - 1], cities[i - 1]
                    i -= 1
                lengths[i], cities[i] = away, city
        for i in range(min(left, window)):
            if i >= nearest:
                around[row, i - nearest] = points[cities[i]]
                continue
            coordinates[row, i] = points[cities[i]]
            mask[row, i] = True
            if cities[i] == (origin + step) % n:
                slot[row] = i
        coordinates[row, nearest] = here
        mask[row, nearest:] = True
