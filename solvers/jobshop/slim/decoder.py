"""The decoder as kernels: logits of the jobs of many partial schedules at once (Corsini et al., NeurIPS 2024, section 4).

A lane is an unfinished job of a partial schedule. The values of a lane form a column of the arrays, and the inner loops run along
the lanes, so that they become vector instructions. Sums are not reordered, so that the logit of a lane is bit-identical whatever
other lanes are evaluated with it.
"""

# mypy: allow-untyped-defs
# numba infers the types of kernels; their docstrings give shapes and dtypes.

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel
from corl.networks.compiled import dense_lanes, exponential
from corl.solvers.jobshop.slim.weights import DECODER_HEADS, DECODER_WIDTH, HIDDEN, LAST, MIXED, PADDED

__all__ = ["Lanes", "logits", "new_lanes"]

_HEAD_WIDTH = DECODER_WIDTH // DECODER_HEADS  # 8; `_exp_scores` processes the numbers of a head in two groups of four
_ZERO, _SLOPE = np.float32(0.0), np.float32(0.1)
_MAX_SCORE = np.float32(40.0)  # limit of attention scores: a sum of a thousand exp(40) fits into a float32


class Lanes(NamedTuple):
    """Work arrays for L lanes of S partial schedules."""

    operation: NDArray[np.int32]
    """[L] the next operation of each lane's job."""
    job: NDArray[np.int32]
    """[L] the job of each lane."""
    offset: NDArray[np.int32]
    """[S + 1] the first lane of each partial schedule, then the number of lanes."""
    logit: NDArray[np.float32]
    """[L] the logit of each lane, written by `logits`."""
    context: NDArray[np.float32]
    """[PADDED + DECODER_WIDTH, L] the context features (observation.py), a row of zeros, and the output of the attention."""
    qkv: NDArray[np.float32]
    """[3 DECODER_WIDTH, L] queries, keys and values."""
    mixed: NDArray[np.float32]
    """[MIXED, L] output of the layer after the attention."""
    hidden: NDArray[np.float32]
    """[HIDDEN, L] output of the hidden layer."""
    last: NDArray[np.float32]
    """[LAST, L] output of the last layer before the logit."""
    weight: NDArray[np.float32]
    """[L] a work array: the attention of each lane to one lane, not normalised."""
    total: NDArray[np.float32]
    """[L] a work array: for each lane, the sum of `weight` over all lanes of its schedule."""


def new_lanes(schedules: int, jobs: int) -> Lanes:
    """Allocate the lanes of `schedules` partial schedules of `jobs` jobs each."""
    n = schedules * jobs
    widths = PADDED + DECODER_WIDTH, 3 * DECODER_WIDTH, MIXED, HIDDEN, LAST
    context, qkv, mixed, hidden, last = (np.zeros((width, n), np.float32) for width in widths)
    operation, job, offset = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(schedules + 1, np.int32)
    logit, weight, total = (np.zeros(n, np.float32) for _ in range(3))
    return Lanes(operation, job, offset, logit, context, qkv, mixed, hidden, last, weight, total)


@kernel
def logits(weights, embedded, lanes):
    """Write `lanes.logit`, given the context and the operation of every lane, in place.

    Args:
        weights: The SlimWeights.
        embedded: float32 [N, HIDDEN], the encoder's embeddings of the N operations.
        lanes: The Lanes.
    """
    count = np.uint64(lanes.offset[-1])
    dense_lanes(weights.attend.weight, weights.attend.bias, lanes.context, lanes.qkv, count)
    for s in range(len(lanes.offset) - 1):
        _attend(lanes.qkv, lanes.context, lanes.weight, lanes.total, np.uint64(lanes.offset[s]), np.uint64(lanes.offset[s + 1]))
    dense_lanes(weights.mix.weight, weights.mix.bias, lanes.context, lanes.mixed, count)
    _relu(lanes.mixed, count, _ZERO)
    dense_lanes(weights.hidden.weight, weights.hidden.bias, lanes.mixed, lanes.hidden, count)
    _add(embedded, lanes.operation, lanes.hidden, count)
    _relu(lanes.hidden, count, _SLOPE)
    dense_lanes(weights.last.weight, weights.last.bias, lanes.hidden, lanes.last, count)
    _relu(lanes.last, count, _SLOPE)
    for at in range(count):
        lanes.logit[at] = _ZERO
    for k in range(LAST):
        w = weights.score[k]
        for at in range(count):
            lanes.logit[at] += w * lanes.last[k, at]


@kernel
def _relu(x, count, slope):
    """Apply the leaky ReLU max(x, slope * x) to the first `count` columns, in place."""
    for k in range(x.shape[0]):
        for at in range(count):
            value = x[k, at]
            x[k, at] = max(value, slope * value)


@kernel
def _add(embedded, operation, x, count):
    """Add the embedding [HIDDEN] of each lane's operation to its column of x, in place."""
    for at in range(count):
        i = operation[at]
        for k in range(HIDDEN):
            x[k, at] += embedded[i, k]


@kernel
def _attend(qkv, context, weight, total, begin, end):
    """Write the output of the attention among the lanes begin..end - 1 (uint64) to the rows of `context` from PADDED on.

    The loops are written for LLVM's vectorisation: each touches only a few rows, because LLVM's alias analysis gives up with
    more, and indices are unsigned, because Numba checks signed ones for negative values. `weight` and `total` [L] are work
    arrays.
    """
    for h in range(DECODER_HEADS):
        q, out = h * _HEAD_WIDTH, PADDED + h * _HEAD_WIDTH
        k, v = q + DECODER_WIDTH, q + 2 * DECODER_WIDTH
        for d in range(_HEAD_WIDTH):
            for at in range(begin, end):
                context[out + d, at] = _ZERO
        for at in range(begin, end):
            total[at] = _ZERO
        for i in range(begin, end):
            _exp_scores(qkv, weight, q, k, i, begin, end)
            for at in range(begin, end):
                total[at] += weight[at]
            for d in range(0, _HEAD_WIDTH, 2):
                v0, v1 = qkv[v + d, i], qkv[v + d + 1, i]
                for at in range(begin, end):
                    context[out + d, at] += weight[at] * v0
                    context[out + d + 1, at] += weight[at] * v1
        for d in range(_HEAD_WIDTH):
            for at in range(begin, end):
                context[out + d, at] /= total[at]


@kernel
def _exp_scores(qkv, weight, q, k, i, begin, end):
    """Write exp(query . key of lane i) to `weight` for the queries of lanes begin..end - 1.

    The queries of the head begin in row q of `qkv`, its keys in row k.
    """
    a0, a1, a2, a3 = qkv[k, i], qkv[k + 1, i], qkv[k + 2, i], qkv[k + 3, i]
    b0, b1, b2, b3 = qkv[k + 4, i], qkv[k + 5, i], qkv[k + 6, i], qkv[k + 7, i]
    for at in range(begin, end):
        weight[at] = a0 * qkv[q, at] + a1 * qkv[q + 1, at] + a2 * qkv[q + 2, at] + a3 * qkv[q + 3, at]
    for at in range(begin, end):
        second_half = b0 * qkv[q + 4, at] + b1 * qkv[q + 5, at] + b2 * qkv[q + 6, at] + b3 * qkv[q + 7, at]
        weight[at] = exponential(min(max(weight[at] + second_half, -_MAX_SCORE), _MAX_SCORE))
