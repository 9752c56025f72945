"""The network as kernels: logits of one decision, from weights as arrays (network.py holds the same network in torch).

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
from corl.solvers.jobshop.cp_agent.observation import (
    FEATURES,
    KEYS,
    LISTED,
    NEXT,
    SLOTS,
    STARTABLE,
    Observation,
    list_startable,
    write_tokens,
)

__all__ = ["CpWeights", "Scratch", "choose", "logits_of", "new_scratch"]


class CpWeights(NamedTuple):
    """The parameters, float32, matrices as [in, out]; d is the width of a token, f that of the feed-forward layers.

    In a matrix with one more row than inputs the last row is the bias.
    """

    embed: NDArray[np.float32]
    """[FEATURES, d]"""
    slot: NDArray[np.float32]
    """[SLOTS, d] the embedding of the slot, added to each token."""
    inside: NDArray[np.float32]
    """[4, d, d] query, key, value and output of the attention within a job."""
    inside_up: NDArray[np.float32]
    """[d + 1, f] the feed-forward layer after it, first half."""
    inside_down: NDArray[np.float32]
    """[f + 1, d] its second half."""
    across: NDArray[np.float32]
    """[4, d, d] query, key, value and output of the attention among the operations that compete for a machine."""
    across_up: NDArray[np.float32]
    """[d + 1, f] the feed-forward layer after it, first half."""
    across_down: NDArray[np.float32]
    """[f + 1, d] its second half."""
    head: NDArray[np.float32]
    """[2, d + 1, d] hidden layers of the two outputs: starting, and waiting."""
    out: NDArray[np.float32]
    """[2, d + 1] output layers; the last entry is the bias."""


class Scratch(NamedTuple):
    """Working memory of `logits_of` for up to J jobs."""

    embedded: NDArray[np.float32]
    """[J, SLOTS, d] tokens of the competing operations after the layer within jobs; the others are not filled."""
    key: NDArray[np.float32]
    """[J, SLOTS, d] keys of the attention within jobs."""
    value: NDArray[np.float32]
    """[J, SLOTS, d] its values."""
    keys: NDArray[np.float32]
    """[keys, d] keys of the attention among competitors."""
    values: NDArray[np.float32]
    """[keys, d] its values."""
    score: NDArray[np.float32]
    """[keys] attention scores."""
    small: NDArray[np.float32]
    """[4, max(d, f)] vectors of one token."""
    tables: NDArray[np.float32]
    """[2, FEATURES + SLOTS, d] `embed` and `slot` times the key and value matrices within a job: keys and values directly from
    features."""
    logits: NDArray[np.float32]
    """[J + 1] of the jobs that can start, in the order of `Observation.jobs`, then of waiting."""


def new_scratch(weights: CpWeights, observation: Observation) -> Scratch:
    """Allocate a Scratch for decisions of the size of this Observation."""
    d, f = weights.inside_up.shape[0] - 1, weights.inside_up.shape[1]
    jobs, most = len(observation.jobs), max(SLOTS, len(observation.keys))

    def zeros(*shape: int) -> NDArray[np.float32]:
        return np.zeros(shape, np.float32)

    shape, keys = (jobs, SLOTS, d), (most, d)
    both = np.concatenate([weights.embed, weights.slot])
    return Scratch(
        embedded=zeros(*shape), key=zeros(*shape), value=zeros(*shape), keys=zeros(*keys), values=zeros(*keys),
        score=zeros(most), small=zeros(4, max(d, f)), tables=np.stack([both @ weights.inside[k] for k in (1, 2)]),
        logits=zeros(jobs + 1),
    )  # fmt: skip


@kernel
def choose(state, row, observation, weights, scratch, temperature, random):
    """Return the agent's action in `row`: a job, or J for waiting; the most likely (temperature 0), or drawn."""
    list_startable(state, row, observation)
    write_tokens(state, row, observation)
    logits_of(observation, weights, scratch)
    count = observation.counts[STARTABLE]
    best = draw(scratch.logits, 0, count + state.waits[row], temperature, random)
    return observation.jobs[best] if best < count else state.jobs[state.instance[row]]


@kernel
def logits_of(observation, weights, scratch):
    """Fill `scratch.logits` for the jobs that `write_tokens` has listed; that of waiting is filled even if waiting is illegal."""
    _attend_within_jobs(observation, weights, scratch)
    count, logits, small = observation.counts[STARTABLE], scratch.logits, scratch.small
    d = weights.slot.shape[1]
    waiting = np.float32(0.0)
    for c in range(count):
        token = scratch.embedded[c, NEXT]
        begin, size = observation.key_begin[c], np.int64(observation.key_end[c] - observation.key_begin[c])
        keys, values = scratch.keys[begin : begin + size], scratch.values[begin : begin + size]
        here = scratch.small[0]
        _attend(token, keys, values, size, weights.across, scratch.score, small, here)
        _feed_forward(here, weights.across_up, weights.across_down, small)
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
def _attend_within_jobs(observation, weights, scratch):
    """Apply the layer within jobs to the competing tokens, and compute their keys and values of the layer across jobs."""
    d = weights.slot.shape[1]
    for c in range(observation.counts[LISTED]):
        present = 0
        for s in range(SLOTS):
            if observation.there[c, s]:  # the order of keys does not matter
                _token(observation.x, c, s, scratch.tables[0], FEATURES, scratch.key[c, present])
                _token(observation.x, c, s, scratch.tables[1], FEATURES, scratch.value[c, present])
                present += 1
        observation.position[observation.jobs[c]] = present
    for k in range(observation.counts[KEYS]):
        c, s = divmod(observation.keys[k], SLOTS)
        token, keys = scratch.embedded[c, s], np.int64(observation.position[observation.jobs[c]])
        here = scratch.small[0]
        for i in range(d):
            token[i] = weights.slot[s, i]
        add_product(observation.x[c, s], FEATURES, weights.embed, token)
        _attend(token, scratch.key[c], scratch.value[c], keys, weights.inside, scratch.score, scratch.small, here)
        _feed_forward(here, weights.inside_up, weights.inside_down, scratch.small)
        for i in range(d):
            token[i] = here[i]
        _product(token, weights.across[1], scratch.keys[k])
        _product(token, weights.across[2], scratch.values[k])


@kernel
def _token(x, c, s, table, features, out):
    """Compute out = x[c, s] @ table[:features] + table[features + s], in place."""
    for i in range(len(out)):
        out[i] = table[features + s, i]
    add_product(x[c, s], features, table, out)


@kernel
def _product(x, matrix, out):
    """Compute out = x @ matrix, in place."""
    for o in range(matrix.shape[1]):
        out[o] = np.float32(0.0)
    add_product(x, matrix.shape[0], matrix, out)


@kernel
def _attend(token, keys, values, size, matrices, score, small, out):
    """Compute out = token + one head of attention from the token to the first `size` keys. Overwrites small[1] and small[2]."""
    query, mixed = small[1], small[2]
    _product(token, matrices[0], query)
    attend(query, keys, values, size, score, mixed)
    _product(mixed, matrices[3], out)
    for i in range(matrices.shape[1]):
        out[i] += token[i]


@kernel
def _feed_forward(x, up, down, small):
    """Compute x += relu(x @ up) @ down, in place, with biases. Overwrites small[1] and small[2]."""
    hidden, back = small[1], small[2]
    dense(x, up, hidden)
    rectify(hidden, up.shape[1])
    dense(hidden, down, back)
    for i in range(down.shape[1]):
        x[i] += back[i]
