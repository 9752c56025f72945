"""The kernel of simulated annealing over layouts (layout.py).

A move is one of these: insert a run and remove the runs in its way, remove a run, change a run, pack all runs again. The program
is then simulated with the new layout. A run is a set of consecutive accesses of a tensor that fast memory serves, with its
rectangle.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math

import numpy as np

from corl.jit import kernel
from corl.kernels.annealing import geometric, metropolis
from corl.kernels.search import bisect_right
from corl.problems.memory.timing import HIGH, LOW, OFFSET, SIZE, lowest_offset
from corl.rng import below, uniform
from corl.solvers.memory.greedy import compatible, repack, span
from corl.solvers.memory.layout import RUN_ACCESS, RUN_TENSOR, copy_runs, drop, evaluate, put, remove

__all__ = ["BEST", "CURRENT", "anneal", "begin"]

CURRENT, BEST = range(2)
"""Indices of `values` of `anneal`: the run time with the current layout and with the best one, in seconds."""
HOT, COLD, COOLINGS, PHASE = range(4)
"""Indices of `schedule` of `anneal`: first and last temperature (seconds) of a cooling, number of coolings, current cooling."""


@kernel
def begin(program, first, layout, best):
    """Copy the layout `first` to the current layout and to the best one, in place, and evaluate the current one."""
    copy_runs(first, layout)
    copy_runs(first, best)
    evaluate(program, layout)


@kernel
def anneal(program, layout, backup, best, values, moves, done, total, schedule, random):
    """Make `moves` moves of simulated annealing, in place.

    Args:
        program: The Program.
        layout: The current layout.
        backup: A layout that is overwritten with the current one before each move, to undo the move.
        best: The best layout.
        values: float64 [2], indexed by CURRENT and BEST.
        moves: The number of moves to make in this call.
        done: The progress before this call, in moves or in parts of the time limit. A move counts as 1 during the call.
        total: The progress at the end of the search, in the same unit; the temperature depends on `done` / `total`.
        schedule: float64 [4], indexed by HOT ... PHASE; PHASE is updated.
        random: uint64, a state of corl.rng.
    """
    for step in range(moves):
        progress = schedule[COOLINGS] * (done + step) / total  # in coolings
        phase = min(math.floor(progress), schedule[COOLINGS] - 1.0)
        if phase > schedule[PHASE]:  # every cooling begins with the best layout so far
            schedule[PHASE], values[CURRENT] = phase, values[BEST]
            copy_runs(best, layout)
        temperature = geometric(schedule[HOT], schedule[COLD], progress - phase)
        copy_runs(layout, backup)
        if not _change(program, layout, random):
            copy_runs(backup, layout)
            continue
        value = evaluate(program, layout)
        if metropolis(value - values[CURRENT], temperature, random):
            values[CURRENT] = value
            if value < values[BEST]:
                values[BEST] = value
                copy_runs(layout, best)
        else:
            copy_runs(backup, layout)


@kernel
def _change(program, layout, random):
    """Make one random move, in place; return False if the move is impossible (the layout may then be half changed)."""
    kind, count = uniform(random), layout.run_count[0]
    if kind < 0.12 and count > 0:
        drop(program, layout, below(random, count))
        return True
    if kind < 0.15 and count > 1:
        return _repack_all(program, layout, random)
    if kind < 0.35 and count > 0:
        return _change_span(program, layout, below(random, count), random)
    return _insert(program, layout, below(random, len(program.use_op)), random)


@kernel
def _repack_all(program, layout, random):
    """Place all runs again at their lowest free offsets, in place, and drop those that do not fit.

    The order is long runs first, large ones first, early ones first, or random.
    """
    count, key = layout.run_count[0], below(random, 4)
    weights = np.empty(count)
    for r in range(count):
        rect = layout.rects[r]
        weights[r] = uniform(random)
        if key == 0:
            weights[r] -= rect[HIGH] - rect[LOW]
        elif key == 1:
            weights[r] = -np.float64(rect[SIZE])
        elif key == 2:
            weights[r] += rect[LOW]
    repack(program, layout, np.argsort(weights))
    return True


@kernel
def _change_span(program, layout, r, random):
    """Change the first or last operation of run r, in place, and remove runs in its way; return whether that is possible.

    The offset stays the same.
    """
    t, k = layout.runs[r, RUN_TENSOR], layout.runs[r, RUN_ACCESS]
    if program.group[t] >= 0:
        return False
    low, high, offset, size = layout.rects[r]
    a, from_definition = program.first_access[t] + k, k == 0 and program.definition[t] >= 0
    if uniform(random) < 0.5:
        if from_definition:
            return False
        low += 1 if uniform(random) < 0.5 else -1
        if low >= program.use_op[a] or low <= program.definition[t] or low < 0:
            return False
    else:
        high = _other_end(program, t, k, high, random)
        if high < 0:
            return False
    remove(layout, r)
    return _put_and_evict(program, layout, t, k, low, high, offset, size)


@kernel
def _other_end(program, t, k, high, random):
    """Return another end for a run of tensor t that begins with access k and ends before operation `high`; -1 if impossible.

    The run ends one operation earlier or later, or with one access fewer or more.
    """
    a, stop, n = program.first_access[t] + k, program.first_access[t + 1], len(program.compute)
    if uniform(random) < 0.3:
        high += 1 if uniform(random) < 0.5 else -1
    else:
        last = a
        while last + 1 < stop and program.use_op[last + 1] < high:
            last += 1
        last += 1 if uniform(random) < 0.5 else -1
        if last < a or last >= stop:
            return -1
        high = program.use_op[last] + 1
    return high if program.use_op[a] < high <= n else -1


@kernel
def _insert(program, layout, a, random):
    """Insert a run that begins with access a or the tensor's first one, and has a random number of accesses, in place.

    If the tensor belongs to an alias group, insert the whole group. Return whether that is possible.
    """
    t = bisect_right(program.first_access, 1, len(program.sizes), a) - 1  # the tensor of access a
    if program.sizes[t] > program.capacity:
        return False
    if program.group[t] >= 0:
        return _insert_group(program, layout, program.group[t], random)
    k, uses = a - program.first_access[t], program.first_access[t + 1] - program.first_access[t]
    if uniform(random) < 0.3:
        k = 0
    last = k
    while last + 1 < uses and uniform(random) < 0.75:
        last += 1
    ratio = 1.0 if uniform(random) < 0.5 else 3.0 * uniform(random)
    low, high = span(program, layout, t, k, last, 0, ratio)
    if low < 0:
        return False
    offset = _choose_offset(program, layout, low, high, program.sizes[t], random)
    return _put_and_evict(program, layout, t, k, low, high, offset, program.sizes[t])


@kernel
def _choose_offset(program, layout, low, high, size, random):
    """Return the lowest free offset for a rectangle over operations low..high-1.

    If no offset is free, return one at which the new rectangle begins or ends at the same byte as a random rectangle in its way.
    """
    count = layout.run_count[0]
    offset = lowest_offset(layout.rects, count, low, high, size, program.capacity)
    if offset >= 0:
        return offset
    choices, offset = 0, 0
    for r in range(count):
        rect = layout.rects[r]
        if rect[LOW] < high and low < rect[HIGH]:
            for side in range(2):
                candidate = rect[OFFSET] if side == 0 else rect[OFFSET] + rect[SIZE] - size
                if 0 <= candidate <= program.capacity - size:
                    choices += 1
                    if below(random, choices) == 0:
                        offset = candidate
    return offset


@kernel
def _put_and_evict(program, layout, t, k, low, high, offset, size):
    """Insert a run and remove the runs in its way, in place; return False if that is impossible.

    Runs of the same tensor are removed if they overlap in time, or lie before a run that begins with the tensor's definition.
    """
    if offset < 0 or offset + size > program.capacity:
        return False
    from_definition = k == 0 and program.definition[t] >= 0
    r = layout.run_count[0] - 1
    while r >= 0:
        rect = layout.rects[r]
        same_time = rect[LOW] < high and low < rect[HIGH]
        if layout.runs[r, RUN_TENSOR] == t and (same_time or (from_definition and rect[LOW] < high)):
            remove(layout, r)
        elif same_time and rect[OFFSET] < offset + size and offset < rect[OFFSET] + rect[SIZE]:
            drop(program, layout, r)
            r = min(r, layout.run_count[0])
        r -= 1
    if not from_definition:
        for r in range(layout.run_count[0]):  # a tensor defined in fast memory is in slow memory only after its first run
            if (
                layout.runs[r, RUN_TENSOR] == t
                and layout.runs[r, RUN_ACCESS] == 0
                and program.definition[t] >= 0
                and layout.rects[r, HIGH] > low
            ):
                return False
    put(layout, t, k, low, high, offset, size)
    return True


@kernel
def _insert_group(program, layout, g, random):
    """Insert all tensors of an alias group at one offset, and remove the runs in their way, in place.

    Return False if that is impossible.
    """
    if not program.shares_offset[g]:
        return False
    members = program.member[program.first_member[g] : program.first_member[g + 1]]
    for r in range(layout.run_count[0]):
        if program.group[layout.runs[r, RUN_TENSOR]] == g:
            drop(program, layout, r)
            break
    size = 0
    for t in members:
        size = max(size, program.sizes[t])
    if size > program.capacity:
        return False
    low, high = len(program.compute), 0
    for t in members:
        begin, end = span(program, layout, t, 0, program.first_access[t + 1] - program.first_access[t] - 1, 0, 1.0)
        if begin < 0:
            return False
        low, high = min(low, begin), max(high, end)
    offset = _choose_offset(program, layout, low, high, size, random)
    r = layout.run_count[0] - 1
    while r >= 0:
        rect = layout.rects[r]
        if rect[LOW] < high and low < rect[HIGH] and rect[OFFSET] < offset + size and offset < rect[OFFSET] + rect[SIZE]:
            drop(program, layout, r)
            r = min(r, layout.run_count[0])
        r -= 1
    before = layout.run_count[0]
    for t in members:
        begin, end = span(program, layout, t, 0, program.first_access[t + 1] - program.first_access[t] - 1, 0, 1.0)
        put(layout, t, 0, begin, end, offset, program.sizes[t])
    for r in range(before, layout.run_count[0]):
        for s in range(before, r):
            if not compatible(program, layout, r, s):
                return False
    return True
