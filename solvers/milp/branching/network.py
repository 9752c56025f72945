"""`BranchingNetwork`: a branching policy in torch, for training; kernels evaluate it elsewhere (scoring.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from corl.solvers.milp.branching.features import FEATURES
from corl.solvers.milp.branching.scoring import CLIP, Scorer

__all__ = ["BranchingNetwork", "Perceptron", "scorer_of"]


class Perceptron(nn.Module):
    """Two hidden layers on standardised features, to one number; kernels evaluate it as a `Scorer`."""

    mean: Tensor
    scale: Tensor

    def __init__(self, inputs: int, hidden: tuple[int, int]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("scale", torch.ones(inputs))
        self.first, self.second = nn.Linear(inputs, hidden[0]), nn.Linear(hidden[0], hidden[1])
        self.last = nn.Linear(hidden[1], 1, bias=False)

    def standardise(self, features: Tensor) -> None:
        """Take mean and deviation from training features [N, F]."""
        self.mean.copy_(features.mean(0))
        self.scale.copy_(1.0 / features.std(0, correction=0).clamp(min=1e-3))

    def forward(self, features: Tensor) -> Tensor:
        """Numbers [...] of lines of features [..., F]."""
        x = ((features - self.mean) * self.scale).clamp(-CLIP, CLIP)
        found: Tensor = self.last(torch.relu(self.second(torch.relu(self.first(x)))))
        return found.squeeze(-1)


class BranchingNetwork(Perceptron):
    """Scores of candidates from their features.

    family: what it was trained on; lower, upper: the range of such programs' signatures (signature.py).
    """

    architecture: ClassVar[str] = "milp-branching"

    def __init__(
        self, problem: str = "milp", family: str = "", lower: Sequence[float] = (), upper: Sequence[float] = (),
        hidden: tuple[int, int] = (32, 16),
    ) -> None:  # fmt: skip
        super().__init__(len(FEATURES), hidden)
        self.problem = problem
        self.config: dict[str, Any] = {
            "problem": problem, "family": family, "lower": list(lower), "upper": list(upper), "hidden": list(hidden),
        }  # fmt: skip


def scorer_of(network: Perceptron) -> Scorer:
    """The weights as they are now, copied for kernels."""
    parts = (
        network.mean, network.scale, network.first.weight.t(), network.first.bias, network.second.weight.t(), network.second.bias,
        network.last.weight[0],
    )  # fmt: skip
    return Scorer(*(np.array(part.detach().cpu().numpy(), np.float32, order="C") for part in parts))
