"""A Lagrangian relaxation of the rest of a tour, as features for networks.

The rest of the tour is a shortest path from the origin (the last city of the partial tour) through the unvisited cities to the
destination (its first city). Such a path is a spanning tree in which the two ends have degree 1 and all other nodes degree 2.
Prices on the nodes (Held & Karp, Operations Research 18, 1970) drive the degrees of the cheapest spanning tree towards these
values. Only the nearest unvisited cities are nodes; all farther cities are represented by one more node, which may have any
degree and whose distances are lower bounds by the triangle inequality. The weighted mean of the trees computed approximates a
solution of the linear program (Barahona & Anbil's volume algorithm, Mathematical Programming 87, 2000).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["Relaxation", "branch", "new_relaxation", "relax"]

_FAR = 1e300  # longer than any priced length


class Relaxation(NamedTuple):
    """Results and work arrays for up to M nodes: the nearest cities, the origin, the destination, and one for farther cities.

    The priced length of an edge is its distance plus the prices of its ends.
    """

    cost: NDArray[np.float64]
    """[M, M] distances; large for an edge that must not be used."""
    price: NDArray[np.float64]
    """[M] the current Lagrange multipliers of the nodes."""
    share: NDArray[np.float64]
    """[M, M] for each edge, the share of the computed trees that contain it, weighted by the trees' step lengths."""
    alpha: NDArray[np.float64]
    """[M, M] for each edge, by how much the priced length of the last tree grows if it must contain the edge (Helsgaun, EJOR 126,
    2000)."""
    degree: NDArray[np.int64]
    """[M] the degree of each node in the current tree."""
    before: NDArray[np.int64]
    """[M] the degree of each node in the previous tree minus the degree that it has in a path."""
    key: NDArray[np.float64]
    """[M] in Prim's algorithm: the priced length of the cheapest edge from each node to the tree."""
    parent: NDArray[np.int64]
    """[M] the other end of the edge of `key`; afterwards the parent of each node in the tree, whose root is node 0 (its own
    parent)."""
    order: NDArray[np.int64]
    """[M] the nodes in the order in which Prim's algorithm added them to the tree."""


def new_relaxation(nodes: int) -> Relaxation:
    """Return the memory for `nodes` nodes."""
    square, line, whole = (nodes, nodes), np.empty(nodes), np.empty(nodes, np.int64)
    return Relaxation(
        np.empty(square), line.copy(), np.empty(square), np.empty(square), whole.copy(), whole.copy(), line, whole.copy(), whole
    )


@kernel
def relax(work: Any, nodes: Any, ends: Any, last_is_free: Any, steps: Any, first: Any) -> Any:
    """Do `steps` subgradient steps from small prices, in place; return a lower bound on the length of the remaining path.

    Args:
        work: Relaxation; `cost` is given, all other arrays are computed.
        nodes: The number of nodes.
        ends: The origin's node; the destination is node `ends` + 1.
        last_is_free: Whether the last node represents farther cities, so that it may have any degree.
        steps: The number of steps, each with one spanning tree.
        first: The first step length, in units of distance; it falls linearly to 0.
    """
    price, share = work.price, work.share
    for i in range(nodes):  # so small that they only break ties between equal edges, always in the same way
        price[i] = 1e-4 * first * ((0.618034 * i) % 1.0)
    work.before[:nodes] = 0
    share[:nodes, :nodes] = 0.0
    total = 0.0
    skipped = steps // 5  # the first trees have little in common with tours
    for k in range(steps):
        _prim(work, nodes)
        length = first * (1.0 - k / steps)
        if k >= skipped:
            total += length
            for i in range(1, nodes):
                node = work.order[i]
                share[node, work.parent[node]] += length
        _raise_prices(work, nodes, ends, last_is_free, length)
    for i in range(nodes):
        for j in range(i):
            mean_share = (share[i, j] + share[j, i]) / max(total, 1e-300)
            share[i, j] = share[j, i] = mean_share
    bound = _prim(work, nodes) - _path_prices(work, nodes, ends, last_is_free)
    _alphas(work, nodes)
    return bound


@kernel
def branch(work: Any, nodes: Any, ends: Any, last_is_free: Any, to: Any, steps: Any, first: Any, prices: Any, enough: Any) -> Any:
    """Return the best lower bound on the length of a path whose first step goes to node `to`.

    During the call, all other edges of the origin are too costly to be used. Changes the prices and the current tree of `work`.

    Args:
        work: Relaxation.
        nodes: The number of nodes.
        ends: The origin's node; the destination is node `ends` + 1.
        last_is_free: Whether the last node represents farther cities, so that it may have any degree.
        to: The node of the first step.
        steps: The greatest number of spanning trees.
        first: The first step length, in units of distance; it falls linearly to 0.
        prices: float64 [M], the initial prices.
        enough: The call ends after a tree whose bound exceeds this.
    """
    cost, origin = work.cost, ends
    origin_cost = cost[origin, :nodes].copy()
    barred = origin_cost.sum() + nodes * (cost[to, :nodes].sum() + np.abs(prices[:nodes]).sum()) + 1.0
    for i in range(nodes):
        if i != to:
            cost[origin, i] = cost[i, origin] = barred
    work.price[:nodes] = prices[:nodes]
    work.before[:nodes] = 0
    best = -np.inf
    for k in range(steps):
        best = max(best, _prim(work, nodes) - _path_prices(work, nodes, ends, last_is_free))
        if best > enough:
            break
        _raise_prices(work, nodes, ends, last_is_free, first * (1.0 - k / steps))
    for i in range(nodes):
        cost[origin, i] = cost[i, origin] = origin_cost[i]
    return best


@kernel
def _raise_prices(work: Any, nodes: Any, ends: Any, last_is_free: Any, length: Any) -> None:
    """Change the prices by one subgradient step of the given length, with the momentum of Volgenant & Jonker (EJOR 9, 1982)."""
    for i in range(nodes - 1 if last_is_free else nodes):
        excess = work.degree[i] - (1 if ends <= i < ends + 2 else 2)
        work.price[i] += length * (0.7 * excess + 0.3 * work.before[i])
        work.before[i] = excess


@kernel
def _path_prices(work: Any, nodes: Any, ends: Any, last_is_free: Any) -> Any:
    """Return the sum of prices that the priced length of every path contains; the least priced length minus this is the bound."""
    paid = 0.0
    for i in range(nodes - 1 if last_is_free else nodes):
        paid += work.price[i] * (1 if ends <= i < ends + 2 else 2)
    return paid


@kernel
def _prim(work: Any, nodes: Any) -> Any:
    """Find the spanning tree of least priced length by Prim's algorithm; return that length.

    Writes the tree to `parent`, `order` and `degree`.
    """
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
    """Compute work.alpha for the current tree."""
    cost, price, alpha, parent, order = work.cost, work.price, work.alpha, work.parent, work.order
    alpha[0, 0] = 0.0
    for i in range(1, nodes):  # at first alpha holds the costliest edge on the tree's path between two nodes
        node = order[i]
        above, length = parent[node], work.key[node]
        for j in range(i):
            other = order[j]
            alpha[node, other] = alpha[other, node] = max(length, alpha[above, other]) if other != above else length
        alpha[node, node] = 0.0
    for i in range(nodes):
        for j in range(i):
            alpha[i, j] = alpha[j, i] = cost[i, j] + price[i] + price[j] - alpha[i, j]
