"""Items that compete for fast memory, and what the network sees of them.

An item is a tensor with the accesses k..j that fast memory is to serve: one access, two that follow each other, or all; or
a whole alias group. So a tensor can be kept over a short gap and be brought in again after a long one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.solvers.memory.mapping.layout import Layout, Program

if TYPE_CHECKING:
    from corl.solvers.memory.mapping.relaxation import Relaxed

__all__ = ["FEATURES", "Items", "items_of", "observe", "shares"]

FEATURES = 16
"""Numbers that the network sees of an item; which they are, `observe` says."""
_LOOK = 32  # operations before an item in which idle bandwidth counts
_LONG = 8.0  # logarithms are cut off at this size


class Items(NamedTuple):
    """N items of a program, and what does not change while they are placed."""

    tensor: NDArray[np.int64]
    """[N] the tensor; the first member of an alias group."""
    first: NDArray[np.int64]
    """[N] k, its first access within the tensor's."""
    last: NDArray[np.int64]
    """[N] j"""
    saved: NDArray[np.float64]
    """[A] seconds that each access would save if it alone were served from fast memory."""
    tight: NDArray[np.float64]
    """[O] by how much of its time each operation waits for memory, with everything in slow memory."""
    clock: NDArray[np.float64]
    """[O + 1] seconds before each operation, with everything in slow memory."""
    wanted: NDArray[np.float64]
    """[O + 1] sums before each operation of what all live tensors take, in capacities."""


def items_of(program: Program) -> Items:
    """All items of a program; tensors larger than the fast memory have none."""
    rows, seen = [], set()
    for t in range(len(program.sizes)):
        uses, g = int(program.first[t + 1] - program.first[t]), int(program.group[t])
        if not uses or program.sizes[t] > program.capacity or (g >= 0 and (g in seen or not program.together[g])):
            continue
        if g >= 0:
            seen.add(g)
            rows.append((t, 0, uses - 1))
            continue
        rows += [(t, k, k) for k in range(uses)] + [(t, k, k + 1) for k in range(uses - 1)]
        rows += [(t, 0, uses - 1)] if uses > 2 else []
    table = np.array(rows, np.int64).reshape(-1, 3)
    rates = program.rates
    slow = program.bytes / rates[0]
    seconds = np.maximum(program.compute, slow)
    op, moved = program.use_op, program.use_bytes
    after = np.maximum(program.compute[op], slow[op] - moved / rates[0] + moved / rates[1])
    live = np.zeros(len(seconds) + 1)
    for t in range(len(program.sizes)):
        if program.first[t] < program.first[t + 1]:
            live[op[program.first[t]]] += program.sizes[t]
            live[op[program.first[t + 1] - 1] + 1] -= program.sizes[t]
    wanted = np.cumsum(live)[:-1] / max(1, program.capacity)
    return Items(
        tensor=table[:, 0].copy(),
        first=table[:, 1].copy(),
        last=table[:, 2].copy(),
        saved=np.maximum(0.0, seconds[op] - after),
        tight=(seconds - program.compute) / np.maximum(seconds, 1e-30),
        clock=np.append(0.0, np.cumsum(seconds)),
        wanted=np.append(0.0, np.cumsum(wanted)),
    )


def shares(program: Program, items: Items, relaxed: Relaxed) -> NDArray[np.float64]:
    """Which share of each item a linear relaxation has in fast memory, float64 [N]: the least of its accesses and gaps."""
    found = np.empty(len(items.tensor))
    for n, (t, k, j) in enumerate(zip(items.tensor.tolist(), items.first.tolist(), items.last.tolist())):
        a = int(program.first[t])
        found[n] = min(relaxed.served[a + k : a + j + 1].min(), relaxed.kept[a + k + 1 : a + j + 1].min(initial=1.0))
    return found


@kernel
def observe(
    program: Program, items: Items, layout: Layout, occupied: NDArray[np.float64], n: int, out: NDArray[np.float64]
) -> None:
    """What the network sees of item n in a layout: float64 [FEATURES]. occupied: [O] shares of fast memory that are taken."""
    t, k, j = items.tensor[n], items.first[n], items.last[n]
    a, g = program.first[t], program.group[t]
    begin, end, operations = program.use_op[a + k], program.use_op[a + j] + 1, len(program.compute)
    low, high, size, saved, members = begin, end, program.sizes[t], 0.0, 0
    if g >= 0:
        for m in range(program.member_first[g], program.member_first[g + 1]):
            other = program.member[m]
            members += 1
            size = max(size, program.sizes[other])
            for b in range(program.first[other], program.first[other + 1]):
                saved += items.saved[b]
                low, high = min(low, program.use_op[b]), max(high, program.use_op[b] + 1)
    else:
        for b in range(a + k, a + j + 1):
            saved += items.saved[b]
    mean, share = items.clock[-1] / operations, size / max(1.0, float(program.capacity))
    comes = k > 0 or program.made[t] < 0
    most, total, idle = 0.0, 0.0, 0.0
    for i in range(low, high):
        most = max(most, occupied[i])
        total += occupied[i]
    for i in range(max(program.made[t] + 1, low - _LOOK), low):
        idle += layout.idle[i]
    out[0] = _logarithm(saved / mean)
    out[1] = _logarithm(share)
    out[2] = math.log(float(high - low))
    out[3] = _logarithm((items.clock[high] - items.clock[low]) / mean)
    out[4] = math.log(1.0 + (items.wanted[high] - items.wanted[low]) / (high - low))
    out[5] = total / (high - low)
    out[6] = most
    out[7] = 1.0 if comes else 0.0
    out[8] = min(4.0, idle / max(1.0, float(size))) if comes else 4.0
    out[9] = 1.0 if not comes and (program.output[t] or j + 1 < program.first[t + 1] - a) else 0.0
    out[10] = 1.0 if j == program.first[t + 1] - a - 1 else 0.0
    out[11] = float(min(members, 4))
    out[12] = math.log(1.0 + program.use_op[a + j + 1] - end) if a + j + 1 < program.first[t + 1] else -1.0
    out[13] = items.tight[program.use_op[a + j]]
    out[14] = 1.0 if k < j else 0.0
    out[15] = 1.0 if _served(program, layout, t, begin) else 0.0


@kernel
def _logarithm(x):
    return max(-_LONG, min(_LONG, math.log(x + 1e-9)))


@kernel
def _served(program, layout, t, op):
    """Whether a run of the tensor covers an operation."""
    found = False
    for r in range(layout.filled[0]):
        found |= layout.runs[r, 0] == t and layout.rects[r, 0] <= op < layout.rects[r, 1]
    return found
