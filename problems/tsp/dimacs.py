"""The generators portgen and portcgen of the 8th DIMACS challenge (Johnson and McGeoch, 2002), reproduced bit for bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.jit import kernel

__all__ = ["clustered_points", "uniform_points"]

_RANGE = 1_000_000_000  # random numbers are below this (Knuth, vol. 2, section 3.2.2, algorithm A)
_SIDE = 1_000_000  # of the square
_PER_CLUSTER = 100  # cities for each cluster


def uniform_points(size: int, seed: int) -> NDArray[np.float64]:
    """Return the cities that portgen makes for a seed, float64 [size, 2]."""
    return _uniform(_initial_state(seed), size)


def clustered_points(size: int, seed: int) -> NDArray[np.float64]:
    """Return the cities that portcgen makes for a seed, float64 [size, 2]."""
    return _clustered(_initial_state(seed), size)


def _initial_state(seed: int) -> NDArray[np.int64]:
    """Return the state of the random numbers for a seed, int64 [57]: 55 numbers and two indices into them."""
    state = np.zeros(57, np.int64)
    state[0] = last = seed
    following = 1
    for i in range(1, 55):
        place = 21 * i % 55
        state[place] = following
        following = (last - following) % _RANGE
        last = int(state[place])
    state[55], state[56] = 0, 24
    for _ in range(165):
        _next(state)
    return state


@kernel
def _next(state: NDArray[np.int64]) -> Any:
    """Return the next random number, 0 .. 10^9 - 1: the difference of two earlier numbers. `state` changes in place."""
    for k in range(55, 57):
        state[k] = state[k] - 1 if state[k] > 0 else 54
    number = state[state[55]] - state[state[56]]
    if number < 0:
        number += _RANGE
    state[state[55]] = number
    return number


@kernel
def _uniform(state: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return uniform points, float64 [size, 2]; `state` changes in place."""
    points = np.empty((size, 2))
    for i in range(size):
        for k in range(2):
            points[i, k] = _next(state) // (_RANGE // _SIDE)
    return points


@kernel
def _clustered(state: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return points around random centres, float64 [size, 2]; `state` changes in place."""
    count, scale = max(1, size // _PER_CLUSTER), 1.0 / math.sqrt(size)
    centres, points, waiting = np.empty((count, 2)), np.empty((size, 2)), np.full(1, np.nan)
    for c in range(count):
        for k in range(2):
            centres[c, k] = math.trunc(_next(state) / _RANGE * _SIDE)
    for i in range(size):
        c = int(_next(state) / _RANGE * count)
        for k in range(2):
            points[i, k] = centres[c, k] + math.trunc(_normal(state, waiting) * scale * _SIDE)
    return points


@kernel
def _normal(state: NDArray[np.int64], waiting: NDArray[np.float64]) -> Any:
    """Return a standard normal number by the polar method (Knuth, vol. 2, section 3.4.1, algorithm P).

    The method makes two numbers at a time; `waiting`, float64 [1], holds the second one until it is used, otherwise NaN.
    """
    if not math.isnan(waiting[0]):
        number = waiting[0]
        waiting[0] = np.nan
        return number
    s, x, y = 1.0, 0.0, 0.0
    while s >= 1.0:
        x, y = 2.0 * _next(state) / _RANGE - 1.0, 2.0 * _next(state) / _RANGE - 1.0
        s = x * x + y * y
    t = math.sqrt(-2.0 * math.log(s) / s)
    waiting[0] = x * t
    return y * t
