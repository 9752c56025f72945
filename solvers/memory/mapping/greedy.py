"""Kernels that build layouts tensor by tensor: in the order of the definitions, or as a compiler does by priority."""

from __future__ import annotations

import numpy as np

from corl.jit import kernel
from corl.problems.memory.mapping.timing import lowest_offset
from corl.solvers.memory.mapping.layout import EPSILON, evaluate, latest_start, put

__all__ = ["benefits", "compatible", "fill", "repack", "span", "try_group"]


@kernel
def benefits(program):
    """Seconds that each tensor would save if it alone were in fast memory, float64 [T]."""
    saved, rates = np.zeros(len(program.sizes)), program.rates
    for t in range(len(saved)):
        for a in range(program.first[t], program.first[t + 1]):
            i, count = program.use_op[a], program.use_bytes[a]
            before = max(program.compute[i], program.bytes[i] / rates[0])
            after = max(program.compute[i], (program.bytes[i] - count) / rates[0] + count / rates[1])
            saved[t] += before - after
    return saved


@kernel
def fill(program, layout, order, copies, ratio):
    """Give the tensors in `order` the longest runs that fit and make the program faster; returns its seconds.

    A run begins with a definition, at the lowest free offset, or, if `copies`, with a copy that begins as late as what is idle
    hides `ratio` times its bytes. Each is taken back where the simulated time does not get better, so copies stay within the
    idle bandwidth unless a stall pays. Runs that are there already stay.
    """
    value = evaluate(program, layout)
    done = np.zeros(len(program.together), np.bool_)
    for r in range(layout.filled[0]):
        if program.group[layout.runs[r, 0]] >= 0:
            done[program.group[layout.runs[r, 0]]] = True
    for at in range(len(order)):
        t = order[at]
        g = program.group[t]
        if g >= 0:
            if program.together[g] and not done[g] and copies:
                value = try_group(program, layout, g, ratio, value)
            done[g] = True
            continue
        k, uses, free = 0, program.first[t + 1] - program.first[t], _first_free(program, layout, t)
        while k < uses:
            taken = -1
            if program.use_op[program.first[t] + k] >= free and (copies or (k == 0 and program.made[t] >= 0)):
                for last in range(uses - 1, k - 1, -1):
                    now = _try_run(program, layout, t, k, last, free, ratio, value)
                    if now < value:
                        value, taken = now, last
                        free = layout.rects[layout.filled[0] - 1, 1]
                        break
            k = max(k, taken) + 1
    return value


@kernel
def _first_free(program, layout, t):
    """From which operation on a tensor has no run (it is filled from the left, so all before counts as filled)."""
    free = 0
    for r in range(layout.filled[0]):
        if layout.runs[r, 0] == t:
            free = max(free, layout.rects[r, 1])
    return free


@kernel
def _try_run(program, layout, t, k, last, free, ratio, value):
    """Put a run over the accesses k..last of a tensor where it is free; seconds, or infinity and nothing is changed."""
    low, high = span(program, layout, t, k, last, free, ratio)
    if low < 0:
        return np.inf
    offset = lowest_offset(layout.rects, layout.filled[0], low, high, program.sizes[t], program.capacity)
    if offset < 0:
        return np.inf
    put(layout, t, k, low, high, offset, program.sizes[t])
    now = evaluate(program, layout)
    if now >= value * (1.0 - EPSILON):
        layout.filled[0] -= 1
        evaluate(program, layout)
        return np.inf
    return now


@kernel
def span(program, layout, t, k, last, free, ratio):
    """(from, to) of a run over the accesses k..last, beginning at operation `free` or later; from < 0: it cannot be.

    A definition that has to be copied out stays until what is idle has hidden that.
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
    """Put all tensors of an alias group into fast memory at one offset; seconds, the value given where that does not pay."""
    before = layout.filled[0]
    members = program.member[program.member_first[g] : program.member_first[g + 1]]
    size = 0
    for t in members:
        size = max(size, program.sizes[t])
    offset, capacity = 0, program.capacity
    for _ in range(2 * (before + 1)):  # raise the offset until all members are free there
        if offset + size > capacity:
            break
        again = offset
        for t in members:
            low, high = span(program, layout, t, 0, program.first[t + 1] - program.first[t] - 1, 0, ratio)
            if low < 0:
                return value
            for r in range(before):
                inside = layout.rects[r, 0] < high and low < layout.rects[r, 1] and layout.rects[r, 2] < offset + size
                if inside and offset < layout.rects[r, 2] + layout.rects[r, 3]:
                    again = max(again, layout.rects[r, 2] + layout.rects[r, 3])
        if again == offset:
            break
        offset = again
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
    """Whether two runs of one group at one offset do not overlap, or one is written over the other where it ends."""
    if layout.rects[r, 0] > layout.rects[s, 0]:
        r, s = s, r
    new = layout.runs[s, 0]
    if layout.rects[r, 1] <= layout.rects[s, 0]:
        return True
    if layout.rects[r, 1] != layout.rects[s, 0] + 1 or program.made[new] != layout.rects[s, 0]:
        return False
    old = layout.runs[r, 0]
    return np.any(program.use_op[program.first[old] : program.first[old + 1]] == layout.rects[s, 0])


@kernel
def repack(program, layout, order):
    """Place all runs anew at the lowest free offset, in the order given (indices of runs); drop those that do not fit.

    Runs of alias groups keep their offsets and go first. Returns how many were dropped.
    """
    count = layout.filled[0]
    runs, rects = layout.runs[:count].copy(), layout.rects[:count].copy()
    layout.filled[0] = 0
    for r in range(count):
        if program.group[runs[r, 0]] >= 0:
            put(layout, runs[r, 0], runs[r, 1], rects[r, 0], rects[r, 1], rects[r, 2], rects[r, 3])
    dropped = 0
    for at in range(count):
        r = order[at]
        if program.group[runs[r, 0]] >= 0:
            continue
        low, high, size = rects[r, 0], rects[r, 1], rects[r, 3]
        offset = lowest_offset(layout.rects, layout.filled[0], low, high, size, program.capacity)
        if offset < 0:
            dropped += 1
        else:
            put(layout, runs[r, 0], runs[r, 1], low, high, offset, size)
    return dropped
