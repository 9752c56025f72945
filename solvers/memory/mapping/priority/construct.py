"""The greedy that a learned priority leads: items in the order of their scores, scored anew as fast memory fills up."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.problems.memory.mapping.timing import lowest_offset
from corl.rng import uniform
from corl.solvers.memory.mapping.greedy import repack, span, try_group
from corl.solvers.memory.mapping.layout import EPSILON, drop, evaluate, put
from corl.solvers.memory.mapping.priority.items import FEATURES, observe

__all__ = ["Weights", "construct"]

_PARTS = 6  # times that what is left is scored anew while it is placed
_ROUNDS = 2  # of packing anew and placing what had no room


class Weights(NamedTuple):
    """An MLP with one hidden layer of H units (tanh), and its inputs beside them."""

    hidden: NDArray[np.float64]
    """[FEATURES + 1, H], the biases last."""
    out: NDArray[np.float64]
    """[FEATURES + H + 1, 2], the biases last: to the score, and to the logarithm of the ratio of idle bytes to a copy's."""


@kernel
def construct(program, items, weights, bias, layout, kept, placed, noise, random):
    """Fill the empty `layout` by the priority; returns its seconds. kept: memory for the best layout of the rounds.

    placed: bool [N], becomes which items made the program faster when they were tried.
    bias: [N] added to the items' scores; noise: the scale of Gumbel noise added to the scores, 0: none; random: of corl.rng.
    """
    placed[:] = False
    value = _place_all(program, items, weights, bias, layout, placed, noise, random)
    for _ in range(_ROUNDS):
        _copy(layout, kept)
        count = layout.filled[0]
        repack(program, layout, np.argsort(layout.rects[:count, 0] - layout.rects[:count, 1]))
        again = _place_all(program, items, weights, bias, layout, placed, noise, random)
        if again >= value * (1.0 - EPSILON):
            _copy(kept, layout)
            break
        value = again
    return value


@kernel
def _place_all(program, items, weights, bias, layout, placed, noise, random):
    """Try all items in the order of their scores; runs that are there already may grow."""
    count = len(items.tensor)
    value = evaluate(program, layout)
    score, ratio, open_ = np.empty(count), np.empty(count), np.ones(count, np.bool_)
    for part in range(_PARTS):
        _score(program, items, weights, bias, layout, open_, score, ratio)
        if noise > 0.0:
            for n in range(count):
                score[n] -= noise * math.log(-math.log(uniform(random) + 1e-300) + 1e-300)
        order, left = np.argsort(-score), count - part * (count // _PARTS)
        for at in range(left if part == _PARTS - 1 else count // _PARTS):
            n = order[at]
            open_[n] = False
            now = _place(program, layout, items.tensor[n], items.first[n], items.last[n], ratio[n], value)
            placed[n] |= now < value
            value = now
    return value


@kernel
def _score(program, items, weights, bias, layout, open_, score, ratio):
    """Scores and ratios of the open items; minus infinity for the others."""
    operations, width = len(program.compute), weights.hidden.shape[1]
    occupied, x, h = np.zeros(operations), np.empty(FEATURES), np.empty(width)
    for r in range(layout.filled[0]):
        for i in range(layout.rects[r, 0], layout.rects[r, 1]):
            occupied[i] += layout.rects[r, 3] / max(1.0, float(program.capacity))
    for n in range(len(score)):
        if not open_[n]:
            score[n] = -np.inf
            continue
        observe(program, items, layout, occupied, n, x)
        a, b = weights.out[-1, 0], weights.out[-1, 1]
        for u in range(width):
            h[u] = weights.hidden[FEATURES, u]
        for f in range(FEATURES):
            a += x[f] * weights.out[f, 0]
            b += x[f] * weights.out[f, 1]
            for u in range(width):
                h[u] += x[f] * weights.hidden[f, u]
        for u in range(width):
            active = math.tanh(h[u])
            a += active * weights.out[FEATURES + u, 0]
            b += active * weights.out[FEATURES + u, 1]
        score[n], ratio[n] = a + bias[n], math.exp(max(-1.5, min(1.5, b)))


@kernel
def _place(program, layout, t, k, j, ratio, value):
    """Let fast memory serve accesses k..j of a tensor, with its runs that overlap them; seconds, `value` if it does not pay."""
    g, count = program.group[t], layout.filled[0]
    if g >= 0:
        for r in range(count):
            if program.group[layout.runs[r, 0]] == g:
                return value
        return try_group(program, layout, g, ratio, value)
    a, uses = program.first[t], program.first[t + 1] - program.first[t]
    begin, end = program.use_op[a + k], program.use_op[a + j]
    first, last, free, until, old, merged = k, j, 0, len(program.compute), np.empty(uses, np.int64), 0
    for r in range(count):
        if layout.runs[r, 0] != t:
            continue
        fill = program.use_op[a + layout.runs[r, 1]]
        low, high = layout.rects[r, 0], layout.rects[r, 1]
        if fill <= begin and end < high:
            return value  # served already
        if high <= begin:
            free = max(free, high)
        elif fill > end:
            until = min(until, low)
        else:
            old[merged] = r
            merged += 1
            first = min(first, layout.runs[r, 1])
            while last + 1 < uses and program.use_op[a + last + 1] < high:
                last += 1
    low, high = span(program, layout, t, first, last, free, ratio)
    high = min(high, until)
    leaves = first == 0 and program.made[t] >= 0 and (program.output[t] or last + 1 < uses)
    if low < 0 or high <= program.use_op[a + last] or (leaves and high < low + 2):
        return value
    return _replace(program, layout, t, first, low, high, old[:merged], value)


@kernel
def _replace(program, layout, t, first, low, high, old, value):
    """Put a run in the place of runs `old` of its tensor (rising); back to those where it does not fit or pay."""
    merged = len(old)
    runs, rects = np.empty((merged, 2), np.int64), np.empty((merged, 4), np.int64)
    for m in range(merged - 1, -1, -1):
        for c in range(2):
            runs[m, c] = layout.runs[old[m], c]
        for c in range(4):
            rects[m, c] = layout.rects[old[m], c]
        drop(program, layout, old[m])
    size, now = program.sizes[t], np.inf
    offset = lowest_offset(layout.rects, layout.filled[0], low, high, size, program.capacity)
    if offset >= 0:
        put(layout, t, first, low, high, offset, size)
        now = evaluate(program, layout)
        if now < value * (1.0 - EPSILON):
            return now
        layout.filled[0] -= 1
    for m in range(merged):
        put(layout, t, runs[m, 1], rects[m, 0], rects[m, 1], rects[m, 2], rects[m, 3])
    if offset >= 0:
        evaluate(program, layout)
    return value


@kernel
def _copy(layout, other):
    count = layout.filled[0]
    other.filled[0] = count
    for r in range(count):
        for c in range(2):
            other.runs[r, c] = layout.runs[r, c]
        for c in range(4):
            other.rects[r, c] = layout.rects[r, c]
