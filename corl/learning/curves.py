"""Curves: the logged values of a training run, thinned out to a few hundred points each, and written to logging targets.

A target has the method `add_curve(run, step, name, value)`: a store (corl.store), or a `TensorBoard` (corl.learning.tensorboard).
"""

from __future__ import annotations

import time
from typing import Any, Protocol

__all__ = ["Curves", "Target"]

_SPACING = 0.01  # a point's distance to the previous one, as a share of its step: about 70 points per doubling
_FLUSH_EVERY = 2.0  # seconds between two writes to the targets


class Target(Protocol):
    """A place for curves."""

    def add_curve(self, run: str, step: float, name: str, value: float) -> None:
        """Add a point to a training run's curve `name`."""


class Curves:
    """The curves of one run. A point is the mean of the values since the previous point; time has no effect on the points."""

    def __init__(self, run: str, *targets: Target) -> None:
        self._run, self._targets = run, targets
        self._sums: dict[str, tuple[float, int]] = {}
        self._next = 0
        self._waiting: list[tuple[int, str, float]] = []
        self._flush_at = 0.0

    def add(self, step: int, values: dict[str, float]) -> None:
        """Add the values of a step; steps must not decrease."""
        for name, value in values.items():
            total, count = self._sums.get(name, (0.0, 0))
            self._sums[name] = total + value, count + 1
        if step >= self._next:
            self._waiting += [(step, name, total / count) for name, (total, count) in self._sums.items()]
            self._sums = {}
            self._next = step + max(1, int(step * _SPACING))
        if not self._targets:
            self._waiting = []
        elif time.monotonic() >= self._flush_at:
            self.flush()

    def flush(self) -> None:
        """Write the points that the targets do not have yet."""
        for step, name, value in self._waiting:
            for target in self._targets:
                target.add_curve(self._run, step, name, value)
        self._waiting = []
        self._flush_at = time.monotonic() + _FLUSH_EVERY

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a snapshot."""
        return {"sums": self._sums, "next": self._next}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        self._sums, self._next = state["sums"], state["next"]
