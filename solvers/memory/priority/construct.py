"""A greedy construction with a learned priority, in several rounds.

Items, which are sets of accesses of a tensor (items.py), are placed in fast memory in the order of their scores. A round has
several parts, and each begins with new scores of the remaining items, since fast memory fills up. The next round packs everything
again and tries all items once more. The layout consists of runs (layout.py): consecutive accesses of a tensor that fast memory
serves.
"""

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
_ROUNDS = 2  # rounds after the first one
_ITEMS_SCORED_PER_STEP = 32  # scoring so many items takes about as long as placing one
ROUND, PART, SCORED, TRIED = range(4)
"""Indices of `Placing.at`: the round; its part; the numbers of items that have been scored and tried in this part."""


class Weights(NamedTuple):
    """An MLP with one hidden layer of H units (tanh) and skip connections from its inputs to its two outputs."""

    hidden: NDArray[np.float64]
    """[FEATURES + 1, H] weights of the hidden layer, the biases in the last row."""
    out: NDArray[np.float64]
    """[FEATURES + H + 1, 2] weights of the outputs, the biases in the last row. The inputs of this layer are the features and the
    hidden units; the outputs are the score and the logarithm of `Placing.ratio`."""


class Placing(NamedTuple):
    """The progress of the construction of a layout from N items."""

    score: NDArray[np.float64]
    """[N] the score of an item; minus infinity if the item has been tried in this round."""
    ratio: NDArray[np.float64]
    """[N] the idle bytes required during a copy, as a multiple of the tensor's bytes."""
    open: NDArray[np.bool_]
    """[N] whether the item has not been tried in this round."""
    order: NDArray[np.int64]
    """[N] the items by decreasing score."""
    occupied: NDArray[np.float64]
    """[O] the occupied share of fast memory during each operation when the scores were computed."""
    served: NDArray[np.bool_]
    """[A] whether an access was in a run of its tensor when the scores were computed."""
    at: NDArray[np.int64]
    """[4] indexed by ROUND ... TRIED."""
    value: NDArray[np.float64]
    """[2] the run time in seconds with the current layout, and with the layout at the end of the previous round."""


@kernel
def new_placing(program, items):
    """Return the progress of a construction, which `begin` initialises."""
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
    """Fill `layout` by the priority, in place, and return the run time in seconds. The arguments are those of `proceed`."""
    placing = new_placing(program, items)
    begin(layout, placing)
    while proceed(program, items, weights, layout, kept, placing, noise, random, 2**40):
        pass
    return end(layout, kept, placing)


@kernel
def begin(layout, placing):
    """Empty the layout and reset the progress of its construction, in place."""
    layout.run_count[0] = 0
    placing.at[:] = 0
    placing.value[:] = np.inf


@kernel
def end(layout, kept, placing):
    """Restore the previous round's layout, `kept`, if it is better, in place; return the run time in seconds."""
    if placing.value[0] >= placing.value[1] * (1.0 - EPSILON):
        placing.value[0] = placing.value[1]
        copy_runs(kept, layout)
    return placing.value[0]


