"""The network inside numba: logits of one decision, from weights as arrays (network.py has the same in torch).

After Tassel, Gebser and Schekotihin (ICAPS 2023, section 4).
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.networks.compiled import add_product, attend, dense, draw, rectify
from corl.solvers.jobshop.cp_agent.observation import ABLE, FEATURES, KEYS, LISTED, NEXT, SLOTS, View, survey, tokens

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
    count = view.counts[ABLE]
    best = draw(scratch.logits, 0, count + state.waits[row], temperature, random)
    return view.jobs[best] if best < count else state.jobs[state.instance[row]]


@kernel
def logits_of(view, weights, scratch):
    """Fill `scratch.logits` for what `tokens` has listed; the one of waiting is there even where it is not offered."""
    _within(view, weights, scratch)
    count, logits, small = view.counts[ABLE], scratch.logits, scratch.small
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
            dense(here, weights.head[k], hidden)
            rectify(hidden, d)
            value = weights.out[k, d]
            for i in range(d):
                value += hidden[i] * weights.out[k, i]
            if k == 0:
                logits[c] = value
            else:
                waiting += value
    logits[count] = waiting / count


@kernel
def _within(view, weights, scratch):
    """The layer within jobs, at the tokens that compete; then their keys and values of the layer across jobs."""
    d = weights.slot.shape[1]
    for c in range(view.counts[LISTED]):
        present = 0
        for s in range(SLOTS):
            if view.there[c, s]:  # the order of keys does not matter
                _token(view.x, c, s, scratch.straight[0], FEATURES, scratch.key[c, present])
                _token(view.x, c, s, scratch.straight[1], FEATURES, scratch.value[c, present])
                present += 1
        view.at[view.jobs[c]] = present
    for k in range(view.counts[KEYS]):
        c, s = divmod(view.keys[k], SLOTS)
        token, keys = scratch.embedded[c, s], np.int64(view.at[view.jobs[c]])
        here = scratch.small[0]
        for i in range(d):
            token[i] = weights.slot[s, i]
        add_product(view.x[c, s], FEATURES, weights.embed, token)
        _attend(token, scratch.key[c], scratch.value[c], keys, weights.inside, scratch.score, scratch.small, here)
        _between(here, weights.inside_up, weights.inside_down, scratch.small)
        for i in range(d):
            token[i] = here[i]
        _product(token, weights.across[1], scratch.keys[k])
        _product(token, weights.across[2], scratch.values[k])


@kernel
def _token(x, c, s, table, features, out):
    """out = x[c, s] @ table[:features] + table[features + s]."""
    for i in range(len(out)):
        out[i] = table[features + s, i]
    add_product(x[c, s], features, table, out)


@kernel
def _product(x, matrix, out):
    """out = x @ matrix."""
    for o in range(matrix.shape[1]):
        out[o] = np.float32(0.0)
    add_product(x, matrix.shape[0], matrix, out)


@kernel
def _attend(token, keys, values, size, matrices, score, small, out):
    """out = token + one head of attention of it to the first `size` keys. Uses small[1] and small[2]."""
    query, mixed = small[1], small[2]
    _product(token, matrices[0], query)
    attend(query, keys, values, size, score, mixed)
    _product(mixed, matrices[3], out)
    for i in range(matrices.shape[1]):
        out[i] += token[i]


@kernel
def _between(x, up, down, small):
    """x += relu(x @ up) @ down, in place. Uses small[1] and small[2]."""
    hidden, back = small[1], small[2]
    dense(x, up, hidden)
    rectify(hidden, up.shape[1])
    dense(hidden, down, back)
    for i in range(down.shape[1]):
        x[i] += back[i]
