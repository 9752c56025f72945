"""Kernels that build layouts tensor by tensor: by definition order, or by priority as a compiler does."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.problems.memory.timing import HIGH, LOW, OFFSET, SIZE, lowest_offset
from corl.solvers.memory.layout import EPSILON, RUN_ACCESS, RUN_TENSOR, Program, evaluate, latest_start, put

__all__ = ["Filling", "benefits", "compatible", "fill", "new_filling", "repack", "span", "try_group"]

PLACE, ACCESS, LAST, FREE = range(4)
"""Indices of `Filling.at`."""


@kernel
def benefits(program):
    """Return the seconds that each tensor would save if it alone were in fast memory, float64 [T]."""
    saved, rates = np.zeros(len(program.sizes)), program.rates
    for t in range(len(saved)):
        for a in range(program.first[t], program.first[t + 1]):
            i, count = program.use_op[a], program.use_bytes[a]
            before = max(program.compute[i], program.bytes[i] / rates[0])
            after = max(program.compute[i], (program.bytes[i] - count) / rates[0] + count / rates[1])
            saved[t] += before - after
    return saved


class Filling(NamedTuple):
    """The progress of `fill`."""

    order: NDArray[np.int64]
    """Tensors, in the order in which they are tried."""
    done: NDArray[np.bool_]
    """[G] alias groups that have been tried."""
    at: NDArray[np.int64]
    """[4] the position in `order`, -1 before the first; the access with which the next run begins; the last access of the next
    run, -1: all; the operation from which on the tensor has no run."""
    value: NDArray[np.float64]
    """[1] seconds of the layout."""


def new_filling(program: Program, order: NDArray[np.int64]) -> Filling:
    """Return a filling in which nothing has been tried."""
    return Filling(order, np.zeros(len(program.shares_offset), np.bool_), np.array([-1, 0, -1, 0]), np.zeros(1))


@kernel
def fill(program, layout, filling, copies, ratio, tries):
    """Give the tensors in `order` the longest runs that fit and make the program faster, in place.

    A run begins with a definition, at the lowest free offset; or, if `copies`, with a copy that begins as late as the idle
    bandwidth can move `ratio` times its bytes. It is removed if the simulated time does not fall, so copies stay within the idle
    bandwidth unless a stall pays. Runs that exist already stay.

    Args:
        program: The Program.
        layout: The Layout to fill.
        filling: The progress, a Filling.
        copies: Whether runs may begin with copies.
        ratio: See above.
        tries: The largest number of runs to try in this call.

    Returns:
        Whether there are more runs to try.
    """
    at, order, done = filling.at, filling.order, filling.done
    if at[PLACE] < 0:
        filling.value[0] = evaluate(program, layout)
        for r in range(layout.filled[0]):
            if program.group[layout.runs[r, RUN_TENSOR]] >= 0:
                done[program.group[layout.runs[r, RUN_TENSOR]]] = True
        at[PLACE] = 0
    for _ in range(tries):
        if at[PLACE] == len(order):
            break
        t = order[at[PLACE]]
        g = program.group[t]
        if g < 0:
            _try_next(program, layout, filling, t, copies, ratio)
            continue
        if program.shares_offset[g] and not done[g] and copies:
            filling.value[0] = try_group(program, layout, g, ratio, filling.value[0])
        done[g] = True
        at[PLACE] += 1
    return at[PLACE] < len(order)


@kernel
def _try_next(program, layout, filling, t, copies, ratio):
    """Try the next run of a tensor, or advance to its next access or to the next tensor, in place."""
    at, k, last = filling.at, filling.at[ACCESS], filling.at[LAST]
    uses = program.first[t + 1] - program.first[t]
    if k == 0 and last < 0:
        at[FREE] = _first_free(program, layout, t)
    if k == uses:
        at[PLACE], at[ACCESS], at[LAST] = at[PLACE] + 1, 0, -1
        return
    if last < 0:
        last = uses - 1
        if program.use_op[program.first[t] + k] < at[FREE] or not (copies or (k == 0 and program.made[t] >= 0)):
            at[ACCESS] += 1
            return
    now = _try_run(program, layout, t, k, last, at[FREE], ratio, filling.value[0])
    if now < filling.value[0]:
        filling.value[0], at[FREE] = now, layout.rects[layout.filled[0] - 1, HIGH]
        at[ACCESS], at[LAST] = last + 1, -1
    elif last > k:
        at[LAST] = last - 1
    else:
        at[ACCESS], at[LAST] = k + 1, -1


@kernel
def _first_free(program, layout, t):
    """Return the operation from which on a tensor has no run (earlier gaps are not filled)."""
    free = 0
    for r in range(layout.filled[0]):
        if layout.runs[r, RUN_TENSOR] == t:
            free = max(free, layout.rects[r, HIGH])
    return free


@kernel
def _try_run(program, layout, t, k, last, free, ratio, value):
    """Add a run over the accesses k..last of a tensor; return the seconds, or infinity if nothing was changed."""
    low, high = span(program, layout, t, k, last, free, ratio)
    if low < 0:
        return np.inf
    offset = lowest_offset(layout.rects, layout.filled[0], low, high, program.sizes[t], program.capacity)
    if offset < 0:
        return np.inf
    idle = layout.idle.copy()
    put(layout, t, k, low, high, offset, program.sizes[t])
    now = evaluate(program, layout)
    if now >= value * (1.0 - EPSILON):
        layout.filled[0] -= 1
        copy(idle, layout.idle, len(idle))
        return np.inf
    return now


@kernel
def span(program, layout, t, k, last, free, ratio):
    """Return (from, to) of a run over some accesses of a tensor; from < 0 if it is impossible.

    A definition that has to be copied out stays until idle bandwidth has done so.

    Args:
        program: The Program.
        layout: The Layout, whose `idle` is used.
        t: The tensor.
        k: Its first access in the run.
        last: Its last access in the run.
        free: The operation from which on the run may begin.
        ratio: The idle bytes required during a copy, as a multiple of its size.
    """
    a, n = program.first[t] + k, len(program.compute)
    op, high = program.use_op[a], program.use_op[program.first[t] + last] + 1
    if k == 0 and program.made[t] >= 0:
        if program.output[t] or program.first[t] + last + 1 < program.first[t + 1]:
            room, end = 0.0, op + 1
            while end < n and (end < high or room < ratio * program.sizes[t]):
                room += layout.idle[end]
                end += 1
            high = max(end, high) if room >= program.sizes[t] else high
            if high < op + 2:
                return -1, -1
        return op, high
    earliest = max(free, program.made[t] + 1)
    if earliest >= op:
        return -1, -1
    return latest_start(layout, op, earliest, ratio * program.sizes[t]), high


@kernel
def try_group(program, layout, g, ratio, value):
    """Put all tensors of an alias group into fast memory at one offset, in place, if that is possible and pays.

    Args:
        program: The Program.
        layout: The Layout.
        g: The group.
        ratio: The idle bytes required during a copy, as a multiple of its size.
        value: The seconds of the layout.

    Returns:
        The seconds of the new layout, or `value`.
    """
    before = layout.filled[0]
    members = program.member[program.member_first[g] : program.member_first[g + 1]]
    size = 0
    for t in members:
        size = max(size, program.sizes[t])
    offset, capacity = 0, program.capacity
    for _ in range(2 * (before + 1)):  # raise the offset until it is free for all members
        if offset + size > capacity:
            break
        raised = offset
        for t in members:
            low, high = span(program, layout, t, 0, program.first[t + 1] - program.first[t] - 1, 0, ratio)
            if low < 0:
                return value
            for r in range(before):
                inside = layout.rects[r, LOW] < high and low < layout.rects[r, HIGH] and layout.rects[r, OFFSET] < offset + size
                if inside and offset < layout.rects[r, OFFSET] + layout.rects[r, SIZE]:
                    raised = max(raised, layout.rects[r, OFFSET] + layout.rects[r, SIZE])
        if raised == offset:
            break
        offset = raised
    if offset + size > capacity:
        return value
    for t in members:
        low, high = span(program, layout, t, 0, program.first[t + 1] - program.first[t] - 1, 0, ratio)
        put(layout, t, 0, low, high, offset, program.sizes[t])
    ok = True
    for r in range(before, layout.filled[0]):
        for s in range(before, r):
            ok = ok and compatible(program, layout, r, s)
    now = evaluate(program, layout) if ok else np.inf
    if now < value * (1.0 - EPSILON):
        return now
    layout.filled[0] = before
    evaluate(program, layout)
    return value


@kernel
def compatible(program, layout, r, s):
    """Return whether two runs of a group at one offset do not overlap, or one is written over the other at its end."""
    if layout.rects[r, LOW] > layout.rects[s, LOW]:
        r, s = s, r
    new = layout.runs[s, RUN_TENSOR]
    if layout.rects[r, HIGH] <= layout.rects[s, LOW]:
        return True
    if layout.rects[r, HIGH] != layout.rects[s, LOW] + 1 or program.made[new] != layout.rects[s, LOW]:
        return False
    old = layout.runs[r, RUN_TENSOR]
    return np.any(program.use_op[program.first[old] : program.first[old + 1]] == layout.rects[s, LOW])


@kernel
def repack(program, layout, order):
    """Place all runs again at their lowest free offsets, in the given order of indices, in place; drop those that do not fit.

    Runs of alias groups keep their offsets and come first. Returns the number of dropped runs.
    """
    count = layout.filled[0]
    runs, rects = layout.runs[:count].copy(), layout.rects[:count].copy()
    layout.filled[0] = 0
    for r in range(count):
        if program.group[runs[r, RUN_TENSOR]] >= 0:
            put(layout, runs[r, RUN_TENSOR], runs[r, RUN_ACCESS], rects[r, LOW], rects[r, HIGH], rects[r, OFFSET], rects[r, SIZE])
    dropped = 0
    for at in range(count):
        r = order[at]
        if program.group[runs[r, RUN_TENSOR]] >= 0:
            continue
        low, high, size = rects[r, LOW], rects[r, HIGH], rects[r, SIZE]
        offset = lowest_offset(layout.rects, layout.filled[0], low, high, size, program.capacity)
        if offset < 0:
            dropped += 1
        else:
            put(layout, runs[r, RUN_TENSOR], runs[r, RUN_ACCESS], low, high, offset, size)
    return dropped
