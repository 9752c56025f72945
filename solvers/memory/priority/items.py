"""Items that compete for fast memory, and their features for the network.

An item is a tensor with the accesses k..j that fast memory is to serve: a single access, two consecutive ones, or all. So a
tensor can be kept over a short gap between accesses and copied in again after a long one. An alias group is a single item.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.memory.layout import Layout, Program

__all__ = ["FEATURES", "Items", "items_of", "observe"]

FEATURES = 16
"""The number of features of an item; `observe` defines them."""
(
    _SAVED, _SHARE, _OPERATIONS, _SECONDS, _WANTED, _MEAN_OCCUPIED, _MOST_OCCUPIED, _IS_COPIED_IN, _IDLE, _IS_COPIED_OUT,
    _IS_LAST, _MEMBERS, _NEXT_USE, _TIGHT, _IS_KEPT, _SERVED,
) = range(FEATURES)  # fmt: skip
_WINDOW = 32  # the number of operations before an item over which idle bandwidth is summed
_MAX_LOGARITHM = 8.0  # the limit on the absolute value of logarithms


class Items(NamedTuple):
    """N items of a program with O operations and A accesses, and data that do not change while items are placed."""

    tensor: NDArray[np.int64]
    """[N] the item's tensor; of an alias group, the first member."""
    first: NDArray[np.int64]
    """[N] k, the number of the item's first access among the tensor's accesses."""
    last: NDArray[np.int64]
    """[N] j, the number of the item's last access among the tensor's accesses."""
    saved: NDArray[np.float64]
    """[A] seconds that each access would save if it alone were served from fast memory."""
    tight: NDArray[np.float64]
    """[O] the share of an operation's duration by which memory takes longer than computation, with everything in slow memory."""
    clock: NDArray[np.float64]
    """[O + 1] the time at which each operation begins, in seconds, with everything in slow memory; last, the end."""
    wanted: NDArray[np.float64]
    """[O + 1] the sum, over all earlier operations, of the total size of live tensors, in capacities of fast memory."""


def items_of(program: Program) -> Items:
    """Return all items of a program; tensors larger than the fast memory have none."""
    tensor, first, last = _spans(program)
    rates = program.rates
    slow = program.bytes / rates[0]
    seconds = np.maximum(program.compute, slow)
    op, moved = program.use_op, program.use_bytes
    after = np.maximum(program.compute[op], slow[op] - moved / rates[0] + moved / rates[1])
    live = np.zeros(len(seconds) + 1)
    used = np.flatnonzero(np.diff(program.first_access))
    np.add.at(live, op[program.first_access[used]], program.sizes[used])
    np.subtract.at(live, op[program.first_access[used + 1] - 1] + 1, program.sizes[used])
    wanted = np.cumsum(live)[:-1] / max(1, program.capacity)
    return Items(
        tensor=tensor,
        first=first,
        last=last,
        saved=np.maximum(0.0, seconds[op] - after),
        tight=(seconds - program.compute) / np.maximum(seconds, 1e-30),
        clock=np.append(0.0, np.cumsum(seconds)),
        wanted=np.append(0.0, np.cumsum(wanted)),
    )


def _spans(program: Program) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return tensor, k and j of all items, int64 [N] each.

    A tensor with u accesses has u items with one access, u - 1 with two and, if u > 2, one with all accesses.
    """
    uses, group = np.diff(program.first_access), program.group
    fitting = np.flatnonzero((uses > 0) & (program.sizes <= program.capacity))
    lone = fitting[group[fitting] < 0]
    grouped = fitting[group[fitting] >= 0]
    leaders = grouped[np.unique(group[grouped], return_index=True)[1]]
    leaders = leaders[program.shares_offset[group[leaders]]]
    counts = np.zeros(len(uses), np.int64)
    counts[lone] = 2 * uses[lone] - 1 + (uses[lone] > 2)
    counts[leaders] = 1
    tensor = np.repeat(np.arange(len(uses)), counts)
    k, u = np.arange(len(tensor)) - np.repeat(np.cumsum(counts) - counts, counts), uses[tensor]
    single, pair = (k < u) & (group[tensor] < 0), (k >= u) & (k < 2 * u - 1) & (group[tensor] < 0)
    first = np.where(single, k, np.where(pair, k - u, 0))
    return tensor, first, np.where(single, k, np.where(pair, k - u + 1, u - 1))


@kernel
def observe(
    program: Program, items: Items, layout: Layout, occupied: NDArray[np.float64], served: NDArray[np.bool_], n: int, out: Any
) -> None:
    """Write the features of item n in a layout to `out`, float64 [FEATURES], in place.

    Args:
        program: The Program.
        items: The Items.
        layout: The Layout.
        occupied: [O], the occupied share of fast memory during each operation.
        served: [A], whether an access is in a run of its tensor.
        n: The item.
        out: The features.
    """
    t, k, j = items.tensor[n], items.first[n], items.last[n]
    a, g = program.first_access[t], program.group[t]
    begin, end, operations = program.use_op[a + k], program.use_op[a + j] + 1, len(program.compute)
    low, high, size, saved, members = begin, end, program.sizes[t], 0.0, 0
    if g >= 0:
        for m in range(program.first_member[g], program.first_member[g + 1]):
            other = program.member[m]
            members += 1
            size = max(size, program.sizes[other])
            for b in range(program.first_access[other], program.first_access[other + 1]):
                saved += items.saved[b]
                low, high = min(low, program.use_op[b]), max(high, program.use_op[b] + 1)
    else:
        for b in range(a + k, a + j + 1):
            saved += items.saved[b]
    mean, share = items.clock[-1] / operations, size / max(1.0, float(program.capacity))
    copied_in = k > 0 or program.definition[t] < 0
    max_occupied, total, idle = 0.0, 0.0, 0.0
    for i in range(low, high):
        max_occupied = max(max_occupied, occupied[i])
        total += occupied[i]
    for i in range(max(program.definition[t] + 1, low - _WINDOW), low):
        idle += layout.idle[i]
    out[_SAVED] = _logarithm(saved / mean)
    out[_SHARE] = _logarithm(share)
    out[_OPERATIONS] = math.log(float(high - low))
    out[_SECONDS] = _logarithm((items.clock[high] - items.clock[low]) / mean)
    out[_WANTED] = math.log(1.0 + (items.wanted[high] - items.wanted[low]) / (high - low))
    out[_MEAN_OCCUPIED] = total / (high - low)
    out[_MOST_OCCUPIED] = max_occupied
    out[_IS_COPIED_IN] = 1.0 if copied_in else 0.0
    out[_IDLE] = min(4.0, idle / max(1.0, float(size))) if copied_in else 4.0
    out[_IS_COPIED_OUT] = 1.0 if not copied_in and (program.output[t] or j + 1 < program.first_access[t + 1] - a) else 0.0
    out[_IS_LAST] = 1.0 if j == program.first_access[t + 1] - a - 1 else 0.0
    out[_MEMBERS] = float(min(members, 4))
    out[_NEXT_USE] = math.log(1.0 + program.use_op[a + j + 1] - end) if a + j + 1 < program.first_access[t + 1] else -1.0
    out[_TIGHT] = items.tight[program.use_op[a + j]]
    out[_IS_KEPT] = 1.0 if k < j else 0.0
    out[_SERVED] = 1.0 if served[a + k] else 0.0


@kernel
def _logarithm(x: float) -> float:
    """Return the natural logarithm of x >= 0, limited to +- _MAX_LOGARITHM."""
    return max(-_MAX_LOGARITHM, min(_MAX_LOGARITHM, math.log(x + 1e-9)))
