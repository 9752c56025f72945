"""A greedy with a learned priority: items in the order of their scores, which are computed again as fast memory fills up."""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.kernels.copy import copy
from corl.networks.compiled import dense
from corl.problems.memory.timing import HIGH, LOW, OFFSET, SIZE, lowest_offset
from corl.rng import uniform
from corl.solvers.memory.greedy import repack, span, try_group
from corl.solvers.memory.layout import EPSILON, RUN_ACCESS, RUN_TENSOR, copy_runs, drop, evaluate, put
from corl.solvers.memory.priority.items import FEATURES, observe

__all__ = ["Placing", "Weights", "begin", "construct", "end", "new_placing", "proceed"]

_PARTS = 6  # parts of a round, each with new scores of the remaining items
_ROUNDS = 2  # rounds of packing again and placing items that had no room
_SCORES = 32  # items that are scored in about the time of one try
ROUND, PART, SCORED, TRIED = range(4)
"""Indices of `Placing.at`."""


class Weights(NamedTuple):
    """An MLP with one hidden layer of H units (tanh) and skip connections from its inputs."""

    hidden: NDArray[np.float64]
    """[FEATURES + 1, H], the biases last."""
    out: NDArray[np.float64]
    """[FEATURES + H + 1, 2], the biases last: to the score, and to the logarithm of `Placing.ratio`."""


class Placing(NamedTuple):
    """The progress of the construction of a layout from N items."""

    score: NDArray[np.float64]
    """[N] minus infinity for items that have been tried in this round."""
    ratio: NDArray[np.float64]
    """[N] the idle bytes required during a copy, as a multiple of its size."""
    open: NDArray[np.bool_]
    """[N] not yet tried in this round."""
    order: NDArray[np.int64]
    """[N] the items by decreasing score."""
    occupied: NDArray[np.float64]
    """[O] occupied shares of fast memory; of the layout that the scores are for, like `served`."""
    served: NDArray[np.bool_]
    """[A] whether an access lies in a run of its tensor."""
    at: NDArray[np.int64]
    """[4] the round, its part, the number of items scored, and of items tried, in that part."""
    value: NDArray[np.float64]
    """[2] seconds of the layout, and of the one of the round before."""


@kernel
def new_placing(program, items):
    """Return the arrays for `proceed`."""
    n = len(items.tensor)
    return Placing(
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, np.bool_),
        np.zeros(n, np.int64),
        np.zeros(len(program.compute)),
        np.zeros(len(program.use_op), np.bool_),
        np.zeros(4, np.int64),
        np.zeros(2),
    )


@kernel
def construct(program, items, weights, layout, kept, noise, random):
    """Fill `layout` by the priority, in place, and return its seconds. The arguments are those of `proceed`."""
    placing = new_placing(program, items)
    begin(layout, placing)
    while proceed(program, items, weights, layout, kept, placing, noise, random, 2**40):
        pass
    return end(layout, kept, placing)


@kernel
def begin(layout, placing):
    """Empty the layout and reset the progress, in place."""
    layout.filled[0] = 0
    placing.at[:] = 0
    placing.value[:] = np.inf


@kernel
def end(layout, kept, placing):
    """Restore the layout of the round before if it is better, in place; return the seconds of the layout."""
    if placing.value[0] >= placing.value[1] * (1.0 - EPSILON):
        placing.value[0] = placing.value[1]
        copy_runs(kept, layout)
    return placing.value[0]


