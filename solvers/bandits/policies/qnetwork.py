"""The Q-network over states and actions, and its maximum over a list of actions.

Inputs are one-hot: one input for each combination of an arm, a level and a state and, in some networks, one for each time. For a
given state, the first layer is therefore linear in the levels. Hidden layers of 16 and 32 ReLU units and a linear output follow
(Xu, Wilder, Khalil & Tambe, ICLR 2025).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.networks.compiled import add_product, dense_lanes, rectify

__all__ = ["HIDDEN", "Listing", "QNetwork", "best_listed", "given_state", "inputs", "listing_of", "value", "values"]

HIDDEN = (16, 32)
"""The numbers of units of the two hidden layers."""
_FIRST_UNITS = HIDDEN[0]
_TILE = 64  # actions whose second layer is computed together


class QNetwork(NamedTuple):
    """The weights and biases of the three layers."""

    w1: NDArray[np.float64]
    """[J A S (+ T), 16]. Row (j A + a) S + s is for arm j in state s with level a; T rows for the times may follow."""
    b1: NDArray[np.float64]
    """[16]"""
    w2: NDArray[np.float64]
    """[16, 32]"""
    b2: NDArray[np.float64]
    """[32]"""
    w3: NDArray[np.float64]
    """[32]"""
    b3: NDArray[np.float64]
    """[1]"""


class Listing(NamedTuple):
    """V actions, with the pairs of an arm j and a level a > 0 that each of them gives; the number of a pair is j A + a."""

    actions: NDArray[np.int8]
    """[V, action_size]"""
    first: NDArray[np.int64]
    """[V + 1] the pairs of action v are pairs[first[v] : first[v + 1]]."""
    pairs: NDArray[np.int64]
    """[first[V]] the numbers of the pairs, action by action."""


def listing_of(actions: NDArray[np.int8], levels: NDArray[np.int8], width: int) -> Listing:
    """Return a Listing of actions [V, action_size] that give the levels [V, J], for arms with up to `width` levels (A)."""
    row, arm = np.nonzero(levels)
    first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(levels)))]).astype(np.int64)
    return Listing(actions, first, (arm * width + levels[row, arm]).astype(np.int64))


def inputs(shape: tuple[int, ...], states: NDArray[np.int32], levels: NDArray[np.int8], times: NDArray[Any] | None) -> NDArray:
    """Return the active inputs of R states and levels as rows of w1, int64 [R, J (+ 1)].

    Args:
        shape: (J, A, S).
        states: int32 [R, J].
        levels: int8 [R, J].
        times: int [R], or None if the network has no inputs for times.
    """
    arms, width, size = shape
    rows = (np.arange(arms) * width + levels.astype(np.int64)) * size + states
    if times is None:
        return rows
    return np.concatenate([rows, arms * width * size + np.asarray(times, np.int64)[:, None]], axis=1)


def given_state(network: QNetwork, shape: tuple[int, ...], state: NDArray[np.int32], time: int | None) -> tuple[NDArray, NDArray]:
    """Return two tables for one state: the first layer's inputs if all arms have level 0, float64 [16], and what each pair adds.

    Row j A + a of the second, float64 [J A, 16], is the change of these inputs if arm j has level a instead of 0.
    """
    arms, width, size = shape
    table = network.w1[: arms * width * size].reshape(arms, width, size, -1)[np.arange(arms), :, state]
    zero = network.b1 + table[:, 0].sum(axis=0)
    if time is not None:
        zero = zero + network.w1[arms * width * size + time]
    return zero, np.ascontiguousarray((table - table[:, :1]).reshape(arms * width, -1))


@kernel
def values(network: Any, rows: Any, outputs: Any) -> None:
    """Write the network's outputs for active inputs `rows`, int64 [R, K], to `outputs`, float64 [R], in place."""
    first, second = np.empty(len(network.b1)), np.empty(len(network.b2))
    for r in range(len(rows)):
        outputs[r] = value(network, rows[r], first, second)


@kernel(inline=True)
def value(network: Any, row: Any, first: Any, second: Any) -> Any:
    """Return the network's output for active inputs `row`, int64 [K].

    The activations of the hidden layers are written to `first` [16] and `second` [32], in place.
    """
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
        zero: float64 [16], the first result of `given_state`.
        added: float64 [J A, 16], the second result of `given_state`.
        level_values: float64 [J A], added to the output for every level given.
        first: int64 [V + 1], of the Listing.
        pairs: int64, of the Listing.
    """
    hidden, units, total = np.zeros((_FIRST_UNITS, _TILE)), np.empty((len(network.b2), _TILE)), np.empty(_TILE)
    best, best_action = -np.inf, 0
    for begin in range(0, len(first) - 1, _TILE):
        count = min(_TILE, len(first) - 1 - begin)
        for v in range(count):
            total[v] = network.b3[0]
            _first_layer(zero, added, pairs, first[begin + v], first[begin + v + 1], hidden, v)
            for k in range(first[begin + v], first[begin + v + 1]):
                total[v] += level_values[pairs[k]]
        dense_lanes(network.w2.T, network.b2, hidden, units, np.uint64(_TILE))
        _output_layer(network.w3, units, total)
        for v in range(count):
            if total[v] > best:
                best, best_action = total[v], begin + v
    return best, best_action


@kernel(inline=True)
def _first_layer(zero: Any, added: Any, pairs: Any, begin: Any, end: Any, hidden: Any, v: Any) -> None:
    """Write the first layer's activations for the action with pairs[begin:end] to hidden[:, v], in place.

    The number of units is a compile-time constant, so that the compiler can use SIMD instructions.
    """
    for h in range(_FIRST_UNITS):
        hidden[h, v] = zero[h]
    for k in range(begin, end):
        pair = pairs[k]
        for h in range(_FIRST_UNITS):
            hidden[h, v] += added[pair, h]
    for h in range(_FIRST_UNITS):
        hidden[h, v] = max(hidden[h, v], 0.0)


@kernel
def _output_layer(w3: Any, units: Any, total: Any) -> None:
    """Add the output layer of units [32, tile] to `total` [tile], in place; the inner loop is over actions, for SIMD."""
    for g in range(len(w3)):
        weight = w3[g]
        for v in range(_TILE):
            total[v] += weight * max(units[g, v], 0.0)
