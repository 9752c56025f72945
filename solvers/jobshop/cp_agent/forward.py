"""The network as kernels, which compute the logits of one decision; network.py holds the same network in PyTorch.

The network is that of Tassel, Gebser and Schekotihin (ICAPS 2023, section 4). The tokens of a job are the operations of
its window, its start and its end (observation.py). They attend to each other within the job; then the operations that compete for
a machine attend to each other.
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
    """The parameters. d is the width of a token, f that of the hidden layer of a feed-forward layer.

    Matrices have the shape [inputs, outputs]. If a matrix has one more row than inputs, the last row is the bias.
    """

    embed: NDArray[np.float32]
    """[FEATURES, d] the embedding of a token's features."""
    slot: NDArray[np.float32]
    """[SLOTS, d] the embedding of a token's position among the tokens of the job, added to the embedding of the features."""
    inside: NDArray[np.float32]
    """[4, d, d] the query, key, value and output matrices of the attention within a job."""
    inside_up: NDArray[np.float32]
    """[d + 1, f] the first half of the feed-forward layer after the attention within a job."""
    inside_down: NDArray[np.float32]
    """[f + 1, d] the second half of that feed-forward layer."""
    across: NDArray[np.float32]
    """[4, d, d] the query, key, value and output matrices of the attention among the operations that compete for a machine."""
    across_up: NDArray[np.float32]
    """[d + 1, f] the first half of the feed-forward layer after the attention among competing operations."""
    across_down: NDArray[np.float32]
    """[f + 1, d] the second half of that feed-forward layer."""
    head: NDArray[np.float32]
    """[2, d + 1, d] the hidden layers of the two outputs: one for starting the operation, one for waiting."""
    out: NDArray[np.float32]
    """[2, d + 1] the output layers of the two outputs; the last entry is the bias."""


class Scratch(NamedTuple):
    """Work arrays of `logits_of` for up to J jobs; C is the maximum number of competing operations."""

    embedded: NDArray[np.float32]
    """[J, SLOTS, d] tokens after the layer within jobs; written for competing operations only."""
    key: NDArray[np.float32]
    """[J, SLOTS, d] keys of the attention within jobs."""
    value: NDArray[np.float32]
    """[J, SLOTS, d] values of the attention within jobs."""
    keys: NDArray[np.float32]
    """[C, d] keys of the attention among competing operations."""
    values: NDArray[np.float32]
    """[C, d] values of the attention among competing operations."""
    score: NDArray[np.float32]
    """[C] attention scores of one token."""
    small: NDArray[np.float32]
    """[4, max(d, f)] four vectors of one token."""
    tables: NDArray[np.float32]
    """[2, FEATURES + SLOTS, d] the product of `embed` and `slot` with the key matrix and with the value matrix of `inside`, which
    gives keys and values directly from the features."""
    logits: NDArray[np.float32]
    """[J + 1] the logits of the jobs that can start, in the order of `Observation.jobs`, then that of waiting."""


def new_scratch(weights: CpWeights, observation: Observation) -> Scratch:
    """Allocate the work arrays for decisions of the size of `observation`."""
    d, f = weights.inside_up.shape[0] - 1, weights.inside_up.shape[1]
    jobs, competitors = len(observation.jobs), max(SLOTS, len(observation.keys))

    def zeros(*shape: int) -> NDArray[np.float32]:
        return np.zeros(shape, np.float32)

    shape, keys = (jobs, SLOTS, d), (competitors, d)
    embeddings = np.concatenate([weights.embed, weights.slot])
    return Scratch(
        embedded=zeros(*shape), key=zeros(*shape), value=zeros(*shape), keys=zeros(*keys), values=zeros(*keys),
        score=zeros(competitors), small=zeros(4, max(d, f)), logits=zeros(jobs + 1),
        tables=np.stack([embeddings @ weights.inside[k] for k in (1, 2)]),
    )  # fmt: skip