@kernel
def proceed(program, items, weights, layout, kept, placing, noise, random, tries):
    """Place up to `tries` items (or score some at a time), in place; return whether there is more to do.

    In each round all items are tried in the order of their scores, and existing runs may grow; then everything is packed again.

    Args:
        program: The Program.
        items: The Items.
        weights: The Weights.
        layout: The Layout under construction.
        kept: A Layout for that of the round before.
        placing: The progress, a Placing.
        noise: The scale of Gumbel noise added to the scores; 0: none.
        random: uint64, of corl.rng.
        tries: The largest number of items to place in this call.
    """
    at, count = placing.at, len(items.tensor)
    for _ in range(tries):
        if at[PART] == 0 and at[SCORED] == 0:
            _begin_round(program, layout, kept, placing)
        if at[SCORED] < count:
            _score(program, items, weights, layout, placing, noise, random)
            continue
        share = count - at[PART] * (count // _PARTS) if at[PART] == _PARTS - 1 else count // _PARTS
        if at[TRIED] < share:
            n = placing.order[at[TRIED]]
            placing.open[n] = False
            t, first, last = items.tensor[n], items.first[n], items.last[n]
            placing.value[0] = _place(program, layout, t, first, last, placing.ratio[n], placing.value[0])
            at[TRIED] += 1
            continue
        at[PART], at[SCORED], at[TRIED] = at[PART] + 1, 0, 0
        if at[PART] == _PARTS:
            at[PART], at[ROUND] = 0, at[ROUND] + 1
            if at[ROUND] > _ROUNDS or placing.value[0] >= placing.value[1] * (1.0 - EPSILON):
                return False
    return True


@kernel
def _begin_round(program, layout, kept, placing):
    """Begin a round, in place: pack everything again (not in the first one), and open all items."""
    if placing.at[ROUND] > 0:
        placing.value[1] = placing.value[0]
        copy_runs(layout, kept)
        count = layout.filled[0]
        lengths = (layout.rects[:count, HIGH] - layout.rects[:count, LOW]).astype(np.float64)  # like scores
        repack(program, layout, np.argsort(-lengths))
    placing.value[0] = evaluate(program, layout)
    placing.open[:] = True


@kernel
def _score(program, items, weights, layout, placing, noise, random):
    """Score some more items, minus infinity for those that are not open, in place; after the last one, sort them."""
    at, score, units, found = placing.at, placing.score, np.empty(len(weights.out) - 1), np.empty(2)
    x, hidden = units[:FEATURES], units[FEATURES:]
    if at[SCORED] == 0:
        _measure(program, layout, placing)
    for n in range(at[SCORED], min(len(score), at[SCORED] + _SCORES)):
        score[n] = -np.inf
        if placing.open[n]:
            observe(program, items, layout, placing.occupied, placing.served, n, x)
            dense(x, weights.hidden, hidden)
            for u in range(len(hidden)):
                hidden[u] = math.tanh(hidden[u])
            dense(units, weights.out, found)
            score[n], placing.ratio[n] = found[0], math.exp(max(-1.5, min(1.5, found[1])))
        if noise > 0.0:
            score[n] -= noise * math.log(-math.log(uniform(random) + 1e-300) + 1e-300)
    at[SCORED] = min(len(score), at[SCORED] + _SCORES)
    if at[SCORED] == len(score):
        copy(np.argsort(-score), placing.order, len(score))


@kernel
def _measure(program, layout, placing):
    """Compute the occupied shares and the served accesses of a layout, in place."""
    placing.occupied[:] = 0.0
    placing.served[:] = False
    for r in range(layout.filled[0]):
        t, low, high = layout.runs[r, RUN_TENSOR], layout.rects[r, LOW], layout.rects[r, HIGH]
        for i in range(low, high):
            placing.occupied[i] += layout.rects[r, SIZE] / max(1.0, float(program.capacity))
        for a in range(program.first[t], program.first[t + 1]):
            placing.served[a] |= low <= program.use_op[a] < high


@kernel
def _place(program, layout, t, k, j, ratio, value):
    """Add a run over accesses k..j of a tensor, merged with its runs that overlap, in place.

    Returns the seconds, or `value` if it does not pay.
    """
    g, count = program.group[t], layout.filled[0]
    if g >= 0:
        for r in range(count):
            if program.group[layout.runs[r, RUN_TENSOR]] == g:
                return value
        return try_group(program, layout, g, ratio, value)
    a, uses = program.first[t], program.first[t + 1] - program.first[t]
    begin, end = program.use_op[a + k], program.use_op[a + j]
    first, last, free, until, old, merged = k, j, 0, len(program.compute), np.empty(uses, np.int64), 0
    for r in range(count):
        if layout.runs[r, RUN_TENSOR] != t:
            continue
        fill = program.use_op[a + layout.runs[r, RUN_ACCESS]]
        low, high = layout.rects[r, LOW], layout.rects[r, HIGH]
        if fill <= begin and end < high:
            return value  # served already
        if high <= begin:
            free = max(free, high)
        elif fill > end:
            until = min(until, low)
        else:
            old[merged] = r
            merged += 1
            first = min(first, layout.runs[r, RUN_ACCESS])
            while last + 1 < uses and program.use_op[a + last + 1] < high:
                last += 1
    low, high = span(program, layout, t, first, last, free, ratio)
    high = min(high, until)
    copied_out = first == 0 and program.made[t] >= 0 and (program.output[t] or last + 1 < uses)
    if low < 0 or high <= program.use_op[a + last] or (copied_out and high < low + 2):
        return value
    return _replace(program, layout, t, first, low, high, old[:merged], value)


@kernel
def _replace(program, layout, t, first, low, high, old, value):
    """Replace the runs `old` (increasing indices) of a tensor by one run, in place; undo it if it does not fit or pay."""
    merged = len(old)
    runs, rects = np.empty((merged, 2), np.int64), np.empty((merged, 4), np.int64)
    for m in range(merged - 1, -1, -1):
        for c in range(2):
            runs[m, c] = layout.runs[old[m], c]
        for c in range(4):
            rects[m, c] = layout.rects[old[m], c]
        drop(program, layout, old[m])
    size, now, idle = program.sizes[t], np.inf, layout.idle.copy()
    offset = lowest_offset(layout.rects, layout.filled[0], low, high, size, program.capacity)
    if offset >= 0:
        put(layout, t, first, low, high, offset, size)
        now = evaluate(program, layout)
        if now < value * (1.0 - EPSILON):
            return now
        layout.filled[0] -= 1
    for m in range(merged):
        put(layout, t, runs[m, RUN_ACCESS], rects[m, LOW], rects[m, HIGH], rects[m, OFFSET], rects[m, SIZE])
    if offset >= 0 and merged == 0:
        copy(idle, layout.idle, len(idle))
    elif offset >= 0:
        evaluate(program, layout)
    return value
