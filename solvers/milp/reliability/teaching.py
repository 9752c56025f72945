"""Lessons for predicted gains: what strong branching finds at some nodes of SCIP's trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from corl.solvers.milp.reliability.inputs import PLAIN, inputs
from corl.solvers.milp.teaching import Teacher

__all__ = ["GainTeacher", "lesson"]

_LEAST = 1e-3  # of a step; SCIP divides by no less either where it is sure of the fraction
_NOTHING = 1e-9  # in sum


class GainTeacher(Teacher):
    """Keeps (lines, gains) of every labelled node."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.lessons: list[tuple[NDArray[np.float32], NDArray[np.float32]]] = []

    def learn(
        self, pointers: NDArray[np.int64], seen: NDArray[np.float64], chosen: NDArray[np.int64], gains: NDArray[np.float64]
    ) -> None:
        lines = inputs(self.pointer, pointers, seen, PLAIN)
        down = np.clip(seen[chosen, 0], _LEAST, 1.0 - _LEAST)
        both = lines.reshape(len(pointers), 2, -1)[chosen]
        found = lesson(both.reshape(2 * len(chosen), -1), gains, np.stack([down, 1.0 - down], 1))
        if found is not None:
            self.lessons.append(found)


def lesson(
    lines: NDArray[np.float32], gains: NDArray[np.float64], steps: NDArray[np.float64]
) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
    """(lines, gains of a step by 1 / their sum), without directions that had no solution; None where nothing was gained.

    lines [2 k, WIDTH], gains [k, 2] of whole children, steps [k, 2] how far the variable moves in them.
    """
    unit, kept = (np.maximum(gains, 0.0) / steps).ravel(), np.isfinite(gains).ravel()
    total = unit[kept].sum()
    if kept.sum() < 2 or total <= _NOTHING:
        return None
    return lines[kept], (unit[kept] / total).astype(np.float32)
