"""Dynamic programming over an expanding core: the kernels of `Dp`.

D. Pisinger, A minimal algorithm for the 0-1 knapsack problem, Operations Research 45, 1997. Items are sorted by density (value
over weight). The break solution takes the first items as long as they fit; the break item is the first one that does not. The
core is an interval of items around the break item. It grows on the right, where items may be inserted into the break solution,
and on the left, where items may be removed from it, in turn. A state is a weight and a value that can be reached in this way.

A state is dropped if another one is at most as heavy and at least as valuable, or if an upper bound shows that it leads to no
better solution than the incumbent. An item on which this bound leaves no choice is skipped.
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
CAPACITY, VALUE, MARGIN, DENSITY, BREAK_VALUE, BREAK_WEIGHT = range(6)  # indices of Core.numbers
LEFT, RIGHT, COUNT, BUFFER, NODES, BEST, TURN, DECIDED = range(8)  # indices of Core.at


class Core(NamedTuple):
    """K items by decreasing density, and the states over the core, that is, over the items at[LEFT] + 1 to at[RIGHT] - 1.

    A node is a decision, to insert or to remove an item; each state refers to its last decision, and each decision to the one
    before it.
    """

    values: NDArray[np.float64]
    """[K] the values of the items."""
    weights: NDArray[np.float64]
    """[K] the weights of the items, all positive."""
    numbers: NDArray[np.float64]
    """[6] CAPACITY; VALUE of the incumbent; MARGIN by which a bound must exceed this value for a better solution to be possible;
    DENSITY of the break item; BREAK_VALUE and BREAK_WEIGHT of the break solution.
    """
    at: NDArray[np.int64]
    """[8] LEFT, RIGHT: the next items to remove and to insert; COUNT of states; BUFFER, the row of `value`, `weight` and `node`
    that holds the states; number of NODES; BEST, the incumbent's node, -1 if it was not found as a state; TURN, the side to
    extend next (0: right); number of items DECIDED.
    """
    value: NDArray[np.float64]
    """[2, S] the values of the states, increasing."""
    weight: NDArray[np.float64]
    """[2, S] the weights of the states, increasing."""
    node: NDArray[np.int32]
    """[2, S] the node of each state's last decision; -1 for the break solution."""
    parent: NDArray[np.int32]
    """[P] the node before each node; -1 if there is none."""
    item: NDArray[np.int32]
    """[P] the item of each node. It is inserted if it is the break item or comes after the break item, otherwise removed."""


def new_core(
    values: NDArray[np.float64], weights: NDArray[np.float64], capacity: float, integral: bool, incumbent: float
) -> Core:
    """Return a core with the break solution as its only state.

    Args:
        values: float64 [K], by decreasing density.
        weights: float64 [K], positive; their sum exceeds the capacity.
        capacity: The capacity.
        integral: Whether values are integers: a better solution is then better by at least 1.
        incumbent: The value of the incumbent.
    """
    cumulated = np.cumsum(weights)
    split = int(np.searchsorted(cumulated, capacity, "right"))  # the break item
    break_value, weight = float(values[:split].sum()), float(cumulated[split - 1]) if split else 0.0
    total = float(values.sum())
    margin = 1.0 - 1e-9 - 1e-12 * total if integral else 1e-10 * incumbent
    numbers = np.array([capacity, max(incumbent, break_value), margin, values[split] / weights[split], break_value, weight])
    at = np.array([split - 1, split, 1, 0, 0, -1, 0, 0])
    core = Core(values, weights, numbers, at, *_state_arrays(1024), np.zeros(4096, np.int32), np.zeros(4096, np.int32))
    core.value[0, 0], core.weight[0, 0], core.node[0, 0] = break_value, weight, -1
    return core


