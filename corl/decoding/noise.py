"""Gumbel noise computed from (key, time, index) alone, so that it does not depend on how episodes are batched."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from corl.jit import kernel
from corl.rng import hashed, mix

__all__ = ["gumbels", "stream_keys"]

_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, the increment of SplitMix64
_TINY = 2.0**-54  # replaces a uniform of 0, whose logarithm is infinite


def stream_keys(*numbers: ArrayLike) -> NDArray[np.uint64]:
    """Return uint64 keys, different for different tuples of `numbers` (integers from 0, broadcast against each other)."""
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(number)).astype(np.uint64) for number in numbers))
    key = np.zeros(arrays[0].shape, np.uint64)
    for array in arrays:
        _absorb(key.ravel(), array.ravel())
    return key


def gumbels(keys: NDArray[np.uint64], time: int, count: int) -> NDArray[np.float64]:
    """Return standard Gumbel noise, float64 [R, count], of the streams `keys` [R] at one `time` (the number of the decision)."""
    out = np.empty((len(keys), count))
    _fill(keys, time, out)
    return out


@kernel
def _absorb(key: Any, number: Any) -> None:
    """Mix number[i] into key[i], in place."""
    for i in range(len(key)):
        key[i] = mix(key[i] + _STEP * (number[i] + np.uint64(1)))


@kernel
def _fill(keys: Any, time: Any, out: Any) -> None:
    """Write the noise to `out`, float64 [R, count]."""
    for i in range(len(keys)):
        for k in range(out.shape[1]):
            uniform = hashed(keys[i], time, k)
            out[i, k] = -math.log(-math.log(max(uniform, _TINY)))
