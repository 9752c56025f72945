"""The arithmetic of small networks in compiled kernels: linear layers, attention, softmax. Each method has its own forward pass.

Weights are C-contiguous arrays of float32, or of float64 if a method needs it (`array_of`). A *layer* is a matrix
[inputs + 1, outputs] whose last row is the bias. Work arrays may be longer than needed. Every sum is computed in the order of its
inputs, without fastmath, so that results do not depend on the vectorisation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from corl.jit import kernel
from corl.rng import uniform

__all__ = ["Dense", "add_product", "array_of", "attend", "dense", "dense_lanes", "draw", "exponential", "exponentials"]
__all__ += ["rectify"]

_FLOOR = np.float32(-80.0)  # lower limit of a logit minus the largest logit, in the range of `exponential`
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
# For `exponential`: log2(e), the number whose addition and subtraction rounds to an integer, and the polynomial's coefficients.
_LOG2E, _ROUND = np.float32(1.4426950408889634), np.float32(12582912.0)
_P1, _P2, _P3 = np.float32(0.6931471805599453), np.float32(0.2402265069591007), np.float32(0.05550410866482158)
_P4, _P5, _P6 = np.float32(0.009618129107628477), np.float32(0.0013333558146428443), np.float32(0.00015403530393381608)


class Dense(NamedTuple):
    """A linear layer for `dense_lanes`."""

    weight: NDArray[np.float32]
    """[outputs, inputs], padded with zeros: outputs to a multiple of 2, inputs to a multiple of 4."""
    bias: NDArray[np.float32]
    """[outputs], padded with zeros like `weight`."""


def array_of(tensor: Any, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return a C-contiguous copy of the current values of a torch tensor."""
    return np.array(tensor.detach().cpu().numpy(), dtype, order="C")


@kernel(inline=True)
def add_product(x: Any, inputs: Any, matrix: Any, out: Any) -> None:
    """Add a product in place: out[:O] += x[:inputs] @ matrix[:inputs], for a matrix [>= inputs, O]."""
    for i in range(inputs):
        value = x[i]
        for o in range(matrix.shape[1]):
            out[o] += value * matrix[i, o]


@kernel
def dense(x: Any, layer: Any, out: Any) -> None:
    """Apply a layer [I + 1, O]: out[:O] = x[:I] @ layer[:I] + layer[I]."""
    inputs = layer.shape[0] - 1
    for o in range(layer.shape[1]):
        out[o] = layer[inputs, o]
    add_product(x, inputs, layer, out)


@kernel(inline=True)
def rectify(x: Any, count: Any) -> None:
    """Apply ReLU to x[:count], in place."""
    for i in range(count):
        x[i] = max(x[i], x.dtype.type(0.0))


@kernel
def dense_lanes(weight: Any, bias: Any, x: Any, out: Any, lanes: Any) -> None:
    """Apply a linear layer to many inputs at once, one per column ("lane").

    out[o, l] = bias[o] + sum_k weight[o, k] x[k, l] for l < lanes. The result of a column does not depend on the other columns.

    Args:
        weight: float32 [outputs, inputs]; outputs are a multiple of 2, inputs of 4.
        bias: float32 [outputs].
        x: float32 [>= inputs, >= lanes].
        out: float32 [>= outputs, >= lanes], written in place.
        lanes: The number of columns, uint64: with a signed index, the compiled loops would be slower.
    """
    for o in range(0, weight.shape[0], 2):
        a, b = bias[o], bias[o + 1]
        for at in range(lanes):
            out[o, at] = a
            out[o + 1, at] = b
        for k in range(0, weight.shape[1], 4):
            a0, a1, a2, a3 = weight[o, k], weight[o, k + 1], weight[o, k + 2], weight[o, k + 3]
            b0, b1, b2, b3 = weight[o + 1, k], weight[o + 1, k + 1], weight[o + 1, k + 2], weight[o + 1, k + 3]
            for at in range(lanes):
                x0, x1, x2, x3 = x[k, at], x[k + 1, at], x[k + 2, at], x[k + 3, at]
                out[o, at] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                out[o + 1, at] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3


@kernel(inline=True)
def exponentials(score: Any, count: Any) -> Any:
    """Replace score[:count] by exp(score - largest score), in place, and return their sum, by which softmax divides them.

    `count` is at least 1.
    """
    largest, total = score[0], score.dtype.type(0.0)
    for k in range(1, count):
        largest = max(largest, score[k])
    for k in range(count):
        score[k] = np.exp(score[k] - largest)
        total += score[k]
    return total


@kernel(inline=True)
def attend(query: Any, keys: Any, values: Any, size: Any, score: Any, out: Any) -> None:
    """Compute attention of one head and one query: out [d] = softmax(keys @ query / sqrt(d)) @ values.

    Args:
        query: float32 [d].
        keys: float32 [>= size, d].
        values: float32 [>= size, d].
        size: The number of keys.
        score: float32 [>= size], a work array, overwritten.
        out: float32 [d], written in place.
    """
    d = keys.shape[1]
    scale = np.float32(1.0 / np.sqrt(d))
    for k in range(size):
        dot = _ZERO
        for i in range(d):
            dot += query[i] * keys[k, i]
        score[k] = dot * scale
    total = exponentials(score, size)
    for i in range(d):
        out[i] = _ZERO
    add_product(score, size, values, out)
    for i in range(d):
        out[i] /= total


@kernel(inline=True)
def exponential(x: Any) -> Any:
    """Return exp(x) for a float32 from -87 to 88. Loops with this function are vectorised, loops with np.exp are not.

    exp(x) = 2^(n + f): 2^f, with f in -1/2..1/2, by a Taylor polynomial, and 2^n by the bits of the exponent. The relative error
    is below 3e-7 + 1.2e-7 |x|, where the second part comes from the rounding of log2(e) and of its product with x.
    """
    t = x * _LOG2E
    n = (t + _ROUND) - _ROUND
    f = t - n
    power = _ONE + f * (_P1 + f * (_P2 + f * (_P3 + f * (_P4 + f * (_P5 + f * _P6)))))
    return power * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@kernel
def draw(logits: Any, begin: Any, end: Any, temperature: Any, random: Any) -> Any:
    """Draw an index in begin..end - 1 with the probabilities softmax(logits[begin:end] / temperature).

    Args:
        logits: float32 [>= end]; logits[begin:end] is overwritten.
        begin, end: The range.
        temperature: At 0 the index of the largest logit (the first of equal ones) is returned; no array is changed.
        random: uint64 [1], a state of corl.rng; advanced once.
    """
    best = begin
    for at in range(begin + 1, end):
        if logits[at] > logits[best]:
            best = at
    if temperature <= 0.0:
        return best
    largest, factor, total = logits[best], _ONE / np.float32(temperature), _ZERO
    for at in range(begin, end):
        weight = exponential(max((logits[at] - largest) * factor, _FLOOR))
        logits[at] = weight
        total += weight
    remainder = np.float32(uniform(random)) * total
    for at in range(begin, end):
        remainder -= logits[at]
        if remainder < _ZERO:
            return at
    return best