@kernel
def choose(state, row, observation, weights, scratch, temperature, random):
    """Return the agent's action in `row`, a job or the number of jobs for waiting.

    At temperature 0 the most likely action is returned, otherwise a sampled one.
    """
    list_startable(state, row, observation)
    write_tokens(state, row, observation)
    logits_of(observation, weights, scratch)
    count = observation.counts[STARTABLE]
    best = draw(scratch.logits, 0, count + state.waits[row], temperature, random)
    return observation.jobs[best] if best < count else state.jobs[state.instance[row]]


@kernel
def logits_of(observation, weights, scratch):
    """Write to `scratch.logits` the logits of the jobs that can start, and that of waiting, even if waiting is illegal."""
    _attend_within_jobs(observation, weights, scratch)
    count, logits, small = observation.counts[STARTABLE], scratch.logits, scratch.small
    d = weights.slot.shape[1]
    waiting = np.float32(0.0)
    for c in range(count):
        token = scratch.embedded[c, NEXT]
        begin, size = observation.key_begin[c], np.int64(observation.key_end[c] - observation.key_begin[c])
        keys, values = scratch.keys[begin : begin + size], scratch.values[begin : begin + size]
        output = scratch.small[0]
        _attend(token, keys, values, size, weights.across, scratch.score, small, output)
        _feed_forward(output, weights.across_up, weights.across_down, small)
        for k in range(2):
            hidden = small[2]
            dense(output, weights.head[k], hidden)
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
    """Apply the layer within jobs to the competing operations; write their keys and values for the layer across jobs."""
    d = weights.slot.shape[1]
    for c in range(observation.counts[LISTED]):
        present = 0
        for s in range(SLOTS):
            if observation.there[c, s]:  # keys need no gaps: attention does not depend on their order
                _token(observation.x, c, s, scratch.tables[0], FEATURES, scratch.key[c, present])
                _token(observation.x, c, s, scratch.tables[1], FEATURES, scratch.value[c, present])
                present += 1
        observation.position[observation.jobs[c]] = present  # from here on a work array: the number of the job's tokens
    for k in range(observation.counts[KEYS]):
        c, s = divmod(observation.keys[k], SLOTS)
        token, keys = scratch.embedded[c, s], np.int64(observation.position[observation.jobs[c]])
        output = scratch.small[0]
        for i in range(d):
            token[i] = weights.slot[s, i]
        add_product(observation.x[c, s], FEATURES, weights.embed, token)
        _attend(token, scratch.key[c], scratch.value[c], keys, weights.inside, scratch.score, scratch.small, output)
        _feed_forward(output, weights.inside_up, weights.inside_down, scratch.small)
        for i in range(d):
            token[i] = output[i]
        _product(token, weights.across[1], scratch.keys[k])
        _product(token, weights.across[2], scratch.values[k])


@kernel
def _token(x, c, s, table, features, out):
    """Write x[c, s] @ table[:features] + table[features + s] to out."""
    for i in range(len(out)):
        out[i] = table[features + s, i]
    add_product(x[c, s], features, table, out)


@kernel
def _product(x, matrix, out):
    """Write x @ matrix to out."""
    for o in range(matrix.shape[1]):
        out[o] = np.float32(0.0)
    add_product(x, matrix.shape[0], matrix, out)


@kernel
def _attend(token, keys, values, size, matrices, score, small, out):
    """Write to out the token plus one head of attention to the first `size` keys; small[1] and small[2] are overwritten."""
    query, mixed = small[1], small[2]
    _product(token, matrices[0], query)
    attend(query, keys, values, size, score, mixed)
    _product(mixed, matrices[3], out)
    for i in range(matrices.shape[1]):
        out[i] += token[i]


@kernel
def _feed_forward(x, up, down, small):
    """Add relu(x @ up) @ down, with biases, to x, in place; small[1] and small[2] are overwritten."""
    hidden, output = small[1], small[2]
    dense(x, up, hidden)
    rectify(hidden, up.shape[1])
    dense(hidden, down, output)
    for i in range(down.shape[1]):
        x[i] += output[i]
