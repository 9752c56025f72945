"""The local double bridge: four consecutive stretches A B C D of a tour become A D C B.

The double bridge is from Martin, Otto & Felten (Large-step Markov chains for the traveling salesman problem, Complex Systems 5,
1991). Here B, C and D are short (Applegate, Cook & Rohe, Chained Lin-Kernighan for large traveling salesman problems, INFORMS J.
Computing 15, 2003), so that making, repairing and undoing it take the same time on a tour of any size. No stretch is reversed, so
that it is a move of directed tours as well. No sequential 3-exchange undoes it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.tsp.metric import Metric, distance
from corl.rng import below
from corl.solvers.tsp.tours.array_tour import ArrayTour, rearrange

__all__ = ["bridge_cost", "bridge_ends", "draw_sizes", "exchange"]


@kernel(inline=True)
def draw_sizes(random: NDArray[np.uint64], most: int) -> tuple[int, int, int]:
    """Draw the numbers of cities of B, C and D: 1 to `most` each."""
    b = 1 + below(random, most)
    c = 1 + below(random, most)
    return b, c, 1 + below(random, most)


@kernel(borrow=True)
def bridge_ends(order: NDArray[np.int32], start: int, b: int, c: int, d: int, ends: NDArray[np.int32]) -> None:
    """Write to int32 ends[8] the last city of A, the first and last of B, of C and of D, and the first of A.

    B begins at position `start` and has b cities. b + c + d is at most n - 1.
    """
    n = len(order)
    at = start - 1 if start > 0 else n - 1
    for k in range(4):
        ends[2 * k] = order[at % n]
        ends[2 * k + 1] = order[(at + 1) % n]
        at += b if k == 0 else (c if k == 1 else d)


@kernel(borrow=True)
def bridge_cost(metric: Metric, ends: NDArray[np.int32]) -> float:
    """Return by how much the double bridge lengthens the tour; `ends` is that of `bridge_ends`."""
    before, b1, b2, c1, c2, d1, d2, after = ends[0], ends[1], ends[2], ends[3], ends[4], ends[5], ends[6], ends[7]
    cost: float = distance(metric, before, d1) + distance(metric, d2, c1) + distance(metric, c2, b1) + distance(metric, b2, after)
    cost -= distance(metric, before, b1) + distance(metric, b2, c1) + distance(metric, c2, d1) + distance(metric, d2, after)
    return cost


@kernel(borrow=True)
def exchange(tour: ArrayTour, start: int, b: int, c: int, d: int) -> None:
    """Replace the stretches B C D, which begin at position `start` and have b, c and d cities, by D C B, in place.

    The tour must have been made with memory for three pieces (`array_tour`).
    """
    pieces = tour.pieces
    pieces[0, 0], pieces[0, 1], pieces[0, 2] = b + c, d, 0
    pieces[1, 0], pieces[1, 1], pieces[1, 2] = b, c, 0
    pieces[2, 0], pieces[2, 1], pieces[2, 2] = 0, b, 0
    rearrange(tour, start, 3)
