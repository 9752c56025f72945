"""How the perceptron on the candidates' features learns: from strong branching's scores, by a listwise loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from torch import Tensor

from corl.solvers.milp.branching.network import BranchingNetwork
from corl.solvers.milp.imitation.lessons import Lessons, agrees, listwise_loss, targets_of
from corl.solvers.milp.imitation.teacher import Labelled, Teacher

if TYPE_CHECKING:
    from corl.problems.milp.instance import MilpInstance
    from corl.solvers.milp.branching.scoring import Scorer

__all__ = ["BranchingPupil", "BranchingTeacher"]

_Lesson: TypeAlias = tuple[Tensor, Tensor]  # features float32 [k, 40], scores float32 [k]


class BranchingTeacher(Teacher):
    """Keeps the features and the scores of the candidates that strong branching was asked about."""

    def lesson(self, node: Labelled) -> _Lesson:
        """See Teacher."""
        features = torch.from_numpy(node.features[node.asked].astype(np.float32))
        return features, torch.from_numpy(node.scores.astype(np.float32))


class BranchingPupil:
    """See imitation.recipe.Pupil."""

    teacher = BranchingTeacher

    def __init__(
        self, family: str, program: Callable[[int], MilpInstance], held_out: int, policy: Scorer | None = None
    ) -> None:
        self.network, self.lessons = BranchingNetwork(family=family), Lessons(held_out)
        self.program, self.policy = program, policy

    def begin(self, lessons: Sequence[_Lesson]) -> None:
        """See Pupil."""
        self.network.standardise(torch.cat([features for features, _ in lessons]))

    def loss(self, lessons: Sequence[_Lesson]) -> Tensor:
        """See Pupil."""
        found = self.network(torch.cat([features for features, _ in lessons])).split([len(scores) for _, scores in lessons])
        return listwise_loss([targets_of(scores) for _, scores in lessons], found)

    def validate(self, lessons: Sequence[_Lesson]) -> dict[str, float]:
        """How often the policy's first choice is strong branching's, and the mean log that it loses by it."""
        logits = [self.network(features) for features, _ in lessons]
        lost = [float(scores.max() - scores[int(one.argmax())]) for (_, scores), one in zip(lessons, logits)]
        agree = [agrees(scores, one) for (_, scores), one in zip(lessons, logits)]
        return {"agrees": float(np.mean(agree)), "loses": float(np.mean(lost))}
