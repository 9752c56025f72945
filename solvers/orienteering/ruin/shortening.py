"""Local search on the order of a path's nodes: kernels of `RuinRecreate`.

Ruin and recreate changes which nodes a path visits, but it cannot reverse a long part of the path, as 2-opt does (G. A. Croes, A
method for solving traveling-salesman problems, Operations Research 6, 1958). `shorten` makes 2-opt moves and moves of up to three
consecutive nodes (or-opt; I. Or, thesis, Northwestern University, 1976) until there is none that shortens the path.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.routing.metric import distance
from corl.solvers.orienteering.ruin.path import LENGTH

__all__ = ["Order", "new_order", "shorten"]

_TOLERANCE = 1e-10  # gains up to this share of the path's length are rounding
_LONGEST = 3  # greatest number of consecutive nodes that a move takes to another place
_MOST_SHIFTED = 25_000  # moves that would shift more nodes than this in the array are skipped


class Order(NamedTuple):
    """The nodes of a path as an array, and the nodes from which moves are still to be searched. All arrays are work space."""

    nodes: NDArray[np.int32]
    """[N] the nodes along the path; the first `numbers[0]` entries are in use."""
    position: NDArray[np.int32]
    """[N] the position of each node of the path in `nodes`."""
    waiting: NDArray[np.int32]
    """[N] the nodes from which moves are to be searched, as a stack of `numbers[1]` nodes."""
    waits: NDArray[np.bool_]
    """[N] whether each node is in `waiting`."""
    numbers: NDArray[np.int64]
    """[2] the number of nodes on the path and in `waiting`."""


def new_order(n: int) -> Order:
    """Return work space for paths among n nodes."""
    nodes, position, waiting = np.zeros((3, n), np.int32)
    return Order(nodes, position, waiting, np.zeros(n, np.bool_), np.zeros(2, np.int64))


@kernel(borrow=True)
def shorten(path, neighbours, lengths, order):
    """Shorten a path, in place, by 2-opt and or-opt moves until none is found; its ends and its set of nodes remain.

    Args:
        path: Path, whose journal is not used: the change cannot be undone.
        neighbours: int32 [N, K], the nearest other nodes of each node, nearest first.
        lengths: float64 [N, K], the distances to these neighbours.
        order: Order, work space.

    Returns the gain: 0 if the path remains as it was.
    """
    count, node = 0, np.int32(0)
    while node >= 0:
        order.nodes[count], order.position[node] = node, count
        count += 1
        node = path.after[node]
    order.numbers[0], order.numbers[1] = count, 0
    for k in range(count - 1, -1, -1):  # the start of the path is examined first
        _wait(order, order.nodes[k])
    tolerance, total = _TOLERANCE * path.sums[LENGTH], 0.0
    while order.numbers[1] > 0:
        order.numbers[1] -= 1
        node = order.waiting[order.numbers[1]]
        order.waits[node] = False
        gain = _two_opt(path, neighbours, lengths, order, node, tolerance)
        if gain == 0.0:
            gain = _or_opt(path, neighbours, lengths, order, node, tolerance)
        if gain > 0.0:
            total += gain
            _wait(order, node)
    if total > 0.0:
        _write_links(path, order)
    return total


@kernel(inline=True, borrow=True)
def _wait(order, node):
    """Add a node to those from which moves are to be searched, unless it is one of them."""
    if not order.waits[node]:
        order.waits[node] = True
        order.waiting[order.numbers[1]] = node
        order.numbers[1] += 1


@kernel(borrow=True)
def _write_links(path, order):
    """Give the path the order of `order`, in place, and add up its length again."""
    length = 0.0
    for k in range(order.numbers[0] - 1):
        node, following = order.nodes[k], order.nodes[k + 1]
        path.after[node], path.before[following] = following, node
        path.ahead[node] = distance(path.metric, node, following)
        length += path.ahead[node]
    path.sums[LENGTH] = length


@kernel(borrow=True)
def _two_opt(path, neighbours, lengths, order, node, tolerance):
    """Make the first 2-opt move that links `node` to a neighbour and gains more than `tolerance`; return the gain, or 0.

    Two edges are replaced: both follow their nodes in the path's direction, or both precede them.
    """
    nodes, position, last = order.nodes, order.position, order.numbers[0] - 1
    for side in range(2):  # 0: the edges to the next nodes, 1: those to the previous nodes
        at, step = position[node], 1 - 2 * side
        if at == (last if side == 0 else 0):
            continue
        adjacent = nodes[at + step]
        old = distance(path.metric, node, adjacent)
        for k in range(neighbours.shape[1]):
            if old - lengths[node, k] <= tolerance:
                break
            near = neighbours[node, k]
            if not path.on[near]:
                continue
            other = position[near]
            if other == (last if side == 0 else 0):
                continue
            beyond = nodes[other + step]
            gain = old - lengths[node, k] + distance(path.metric, near, beyond) - distance(path.metric, adjacent, beyond)
            low, high = min(at, other) + 1 - side, max(at, other) - side
            if gain > tolerance and high - low <= _MOST_SHIFTED:
                _reverse(order, low, high)
                _wait(order, near)
                _wait(order, adjacent)
                _wait(order, beyond)
                return gain
    return 0.0


@kernel(borrow=True)
def _or_opt(path, neighbours, lengths, order, node, tolerance):
    """Make the first or-opt move that puts `node` next to a neighbour and gains more than `tolerance`; return the gain, or 0.

    The moved nodes, at most three, are `node` and those that follow or precede it.
    """
    nodes, position, last, metric = order.nodes, order.position, order.numbers[0] - 1, path.metric
    at = position[node]
    for size in range(1, _LONGEST + 1):
        for side in range(2 if size > 1 else 1):  # 0: `node` is the first of the moved nodes, 1: the last
            first = at if side == 0 else at - size + 1
            final = first + size - 1
            if first < 1 or final >= last:
                continue
            before, after, end = nodes[first - 1], nodes[final + 1], nodes[final if side == 0 else first]
            saved = distance(metric, before, nodes[first]) + distance(metric, nodes[final], after)
            saved -= distance(metric, before, after)
            for k in range(neighbours.shape[1]):
                if saved - lengths[node, k] <= tolerance:
                    break
                near = neighbours[node, k]
                if not path.on[near] or first <= position[near] <= final:
                    continue
                for step in range(-1, 2, 2):  # the moved nodes come between `near` and the node before or after it
                    other = position[near] + step
                    if other < 0 or other > last or first <= other <= final:
                        continue
                    beyond = nodes[other]
                    added = lengths[node, k] + distance(metric, end, beyond) - distance(metric, near, beyond)
                    shifted = max(first - position[near], position[near] - final)
                    if saved - added > tolerance and shifted <= _MOST_SHIFTED:
                        _move(order, first, final, max(position[near], other), (step == 1) == (side == 1))
                        _wait(order, before)
                        _wait(order, after)
                        _wait(order, near)
                        _wait(order, beyond)
                        _wait(order, end)
                        return saved - added
    return 0.0


@kernel(borrow=True)
def _reverse(order, low, high):
    """Reverse the nodes at the positions low..high, in place."""
    nodes, position = order.nodes, order.position
    while low < high:
        a, b = nodes[low], nodes[high]
        nodes[low], nodes[high] = b, a
        position[b], position[a] = low, high
        low += 1
        high -= 1


@kernel(borrow=True)
def _move(order, first, final, before, turned):
    """Move the nodes at positions first..final to the place in front of position `before`, in place; reversed if `turned`."""
    size = final - first + 1
    low, high = (before, final) if before < first else (first, before - 1)
    # Exchanging two adjacent blocks is equivalent to reversing both together and then each.
    _reverse(order, low, high)
    middle = low + size - 1 if before < first else high - size + 1
    if before < first:
        if not turned:
            _reverse(order, low, middle)
        _reverse(order, middle + 1, high)
    else:
        _reverse(order, low, middle - 1)
        if not turned:
            _reverse(order, middle, high)
