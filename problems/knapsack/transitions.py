"""The pool of partly filled knapsacks and its kernels, which `corl.search` calls through `corl.hooks`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl import hooks
from corl.hooks import attach
from corl.jit import kernel

__all__ = ["State", "reset_rows", "take_rows"]


class State(NamedTuple):
    """The pool. I instances of n items (N at most) and m capacities (M at most), R rows."""

    size: NDArray[np.int64]
    """[I] n."""
    constraints: NDArray[np.int64]
    """[I] m."""
    items_start: NDArray[np.int64]
    """[I] index of the instance's first item in `values` and `order`."""
    weights_start: NDArray[np.int64]
    """[I] index of the instance's first weight in `weights`: n * m weights, grouped by item."""
    limits_start: NDArray[np.int64]
    """[I] index of the instance's first capacity in `limits`."""
    values: NDArray[np.float64]
    """[sum of n]"""
    weights: NDArray[np.float64]
    """[sum of n * m]"""
    limits: NDArray[np.float64]
    """[sum of m] the capacities, with half the judge's tolerance."""
    order: NDArray[np.int32]
    """[sum of n] the items by decreasing density."""
    instance: NDArray[np.int32]
    """[R] the index of the row's instance."""
    used: NDArray[np.float64]
    """[R, M] the total weight of the items taken."""
    fitting: NDArray[np.int32]
    """[R] the number of items that still fit."""
    open: NDArray[np.int32]
    """[R, N] the items that still fit, in the sequence of `order`."""
    picks: NDArray[np.int32]
    """[R] the number of items taken."""
    taken: NDArray[np.int32]
    """[R, N] the items taken, in the order in which they were picked."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any) -> None:
    """Make rows[k] the empty knapsack of instances[k], in place."""
    for k in range(len(rows)):
        row, instance = rows[k], instances[k]
        first = state.items_start[instance]
        state.instance[row], state.picks[row] = instance, 0
        state.used[row, :] = 0.0
        state.fitting[row] = _keep(state, row, state.order[first : first + state.size[instance]], -1)


@kernel
def _keep(state: Any, row: Any, items: Any, without: Any) -> Any:
    """Write the items that fit into the remaining capacities of a row to state.open[row], in place.

    Args:
        state: The pool.
        row: The row.
        items: int32 [k], the candidates. May be a view of state.open[row].
        without: An item to exclude, or -1.

    Returns:
        The number of items written.
    """
    instance = state.instance[row]
    m, limits = state.constraints[instance], state.limits_start[instance]
    kept = 0
    for item in items:
        if item == without:
            continue
        weights = state.weights_start[instance] + item * m
        fits = True
        for i in range(m):
            if state.used[row, i] + state.weights[weights + i] > state.limits[limits + i]:
                fits = False
                break
        if fits:
            state.open[row, kept] = item
            kept += 1
    return kept


@attach(hooks.step, State)
def _step(state: Any, src: Any, dst: Any, action: Any) -> Any:
    """Take an item that fits; the reward is its value."""
    found = False
    for k in range(state.fitting[src]):
        if state.open[src, k] == action:
            found = True
            break
    if not found:
        return math.nan
    instance, picks, fitting = state.instance[src], state.picks[src], state.fitting[src]
    if src != dst:
        state.instance[dst] = instance
        state.used[dst, :] = state.used[src, :]
        state.taken[dst, :picks] = state.taken[src, :picks]
    m = state.constraints[instance]
    weights = state.weights_start[instance] + action * m
    for i in range(m):
        state.used[dst, i] += state.weights[weights + i]
    state.taken[dst, picks] = action
    state.picks[dst] = picks + 1
    state.fitting[dst] = _keep(state, dst, state.open[src, :fitting], action)
    return state.values[state.items_start[instance] + action]


@kernel
def take_rows(state: Any, rows: Any, items: Any, ends: Any, bases: Any) -> None:
    """Take several items at once into each of some empty knapsacks, in place.

    Args:
        state: The pool.
        rows: int64 [k], rows with empty knapsacks.
        items: Items of all rows, one row after the other; those of a row fit together.
        ends: int64 [k], the end of the items of rows[k] in `items`.
        bases: float64 [k], to which the value of the items taken is added.
    """
    begin = 0
    for k in range(len(rows)):
        row, picks = rows[k], ends[k] - begin
        instance = state.instance[row]
        m, first = state.constraints[instance], state.items_start[instance]
        inside = np.zeros(state.size[instance], np.bool_)
        for i in range(picks):
            item = items[begin + i]
            inside[item] = True
            state.taken[row, i] = item
            bases[k] += state.values[first + item]
            for c in range(m):
                state.used[row, c] += state.weights[state.weights_start[instance] + item * m + c]
        open, kept = state.open[row], 0
        for item in open[: state.fitting[row]]:
            if not inside[item]:
                open[kept] = item
                kept += 1
        state.picks[row] = picks
        state.fitting[row] = _keep(state, row, open[:kept], -1)
        begin = ends[k]


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the items that fit, the densest first."""
    count = min(len(out), state.fitting[row])
    for k in range(count):
        out[k] = state.open[row, k]
    return count
