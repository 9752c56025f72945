"""The network inside numba: logits of one decision, from weights as arrays (network.py has the same in torch).

After Tassel, Gebser and Schekotihin (ICAPS 2023, section 4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.rng import uniform
from corl.solvers.jobshop.cp_agent.observation import FEATURES, NEXT, SLOTS, View, survey, tokens

__all__ = ["Scratch", "Weights", "choose", "logits_of", "new_scratch"]


class Weights(NamedTuple):
    """Float32 arrays, matrices as [in, out]; d numbers a token, f in the layers between."""

    embed: NDArray[np.float32]
    """[FEATURES, d]"""
    slot: NDArray[np.float32]
    """[SLOTS, d] added to each token by its place."""
    inside: NDArray[np.float32]
    """[4, d, d] query, key, value and output of the attention within a job."""
    inside_up: NDArray[np.float32]
    """[d + 1, f] the layer behind it; the last row is the bias."""
    inside_down: NDArray[np.float32]
    """[f + 1, d]"""
    across: NDArray[np.float32]
    """[4, d, d] of the attention across those that compete for a machine."""
    across_up: NDArray[np.float32]
    across_down: NDArray[np.float32]
    head: NDArray[np.float32]
    """[2, d + 1, d] hidden layers of the two outputs: starting, and waiting."""
    out: NDArray[np.float32]
    """[2, d + 1]"""


class Scratch(NamedTuple):
    """Memory of `logits_of` for up to J jobs."""

    embedded: NDArray[np.float32]
    """[J, SLOTS, d] tokens that compete, in their context; the others are not filled."""
    key: NDArray[np.float32]
    """[J, SLOTS, d]"""
    value: NDArray[np.float32]
    """[J, SLOTS, d]"""
    keys: NDArray[np.float32]
    """[keys, d] of the competitors."""
    values: NDArray[np.float32]
    score: NDArray[np.float32]
    """[keys]"""
    small: NDArray[np.float32]
    """[4, max(d, f)]"""
    straight: NDArray[np.float32]
    """[2, FEATURES + SLOTS, d] keys and values within a job straight from the features: embed and slot times the matrices."""
    logits: NDArray[np.float32]
    """[J + 1] of the jobs that can start, in the order of view.jobs, then of waiting."""


def new_scratch(weights: Weights, view: View) -> Scratch:
    """Memory for decisions that this view can hold."""
    d, f = weights.inside_up.shape[0] - 1, weights.inside_up.shape[1]
    jobs, most = len(view.jobs), max(SLOTS, len(view.keys))

    def zeros(*shape: int) -> NDArray[np.float32]:
        return np.zeros(shape, np.float32)

    tokens, keys = (jobs, SLOTS, d), (most, d)
    both = np.concatenate([weights.embed, weights.slot])
    return Scratch(
        embedded=zeros(*tokens), key=zeros(*tokens), value=zeros(*tokens), keys=zeros(*keys), values=zeros(*keys),
        score=zeros(most), small=zeros(4, max(d, f)), straight=np.stack([both @ weights.inside[k] for k in (1, 2)]),
        logits=zeros(jobs + 1),
    )  # fmt: skip


@kernel
def choose(state, row, view, weights, scratch, temperature, random):
    """The agent's decision: the most likely (temperature 0), or drawn; a job, or J for waiting."""
    survey(state, row, view)
    tokens(state, row, view)
    logits_of(view, weights, scratch)
    count, logits = view.counts[0], scratch.logits
    options = count + state.waits[row]
    best = 0
    for k in range(options):
        if logits[k] > logits[best]:
            best = k
    if temperature > 0.0:
        best = _draw(logits, options, logits[best], temperature, random)
    return view.jobs[best] if best < count else state.jobs[state.instance[row]]


@kernel
def _draw(logits, options, largest, temperature, random):
    total = 0.0
    for k in range(options):
        total += np.exp((logits[k] - largest) / temperature)
    point = uniform(random) * total
    for k in range(options):
        point -= np.exp((logits[k] - largest) / temperature)
        if point < 0.0:
            return k
    return options - 1


