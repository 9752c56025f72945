"""The pool of partly filled knapsacks and its kernels: what `corl.search` calls through `corl.hooks`."""

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
    """[I] where the items of an instance begin in `values` and `order`."""
    weights_start: NDArray[np.int64]
    """[I] where its n * m weights begin, those of an item together."""
    limits_start: NDArray[np.int64]
    """[I] where its m capacities begin."""
    values: NDArray[np.float64]
    """[sum of n]"""
    weights: NDArray[np.float64]
    """[sum of n * m]"""
    limits: NDArray[np.float64]
    """[sum of m] the capacities, with half the judge's tolerance."""
    order: NDArray[np.int32]
    """[sum of n] items, the most value for its share of the capacities first."""
    instance: NDArray[np.int32]
    """[R] the row's instance."""
    used: NDArray[np.float64]
    """[R, M] what the items taken weigh."""
    fitting: NDArray[np.int32]
    """[R] how many items still fit."""
    open: NDArray[np.int32]
    """[R, N] these items, in `order`."""
    picks: NDArray[np.int32]
    """[R] how many items are taken."""
    taken: NDArray[np.int32]
    """[R, N] these items, in the order of the picks."""


@kernel
def reset_rows(state: Any, rows: Any, instances: Any) -> None:
    """Make each of `rows` the empty knapsack of instances[i]."""
    for k in range(len(rows)):
        row, instance = rows[k], instances[k]
        first = state.items_start[instance]
        state.instance[row], state.picks[row] = instance, 0
        state.used[row, :] = 0.0
        state.fitting[row] = _keep(state, row, state.order[first : first + state.size[instance]], -1)


@kernel
def _keep(state: Any, row: Any, items: Any, without: Any) -> Any:
    """Write those of `items` that fit into what the row has left, except one, into `open` (which may be `items`); how many."""
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
def take_rows(state: Any, rows: Any, items: Any, ends: Any, worth: Any) -> None:
    """Take items into empty knapsacks, those of rows[k] up to ends[k] of `items`, which fit together; `worth` adds them up."""
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
            worth[k] += state.values[first + item]
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
    """The items that fit, the densest first."""
    count = min(len(out), state.fitting[row])
    for k in range(count):
        out[k] = state.open[row, k]
    return count
