"""Labelled nodes to learn from, some held out, and the loss of all learners: cross-entropy over the lists of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from corl.errors import UsageError
from corl.solvers.milp.branching.signature import signature, signature_range

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from corl.problems.milp.instance import MilpInstance

__all__ = ["Lessons", "agrees", "listwise_loss", "targets_of"]

_TEMPERATURE = 0.3  # of the target: a candidate whose two gains' product is half the best one's weighs a tenth of it


class Lessons:
    """Lessons, each a tuple of tensors; every `held_out`-th program's are for validation. The programs' signatures."""

    def __init__(self, held_out: int) -> None:
        self.train: list[Any] = []
        self.held: list[Any] = []
        self.signatures: list[NDArray[Any]] = []
        self.held_out, self.programs, self.updates = held_out, 0, 0

    @property
    def nodes(self) -> int:
        """Labelled ones."""
        return len(self.train) + len(self.held)

    def add(self, instance: MilpInstance, lessons: Sequence[Any]) -> None:
        """Take one program's lessons."""
        (self.held if self.programs % self.held_out == 1 else self.train).extend(lessons)
        self.signatures.append(signature(instance))
        self.programs += 1

    def ready(self) -> list[Any]:
        """Lessons to train on, if need be those held out. Raises UsageError where there is none."""
        if not self.train:
            self.train, self.held = self.held, []
        if not self.train:
            raise UsageError("no node was labelled: the programs were solved without branching, or the time was too short")
        return self.train

    def range(self) -> dict[str, list[float]]:
        """The programs' range of signatures, for a checkpoint."""
        return dict(zip(("lower", "upper"), signature_range(self.signatures)))

    def state_dict(self) -> dict[str, Any]:
        """For snapshots."""
        lists = {name: [list(lesson) for lesson in getattr(self, name)] for name in ("train", "held")}
        return {**lists, "signatures": self.signatures, "programs": self.programs, "updates": self.updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """From a snapshot."""
        self.train, self.held = ([tuple(lesson) for lesson in state[name]] for name in ("train", "held"))
        self.signatures = list(state["signatures"])
        self.programs, self.updates = int(state["programs"]), int(state["updates"])


def targets_of(scores: Tensor) -> Tensor:
    """The distribution to imitate [k] of strong branching's scores [k], logs of the products of gains."""
    return torch.softmax(scores / _TEMPERATURE, 0)


def listwise_loss(targets: Sequence[Tensor], logits: Sequence[Tensor]) -> Tensor:
    """Mean over nodes of the cross-entropy between a distribution [k] and softmax(logits [k])."""
    return torch.stack([-(target * torch.log_softmax(one, 0)).sum() for target, one in zip(targets, logits)]).mean()


def agrees(scores: Tensor, logits: Tensor) -> bool:
    """Whether the first choice is one of strong branching's best."""
    return bool(scores[int(logits.argmax())] >= scores.max() - 1e-6)
