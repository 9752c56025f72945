"""`GainNetwork`: predicts the gain of a step of a branching candidate in one direction, relative to the node's others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from corl.solvers.milp.reliability.inputs import WIDTH
from corl.solvers.milp.scoring import CLIP

__all__ = ["GainNetwork", "poisson_loss"]

_CLIP = 6.0  # of predicted logs


class GainNetwork(nn.Module):
    """A perceptron with two hidden layers on `inputs`; its output is the log of the gain of a step by 1.

    A factor that is common to a node's candidates is left open: whoever uses it scales by gains that were observed.
    """

    architecture: ClassVar[str] = "milp-gains"
    mean: Tensor
    scale: Tensor

    def __init__(self, problem: str = "milp", family: str = "", hidden: Sequence[int] = (32, 16)) -> None:
        super().__init__()
        self.problem = problem
        self.config: dict[str, Any] = {"problem": problem, "family": family, "hidden": list(hidden)}
        self.register_buffer("mean", torch.zeros(WIDTH))
        self.register_buffer("scale", torch.ones(WIDTH))
        self.first, self.second = nn.Linear(WIDTH, hidden[0]), nn.Linear(hidden[0], hidden[1])
        self.last = nn.Linear(hidden[1], 1, bias=False)

    def standardise(self, inputs: Tensor) -> None:
        """Take mean and deviation from training lines [N, WIDTH]."""
        self.mean.copy_(inputs.mean(0))
        self.scale.copy_(1.0 / inputs.std(0, correction=0).clamp(min=1e-3))

    def forward(self, inputs: Tensor) -> Tensor:
        """Logs of gains [...] of lines [..., WIDTH]."""
        x = ((inputs - self.mean) * self.scale).clamp(-CLIP, CLIP)
        found: Tensor = self.last(torch.relu(self.second(torch.relu(self.first(x)))))
        return found.squeeze(-1).clamp(-_CLIP, _CLIP)


def poisson_loss(network: GainNetwork, lessons: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Mean over nodes of the deviance of Poisson's distribution (less a constant), its means softmax of the logs.

    Lessons are pairs of lines [k, WIDTH] and gains of steps [k], whose sum is 1: a mean is what a pseudocost is, gains are often
    0, and the common factor is left out.
    """
    lengths = [len(gains) for _, gains in lessons]
    found = network(torch.cat([lines for lines, _ in lessons])).split(lengths)
    return torch.stack([-(gains * torch.log_softmax(one, 0)).sum() for (_, gains), one in zip(lessons, found)]).mean()