@kernel
def proceed(program, items, weights, layout, kept, placing, noise, random, tries):
    """Do up to `tries` steps of the construction, in place; return whether there is more to do.

    A step tries to place one item, or scores several.

    Args:
        program: The Program.
        items: The Items.
        weights: The Weights.
        layout: The Layout under construction.
        kept: A Layout that is overwritten with the layout at the end of each round.
        placing: The progress, a Placing.
        noise: The scale of the Gumbel noise that is added to the scores; 0: no noise.
        random: uint64, a state of corl.rng.
        tries: The largest number of steps in this call.
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
    """Begin a round, in place: open all items; except in the first round, copy the layout to `kept` and pack it again."""
    if placing.at[ROUND] > 0:
        placing.value[1] = placing.value[0]
        copy_runs(layout, kept)
        count = layout.run_count[0]
        lengths = (layout.rects[:count, HIGH] - layout.rects[:count, LOW]).astype(np.float64)
        repack(program, layout, np.argsort(-lengths))
    placing.value[0] = evaluate(program, layout)
    placing.open[:] = True


@kernel
def _score(program, items, weights, layout, placing, noise, random):
    """Score some more items, in place; after the last one, sort all items by score.

    Items that are not open get minus infinity.
    """
    at, score, inputs, outputs = placing.at, placing.score, np.empty(len(weights.out) - 1), np.empty(2)
    x, hidden = inputs[:FEATURES], inputs[FEATURES:]
    if at[SCORED] == 0:
        _measure(program, layout, placing)
    for n in range(at[SCORED], min(len(score), at[SCORED] + _ITEMS_SCORED_PER_STEP)):
        score[n] = -np.inf
        if placing.open[n]:
            observe(program, items, layout, placing.occupied, placing.served, n, x)
            dense(x, weights.hidden, hidden)
            for u in range(len(hidden)):
                hidden[u] = math.tanh(hidden[u])
            dense(inputs, weights.out, outputs)
            score[n], placing.ratio[n] = outputs[0], math.exp(max(-1.5, min(1.5, outputs[1])))
        if noise > 0.0:
            score[n] -= noise * math.log(-math.log(uniform(random) + 1e-300) + 1e-300)
    at[SCORED] = min(len(score), at[SCORED] + _ITEMS_SCORED_PER_STEP)
    if at[SCORED] == len(score):
        copy(np.argsort(-score), placing.order, len(score))


@kernel
def _measure(program, layout, placing):
    """Compute `placing.occupied` and `placing.served` for a layout, in place."""
    placing.occupied[:] = 0.0
    placing.served[:] = False
    for r in range(layout.run_count[0]):
        t, low, high = layout.runs[r, RUN_TENSOR], layout.rects[r, LOW], layout.rects[r, HIGH]
        for i in range(low, high):
            placing.occupied[i] += layout.rects[r, SIZE] / max(1.0, float(program.capacity))
        for a in range(program.first_access[t], program.first_access[t + 1]):
            placing.served[a] |= low <= program.use_op[a] < high


@kernel
def _place(program, layout, t, k, j, ratio, value):
    """Place an item, the accesses k..j of tensor t, in place: as a run that is merged with overlapping runs of the tensor.

    Args:
        program: The Program.
        layout: The Layout.
        t: The tensor. If it belongs to an alias group, the whole group is placed.
        k: The first access.
        j: The last access.
        ratio: The idle bytes required during a copy, as a multiple of the tensor's bytes.
        value: The run time with the layout, in seconds.

    Returns:
        The run time with the new layout, in seconds; `value` if the layout is unchanged, because the item does not fit or the run
        time would not fall.
    """
    g, count = program.group[t], layout.run_count[0]
    if g >= 0:
        for r in range(count):
            if program.group[layout.runs[r, RUN_TENSOR]] == g:
                return value
        return try_group(program, layout, g, ratio, value)
    a, uses = program.first_access[t], program.first_access[t + 1] - program.first_access[t]
    begin, end = program.use_op[a + k], program.use_op[a + j]
    first, last, old, merged = k, j, np.empty(uses, np.int64), 0  # old[:merged]: the runs to merge with
    free, until = 0, len(program.compute)  # the operations between the tensor's runs before and after the item
    for r in range(count):
        if layout.runs[r, RUN_TENSOR] != t:
            continue
        first_op = program.use_op[a + layout.runs[r, RUN_ACCESS]]
        low, high = layout.rects[r, LOW], layout.rects[r, HIGH]
        if first_op <= begin and end < high:
            return value  # all accesses are served already
        if high <= begin:
            free = max(free, high)
        elif first_op > end:
            until = min(until, low)
        else:
            old[merged] = r
            merged += 1
            first = min(first, layout.runs[r, RUN_ACCESS])
            while last + 1 < uses and program.use_op[a + last + 1] < high:
                last += 1
    low, high = span(program, layout, t, first, last, free, ratio)
    high = min(high, until)
    copied_out = first == 0 and program.definition[t] >= 0 and (program.output[t] or last + 1 < uses)
    if low < 0 or high <= program.use_op[a + last] or (copied_out and high < low + 2):
        return value
    return _replace(program, layout, t, first, low, high, old[:merged], value)


@kernel
def _replace(program, layout, t, first, low, high, old, value):
    """Replace the runs `old` (increasing indices) of tensor t by one run that begins with access `first`, in place.

    The runs are restored if the new one does not fit or the run time does not fall. Returns the run time in seconds.
    """
    merged = len(old)
    runs, rects = np.empty((merged, 2), np.int64), np.empty((merged, 4), np.int64)
    for m in range(merged - 1, -1, -1):
        for c in range(2):
            runs[m, c] = layout.runs[old[m], c]
        for c in range(4):
            rects[m, c] = layout.rects[old[m], c]
        drop(program, layout, old[m])
    size, now, idle = program.sizes[t], np.inf, layout.idle.copy()
    offset = lowest_offset(layout.rects, layout.run_count[0], low, high, size, program.capacity)
    if offset >= 0:
        put(layout, t, first, low, high, offset, size)
        now = evaluate(program, layout)
        if now < value * (1.0 - EPSILON):
            return now
        layout.run_count[0] -= 1
    for m in range(merged):
        put(layout, t, runs[m, RUN_ACCESS], rects[m, LOW], rects[m, HIGH], rects[m, OFFSET], rects[m, SIZE])
    if offset >= 0 and merged == 0:
        copy(idle, layout.idle, len(idle))
    elif offset >= 0:
        evaluate(program, layout)
    return value
