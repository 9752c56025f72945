"""Dynamic programming over an expanding core: the kernels of `Dp`.

D. Pisinger, A minimal algorithm for the 0-1 knapsack problem, Operations Research 45, 1997. Items are sorted by density; the
break solution takes the first ones up to the capacity. From its break item outwards, items are inserted on the right and
removed on the left in turn; a state is a weight and a value that can be reached in this way. Dominated states are dropped, and
those from which no decision outside the core leads to more than the incumbent; items that the same bound fixes are skipped.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = [
    "DONE",
    "FULL_LISTS",
    "FULL_NODES",
    "GOING",
    "Core",
    "collect",
    "decisions",
    "enlarge",
    "expand",
    "new_core",
    "upper_bound",
]

GOING, DONE, FULL_LISTS, FULL_NODES = range(4)  # results of `expand`
CAPACITY, VALUE, MARGIN, DENSITY, BREAK_VALUE, BREAK_WEIGHT = range(6)  # indices of `numbers`
LEFT, RIGHT, COUNT, BUFFER, NODES, BEST, TURN, DECIDED = range(8)  # indices of `at`


class Core(NamedTuple):
    """K items by decreasing density, and the states over the core LEFT + 1 .. RIGHT - 1."""

    values: NDArray[np.float64]
    """[K]"""
    weights: NDArray[np.float64]
    """[K], positive"""
    numbers: NDArray[np.float64]
    """[6] indexed by CAPACITY ... BREAK_WEIGHT: the capacity; the incumbent's value; the least amount by which a bound must
    exceed it; the break item's density; the break solution's value and weight."""
    at: NDArray[np.int64]
    """[8] indexed by LEFT ... DECIDED: the next items to remove and to insert; the number of states and the buffer that holds
    them; the number of nodes; the incumbent's node, -1 if it is not among the states; the side to extend next (0: right); the
    number of items decided on."""
    value: NDArray[np.float64]
    """[2, S] values of the states, increasing"""
    weight: NDArray[np.float64]
    """[2, S] weights of the states, increasing"""
    node: NDArray[np.int32]
    """[2, S] last decision of each state; -1 if it has none"""
    parent: NDArray[np.int32]
    """[P] the decision before each decision; -1 if there is none"""
    item: NDArray[np.int32]
    """[P] item of each decision: inserted from the break item on, otherwise removed"""


def new_core(values: NDArray[np.float64], weights: NDArray[np.float64], capacity: float, integral: bool, known: float) -> Core:
    """Return a core with the break solution as its only state.

    Args:
        values: float64 [K], by decreasing density.
        weights: float64 [K], positive; their sum exceeds the capacity.
        capacity: The capacity.
        integral: Whether values are integers, so that a better solution is better by 1.
        known: The value of an incumbent.
    """
    filled = np.cumsum(weights)
    split = int(np.searchsorted(filled, capacity, "right"))
    break_value, weight = float(values[:split].sum()), float(filled[split - 1]) if split else 0.0
    total = float(values.sum())
    margin = 1.0 - 1e-9 - 1e-12 * total if integral else 1e-10 * known
    numbers = np.array([capacity, max(known, break_value), margin, values[split] / weights[split], break_value, weight])
    at = np.array([split - 1, split, 1, 0, 0, -1, 0, 0])
    core = Core(values, weights, numbers, at, *_lists(1024), np.zeros(4096, np.int32), np.zeros(4096, np.int32))
    core.value[0, 0], core.weight[0, 0], core.node[0, 0] = break_value, weight, -1
    return core


def _lists(size: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    return np.empty((2, size)), np.empty((2, size)), np.empty((2, size), np.int32)


def enlarge(core: Core, status: int) -> Core:
    """Return the same core with twice the space for states (FULL_LISTS) or decisions; unused decisions are dropped first."""
    if status == FULL_LISTS:
        value, weight, node = _lists(2 * core.value.shape[1])
        old = core.value.shape[1]
        value[:, :old], weight[:, :old], node[:, :old] = core.value, core.weight, core.node
        return core._replace(value=value, weight=weight, node=node)
    collect(core)
    if 2 * int(core.at[NODES]) < len(core.parent) - int(core.at[COUNT]):
        return core
    room = np.zeros(len(core.parent), np.int32)
    return core._replace(parent=np.concatenate([core.parent, room]), item=np.concatenate([core.item, room]))


@kernel
def expand(core, units):
    """Insert or remove up to `units` items, in place.

    Returns GOING, DONE (the incumbent is optimal), or which arrays are too small: FULL_LISTS or FULL_NODES.
    """
    at, k = core.at, len(core.values)
    while units > 0:
        _pass_over(core)
        left, right, count = at[LEFT], at[RIGHT], at[COUNT]
        if count == 0 or (left < 0 and right >= k):
            return DONE
        if 2 * count > core.value.shape[1]:
            return FULL_LISTS
        if at[NODES] + count > len(core.parent):
            return FULL_NODES
        if left < 0 or (right < k and at[TURN] == 0):
            at[RIGHT] += 1
            item, sign = right, 1.0
        else:
            at[LEFT] -= 1
            item, sign = left, -1.0
        at[TURN], at[DECIDED] = 1 - at[TURN], at[DECIDED] + 1
        _pass_over(core)
        _merge(core, item, sign)
        units -= 1
    return GOING


@kernel
def _pass_over(core):
    """Move the ends of the core beyond items that no better solution takes (on the right) or leaves (on the left)."""
    at, numbers = core.at, core.numbers
    density = numbers[DENSITY]
    root = numbers[BREAK_VALUE] + (numbers[CAPACITY] - numbers[BREAK_WEIGHT]) * density
    enough = numbers[VALUE] + numbers[MARGIN]
    while at[RIGHT] < len(core.values):
        i = at[RIGHT]
        if root + core.values[i] - core.weights[i] * density > enough:
            break
        at[RIGHT] += 1
    while at[LEFT] >= 0:
        i = at[LEFT]
        if root - core.values[i] + core.weights[i] * density > enough:
            break
        at[LEFT] -= 1


@kernel
def _densities(core):
    """Return the most that a unit of free capacity can gain, and the least that removing a unit of weight costs."""
    left, right = core.at[LEFT], core.at[RIGHT]
    gain = core.values[right] / core.weights[right] if right < len(core.values) else 0.0
    loss = core.values[left] / core.weights[left] if left >= 0 else math.inf
    return gain, loss


@kernel
def _merge(core, item, sign):
    """Replace the states by those with and without a decision on `item`, in place, without dominated and hopeless ones.

    Both lists are in increasing order of weight and value, and are merged. `sign` is 1 to insert the item, -1 to remove it.
    """
    at, numbers = core.at, core.numbers
    old, new, count = at[BUFFER], 1 - at[BUFFER], at[COUNT]
    value, weight, node = core.value[old], core.weight[old], core.node[old]
    to_value, to_weight, to_node = core.value[new], core.weight[new], core.node[new]
    capacity, best, margin = numbers[CAPACITY], numbers[VALUE], numbers[MARGIN]
    value_change, weight_change = sign * core.values[item], sign * core.weights[item]
    gain, loss = _densities(core)
    a = b = kept = 0
    nodes, top = at[NODES], -math.inf
    while a < count or b < count:
        first = b >= count
        if not first and a < count:
            difference = weight[b] + weight_change - weight[a]
            first = difference > 0.0 or (difference == 0.0 and value[a] >= value[b] + value_change)
        if first:
            v, w, source = value[a], weight[a], node[a]
            a += 1
        else:
            v, w, source = value[b] + value_change, weight[b] + weight_change, node[b]
            b += 1
        if v <= top:
            continue
        top = v
        better = w <= capacity and v > best
        bound = v + (capacity - w) * gain if w <= capacity else v - (w - capacity) * loss
        useful = bound > (v if better else best) + margin
        if not (better or useful):
            continue
        if not first:
            core.parent[nodes], core.item[nodes] = source, item
            source = nodes
            nodes += 1
        if better:
            best, at[BEST] = v, source
        if useful:
            to_value[kept], to_weight[kept], to_node[kept] = v, w, source
            kept += 1
    numbers[VALUE], at[NODES], at[COUNT], at[BUFFER] = best, nodes, kept, new


@kernel
def upper_bound(core):
    """Return an upper bound on the value of every solution."""
    _pass_over(core)
    gain, loss = _densities(core)
    value, weight = core.value[core.at[BUFFER]], core.weight[core.at[BUFFER]]
    most, capacity = core.numbers[VALUE], core.numbers[CAPACITY]
    for i in range(core.at[COUNT]):
        over = weight[i] - capacity
        most = max(most, value[i] - over * (gain if over <= 0.0 else loss))
    return most


@kernel
def collect(core):
    """Drop decisions on which neither a state nor the incumbent depends, and renumber the others, in place."""
    at, node, parent = core.at, core.node[core.at[BUFFER]], core.parent
    number = np.full(at[NODES] + 1, -1, np.int32)  # the last entry belongs to -1, no decision
    for i in range(at[COUNT]):
        number[node[i]] = 0
    number[at[BEST]] = 0
    for i in range(at[NODES] - 1, -1, -1):
        if number[i] == 0:
            number[parent[i]] = 0
    number[-1] = -1
    kept = 0
    for i in range(at[NODES]):
        if number[i] == 0:
            parent[kept], core.item[kept] = number[parent[i]], core.item[i]
            number[i] = kept
            kept += 1
    for i in range(at[COUNT]):
        node[i] = number[node[i]]
    at[BEST], at[NODES] = number[at[BEST]], kept


@kernel
def decisions(core, taken):
    """Change `taken`, bool [K], from the break solution into the incumbent, in place, if that is among the states."""
    i = core.at[BEST]
    while i >= 0:
        item = core.item[i]
        taken[item] = not taken[item]
        i = core.parent[i]