def _state_arrays(size: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """Return uninitialised arrays `value`, `weight` and `node` of a Core, for `size` states."""
    return np.empty((2, size)), np.empty((2, size)), np.empty((2, size), np.int32)


def enlarge(core: Core, status: int) -> Core:
    """Return the same core with more space for states if `status` is FULL_LISTS, otherwise for decisions.

    Decisions that no state needs are dropped first; if that frees enough space, the arrays remain. Otherwise they are doubled.
    """
    if status == FULL_LISTS:
        value, weight, node = _state_arrays(2 * core.value.shape[1])
        old = core.value.shape[1]
        value[:, :old], weight[:, :old], node[:, :old] = core.value, core.weight, core.node
        return core._replace(value=value, weight=weight, node=node)
    collect(core)
    if 2 * int(core.at[NODES]) < len(core.parent) - int(core.at[COUNT]):
        return core
    space = np.zeros(len(core.parent), np.int32)
    return core._replace(parent=np.concatenate([core.parent, space]), item=np.concatenate([core.item, space]))


@kernel
def expand(core, units):
    """Extend the core by up to `units` items, in place.

    Returns:
        GOING; DONE if the incumbent is proven optimal; FULL_LISTS or FULL_NODES if the arrays of states or of decisions are full.
    """
    at, k = core.at, len(core.values)
    while units > 0:
        _skip_fixed_items(core)
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
        _skip_fixed_items(core)
        _merge(core, item, sign)
        units -= 1
    return GOING


@kernel
def _skip_fixed_items(core):
    """Move the ends of the core, in place, beyond items on which the bound leaves no choice.

    On the right, these are items that no better solution takes; on the left, items that every better solution takes.
    """
    at, numbers = core.at, core.numbers
    density = numbers[DENSITY]
    root = numbers[BREAK_VALUE] + (numbers[CAPACITY] - numbers[BREAK_WEIGHT]) * density
    required = numbers[VALUE] + numbers[MARGIN]
    while at[RIGHT] < len(core.values):
        i = at[RIGHT]
        if root + core.values[i] - core.weights[i] * density > required:
            break
        at[RIGHT] += 1
    while at[LEFT] >= 0:
        i = at[LEFT]
        if root - core.values[i] + core.weights[i] * density > required:
            break
        at[LEFT] -= 1


@kernel
def _densities(core):
    """Return the greatest gain per unit of free capacity, and the least loss per unit of removed weight, outside the core."""
    left, right = core.at[LEFT], core.at[RIGHT]
    gain = core.values[right] / core.weights[right] if right < len(core.values) else 0.0
    loss = core.values[left] / core.weights[left] if left >= 0 else math.inf
    return gain, loss


@kernel
def _merge(core, item, sign):
    """Extend every state by both decisions on `item`, in place: changed (inserted or removed), or unchanged.

    Changed and unchanged states are both in increasing order of weight and value, and are merged. Dominated states, and states
    that lead to no better solution, are dropped.

    sign: 1 to insert the item, -1 to remove it.
    """
    at, numbers = core.at, core.numbers
    old, new, count = at[BUFFER], 1 - at[BUFFER], at[COUNT]
    value, weight, node = core.value[old], core.weight[old], core.node[old]
    to_value, to_weight, to_node = core.value[new], core.weight[new], core.node[new]
    capacity, best, margin = numbers[CAPACITY], numbers[VALUE], numbers[MARGIN]
    value_change, weight_change = sign * core.values[item], sign * core.weights[item]
    gain, loss = _densities(core)
    a = b = kept_count = 0
    nodes, last_value = at[NODES], -math.inf
    while a < count or b < count:
        unchanged = b >= count
        if not unchanged and a < count:
            difference = weight[b] + weight_change - weight[a]
            unchanged = difference > 0.0 or (difference == 0.0 and value[a] >= value[b] + value_change)
        if unchanged:
            v, w, source = value[a], weight[a], node[a]
            a += 1
        else:
            v, w, source = value[b] + value_change, weight[b] + weight_change, node[b]
            b += 1
        if v <= last_value:
            continue
        last_value = v
        better = w <= capacity and v > best
        bound = v + (capacity - w) * gain if w <= capacity else v - (w - capacity) * loss
        useful = bound > (v if better else best) + margin
        if not (better or useful):
            continue
        if not unchanged:
            core.parent[nodes], core.item[nodes] = source, item
            source = nodes
            nodes += 1
        if better:
            best, at[BEST] = v, source
        if useful:
            to_value[kept_count], to_weight[kept_count], to_node[kept_count] = v, w, source
            kept_count += 1
    numbers[VALUE], at[NODES], at[COUNT], at[BUFFER] = best, nodes, kept_count, new


@kernel
def upper_bound(core):
    """Return an upper bound on the value of every solution; the core may skip items, in place."""
    _skip_fixed_items(core)
    gain, loss = _densities(core)
    value, weight = core.value[core.at[BUFFER]], core.weight[core.at[BUFFER]]
    bound, capacity = core.numbers[VALUE], core.numbers[CAPACITY]
    for i in range(core.at[COUNT]):
        excess = weight[i] - capacity
        bound = max(bound, value[i] - excess * (gain if excess <= 0.0 else loss))
    return bound


@kernel
def collect(core):
    """Drop decisions on which neither a state nor the incumbent depends, and renumber the remaining ones, in place."""
    at, node, parent = core.at, core.node[core.at[BUFFER]], core.parent
    number = np.full(at[NODES] + 1, -1, np.int32)  # the last entry belongs to -1, no decision
    for i in range(at[COUNT]):
        number[node[i]] = 0
    number[at[BEST]] = 0
    for i in range(at[NODES] - 1, -1, -1):
        if number[i] == 0:
            number[parent[i]] = 0
    number[-1] = -1
    kept_count = 0
    for i in range(at[NODES]):
        if number[i] == 0:
            parent[kept_count], core.item[kept_count] = number[parent[i]], core.item[i]
            number[i] = kept_count
            kept_count += 1
    for i in range(at[COUNT]):
        node[i] = number[node[i]]
    at[BEST], at[NODES] = number[at[BEST]], kept_count


@kernel
def decisions(core, taken):
    """Change `taken`, bool [K], from the break solution into the incumbent, in place.

    Nothing is changed if the incumbent was not found as a state (at[BEST] is -1).
    """
    i = core.at[BEST]
    while i >= 0:
        item = core.item[i]
        taken[item] = not taken[item]
        i = core.parent[i]
