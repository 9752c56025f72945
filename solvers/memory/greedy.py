"""Kernels that build layouts (layout.py) tensor by tensor, in a given order.

A run is a set of consecutive accesses of a tensor that fast memory serves. The arguments k and `last` of kernels are the numbers
of a run's first and last access among the tensor's accesses.
"""

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
"""Indices of `Filling.at`, the next run that `fill` tries: the position of its tensor in `order`, -1 before the first call; the
run's first access; the run's last access, -1: the tensor's last; the operation from which on the tensor has no run yet."""


@kernel
def benefits(program):
    """Return the seconds that each tensor would save if it alone were in fast memory all the time, float64 [T]."""
    saved, rates = np.zeros(len(program.sizes)), program.rates
    for t in range(len(saved)):
        for a in range(program.first_access[t], program.first_access[t + 1]):
            i, count = program.use_op[a], program.use_bytes[a]
            before = max(program.compute[i], program.bytes[i] / rates[0])
            after = max(program.compute[i], (program.bytes[i] - count) / rates[0] + count / rates[1])
            saved[t] += before - after
    return saved


class Filling(NamedTuple):
    """The progress of `fill`, which tries a limited number of runs per call."""

    order: NDArray[np.int64]
    """[T or fewer] tensors, in the order in which they are tried."""
    done: NDArray[np.bool_]
    """[G] alias groups that have been tried."""
    at: NDArray[np.int64]
    """[4] indexed by PLACE ... FREE: the next run to try."""
    value: NDArray[np.float64]
    """[1] the run time with the layout, in seconds."""


def new_filling(program: Program, order: NDArray[np.int64]) -> Filling:
    """Return the progress before the first call of `fill`."""
    return Filling(order, np.zeros(len(program.shares_offset), np.bool_), np.array([-1, 0, -1, 0]), np.zeros(1))


@kernel
def fill(program, layout, filling, copies, ratio, tries):
    """Give each tensor in `filling.order` the longest runs that fit and make the program faster, in place.

    A run is placed at the lowest free offset, and removed again if the simulated run time does not fall. Runs that exist already
    stay.

    Args:
        program: The Program.
        layout: The Layout to fill.
        filling: The progress, a Filling.
        copies: Whether runs may begin with a copy into fast memory; False: only with a tensor's definition.
        ratio: A copy begins with the latest operation from which on idle bandwidth moves `ratio` times the tensor's bytes before
            the first access.
        tries: The largest number of runs to try in this call.

    Returns:
        Whether there are more runs to try.
    """
    at, order, done = filling.at, filling.order, filling.done
    if at[PLACE] < 0:
        filling.value[0] = evaluate(program, layout)
        for r in range(layout.run_count[0]):
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
    """Try the next run of tensor t, and advance to the run to try after it or to the next tensor, in place.

    After a run that is not kept, a run that ends one access earlier is tried, down to a single access.
    """
    at, k, last = filling.at, filling.at[ACCESS], filling.at[LAST]
    uses = program.first_access[t + 1] - program.first_access[t]
    if k == 0 and last < 0:
        at[FREE] = _first_free(program, layout, t)
    if k == uses:
        at[PLACE], at[ACCESS], at[LAST] = at[PLACE] + 1, 0, -1
        return
    if last < 0:
        last = uses - 1
        if program.use_op[program.first_access[t] + k] < at[FREE] or not (copies or (k == 0 and program.definition[t] >= 0)):
            at[ACCESS] += 1
            return
    now = _try_run(program, layout, t, k, last, at[FREE], ratio, filling.value[0])
    if now < filling.value[0]:
        filling.value[0], at[FREE] = now, layout.rects[layout.run_count[0] - 1, HIGH]
        at[ACCESS], at[LAST] = last + 1, -1
    elif last > k:
        at[LAST] = last - 1
    else:
        at[ACCESS], at[LAST] = k + 1, -1


@kernel
def _first_free(program, layout, t):
    """Return the operation from which on a tensor has no run. Gaps between its runs are not filled."""
    free = 0
    for r in range(layout.run_count[0]):
        if layout.runs[r, RUN_TENSOR] == t:
            free = max(free, layout.rects[r, HIGH])
    return free


@kernel
def _try_run(program, layout, t, k, last, free, ratio, value):
    """Add a run over accesses k..last of a tensor if it fits and lowers the run time `value`, in place.

    Returns the new run time in seconds, or infinity if the run was not added.
    """
    low, high = span(program, layout, t, k, last, free, ratio)
    if low < 0:
        return np.inf
    offset = lowest_offset(layout.rects, layout.run_count[0], low, high, program.sizes[t], program.capacity)
    if offset < 0:
        return np.inf
    idle = layout.idle.copy()
    put(layout, t, k, low, high, offset, program.sizes[t])
    now = evaluate(program, layout)
    if now >= value * (1.0 - EPSILON):
        layout.run_count[0] -= 1
        copy(idle, layout.idle, len(idle))
        return np.inf
    return now


