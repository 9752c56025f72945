"""Placing buffers one by one at their lowest offsets, as a Markov decision process (README.md, "As a decision process")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.environment import Environment
from corl.errors import UsageError
from corl.problems.memory_static.features import COLUMNS, observe
from corl.problems.memory_static.instance import StaticInstance, sections
from corl.problems.memory_static.transitions import State, reset_rows

__all__ = ["StaticEnvironment"]


class StaticEnvironment(Environment):
    """A pool of partial allocations. An action is a buffer, which is placed at the lowest offset at which it fits.

    `actions` lists the `width` unplaced buffers of the largest area (lifetime times size); `step` accepts any unplaced buffer.
    The height is the largest offset + size of a placed buffer. The reward of a step is minus the increase of the height, and the
    base value, to which the rewards are added, is minus the height of the fixed buffers; so at the end the sum is minus the
    height. The episode ends when all buffers are placed. Some order of the buffers leads to an allocation of minimal height: the
    order of their offsets in such an allocation.
    """

    def __init__(self, instances: Sequence[StaticInstance], rows: int, width: int = 64) -> None:
        super().__init__(instances, rows, width)
        self.width = min(width, max(instance.n for instance in instances))
        self.state = _pool(self.instances, rows)
        self.load = np.array([float(sections(instance).load.max()) for instance in instances])
        self.span = np.array([[instance.lower.min(), instance.upper.max()] for instance in instances], np.float64)
        self.reset(np.arange(rows), 0)

    def _reset(self, rows: NDArray[np.int64], which: NDArray[np.int64], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Return the base values: minus the heights of the fixed buffers."""
        bases = np.zeros(len(rows))
        reset_rows(self.state, rows, which, bases)
        return bases

    def _observe(self, rows: NDArray[np.int64], actions: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
        """Return the observations; slot k describes the k-th listed action.

        action: int32 [R, K], as `actions` lists them, -1 in empty slots; mask: bool [R, K], True if the slot is used.
        buffers: float64 [R, K, 4], start and end of the buffer's lifetime, its size, and its lowest offset; 0 in empty slots.
        height: float64 [R], the height of the placed buffers; load: float64 [R], the largest load, a lower bound on every height.
        span: float64 [R, 2], the earliest start and the latest end of a buffer's lifetime.
        remaining: int64 [R], the number of unplaced buffers, listed or not.
        """
        state = self.state
        instance = state.instance[rows]
        buffers = np.zeros((*actions.shape, len(COLUMNS)))
        observe(state, rows, actions, buffers)
        observation: dict[str, NDArray[Any]] = {"action": actions, "mask": actions >= 0, "buffers": buffers}
        observation |= {"height": state.height[rows].astype(np.float64), "load": self.load[instance], "span": self.span[instance]}
        return observation | {"remaining": state.buffer_count[instance] - state.placed_count[rows]}

    def solution(self, row: int) -> NDArray[np.int64]:
        """Return the offsets, int64 [n]. Raises UsageError while a buffer is not placed."""
        at = int(self._checked(row)[0])
        n = self.instances[self.state.instance[at]].n
        if self.state.placed_count[at] < n:
            raise UsageError(f"{n - self.state.placed_count[at]} buffers are not placed in row {at}")
        offsets: NDArray[np.int64] = self.state.offset[at, :n].copy()
        return offsets


def _pool(instances: list[StaticInstance], rows: int) -> State:
    """Return the pool of `instances`; the rows are initialised by `reset`."""
    count = np.array([instance.n for instance in instances], np.int64)
    max_count = int(count.max())
    flat = {key: np.concatenate([getattr(i, key) for i in instances]) for key in ("lower", "upper", "size", "alignment", "fixed")}
    areas = [(instance.upper - instance.lower).astype(np.float64) * instance.size for instance in instances]
    return State(
        buffer_count=count,
        buffers_start=np.cumsum(count) - count,
        **flat,
        order=np.concatenate([np.argsort(-area, kind="stable") for area in areas]).astype(np.int32),
        instance=np.zeros(rows, np.int32),
        placed_count=np.zeros(rows, np.int32),
        height=np.zeros(rows, np.int64),
        offset=np.zeros((rows, max_count), np.int64),
        placed=np.zeros((rows, max_count), np.int32),
    )
