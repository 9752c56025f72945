"""How predicted gains are learned: what strong branching finds at some nodes of SCIP's trees, by Poisson's deviance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corl.solvers.milp.imitation.lessons import Lessons, listwise_loss
from corl.solvers.milp.imitation.teacher import Labelled, Teacher
from corl.solvers.milp.reliability.features import PLAIN, inputs
from corl.solvers.milp.reliability.network import GainNetwork

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance

__all__ = ["GainPupil", "GainTeacher", "lesson"]

_Lesson: TypeAlias = tuple[Tensor, Tensor]  # lines float32 [k, WIDTH], gains of steps float32 [k] whose sum is 1
_LEAST = 1e-3  # of a step; SCIP divides by no less either where it is sure of the fraction
_NOTHING = 1e-9  # in sum


class GainTeacher(Teacher):
    """Keeps the lines and the gains of the candidates that strong branching was asked about."""

    def lesson(self, node: Labelled) -> _Lesson | None:
        """See Teacher."""
        lines = inputs(self.pointer, node.pointers, node.features, PLAIN)
        down = np.clip(node.features[node.asked, 0], _LEAST, 1.0 - _LEAST)
        both = lines.reshape(len(node.pointers), 2, -1)[node.asked]
        found = lesson(both.reshape(2 * len(node.asked), -1), node.gains, np.stack([down, 1.0 - down], 1))
        return None if found is None else (torch.from_numpy(found[0].copy()), torch.from_numpy(found[1]))


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


class GainPupil:
    """See imitation.recipe.Pupil."""

    teacher = GainTeacher
    policy = None

    def __init__(self, family: str, program: Callable[[int], MilpInstance], held_out: int) -> None:
        self.network, self.lessons, self.program = GainNetwork(family=family), Lessons(held_out), program

    def begin(self, lessons: Sequence[_Lesson]) -> None:
        """See Pupil."""
        self.network.standardise(torch.cat([lines for lines, _ in lessons]))

    def loss(self, lessons: Sequence[_Lesson]) -> Tensor:
        """Poisson's deviance (less a constant), its means softmax of the logs: a mean is what a pseudocost is, gains are often 0,
        and the common factor is left out."""
        found = self.network(torch.cat([lines for lines, _ in lessons])).split([len(gains) for _, gains in lessons])
        return listwise_loss([gains for _, gains in lessons], found)

    def validate(self, lessons: Sequence[_Lesson]) -> dict[str, float]:
        """The loss, and `uniform`, what it is where all predictions are the same."""
        uniform = float(np.mean([np.log(len(gains)) for _, gains in lessons]))
        return {"held_out": float(self.loss(lessons)), "uniform": uniform}
