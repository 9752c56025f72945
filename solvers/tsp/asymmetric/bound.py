"""A lower bound for the ATSP above the assignment problem's: Held & Karp's ascent on 1-trees of the bipartite doubling.

It leaves node prices (out[i], in[j]) behind; matrix[i, j] - out[i] - in[j] ranks arcs far better than the matrix alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["ascend"]

_PATIENCE = 20  # steps without progress after which the step factor shrinks; tuned on TSPLIB's ATSP files
_SPENT = 1e-3  # step factor at which to stop


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
    """The cheapest 1-tree of the doubled graph under the prices: its reduced cost and the degrees of the copies.

    City i doubled into an out-copy and an in-copy joined by a forced edge, the arcs become edges between copies (Jonker &
    Volgenant 1983). With the forced edges contracted, the tree is Prim's on min(arc, reverse arc); the in-copy of city 0
    is the special node, which takes its cheapest arc last.
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
            r = matrix[i, j] - out[i] - into[j]
            if r < near[j]:
                near[j] = r
                arc_from[j] = i
            if i > 0:
                r = transposed[i, j] - out[j] - into[i]
                if r < near[j]:
                    near[j] = r
                    arc_from[j] = -i - 1
            if near[j] < least:
                least = near[j]
                best = j
        inside[best] = True
        total += least
        f = arc_from[best]
        if f >= 0:
            out_degree[f] += 1
            in_degree[best] += 1
        else:
            out_degree[best] += 1
            in_degree[-f - 1] += 1
        i = best
    best = -1
    least = np.inf
    for j in range(1, n):
        r = transposed[0, j] - out[j] - into[0]
        if r < least:
            least = r
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
    """`steps` subgradient steps on the prices (Held & Karp 1971, with Polyak's step towards `upper`, a tour's length).

    float64 prices[2, n], best_prices[2, n]: out and into; int32 momentum[2, n]: degrees of the step before, less 1;
    float64 control[4]: best bound, step factor, steps without progress, rounding error of the best bound. Returns True once
    no further step can help (a tour was met, or the factor is spent).
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
        if norm == 0 or control[1] < _SPENT or bound >= upper:
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
