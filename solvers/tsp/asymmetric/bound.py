"""Lower bounds for the ATSP: the assignment problem, and Held & Karp's ascent on 1-trees of the bipartite doubling.

Both leave node prices (out[i], in[j]) behind; matrix[i, j] - out[i] - in[j] ranks arcs far better than the matrix alone.
"""

from __future__ import annotations

import numpy as np

from corl.jit import kernel

__all__ = ["ascend", "assign_rows", "reduce_columns"]

_PATIENCE = 20  # steps without progress after which the step factor shrinks; tuned on TSPLIB's ATSP files
_SPENT = 1e-3  # step factor at which to stop


@kernel
def reduce_columns(matrix, out, into, column_of, row_of):
    """Start `assign_rows`: prices from column minima, then row minima, and the arcs that are free on the way.

    float64 out[n], into[n]: prices, filled; int32 column_of[n], row_of[n]: the partial assignment, -1 where open.
    The diagonal does not exist (n >= 2).
    """
    n = len(matrix)
    into[:] = np.inf
    for i in range(n):
        for j in range(n):
            if j != i and matrix[i, j] < into[j]:
                into[j] = matrix[i, j]
    row_of[:] = -1
    for i in range(n):
        least = np.inf
        free = -1
        for j in range(n):
            if j == i:
                continue
            r = matrix[i, j] - into[j]
            if r < least or (r == least and free >= 0 and row_of[free] >= 0):
                least = r
                free = j
        out[i] = least
        if row_of[free] < 0:
            row_of[free] = i
            column_of[i] = free
        else:
            column_of[i] = -1


@kernel
def assign_rows(matrix, out, into, column_of, row_of, first, most):
    """Assign rows from `first` on by shortest augmenting paths (Crouse 2016, the algorithm of Jonker & Volgenant).

    Keeps matrix[i, j] >= out[i] + into[j], with equality on assigned arcs. Returns the row to go on with, n at the end: it
    stops after the row in which more than `most` entries of the matrix have been read.
    """
    n = len(matrix)
    shortest = np.empty(n)
    came = np.empty(n, np.int32)
    open_columns = np.empty(n, np.int32)
    done_rows = np.empty(n, np.int32)
    entries = 0
    for row in range(first, n):
        if entries > most:
            return row
        if column_of[row] >= 0:
            continue
        for j in range(n):
            shortest[j] = np.inf
            open_columns[j] = j
        left = n
        scanned = 0
        reach = 0.0
        i = row
        sink = -1
        while sink < 0:
            done_rows[scanned] = i
            scanned += 1
            entries += left
            best = -1
            least = np.inf
            for k in range(left):
                j = open_columns[k]
                if j != i:
                    r = reach + matrix[i, j] - out[i] - into[j]
                    if r < shortest[j]:
                        shortest[j] = r
                        came[j] = i
                if shortest[j] < least or (shortest[j] == least and row_of[j] < 0):
                    least = shortest[j]
                    best = k
            j = open_columns[best]
            reach = least
            left -= 1
            open_columns[best] = open_columns[left]
            open_columns[left] = j
            if row_of[j] < 0:
                sink = j
            else:
                i = row_of[j]
        out[row] += reach
        for k in range(1, scanned):
            i = done_rows[k]
            out[i] += reach - shortest[column_of[i]]
        for k in range(left, n):
            j = open_columns[k]
            into[j] -= reach - shortest[j]
        j = sink
        while True:
            i = came[j]
            row_of[j] = i
            following = column_of[i]
            column_of[i] = j
            if i == row:
                break
            j = following
    return n


@kernel
def _one_tree(matrix, transposed, out, into, near, arc_from, inside, out_degree, in_degree):
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
def ascend(matrix, transposed, prices, best_prices, momentum, control, upper, steps):
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
