"""Kernels for the actions of a tree's node: selecting the likeliest ones, ordering them, and weights from logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from corl.jit import kernel

__all__ = ["FAR", "keep_unmasked", "prior_weights", "promote"]

FAR = -1e30
"""An action is masked if its logit is at most this value."""
# Constants of the exponential function (Cephes): log2(e), log(2) in two parts, and the coefficients of a polynomial.
_LOWEST, _HALF, _ONE = np.float32(-87.0), np.float32(0.5), np.float32(1.0)
_LOG2_E, _LN2_HIGH, _LN2_LOW = np.float32(1.44269504), np.float32(0.693359375), np.float32(2.12194440e-4)
_P = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
_C0, _C1, _C2, _C3, _C4, _C5 = map(np.float32, _P)


@kernel(borrow=True)
def keep_unmasked(actions: Any, logits: Any, count: Any, edges: Any, kept_logits: Any) -> Any:
    """Copy the unmasked actions, the K with the largest logits if there are more; return their number.

    If all actions are masked, the mask is ignored, and all have equal logits.

    Args:
        actions: int32 [>= count], the actions.
        logits: float32 [>= count], the logits of the actions.
        count: The number of actions.
        edges: int32 [K], written: the actions kept.
        kept_logits: float32 [K], written: their logits.
    """
    capacity, kept_count = len(edges), 0
    if count <= capacity:
        for k in range(count):
            if logits[k] > FAR:
                edges[kept_count], kept_logits[kept_count] = actions[k], logits[k]
                kept_count += 1
    else:
        for k in range(count):
            if not logits[k] > FAR or (kept_count == capacity and logits[k] <= kept_logits[capacity - 1]):
                continue
            kept_count = min(kept_count + 1, capacity)
            i = kept_count - 1
            while i > 0 and kept_logits[i - 1] < logits[k]:
                edges[i], kept_logits[i] = edges[i - 1], kept_logits[i - 1]
                i -= 1
            edges[i], kept_logits[i] = actions[k], logits[k]
    if kept_count == 0 and count > 0:  # every action masked: the mask is ignored, all have equal logits
        kept_count = min(count, capacity)
        for k in range(kept_count):
            edges[k], kept_logits[k] = actions[k], 0.0
    return kept_count


@kernel(borrow=True)
def promote(edges: Any, weights: Any, first: Any, count: Any) -> None:
    """Move the largest of weights[first:count] and its edge to `first`, in place; the others keep their order.

    Of equal weights, the first one is moved.
    """
    if first >= count:
        return
    top = _largest(weights, first, count)
    best = first
    while weights[best] != top:
        best += 1
    edge = edges[best]
    for k in range(best, first, -1):
        edges[k], weights[k] = edges[k - 1], weights[k - 1]
    edges[first], weights[first] = edge, top


@kernel(fastmath=True, borrow=True)
def _largest(array: Any, begin: Any, end: Any) -> Any:
    """Return the largest of array[begin:end], in a loop that the compiler may vectorise."""
    top = array[begin]
    for k in range(begin + 1, end):
        top = max(top, array[k])
    return top


@kernel(fastmath=True, borrow=True)
def prior_weights(array: Any, count: Any) -> Any:
    """Replace finite logits array[:count] (float32) by exp(logit - largest logit), in place; return their sum, float64.

    The exponential function is that of the Cephes library (Moshier): exp(x) is a polynomial of r = x - n log 2, where n is the
    integer nearest to x / log 2, times 2**n, by adding n to the exponent's bits. The compiler vectorises it; the relative error
    is 2e-7. Weights below 2e-38 become 2e-38.
    """
    top = _largest(array, 0, count)
    bits = array.view(np.int32)
    for k in range(count):
        x = max(array[k] - top, _LOWEST)
        n = np.floor(x * _LOG2_E + _HALF)
        r = (x - n * _LN2_HIGH) + n * _LN2_LOW
        p = ((((_C0 * r + _C1) * r + _C2) * r + _C3) * r + _C4) * r + _C5
        array[k] = (p * r) * r + r + _ONE
        bits[k] += np.int32(n) << np.int32(23)
    total = 0.0
    for k in range(count):
        total += array[k]
    return total
