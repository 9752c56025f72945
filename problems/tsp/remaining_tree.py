"""A Lagrangian relaxation of what remains of a tour, as features for networks.

What remains is a shortest path from the origin through the cities of a window to the destination. The spanning trees of the
window contain the paths; prices on cities (Held & Karp, Operations Research 18, 1970) drive the degrees of the cheapest tree
towards 2, and 1 at both ends. Cities beyond the window are one more node, of any degree, no farther from a city of the window
than the triangle inequality says. The mean of the trees on the way is nearly a solution of the linear program behind it
(Barahona & Anbil's volume algorithm, Mathematical Programming 87, 2000).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["Relaxation", "branch", "new_relaxation", "relax"]

_FAR = 1e300


class Relaxation(NamedTuple):
    """Work space and result for up to M nodes: the nearest cities, origin, destination, and the outside."""

    cost: NDArray[np.float64]
    """[M, M] distances; large for an edge that must not be used."""
    price: NDArray[np.float64]
    """[M] the Lagrange multipliers of the nodes at the end."""
    share: NDArray[np.float64]
    """[M, M] the share of the trees on the way that have an edge, weighted by step lengths."""
    alpha: NDArray[np.float64]
    """[M, M] how much longer the last tree gets when it must have an edge (Helsgaun, EJOR 126, 2000), priced."""
    degree: NDArray[np.int64]
    """[M] in the present tree."""
    before: NDArray[np.int64]
    """[M] what the tree before was away from the wanted degree."""
    key: NDArray[np.float64]
    """[M] Prim: the cheapest edge to the tree ..."""
    parent: NDArray[np.int64]
    """[M] ... and its end there; after it, the parent in the tree rooted at node 0, which has itself."""
    order: NDArray[np.int64]
    """[M] nodes in the order in which they joined the tree."""


def new_relaxation(nodes: int) -> Relaxation:
    """Memory for `nodes` nodes."""
    square, line, whole = (nodes, nodes), np.empty(nodes), np.empty(nodes, np.int64)
    return Relaxation(
        np.empty(square), line.copy(), np.empty(square), np.empty(square), whole.copy(), whole.copy(), line, whole.copy(), whole
    )


@kernel
def relax(work: Any, nodes: Any, ends: Any, free: Any, steps: Any, first: Any) -> Any:
    """`steps` trees of the first `nodes` nodes of `work.cost`; returns the last tree's bound on the path's length.

    Nodes `ends` and `ends` + 1 are the origin and the destination (wanted degree 1), and the last node has any degree if
    `free`. The step length falls from `first` to 0, in units of distance.
    """
    price, share = work.price, work.share
    for i in range(nodes):  # so small that they only break ties, of two equal edges always the same way
        price[i] = 1e-4 * first * ((0.618034 * i) % 1.0)
    work.before[:nodes] = 0
    share[:nodes, :nodes] = 0.0
    total = 0.0
    skipped = steps // 5  # the first trees know little
    for k in range(steps):
        _prim(work, nodes)
        length = first * (1.0 - k / steps)
        if k >= skipped:
            total += length
            for i in range(1, nodes):
                node = work.order[i]
                share[node, work.parent[node]] += length
        _raise(work, nodes, ends, free, length)
    for i in range(nodes):
        for j in range(i):
            both = (share[i, j] + share[j, i]) / max(total, 1e-300)
            share[i, j] = share[j, i] = both
    bound = _prim(work, nodes) - _paid(work, nodes, ends, free)
    _alphas(work, nodes)
    return bound


@kernel
def branch(work: Any, nodes: Any, ends: Any, free: Any, to: Any, steps: Any, first: Any, prices: Any, enough: Any) -> Any:
    """The best bound on a path whose first step goes to node `to`, from `steps` trees that begin with `prices` [M].

    No more trees follow one whose bound is above `enough`.
    Other edges of the origin are too costly meanwhile. Changes the work's prices and its present tree.
    """
    cost, origin = work.cost, ends
    kept = cost[origin, :nodes].copy()
    barred = kept.sum() + nodes * (cost[to, :nodes].sum() + np.abs(prices[:nodes]).sum()) + 1.0
    for i in range(nodes):
        if i != to:
            cost[origin, i] = cost[i, origin] = barred
    work.price[:nodes] = prices[:nodes]
    work.before[:nodes] = 0
    best = -np.inf
    for k in range(steps):
        best = max(best, _prim(work, nodes) - _paid(work, nodes, ends, free))
        if best > enough:
            break
        _raise(work, nodes, ends, free, first * (1.0 - k / steps))
    for i in range(nodes):
        cost[origin, i] = cost[i, origin] = kept[i]
    return best


@kernel
def _raise(work: Any, nodes: Any, ends: Any, free: Any, length: Any) -> None:
    """One step of the prices along the subgradient, with momentum, as Volgenant & Jonker (EJOR 9, 1982)."""
    for i in range(nodes - 1 if free else nodes):
        away = work.degree[i] - (1 if ends <= i < ends + 2 else 2)
        work.price[i] += length * (0.7 * away + 0.3 * work.before[i])
        work.before[i] = away


@kernel
def _paid(work: Any, nodes: Any, ends: Any, free: Any) -> Any:
    """The prices that every path pays, to be taken off the priced length of a tree."""
    paid = 0.0
    for i in range(nodes - 1 if free else nodes):
        paid += work.price[i] * (1 if ends <= i < ends + 2 else 2)
    return paid


@kernel
def _prim(work: Any, nodes: Any) -> Any:
    """The cheapest spanning tree by priced cost into parent, order and degree; returns its priced length."""
    cost, price, key, parent, order = work.cost, work.price, work.key, work.parent, work.order
    work.degree[:nodes] = 0
    for i in range(nodes):
        order[i], parent[i], key[i] = i, 0, _FAR
    total, last = 0.0, 0
    for size in range(1, nodes):
        best, at = np.inf, size
        row, base = cost[last], price[last]
        for i in range(size, nodes):
            node = order[i]
            length = row[node] + base + price[node]
            if length < key[node]:
                key[node], parent[node] = length, last
            if key[node] < best:
                best, at = key[node], i
        last = order[at]
        order[size], order[at] = last, order[size]
        work.degree[last] += 1
        work.degree[parent[last]] += 1
        total += best
    return total


@kernel
def _alphas(work: Any, nodes: Any) -> None:
    """work.alpha from the present tree."""
    cost, price, alpha, parent, order = work.cost, work.price, work.alpha, work.parent, work.order
    alpha[0, 0] = 0.0
    for i in range(1, nodes):  # alpha holds the costliest edge on the tree's way between two nodes at first
        node = order[i]
        above, length = parent[node], work.key[node]
        for j in range(i):
            other = order[j]
            alpha[node, other] = alpha[other, node] = max(length, alpha[above, other]) if other != above else length
        alpha[node, node] = 0.0
    for i in range(nodes):
        for j in range(i):
            alpha[i, j] = alpha[j, i] = cost[i, j] + price[i] + price[j] - alpha[i, j]
