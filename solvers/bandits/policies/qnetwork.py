"""The Q-network over states and actions, and its maximum over listed actions.

Inputs are one-hot: the state and level of every arm (and the time, if it matters), so that for a given state the first layer is
linear in the levels. Two layers of 16 and 32 ReLU units and a sum follow (Xu, Wilder, Khalil & Tambe, ICLR 2025).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.networks.compiled import add_product, dense_lanes, rectify

__all__ = ["HIDDEN", "Listing", "QNetwork", "best_listed", "given_state", "inputs", "listing_of", "value", "values"]

HIDDEN = (16, 32)
"""Units of the two hidden layers."""
_ONE = HIDDEN[0]
_TILE = 64  # actions whose second layer is computed together


class QNetwork(NamedTuple):
    """Weights, float64. Row (j A + a) S + s of w1 is for arm j in state s with level a; then, optionally, one row per time."""

    w1: NDArray[np.float64]
    """[J A S (+ T), 16]"""
    b1: NDArray[np.float64]
    w2: NDArray[np.float64]
    """[16, 32]"""
    b2: NDArray[np.float64]
    w3: NDArray[np.float64]
    """[32]"""
    b3: NDArray[np.float64]
    """[1]"""


class Listing(NamedTuple):
    """Actions by the levels above 0 that they give: action v has `pairs[first[v] : first[v + 1]]`, numbers j A + a."""

    actions: NDArray[np.int8]
    """[V, action_size]"""
    first: NDArray[np.int64]
    pairs: NDArray[np.int64]


def listing_of(actions: NDArray[np.int8], levels: NDArray[np.int8], width: int) -> Listing:
    """Return a Listing of actions [V, action_size] with their levels [V, J], for arms with up to `width` levels."""
    row, arm = np.nonzero(levels)
    first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(levels)))]).astype(np.int64)
    return Listing(actions, first, (arm * width + levels[row, arm]).astype(np.int64))


def inputs(shape: tuple[int, ...], states: NDArray[np.int32], levels: NDArray[np.int8], times: NDArray[Any] | None) -> NDArray:
    """Return the active rows of w1, int64 [R, J (+ 1)].

    Args:
        shape: (J, A, S).
        states: int32 [R, J].
        levels: int8 [R, J].
        times: [R], if they matter.
    """
    arms, width, size = shape
    rows = (np.arange(arms) * width + levels.astype(np.int64)) * size + states
    if times is None:
        return rows
    return np.concatenate([rows, arms * width * size + np.asarray(times, np.int64)[:, None]], axis=1)


def given_state(network: QNetwork, shape: tuple[int, ...], state: NDArray[np.int32], time: int | None) -> tuple[NDArray, NDArray]:
    """Return the first layer's sums at level 0 of all arms [16], and the change by each level of an arm [J A, 16]."""
    arms, width, size = shape
    table = network.w1[: arms * width * size].reshape(arms, width, size, -1)[np.arange(arms), :, state]
    zero = network.b1 + table[:, 0].sum(axis=0)
    if time is not None:
        zero = zero + network.w1[arms * width * size + time]
    return zero, np.ascontiguousarray((table - table[:, :1]).reshape(arms * width, -1))


@kernel
def values(network: Any, rows: Any, found: Any) -> None:
    """Write the network's outputs for active inputs `rows` [R, K] to `found`, float64 [R], in place."""
    first, second = np.empty(len(network.b1)), np.empty(len(network.b2))
    for r in range(len(rows)):
        found[r] = value(network, rows[r], first, second)


@kernel(inline=True)
def value(network: Any, row: Any, first: Any, second: Any) -> Any:
    """Return the network's output for active inputs `row` [K]; first [16] and second [32] receive the hidden units."""
    for h in range(len(first)):
        first[h] = network.b1[h]
    for k in range(len(row)):
        for h in range(len(first)):
            first[h] += network.w1[row[k], h]
    rectify(first, len(first))
    for g in range(len(second)):
        second[g] = network.b2[g]
    add_product(first, len(first), network.w2, second)
    rectify(second, len(second))
    total = network.b3[0]
    for g in range(len(second)):
        total += second[g] * network.w3[g]
    return total


@kernel
def best_listed(network: Any, zero: Any, added: Any, level_values: Any, first: Any, pairs: Any) -> Any:
    """Return the highest value over a Listing, and the index of its action.

    Args:
        network: The network.
        zero: float64 [16], of `given_state`.
        added: float64 [J A, 16], of `given_state`.
        level_values: float64 [J A], added to the output for every level given.
        first: int64 [V + 1], of the Listing.
        pairs: int64, of the Listing.
    """
    hidden, units, total = np.zeros((_ONE, _TILE)), np.empty((len(network.b2), _TILE)), np.empty(_TILE)
    best, at = -np.inf, 0
    for begin in range(0, len(first) - 1, _TILE):
        count = min(_TILE, len(first) - 1 - begin)
        for v in range(count):
            total[v] = network.b3[0]
            _first(zero, added, pairs, first[begin + v], first[begin + v + 1], hidden, v)
            for k in range(first[begin + v], first[begin + v + 1]):
                total[v] += level_values[pairs[k]]
        dense_lanes(network.w2.T, network.b2, hidden, units, np.uint64(_TILE))
        _last(network.w3, units, total)
        for v in range(count):
            if total[v] > best:
                best, at = total[v], begin + v
    return best, at


@kernel(inline=True)
def _first(zero: Any, added: Any, pairs: Any, begin: Any, end: Any, hidden: Any, v: Any) -> None:
    """Write the first layer of the action with the pairs begin..end-1 to hidden[:, v], in place.

    The number of units is a compile-time constant, for SIMD.
    """
    for h in range(_ONE):
        hidden[h, v] = zero[h]
    for k in range(begin, end):
        pair = pairs[k]
        for h in range(_ONE):
            hidden[h, v] += added[pair, h]
    for h in range(_ONE):
        hidden[h, v] = max(hidden[h, v], 0.0)


@kernel
def _last(w3: Any, units: Any, total: Any) -> None:
    """Add the last layer of units [32, tile] to `total` [tile], in place; the loop over actions is innermost, for SIMD."""
    for g in range(len(w3)):
        weight = w3[g]
        for v in range(_TILE):
            total[v] += weight * max(units[g, v], 0.0)