@kernel
def logits_of(view, weights, scratch):
    """Fill `scratch.logits` for what `tokens` has listed; the one of waiting is there even where it is not offered."""
    _within(view, weights, scratch)
    count, logits, small = view.counts[0], scratch.logits, scratch.small
    d = weights.slot.shape[1]
    waiting = np.float32(0.0)
    for c in range(count):
        token = scratch.embedded[c, NEXT]
        begin, size = view.key_begin[c], np.int64(view.key_end[c] - view.key_begin[c])
        keys, values = scratch.keys[begin : begin + size], scratch.values[begin : begin + size]
        here = scratch.small[0]
        _attend(token, keys, values, size, weights.across, scratch.score, small, here)
        _between(here, weights.across_up, weights.across_down, small)
        for k in range(2):
            hidden = small[2]
            _linear(here, weights.head[k], hidden, d, True)
            value = weights.out[k, d]
            for i in range(d):
                value += max(hidden[i], np.float32(0.0)) * weights.out[k, i]
            if k == 0:
                logits[c] = value
            else:
                waiting += value
    logits[count] = waiting / count


@kernel
def _within(view, weights, scratch):
    """The layer within jobs, at the tokens that compete; then their keys and values of the layer across jobs."""
    d = weights.slot.shape[1]
    for c in range(view.counts[1]):
        present = 0
        for s in range(SLOTS):
            if view.there[c, s]:  # the order of keys does not matter
                _token(view.x, c, s, scratch.straight[0], FEATURES, scratch.key[c, present])
                _token(view.x, c, s, scratch.straight[1], FEATURES, scratch.value[c, present])
                present += 1
        view.at[view.jobs[c]] = present
    for k in range(view.counts[2]):
        c, s = divmod(view.keys[k], SLOTS)
        token, present = scratch.embedded[c, s], np.int64(view.at[view.jobs[c]])
        here = scratch.small[0]
        for i in range(d):
            token[i] = weights.slot[s, i]
        for f in range(FEATURES):
            feature = view.x[c, s, f]
            for i in range(d):
                token[i] += feature * weights.embed[f, i]
        _attend(token, scratch.key[c], scratch.value[c], present, weights.inside, scratch.score, scratch.small, here)
        _between(here, weights.inside_up, weights.inside_down, scratch.small)
        for i in range(d):
            token[i] = here[i]
        _linear(token, weights.across[1], scratch.keys[k], d, False)
        _linear(token, weights.across[2], scratch.values[k], d, False)


@kernel
def _token(x, c, s, table, features, out):
    """out = x[c, s] @ table[:features] + table[features + s]."""
    for i in range(len(out)):
        out[i] = table[features + s, i]
    for f in range(features):
        value = x[c, s, f]
        for i in range(len(out)):
            out[i] += value * table[f, i]


@kernel
def _linear(x, matrix, out, d, biased):
    """out = x @ matrix[:d] (+ matrix[d])."""
    width = matrix.shape[1]
    for o in range(width):
        out[o] = matrix[d, o] if biased else np.float32(0.0)
    for i in range(d):
        value = x[i]
        for o in range(width):
            out[o] += value * matrix[i, o]


@kernel
def _attend(token, keys, values, size, matrices, score, small, out):
    """out = token + one head of attention of it to the first `size` keys. Uses small[1] and small[2]."""
    d = matrices.shape[1]
    query, mixed = small[1], small[2]
    _linear(token, matrices[0], query, d, False)
    largest, scale = np.float32(-np.inf), np.float32(1.0 / np.sqrt(d))
    for k in range(size):
        dot = np.float32(0.0)
        for i in range(d):
            dot += query[i] * keys[k, i]
        score[k] = dot * scale
        largest = max(largest, score[k])
    total = np.float32(0.0)
    for i in range(d):
        mixed[i] = 0.0
    for k in range(size):
        weight = np.exp(score[k] - largest)
        total += weight
        for i in range(d):
            mixed[i] += weight * values[k, i]
    for i in range(d):
        mixed[i] /= total
    _linear(mixed, matrices[3], out, d, False)
    for i in range(d):
        out[i] += token[i]


@kernel
def _between(x, up, down, small):
    """x += relu(x @ up) @ down, in place. Uses small[1] and small[2]."""
    d, f = up.shape[0] - 1, up.shape[1]
    hidden, back = small[1], small[2]
    _linear(x, up, hidden, d, True)
    for i in range(f):
        hidden[i] = max(hidden[i], np.float32(0.0))
    _linear(hidden, down, back, f, True)
    for i in range(d):
        x[i] += back[i]