@kernel
def span(program, layout, t, k, last, free, ratio):
    """Return the span of operations, (first, after the last), of a run; the first is -1 if the run is impossible.

    A tensor that has to be copied out after its definition stays until idle bandwidth has moved it.

    Args:
        program: The Program.
        layout: The Layout, whose `idle` is used.
        t: The tensor.
        k: The run's first access.
        last: The run's last access.
        free: The operation from which on the run may begin.
        ratio: The idle bytes required during a copy, as a multiple of the tensor's bytes.
    """
    a, n = program.first_access[t] + k, len(program.compute)
    op, high = program.use_op[a], program.use_op[program.first_access[t] + last] + 1
    if k == 0 and program.definition[t] >= 0:
        if program.output[t] or program.first_access[t] + last + 1 < program.first_access[t + 1]:
            moved, end = 0.0, op + 1
            while end < n and (end < high or moved < ratio * program.sizes[t]):
                moved += layout.idle[end]
                end += 1
            high = max(end, high) if moved >= program.sizes[t] else high
            if high < op + 2:
                return -1, -1
        return op, high
    earliest = max(free, program.definition[t] + 1)
    if earliest >= op:
        return -1, -1
    return latest_start(layout, op, earliest, ratio * program.sizes[t]), high


@kernel
def try_group(program, layout, g, ratio, value):
    """Put all tensors of an alias group into fast memory at one offset, in place, if that is possible and lowers the run time.

    Args:
        program: The Program.
        layout: The Layout.
        g: The group.
        ratio: The idle bytes required during a copy, as a multiple of the tensor's bytes.
        value: The run time with the layout, in seconds.

    Returns:
        The run time with the new layout, in seconds; `value` if the layout is unchanged.
    """
    before = layout.run_count[0]
    members = program.member[program.first_member[g] : program.first_member[g + 1]]
    size = 0
    for t in members:
        size = max(size, program.sizes[t])
    offset, capacity = 0, program.capacity
    for _ in range(2 * (before + 1)):  # raise the offset until it is free for all members
        if offset + size > capacity:
            break
        raised = offset
        for t in members:
            low, high = span(program, layout, t, 0, program.first_access[t + 1] - program.first_access[t] - 1, 0, ratio)
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
        low, high = span(program, layout, t, 0, program.first_access[t + 1] - program.first_access[t] - 1, 0, ratio)
        put(layout, t, 0, low, high, offset, program.sizes[t])
    possible = True
    for r in range(before, layout.run_count[0]):
        for s in range(before, r):
            possible = possible and compatible(program, layout, r, s)
    now = evaluate(program, layout) if possible else np.inf
    if now < value * (1.0 - EPSILON):
        return now
    layout.run_count[0] = before
    evaluate(program, layout)
    return value


@kernel
def compatible(program, layout, r, s):
    """Return whether runs r and s of an alias group may have the same offset.

    They may if they do not overlap in time, or if the later tensor is written over the earlier one: it is defined by the last
    operation of the earlier run, which reads the earlier tensor.
    """
    if layout.rects[r, LOW] > layout.rects[s, LOW]:
        r, s = s, r
    new = layout.runs[s, RUN_TENSOR]
    if layout.rects[r, HIGH] <= layout.rects[s, LOW]:
        return True
    if layout.rects[r, HIGH] != layout.rects[s, LOW] + 1 or program.definition[new] != layout.rects[s, LOW]:
        return False
    old = layout.runs[r, RUN_TENSOR]
    return np.any(program.use_op[program.first_access[old] : program.first_access[old + 1]] == layout.rects[s, LOW])


@kernel
def repack(program, layout, order):
    """Place all runs again at their lowest free offsets, in the order `order` (indices of runs), in place.

    Runs that do not fit are dropped. Runs of alias groups come first and keep their offsets. Returns the number of dropped runs.
    """
    count = layout.run_count[0]
    runs, rects = layout.runs[:count].copy(), layout.rects[:count].copy()
    layout.run_count[0] = 0
    for r in range(count):
        if program.group[runs[r, RUN_TENSOR]] >= 0:
            put(layout, runs[r, RUN_TENSOR], runs[r, RUN_ACCESS], rects[r, LOW], rects[r, HIGH], rects[r, OFFSET], rects[r, SIZE])
    dropped = 0
    for at in range(count):
        r = order[at]
        if program.group[runs[r, RUN_TENSOR]] >= 0:
            continue
        low, high, size = rects[r, LOW], rects[r, HIGH], rects[r, SIZE]
        offset = lowest_offset(layout.rects, layout.run_count[0], low, high, size, program.capacity)
        if offset < 0:
            dropped += 1
        else:
            put(layout, runs[r, RUN_TENSOR], runs[r, RUN_ACCESS], low, high, offset, size)
    return dropped
