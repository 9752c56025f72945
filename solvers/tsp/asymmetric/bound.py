"""A lower bound for the ATSP that improves on the assignment problem's: Held & Karp's ascent on 1-trees of the doubled graph.

The ascent also yields a price out[i] for leaving city i and a price into[j] for entering city j. The reduced costs
matrix[i, j] - out[i] - into[j] rank arcs far better than the matrix does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["ascend"]

_PATIENCE = 20  # steps without progress after which the step factor is reduced; tuned on TSPLIB's ATSP files
_LEAST_FACTOR = 1e-3  # the ascent stops below this step factor


@kernel
def _one_tree(
    matrix: NDArray[np.float64],
    transposed: NDArray[np.float64],
    out: NDArray[np.float64],
    into: NDArray[np.float64],
    near: NDArray[np.float64],
    arc_from: NDArray[np.int32],
    inside: NDArray[np.bool_],
    out_degree: NDArray[np.int32],
    in_degree: NDArray[np.int32],
) -> float:
    """Find the cheapest 1-tree of the doubled graph under the prices; write the degrees of its nodes and return its reduced cost.

    In the doubled graph every city has an out-copy and an in-copy, joined by an edge that every 1-tree must contain. The arc
    (i, j) is an edge between the out-copy of i and the in-copy of j (Jonker & Volgenant 1983). With the forced edges contracted,
    Prim's algorithm finds the tree; the edge between cities i and j costs the cheaper of the arcs (i, j) and (j, i). The in-copy
    of city 0 is the special node of the 1-tree: its second edge, the cheapest arc into city 0, is added last.

    Args:
        matrix: float64 [n, n], arc costs.
        transposed: float64 [n, n], the transpose of `matrix`.
        out: float64 [n], prices of out-copies.
        into: float64 [n], prices of in-copies.
        near: float64 [n], work array: the reduced cost of the cheapest arc between each city and the tree; overwritten.
        arc_from: int32 [n], work array: the city i at the tree's end of that arc, -i - 1 if the arc leads to i; overwritten.
        inside: bool [n], work array: whether each city is in the tree; overwritten.
        out_degree: int32 [n], receives the degrees of out-copies, without the forced edges.
        in_degree: int32 [n], receives the degrees of in-copies, without the forced edges.
    """
    n = len(matrix)
    out_degree[:] = 0
    in_degree[:] = 0
    for j in range(n):
        near[j] = np.inf
        inside[j] = False
    inside[0] = True
    i = 0
    total = 0.0
    for _ in range(n - 1):
        best = -1
        least = np.inf
        for j in range(n):
            if inside[j]:
                continue
            reduced = matrix[i, j] - out[i] - into[j]
            if reduced < near[j]:
                near[j] = reduced
                arc_from[j] = i
            if i > 0:
                reduced = transposed[i, j] - out[j] - into[i]
                if reduced < near[j]:
                    near[j] = reduced
                    arc_from[j] = -i - 1
            if near[j] < least:
                least = near[j]
                best = j
        inside[best] = True
        total += least
        tail = arc_from[best]
        if tail >= 0:
            out_degree[tail] += 1
            in_degree[best] += 1
        else:
            out_degree[best] += 1
            in_degree[-tail - 1] += 1
        i = best
    best = -1
    least = np.inf
    for j in range(1, n):
        reduced = transposed[0, j] - out[j] - into[0]
        if reduced < least:
            least = reduced
            best = j
    out_degree[best] += 1
    in_degree[0] += 1
    return total + least


@kernel
def ascend(
    matrix: NDArray[np.float64],
    transposed: NDArray[np.float64],
    prices: NDArray[np.float64],
    best_prices: NDArray[np.float64],
    momentum: NDArray[np.int32],
    control: NDArray[np.float64],
    upper: float,
    steps: int,
) -> bool:
    """Do `steps` subgradient steps on the prices, in place (Held & Karp 1971, with Polyak's step length).

    Args:
        matrix: float64 [n, n], arc costs.
        transposed: float64 [n, n], the transpose of `matrix`.
        prices: float64 [2, n], the current prices of out-copies and in-copies.
        best_prices: float64 [2, n], receives the prices of the best bound.
        momentum: int32 [2, n], the degrees in the previous 1-tree minus 1.
        control: float64 [4], the best bound, the step factor, the number of steps without progress, and the rounding error of the
            best bound; updated in place.
        upper: The length of a tour; steps are proportional to its distance from the current bound.
        steps: The number of steps.

    Returns True if no further step can help: the 1-tree is a tour, the bound has reached `upper`, or the step factor is too
    small.
    """
    n = len(matrix)
    near = np.empty(n)
    arc_from = np.empty(n, np.int32)
    inside = np.empty(n, np.bool_)
    degrees = np.empty((2, n), np.int32)
    for _ in range(steps):
        bound = _one_tree(matrix, transposed, prices[0], prices[1], near, arc_from, inside, degrees[0], degrees[1])
        magnitude = abs(bound)
        norm = 0
        for side in range(2):
            for i in range(n):
                bound += prices[side, i]
                magnitude += abs(prices[side, i])
                norm += (degrees[side, i] - 1) ** 2
        if bound > control[0]:
            if bound - control[0] > 1e-3 * (upper - control[0]):
                control[2] = 0
            control[0] = bound
            control[3] = 1e-15 * n * magnitude
            best_prices[:] = prices
        control[2] += 1
        if norm == 0 or control[1] < _LEAST_FACTOR or bound >= upper:
            return True
        if control[2] > _PATIENCE:
            control[1] *= 0.7
            control[2] = 0
        step = control[1] * (upper - bound) / norm
        for side in range(2):
            for i in range(n):
                move = 0.7 * (degrees[side, i] - 1) + 0.3 * momentum[side, i]  # the mix of Volgenant & Jonker 1982
                momentum[side, i] = degrees[side, i] - 1
                prices[side, i] -= step * move
    return False
