"""The decoder as kernels: logits of many jobs of many partial schedules at once (Corsini et al., NeurIPS 2024, section 4).

A lane is an unfinished job of a partial schedule. The values of a lane form a column, and every loop runs along the lanes. Sums
are not reordered, so a lane's logit is bit-identical whatever other lanes are evaluated with it.
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

_EACH = DECODER_WIDTH // DECODER_HEADS  # 8 numbers of a head, which `_exp_scores` processes in two groups of four
_ZERO, _SLOPE = np.float32(0.0), np.float32(0.1)
_LIMIT = np.float32(40.0)  # bound of attention scores: exp(40) times a thousand jobs fits into a float32


class Lanes(NamedTuple):
    """Working memory for L lanes of S partial schedules."""

    operation: NDArray[np.int32]
    """[L] the next operation."""
    job: NDArray[np.int32]
    """[L] the job."""
    begin: NDArray[np.int32]
    """[S + 1] the offset of each partial schedule's lanes."""
    logit: NDArray[np.float32]
    """[L] the result."""
    context: NDArray[np.float32]
    """[PADDED + DECODER_WIDTH, L] the context, a row of zeros, and the output of the attention."""
    parts: NDArray[np.float32]
    """[3 DECODER_WIDTH, L] queries, keys, values."""
    mixed: NDArray[np.float32]
    """[MIXED, L] output of the layer after the attention."""
    hidden: NDArray[np.float32]
    """[HIDDEN, L] output of the hidden layer."""
    last: NDArray[np.float32]
    """[LAST, L] output of the last layer before the logit."""
    weight: NDArray[np.float32]
    """[L] scratch."""
    total: NDArray[np.float32]
    """[L] scratch."""


def new_lanes(schedules: int, jobs: int) -> Lanes:
    """Allocate the lanes of `schedules` partial schedules."""
    n = schedules * jobs
    widths = PADDED + DECODER_WIDTH, 3 * DECODER_WIDTH, MIXED, HIDDEN, LAST
    context, parts, mixed, hidden, last = (np.zeros((width, n), np.float32) for width in widths)
    operation, job, begin = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(schedules + 1, np.int32)
    logit, weight, total = (np.zeros(n, np.float32) for _ in range(3))
    return Lanes(operation, job, begin, logit, context, parts, mixed, hidden, last, weight, total)


@kernel
def logits(weights, embedded, lanes):
    """Fill `lanes.logit` from the context and the operation of every lane; `embedded` [N, HIDDEN] is the encoder's result."""
    count = np.uint64(lanes.begin[-1])
    dense_lanes(weights.attend.weight, weights.attend.bias, lanes.context, lanes.parts, count)
    for s in range(len(lanes.begin) - 1):
        _attend(lanes.parts, lanes.context, lanes.weight, lanes.total, np.uint64(lanes.begin[s]), np.uint64(lanes.begin[s + 1]))
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
    """Apply the leaky ReLU max(x, slope x) to the first `count` columns, in place."""
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
def _attend(parts, context, weight, total, begin, end):
    """Write the attention among the lanes begin..end - 1 (uint64) to the rows of `context` from PADDED on.

    Two things let LLVM vectorise these loops: each touches few rows, because the analysis of aliases gives up beyond that, and
    the indices are unsigned, because signed ones are checked for Python's negative indices. `weight` and `total` are scratch.
    """
    for h in range(DECODER_HEADS):
        q, out = h * _EACH, PADDED + h * _EACH
        k, v = q + DECODER_WIDTH, q + 2 * DECODER_WIDTH
        for d in range(_EACH):
            for at in range(begin, end):
                context[out + d, at] = _ZERO
        for at in range(begin, end):
            total[at] = _ZERO
        for i in range(begin, end):
            _exp_scores(parts, weight, q, k, i, begin, end)
            for at in range(begin, end):
                total[at] += weight[at]
            for d in range(0, _EACH, 2):
                v0, v1 = parts[v + d, i], parts[v + d + 1, i]
                for at in range(begin, end):
                    context[out + d, at] += weight[at] * v0
                    context[out + d + 1, at] += weight[at] * v1
        for d in range(_EACH):
            for at in range(begin, end):
                context[out + d, at] /= total[at]


@kernel
def _exp_scores(parts, weight, q, k, i, begin, end):
    """Write exp(query . key i) of the queries of lanes begin..end - 1 to `weight`; queries begin in row q, keys in row k."""
    a0, a1, a2, a3 = parts[k, i], parts[k + 1, i], parts[k + 2, i], parts[k + 3, i]
    b0, b1, b2, b3 = parts[k + 4, i], parts[k + 5, i], parts[k + 6, i], parts[k + 7, i]
    for at in range(begin, end):
        weight[at] = a0 * parts[q, at] + a1 * parts[q + 1, at] + a2 * parts[q + 2, at] + a3 * parts[q + 3, at]
    for at in range(begin, end):
        far = b0 * parts[q + 4, at] + b1 * parts[q + 5, at] + b2 * parts[q + 6, at] + b3 * parts[q + 7, at]
        weight[at] = exponential(min(max(weight[at] + far, -_LIMIT), _LIMIT))
