"""A replay buffer with prioritised sampling, the proportional variant of Schaul, Quan, Antonoglou & Silver (ICLR 2016)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Batch", "Replay"]

ALPHA = 0.6  # exponent of the priorities
BETA = 0.4  # exponent of the importance weights
SIZE = 10_000  # transitions in the buffer; all three as in Xu, Wilder, Khalil & Tambe (ICLR 2025)


class Batch(NamedTuple):
    """A sample of n transitions of J arms."""

    which: NDArray[np.int64]
    """[n] the positions of the transitions in the buffer."""
    states: NDArray[np.int32]
    """[n, J] the states before the step."""
    levels: NDArray[np.int8]
    """[n, J] the levels given."""
    following: NDArray[np.int32]
    """[n, J] the states after the step."""
    times: NDArray[np.int64]
    """[n] the time of the step."""
    weights: NDArray[np.float64]
    """[n] importance weights, scaled so that the largest is 1."""


class Replay:
    """The last `SIZE` transitions. Each is drawn with probability proportional to |its latest error|^ALPHA."""

    def __init__(self, arms: int) -> None:
        self._states, self._following = np.zeros((SIZE, arms), np.int32), np.zeros((SIZE, arms), np.int32)
        self._levels, self._times = np.zeros((SIZE, arms), np.int8), np.zeros(SIZE, np.int64)
        self._priority = np.zeros(SIZE)
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, SIZE)

    def add(self, state: NDArray[np.int32], levels: NDArray[np.int8], following: NDArray[np.int32], time: int) -> None:
        """Add a transition with the largest priority in the buffer; in a full buffer it replaces the oldest transition."""
        at = self._added % SIZE
        self._states[at], self._levels[at], self._following[at], self._times[at] = state, levels, following, time
        self._priority[at] = self._priority.max() or 1.0
        self._added += 1

    def draw(self, random: np.random.Generator, count: int) -> Batch:
        """Return `count` transitions, drawn with replacement."""
        sums = np.cumsum(self._priority[: len(self)])
        which = np.searchsorted(sums, random.random(count) * sums[-1], side="right").clip(max=len(self) - 1)
        chances = self._priority[which] / sums[-1]
        weights = (len(self) * chances) ** -BETA
        transitions = (self._states[which], self._levels[which], self._following[which], self._times[which])
        return Batch(which, *transitions, weights / weights.max())

    def update(self, which: NDArray[np.int64], errors: NDArray[np.float64]) -> None:
        """Set the priorities of the transitions at `which` from their latest errors, float64 [n]."""
        self._priority[which] = (np.abs(errors) + 1e-3) ** ALPHA
