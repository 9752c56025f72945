"""The pool of partly filled knapsacks (arrays with a row for each) and its kernels, which `corl.search` calls (corl.hooks)."""

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
    """The pool, with R rows and I instances. An instance has n items and m capacities; N and M are the greatest of these."""

    size: NDArray[np.int64]
    """[I] n, the number of items."""
    constraints: NDArray[np.int64]
    """[I] m, the number of capacities."""
    items_start: NDArray[np.int64]
    """[I] index of the instance's first item in `values` and `order`."""
    weights_start: NDArray[np.int64]
    """[I] index of the instance's first weight in `weights`: n * m weights, grouped by item."""
    limits_start: NDArray[np.int64]
    """[I] index of the instance's first capacity in `limits`."""
    values: NDArray[np.float64]
    """[sum of n] the values of the items of all instances."""
    weights: NDArray[np.float64]
    """[sum of n * m] the weights of the items of all instances."""
    limits: NDArray[np.float64]
    """[sum of m] the capacities of all instances, increased by half the judge's tolerance."""
    order: NDArray[np.int32]
    """[sum of n] the items of all instances, for each instance by decreasing density (`environment.density`)."""
    instance: NDArray[np.int32]
    """[R] the index of the row's instance."""
    used: NDArray[np.float64]
    """[R, M] for each capacity, the total weight of the items taken."""
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
        state.fitting[row] = _list_fitting(state, row, state.order[first : first + state.size[instance]], -1)


@kernel
def _list_fitting(state: Any, row: Any, items: Any, without: Any) -> Any:
    """Write the items that fit into the remaining capacities of a row to state.open[row], in place.

    Args:
        state: The pool.
        row: The row.
        items: int32 [k], the candidates. May be a view of state.open[row].
        without: An item to exclude; -1 to exclude none.

    Returns:
        The number of items written.
    """
    instance = state.instance[row]
    m, limits = state.constraints[instance], state.limits_start[instance]
    fitting_count = 0
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
            state.open[row, fitting_count] = item
            fitting_count += 1
    return fitting_count


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
    state.fitting[dst] = _list_fitting(state, dst, state.open[src, :fitting], action)
    return state.values[state.items_start[instance] + action]


@kernel
def take_rows(state: Any, rows: Any, items: Any, ends: Any, bases: Any) -> None:
    """Take several items at once into each of some empty knapsacks, in place.

    Args:
        state: The pool.
        rows: int64 [k], rows with empty knapsacks.
        items: int64, the items to take: those of rows[0], then those of rows[1], and so on. The items of a row fit together.
        ends: int64 [k], the index in `items` at which the items of rows[k] end.
        bases: float64 [k], to which the total value of the row's items is added, in place.
    """
    first_of_row = 0
    for k in range(len(rows)):
        row, picks = rows[k], ends[k] - first_of_row
        instance = state.instance[row]
        m, first = state.constraints[instance], state.items_start[instance]
        is_taken = np.zeros(state.size[instance], np.bool_)
        for i in range(picks):
            item = items[first_of_row + i]
            is_taken[item] = True
            state.taken[row, i] = item
            bases[k] += state.values[first + item]
            for c in range(m):
                state.used[row, c] += state.weights[state.weights_start[instance] + item * m + c]
        open, open_count = state.open[row], 0
        for item in open[: state.fitting[row]]:
            if not is_taken[item]:
                open[open_count] = item
                open_count += 1
        state.picks[row] = picks
        state.fitting[row] = _list_fitting(state, row, open[:open_count], -1)
        first_of_row = ends[k]


@attach(hooks.actions, State)
def _actions(state: Any, row: Any, out: Any) -> Any:
    """List the items that fit, the densest first."""
    count = min(len(out), state.fitting[row])
    for k in range(count):
        out[k] = state.open[row, k]
    return count
