"""Random numbers for compiled kernels, from a state array that the caller owns or from a hash; there is no global state.

The generator is SplitMix64 (Steele, Lea & Flood, OOPSLA 2014); a state is a uint64 array of length 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["below", "hashed", "mix", "next_u64", "random_state", "shuffle", "uniform"]

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31, _S32, _S11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32), np.uint64(11)
_LOW = np.uint64(0xFFFFFFFF)


def random_state(seed: int, stream: int = 0) -> NDArray[np.uint64]:
    """Return a new state, uint64 [1]. For different pairs (seed, stream), the random numbers do not overlap in practice."""
    return np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64).astype(np.uint64)


@kernel(inline=True)
def mix(z: np.uint64) -> Any:
    """Return SplitMix64's finaliser of `z`: a bijection of uint64 whose output bits look independent."""
    z = (z ^ (z >> _S30)) * _M1
    z = (z ^ (z >> _S27)) * _M2
    return z ^ (z >> _S31)


@kernel(inline=True)
def next_u64(state: NDArray[np.uint64]) -> Any:
    """Return 64 random bits; advance `state`."""
    state[0] += _GAMMA
    return mix(state[0])


@kernel(inline=True)
def uniform(state: NDArray[np.uint64]) -> np.float64:
    """Return a float64 uniform on [0, 1); advance `state`."""
    return np.float64(next_u64(state) >> _S11) * (1.0 / 9007199254740992.0)


@kernel(inline=True)
def below(state: NDArray[np.uint64], n: int) -> Any:
    """Return an int64 uniform on 0..n-1; advance `state`. 0 < n < 2**32 (Lemire's multiply-shift, with bias below n / 2**32)."""
    return np.int64(((next_u64(state) & _LOW) * np.uint64(n)) >> _S32)


@kernel
def shuffle(state: NDArray[np.uint64], array: NDArray[Any]) -> None:
    """Permute `array` in place (Fisher-Yates)."""
    for i in range(len(array) - 1, 0, -1):
        j = below(state, i + 1)
        array[i], array[j] = array[j], array[i]


@kernel(inline=True)
def hashed(key: np.uint64, time: int, arm: int) -> Any:
    """Return a float64 uniform on [0, 1), a hash of (key, time, arm): the order of the calls has no effect on it."""
    z = mix(np.uint64(key) + _GAMMA * (np.uint64(time) + np.uint64(1)))
    z = mix(z ^ (_GAMMA * (np.uint64(arm) + np.uint64(1))))
    return np.float64(z >> _S11) * (1.0 / 9007199254740992.0)
