"""The Q-network over states and actions, and its maximum over listed actions.

Inputs are one-hot: the state and level of every arm (and the time, where it matters), so that given the state the first layer
is linear in the levels. Then 16 and 32 ReLU units and a sum (Xu, Wilder, Khalil & Tambe, ICLR 2025).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["HIDDEN", "Listing", "QNetwork", "best_listed", "given_state", "inputs", "listing_of", "values"]

HIDDEN = (16, 32)
"""Units of the two hidden layers."""
_ONE = HIDDEN[0]
_TILE = 64  # actions whose second layer is computed together


class QNetwork(NamedTuple):
    """Weights, float64. Row (j A + a) S + s of w1 is arm j's in state s given level a; then, if any, a row for every time."""

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
    """Actions by the levels above 0 that they give: those of action v are `pairs[first[v] : first[v + 1]]`, numbers j A + a."""

    actions: NDArray[np.int8]
    """[V, action_size]"""
    first: NDArray[np.int64]
    pairs: NDArray[np.int64]


def listing_of(actions: NDArray[np.int8], levels: NDArray[np.int8], width: int) -> Listing:
    """A Listing of actions [V, action_size] with their levels [V, J], for arms with up to `width` levels."""
    row, arm = np.nonzero(levels)
    first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(levels)))]).astype(np.int64)
    return Listing(actions, first, (arm * width + levels[row, arm]).astype(np.int64))


def inputs(shape: tuple[int, ...], states: NDArray[np.int32], levels: NDArray[np.int8], times: NDArray[Any] | None) -> NDArray:
    """The rows of w1 that are on, int64 [R, J (+ 1)]; shape (J, A, S), states and levels [R, J], times [R] if they matter."""
    arms, width, size = shape
    rows = (np.arange(arms) * width + levels.astype(np.int64)) * size + states
    if times is None:
        return rows
    return np.concatenate([rows, arms * width * size + np.asarray(times, np.int64)[:, None]], axis=1)


def given_state(network: QNetwork, shape: tuple[int, ...], state: NDArray[np.int32], time: int | None) -> tuple[NDArray, NDArray]:
    """What the first layer sums up without levels [16], and what each level of an arm adds [J A, 16]."""
    arms, width, size = shape
    table = network.w1[: arms * width * size].reshape(arms, width, size, -1)[np.arange(arms), :, state]
    zero = network.b1 + table[:, 0].sum(axis=0)
    if time is not None:
        zero = zero + network.w1[arms * width * size + time]
    return zero, np.ascontiguousarray((table - table[:, :1]).reshape(arms * width, -1))


@kernel
def values(network: Any, rows: Any, found: Any) -> None:
    """found [R]: the network's outputs for inputs that are on, rows [R, K]."""
    one, two = len(network.b1), len(network.b2)
    first = np.empty(one)
    for r in range(len(rows)):
        for h in range(one):
            first[h] = network.b1[h]
        for k in range(rows.shape[1]):
            for h in range(one):
                first[h] += network.w1[rows[r, k], h]
        total = network.b3[0]
        for g in range(two):
            unit = network.b2[g]
            for h in range(one):
                unit += max(first[h], 0.0) * network.w2[h, g]
            total += max(unit, 0.0) * network.w3[g]
        found[r] = total


@kernel
def best_listed(network: Any, zero: Any, added: Any, worth: Any, first: Any, pairs: Any) -> Any:
    """(highest value, its action) over a Listing; worth [J A] is added to the network's output for every level given.

    zero [16] and added [J A, 16] as `given_state` says.
    """
    hidden, unit, total = np.zeros((_ONE, _TILE)), np.empty(_TILE), np.empty(_TILE)
    best, at = -np.inf, 0
    for begin in range(0, len(first) - 1, _TILE):
        count = min(_TILE, len(first) - 1 - begin)
        for v in range(count):
            total[v] = network.b3[0]
            _first(zero, added, pairs, first[begin + v], first[begin + v + 1], hidden, v)
            for k in range(first[begin + v], first[begin + v + 1]):
                total[v] += worth[pairs[k]]
        _second(network.w2, network.b2, network.w3, hidden, unit, total)
        for v in range(count):
            if total[v] > best:
                best, at = total[v], begin + v
    return best, at


@kernel(inline=True)
def _first(zero: Any, added: Any, pairs: Any, begin: Any, end: Any, hidden: Any, v: Any) -> None:
    """hidden[:, v] of the action with the pairs from `begin` to `end`; the number of units is known to the compiler: SIMD."""
    for h in range(_ONE):
        hidden[h, v] = zero[h]
    for k in range(begin, end):
        pair = pairs[k]
        for h in range(_ONE):
            hidden[h, v] += added[pair, h]
    for h in range(_ONE):
        hidden[h, v] = max(hidden[h, v], 0.0)


@kernel
def _second(w2: Any, b2: Any, w3: Any, hidden: Any, unit: Any, total: Any) -> None:
    """total [tile] += the rest of the network for hidden [16, tile]; loops over actions innermost, for SIMD."""
    for g in range(len(b2)):
        for v in range(_TILE):
            unit[v] = b2[g]
        for h in range(0, _ONE, 4):
            a, b, c, d = w2[h, g], w2[h + 1, g], w2[h + 2, g], w2[h + 3, g]
            for v in range(_TILE):
                unit[v] += a * hidden[h, v] + b * hidden[h + 1, v] + c * hidden[h + 2, v] + d * hidden[h + 3, v]
        weight = w3[g]
        for v in range(_TILE):
            total[v] += weight * max(unit[v], 0.0)
